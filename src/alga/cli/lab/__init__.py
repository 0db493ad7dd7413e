"""`alga lab`: the verbs of research, one file each."""
