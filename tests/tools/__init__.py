"""Exported folders opened by the real transformers, TransformerLens and nnsight, in an environment of their own.

`__main__.py` is run by the Python of that environment, which has no alga: tests/export/test_tools.py writes the folders
and the logits to expect, and reads what it prints.
"""
