"""The command line: arguments, messages and exit codes. One file per verb; research verbs are in `lab/`."""
