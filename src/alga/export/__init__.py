"""A network as files for other programs: ONNX of its step or reader, its table as JSON, its theorems as a Coq file.

`FORMATS` maps a format's name to its function, `FORMAT_OF_SUFFIX` a file's ending to its format. `FOLDERS` has the
formats that are folders: for Hugging Face transformers, and for TransformerLens.
"""

from alga.export.formats import FOLDERS, FORMAT_OF_SUFFIX, FORMATS, onnx, table

__all__ = ["FOLDERS", "FORMATS", "FORMAT_OF_SUFFIX", "onnx", "table"]
