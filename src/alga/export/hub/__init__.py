"""Files that exported folders contain: written as they are, to be run by transformers and TransformerLens.

They import nothing of alga, since whoever opens such a folder may not have it. `network_alga.py` needs torch alone, so
exports run it on every prompt before they write anything; the others are run by the slow tests of tests/export.
"""
