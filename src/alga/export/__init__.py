"""A network as files for other programs: its step as ONNX, its table as JSON."""

from alga.export.formats import FORMATS, SUFFIXES, onnx, table

__all__ = ["FORMATS", "SUFFIXES", "onnx", "table"]
