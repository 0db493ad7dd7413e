"""Weights as other programs write them: torch and R files."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile

import torch

THEIRS = {
    "token_embedding.": "wte_out.", "position_embedding.": "wpe_out.", "final_norm.": "scale3.", "head.": "ln_f.",
}  # fmt: skip


IN_LAYERS = {
    "attention.project_in.": "MH_dec.{}.in_proj_", "attention.project_out.": "MH_dec.{}.out_proj.",
    "attention_norm.": "scale1_dec.{}.", "feed_forward_norm.": "scale2_dec.{}.", "feed_forward.": "FFN_dec.{}.",
}  # fmt: skip


def theirs(name: str) -> str:
    for ours, other in THEIRS.items():
        if name.startswith(ours):
            return other + name.removeprefix(ours)
    _, layer, rest = name.split(".", 2)
    ours, other = next((o, t) for o, t in IN_LAYERS.items() if rest.startswith(o))
    return other.format(layer) + rest.removeprefix(ours)


def as_torch(state: object, **options: bool) -> bytes:
    buffer = io.BytesIO()
    torch.save(state, buffer, **options)
    return buffer.getvalue()


def item(kind: int, body: bytes, names: list[str] | None = None) -> bytes:
    attributes = b""
    if names is not None:
        attributes = struct.pack(">i", 0x402) + struct.pack(">i", 1) + text("names")
        attributes += struct.pack(">ii", 16, len(names)) + b"".join(map(text, names)) + struct.pack(">i", 254)
    return struct.pack(">i", kind | (0x200 if names is not None else 0)) + body + attributes


def text(value: str) -> bytes:
    return struct.pack(">ii", 0x40009, len(value)) + value.encode()


def vector(kind: int, parts: list[bytes], names: list[str] | None = None) -> bytes:
    return item(kind, struct.pack(">i", len(parts)) + b"".join(parts), names)


def raw(data: bytes) -> bytes:
    return item(24, struct.pack(">i", len(data)) + data)


def wrapped(values: bytes, kind: str) -> bytes:
    header = b"X\n" + struct.pack(">iii", 3, 0x40400, 0x30500) + struct.pack(">i", 5) + b"UTF-8"
    version = item(14, struct.pack(">id", 1, 2.0))
    return header + vector(19, [values, vector(16, [text(kind)]), version], ["values", "type", "version"])


def as_archive(tensor: torch.Tensor) -> bytes:
    """Return a tensor as torch for R stores it: a TorchScript archive of a module with one parameter."""
    sizes = b"".join(b"M" + struct.pack("<H", size) for size in tensor.shape)
    strides = b"".join(b"M" + struct.pack("<H", stride) for stride in tensor.stride())
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    count = tensor.untyped_storage().nbytes() // 4
    storage += b"J" + struct.pack("<i", count) + b"tQ"
    pickled = b"\x80\x02c__torch__\nModule\n)\x81}(X\x01\x00\x00\x000ctorch._utils\n_rebuild_tensor_v2\n("
    pickled += storage + b"K\x00(" + sizes + b"t(" + strides + b"t\x88ccollections\nOrderedDict\n)RtRub."
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data/0", tensor.as_strided((count,), (1,), 0).numpy().tobytes())
        archive.writestr("archive/data.pkl", pickled)
    return buffer.getvalue()


def as_r(state: dict[str, torch.Tensor]) -> bytes:
    tensors = [raw(wrapped(raw(as_archive(tensor)), "tensor")) for tensor in state.values()]
    return gzip.compress(wrapped(vector(19, tensors, list(state)), "list"))
