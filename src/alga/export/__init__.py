"""A network as files for other programs: ONNX of its step or reader, its table as JSON, its theorems as a Coq file.

`FORMATS` maps a format's name to its function, `FORMAT_OF_SUFFIX` a file's ending to its format.
"""

from alga.export.formats import FORMAT_OF_SUFFIX, FORMATS, onnx, table

__all__ = ["FORMATS", "FORMAT_OF_SUFFIX", "onnx", "table"]
