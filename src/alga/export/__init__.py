"""A network as files for other programs: its step as ONNX, its table as JSON.

`FORMATS` maps a format's name to its function, `SUFFIXES` a file's ending to its format.
"""

from alga.export.formats import FORMATS, SUFFIXES, onnx, table

__all__ = ["FORMATS", "SUFFIXES", "onnx", "table"]
