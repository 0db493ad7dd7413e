"""`alga lab`: the verbs of research, one file each, and the group that holds them."""
