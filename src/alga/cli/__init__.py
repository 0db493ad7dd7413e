"""The command line: arguments, messages, exit codes; one file per verb, research verbs in `lab/`, no arithmetic.

`app.py` puts the verbs together and turns errors into one line. Nothing is imported here, so that `alga` starts fast.
"""
