"""Exact evaluation of a network: every intermediate number, enclosed by ball arithmetic (python-flint).

Shapes: B prompts, L positions, Q positions computed, D width, E width of a head's queries, W of its values.
"""

from __future__ import annotations

import copy
import json
import math
from typing import Any, Final

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from alga.base.errors import AlgaError
from alga.network.config import ModelConfig

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
Rows = list[list[Any]]  # of balls

BITS: Final = 80


def tensors(data: bytes) -> dict[str, Array]:
    """Parse a safetensors file: a length, a JSON header, then little-endian float32."""
    size = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + size])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise AlgaError(f"{name} holds {entry['dtype']}, expected F32")
        start, end = entry["data_offsets"]
        numbers = np.frombuffer(data[8 + size + start : 8 + size + end], "<f4").reshape(entry["shape"])
        if not np.isfinite(numbers).all():
            raise AlgaError(f"{name} holds a number that is not finite")
        found[name] = numbers.astype(np.float64)  # exact
    return found


class BallNetwork:
    """A network's weights, as float64 and as balls."""

    def __init__(self, shape: ModelConfig, w: dict[str, Array]) -> None:
        self.shape = shape
        D, queries = shape.width, shape.heads * (shape.query_width or shape.width // shape.heads)
        self.embedding = w["token_embedding.weight"]
        self.head = self.embedding if shape.tied else w["head.weight"]
        rows = w["position_embedding.weight"]
        places = [*shape.positions] or [str(i) for i in range(shape.input_length + shape.output_length)]
        self.positions = np.array([np.zeros(D) if row == "." else rows[int(row)] for row in places])
        self.norms: dict[str, tuple[Array, Array]] = {}
        self.maps: dict[str, tuple[Array, Array]] = {"head": (self.head, np.zeros(len(self.head)))}
        for name in ("final_norm", *(f"{i}.{kind}" for i in range(shape.layers) for kind in ("attention", "feed"))):
            kept = shape.norms == "all" or (shape.norms == "feed-forward" and name.endswith("feed"))
            layer, kind = name.split(".") if "." in name else ("", "")
            full = f"layers.{layer}.{'attention' if kind == 'attention' else 'feed_forward'}_norm" if kind else name
            if kept:
                self.norms[name] = w.get(f"{full}.weight", np.ones(D)), w.get(f"{full}.bias", np.zeros(D))
        for i in range(shape.layers):
            parts = f"layers.{i}.attention.project_in", f"layers.{i}.attention.project_out"
            whole, bias = w[f"{parts[0]}.weight"], w.get(f"{parts[0]}.bias", np.zeros(len(w[f"{parts[0]}.weight"])))
            cut = {"q": slice(queries), "k": slice(queries, -D), "v": slice(-D, None)}
            if shape.shared_keys:
                cut["k"] = cut["q"]
            self.maps |= {f"{i}.{name}": (whole[rows], bias[rows]) for name, rows in cut.items()}
            for name, full in (
                ("out", parts[1]), ("in", f"layers.{i}.feed_forward.0"), ("back", f"layers.{i}.feed_forward.2"),
            ):  # fmt: skip
                matrix = np.eye(D) if name == "out" and not shape.out else w[f"{full}.weight"]
                self.maps[f"{i}.{name}"] = matrix, w.get(f"{full}.bias", np.zeros(len(matrix)))
        sizes = {"q": (queries, D), "k": (queries, D), "v": (D, D), "out": (D, D)}
        sizes |= {"in": (shape.hidden, D), "back": (D, shape.hidden), "head": (shape.vocabulary, D)}
        check_sizes({"the token embedding": (self.embedding, (shape.vocabulary, D))})
        check_sizes({"the positions": (self.positions, (shape.input_length + shape.output_length, D))})
        self.pack(sizes, [self.embedding])

    def pack(self, sizes: dict[str, tuple[int, int]], embeddings: list[Array]) -> None:
        """Refuse maps and norms of another shape; keep the maps as balls, and the size of the largest."""
        for name, (matrix, bias) in self.maps.items():
            rows, columns = sizes[name.rpartition(".")[2]]
            check_sizes({name: (matrix, (rows, columns)), f"{name}'s bias": (bias, (rows,))})
        for name, (scale, shift) in self.norms.items():
            width = (self.head.shape[1],)
            check_sizes({name: (scale, width), f"{name}'s shift": (shift, width)})
        self.balls = {
            name: arb_mat(len(m[0]) + 1, len(m), [arb(x) for row in [*m.T, b] for x in row.tolist()])
            for name, (m, b) in self.maps.items()
        }
        self.size = max(float(np.sqrt((m * m).sum())) for m in [*embeddings, *(m for m, _ in self.maps.values())])


def check_sizes(found: dict[str, tuple[Array, tuple[int, ...]]]) -> None:
    """Refuse arrays of another shape than the one given with each."""
    for name, (array, size) in found.items():
        if array.shape != size:
            raise ValueError(f"{name} is {array.shape}, expected {size}")


class ExactValues:
    """Every number of the exact evaluation: enclosed by balls, then kept as float64 accurate to `tiny`."""

    def __init__(self, network: BallNetwork, ids: Ids) -> None:
        self.network, shape = network, network.shape
        self.B, L = ids.shape
        self.kept: dict[str, Array] = {}
        self.radius = 0.0
        x = self._keep("x", self._embedded(ids), L)
        self.hidden = np.triu(np.ones((L, L), dtype=bool), 1)
        self.hidden[:, : shape.input_length + 1] = False
        for i in range(shape.layers):
            y = self._normed(f"{i}.attention", x, L)
            skip = shape.input_length if i == shape.layers - 1 else 0
            x = x if not skip else [row for n, row in enumerate(x) if n % L >= skip]
            Q = L - skip
            x = self._plus(f"{i}.x", x, self._mixed(i, y, L, skip), f"{i}.out", Q)
            x = self._fed_forward(i, x, Q)
        self._finish(x, Q, shape.hidden + shape.width)

    def some(self, chosen_B: NDArray[np.bool_]) -> ExactValues:
        """Return the numbers of some of the prompts, without the logits' balls."""
        found = copy.copy(self)
        found.B, found.logits = int(chosen_B.sum()), []
        found.kept = {name: array[chosen_B] for name, array in self.kept.items()}
        return found

    def _fed_forward(self, i: int, x: Rows, positions: int) -> Rows:
        h = self._linear(f"{i}.h", self._normed(f"{i}.feed", x, positions), f"{i}.in", positions)
        root = arb(0.5).sqrt()
        phi = self._keep(f"{i}.phi", [[(1 + (t * root).erf()) / 2 for t in row] for row in h], positions)
        gelu = [[t * p for t, p in zip(*rows, strict=True)] for rows in zip(h, phi, strict=True)]
        return self._plus(f"{i}.y", x, self._keep(f"{i}.gelu", gelu, positions), f"{i}.back", positions)

    def _finish(self, x: Rows, positions: int, terms: int) -> None:
        """Evaluate the logits, and bound what float64 loses in products of any of these vectors and matrices.

        Logits enter no product, only differences.
        """
        normed = self._normed("final_norm", x, positions)
        most = max(float(np.abs(a).max()) for a in self.kept.values()) * math.sqrt(terms)
        self.logits = self._linear("logits", normed, "head", positions)
        self.tiny = (1e-15 * terms * (1 + most) + self.radius) * (1 + self.network.size) ** 2
        self.tiny += 1e-15 * float(np.abs(self.kept["logits"]).max())
        if not self.tiny < 1e-3:
            raise AlgaError(f"{BITS} bits are too few for numbers as large as this network's")

    def _embedded(self, ids: Ids) -> Rows:
        network = self.network
        return [
            [arb(a) + arb(b) for a, b in zip(network.embedding[t].tolist(), network.positions[n].tolist(), strict=True)]
            for row in ids
            for n, t in enumerate(row)
        ]

    def _keep(self, name: str, rows: Rows, positions: int) -> Rows:
        self.kept[name] = np.array([[float(t) for t in row] for row in rows]).reshape(self.B, positions, -1)
        if not np.isfinite(self.kept[name]).all():
            raise AlgaError(f"{BITS} bits are too few for numbers as large as this network's")
        self.radius = max(self.radius, *(float(max(t.rad() for t in row)) for row in rows))
        return rows

    def _linear(self, name: str, rows: Rows, map_: str, positions: int) -> Rows:
        return self._keep(name, _times(rows, self.network.balls[map_]).tolist(), positions)

    def _plus(self, name: str, x: Rows, y: Rows, map_: str, positions: int) -> Rows:
        total = arb_mat(x) + _times(y, self.network.balls[map_])
        return self._keep(name, total.tolist(), positions)

    def _normed(self, name: str, rows: Rows, positions: int) -> Rows:
        if name not in self.network.norms:
            return rows
        gain, shift = ([arb(t) for t in part.tolist()] for part in self.network.norms[name])
        done, epsilon = [], arb("1e-5")
        for row in rows:
            mean = sum(row, arb(0)) / len(row)
            centred = [t - mean for t in row]
            inverse = (sum((t * t for t in centred), arb(0)) / len(row) + epsilon).rsqrt()
            done.append([t * inverse * g + b for t, g, b in zip(centred, gain, shift, strict=True)])
        return self._keep(f"{name}.normed", done, positions)

    def _mixed(self, i: int, y: Rows, L: int, skip: int) -> Rows:
        shape = self.network.shape
        q, k, v = (self._linear(f"{i}.{name}", y, f"{i}.{name}", L) for name in "qkv")
        E, W = len(q[0]) // shape.heads, shape.width // shape.heads
        root = arb(E).rsqrt()
        mixed, weights = [], []
        for b in range(self.B):
            rows: Rows = [[] for _ in range(skip, L)]
            for h in range(shape.heads):
                here = slice(b * L + skip, (b + 1) * L), slice(b * L, (b + 1) * L)
                queries = arb_mat([row[h * E : (h + 1) * E] for row in q[here[0]]])
                keys = arb_mat([row[h * E : (h + 1) * E] for row in k[here[1]]])
                shares = []
                for n, row in enumerate((queries * keys.transpose()).tolist()):
                    seen = [None if self.hidden[n + skip, j] else t * root for j, t in enumerate(row)]
                    top = max(float(t) for t in seen if t is not None)
                    grown = [arb(0) if t is None else (t - top).exp() for t in seen]
                    whole = sum(grown, arb(0))
                    shares.append([t / whole for t in grown])
                values = arb_mat([row[h * W : (h + 1) * W] for row in v[here[1]]])
                for n, part in enumerate((arb_mat(shares) * values).tolist()):
                    rows[n] += part
                weights += shares
            mixed += rows
        self._keep(f"{i}.weights", weights, shape.heads * (L - skip))
        return self._keep(f"{i}.mixed", mixed, L - skip)


def _times(rows: Rows, matrix: Any) -> Any:
    """Multiply rows, each extended by a one for the bias, by a matrix."""
    return arb_mat([[*row, arb(1)] for row in rows]) * matrix
