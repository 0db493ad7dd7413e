"""Mutation testing of the core: `make mutants` changes one expression at a time and checks that a test notices.

`mutations` lists the changes of a file, `trial` runs tests against one of them in a forked process, `selection` finds
the tests that matter to it, `equivalent` explains changes that alter nothing, and `__main__` runs and sums up.
"""
