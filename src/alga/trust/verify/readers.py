"""The second proof for a reader of whole texts: exact values of every situation by ball arithmetic, and error bounds.

What lies outside a situation is bounded here too, by the lemma of docs/whole.md and by code of its own: the weights of
all far tokens are enclosed by balls, their sum by a geometric series.

Shapes: B situations, N tokens of a situation and the sink, K kinds of tokens, D width, E width of a head.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from flint import arb, arb_mat

from alga.base.errors import AlgaError
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.trust.verify.balls import Array, BallNetwork, ExactValues, Ids, Rows, check_sizes
from alga.trust.verify.error_bounds import SLACK, UNITS, ErrorBounds, Seen, stretch

FORMATS: Final = {"real": (0.0, 0.0), **UNITS}
ZERO_BELOW: Final = {"real": 0.0, "float64": -750.0, "float32": -105.0}  # exp of less is exactly zero


class ReaderNetwork(BallNetwork):
    """A reader's weights, as float64 and as balls; its kinds of tokens are the rows of `embedding`."""

    def __init__(self, shape: ReaderConfig, texts: Texts, w: dict[str, Array]) -> None:
        if shape.layers != 1:
            raise AlgaError(f"a reader of {shape.layers} layers cannot be verified")
        self.reader, self.texts, D = shape, texts, shape.width
        name = "layers.0"
        tokens, parts = _tokens(shape, w), w["part_embedding.weight"] if shape.parts else np.zeros((2, D))
        check_sizes({"tokens": (tokens, (shape.vocabulary, D)), "parts": (parts, (2, D))})
        self.kinds = [(token, part) for part in parts for token in tokens]
        self.head = tokens if shape.tied else w["head.weight"]
        self.maps = {"head": (self.head, np.zeros(len(self.head)))}
        full = {"out": "attention.project_out", "in": "feed_forward.0", "back": "feed_forward.2"}
        for short, long in {"whole": "attention.project_in", **full}.items():
            matrix = np.eye(D) if short == "out" and not shape.out else w[f"{name}.{long}.weight"]
            self.maps[f"0.{short}"] = matrix, w.get(f"{name}.{long}.bias", np.zeros(len(matrix)))
        whole, bias = self.maps.pop("0.whole")
        cuts = [(whole[at : at + D], bias[at : at + D]) for at in range(0, len(bias), D)]
        silent = (np.zeros((D, D)), np.zeros(D))
        self.maps |= dict(zip(("0.q", "0.k", "0.v"), cuts if shape.keys else (silent, silent, *cuts), strict=True))
        norms = {"0.attention": f"{name}.attention_norm", "0.feed": f"{name}.feed_forward_norm"}
        norms |= {"final_norm": "final_norm"}
        there = norms.items() if shape.norms == "all" else ()
        self.norms = {short: (w[f"{long}.weight"], w[f"{long}.bias"]) for short, long in there}
        scoring = (w[f"{name}.attention.{part}"] for part in ("distances", "slopes", "sinks"))
        self.near, self.slopes, self.sinks = scoring
        H, sizes = shape.heads, dict.fromkeys(("q", "k", "v", "out"), (D, D))
        sizes |= {"in": (shape.hidden, D), "back": (D, shape.hidden), "head": (shape.vocabulary, D)}
        check_sizes({"distances": (self.near, (H, 2 * shape.reach + 1))})
        check_sizes({"slopes": (self.slopes, (H, 2)), "sinks": (self.sinks, (H,))})
        self.pack(sizes, [np.concatenate([tokens, parts])])


class ReaderValues(ExactValues):
    """Every number of the exact evaluation of situations, as if nothing else were in the text."""

    def __init__(self, network: ReaderNetwork, kinds_BN: Ids, distances_BN: Ids) -> None:
        self.network, self.reader, shape = network, network, network.reader
        self.kept, self.radius, self.B = {}, 0.0, 1
        K, H = len(network.kinds), shape.heads
        x = [[arb(a) + arb(b) for a, b in zip(*pair, strict=True)] for pair in network.kinds]
        self._keep("kinds", x, K)
        y = self._normed("0.attention", x, K)
        q, k, v = (self._linear(f"0.{name}", y, f"0.{name}", K) for name in "qkv")
        self.query_B = kinds_BN[:, -1]
        self.B = B = len(kinds_BN)
        E, root = shape.width // H, arb(shape.width // H).rsqrt()
        mixed: Rows = [[] for _ in range(B)]
        size = (B, H, kinds_BN.shape[1] + 1)
        scores_BHN, weights_BHN = np.full(size, -np.inf), np.zeros(size)
        self.inside_BH = np.zeros((B, H))  # a lower bound of the logarithm of what is seen and the sink weigh
        for b, (kinds, distances) in enumerate(zip(kinds_BN, distances_BN, strict=True)):
            there = [j for j, kind in enumerate(kinds) if kind >= 0]
            for h in range(H):
                e, near = slice(h * E, (h + 1) * E), network.near[h]
                products = [_dot(q[kinds[-1]][e], k[kinds[j]][e]) * root for j in there]
                added = [arb(float(near[distances[j] + shape.reach])) for j in there]
                scores = [a + b for a, b in zip(products, added, strict=True)] + [arb(float(network.sinks[h]))]
                top = max(float(score) for score in scores)
                raised = [(score - top).exp() for score in scores]
                whole = sum(raised, arb(0))
                shares = [each / whole for each in raised]
                values = [v[kinds[j]][e] for j in there]
                mixed[b] += (arb_mat([shares[:-1]]) * arb_mat(values)).tolist()[0]
                at = [*there, kinds_BN.shape[1]]
                scores_BHN[b, h, at] = [float(score) for score in scores]
                weights_BHN[b, h, at] = [float(share) for share in shares]
                self.inside_BH[b, h] = top + float(whole.log().lower()) - 1e-9
        self.scores_BHN, self.weights_BHN = scores_BHN, weights_BHN
        self._keep("0.mixed", mixed, 1)
        x = self._plus("0.x", [x[kind] for kind in self.query_B], mixed, "0.out", 1)
        self._finish(self._fed_forward(0, x, 1), 1, shape.hidden + shape.width)


class ReaderErrors(ErrorBounds):
    """Propagates what rounding in one number format, and everything outside a situation, can change."""

    def __init__(self, network: ReaderNetwork, values: ReaderValues, number_format: str) -> None:
        self.network, self.reader, self.values, self.situations = network, network, values, values
        self.unit, self.least = FORMATS[number_format]
        self.zero_below = ZERO_BELOW[number_format]
        arity = network.texts.task.serves.layout.arity
        self.arity, self.inside = arity, 2 * arity + 2
        self.share = 0.0  # the largest share of attention outside a situation

    def lost(self, kinds_BN: Ids, right_B1: Ids) -> Array:
        """Bound how much the right token's logit may lose against each other's (B1V)."""
        off = self._feed_forward(0, self._attended(kinds_BN))
        return self._lost("0.y", off, right_B1)

    def _attended(self, kinds_BN: Ids) -> Array:
        network, values = self.reader, self.situations
        kept, maps, shape = values.kept, self.reader.maps, self.reader.reader
        x = kept["kinds"]
        off_1K = np.sqrt((self._sum(1, np.abs(x)) ** 2).sum(axis=-1)) * SLACK
        y = self._norm("0.attention", "kinds", off_1K)
        errors = {n: self._linear(y, *maps[f"0.{n}"], more) for n, more in {"q": 6, "k": 6, "v": 2}.items()}
        B, E = len(kinds_BN), shape.width // shape.heads
        rows, query = np.maximum(kinds_BN, 0), values.query_B[:, None]
        r_BN = np.append(y.error[0][rows], np.zeros((B, 1)), axis=1)
        r_BN[:, -1] = y.error[0][values.query_B]  # where `_mixed` finds the query's; the sink's is zero
        exact = kept["0.mixed"]
        total, own_out, moved_out = np.zeros((B, 1)), np.zeros_like(exact), np.zeros_like(exact)
        for h in range(shape.heads):
            e = slice(h * E, (h + 1) * E)

            def part(name: str, at: Ids, e: slice = e) -> tuple[Array, Array, Array, Array]:
                found = [array[0][at][..., e] for array in (kept[f"0.{name}"], *errors[name])]
                return found[0], found[1], found[2], maps[f"0.{name}"][0][e] * y.gain

            q, k, v = part("q", query), _with_nothing(part("k", rows)), _with_nothing(part("v", rows))
            slack = float(sum(np.sqrt((errors[n][1][0][:, e] ** 2).sum(-1)).max() for n in "qk"))
            size = max(float(np.sqrt((kept[f"0.{n}"][0][:, e] ** 2).sum(-1)).max()) for n in "qk") + slack
            rounded = 1000 * self.unit * (size * size + np.abs(network.near[h]).max() + 1)
            off = (slack * size / math.sqrt(E) + rounded) * SLACK
            share, terms = (np.zeros(B), self.inside) if shape.window else self._outside(h, e, off)
            added = np.full((1, 1, kinds_BN.shape[1] + 1), np.abs(network.near[h]).max() + abs(network.sinks[h]))
            units = 8 + 1.01 * (2 * terms + 8)
            seen = Seen(values.weights_BHN[:, h : h + 1], values.scores_BHN[:, h : h + 1], added, units)
            out = maps["0.out"][0][:, e]
            moved, own_out[..., e], moved_out[..., e] = self._mixed(q, k, v, out, seen, r_BN, exact[..., e])
            total += moved
            total[:, 0] += self._moved_outside(share, terms, out, e, errors["v"][1][0], moved_out[:, 0, e])
            moved_out[:, 0, e] += share[:, None] * (np.abs(kept["0.v"][0][:, e]).max(axis=0) + np.abs(exact[:, 0, e]))
            self.share = max(self.share, float(share.max()))
        before = kept["kinds"][0][query]
        inner = exact, own_out, moved_out
        found: Array = (self._out("0.out", before, off_1K[0][query], inner) + total) * SLACK
        return found

    def _outside(self, h: int, e: slice, off: float) -> tuple[Array, int]:
        """Bound the share of attention outside each situation, and how many tokens have a weight that is not zero."""
        network, values, texts = self.reader, self.situations, self.reader.texts
        V, reach, near = len(texts.vocabulary), network.reader.reach, network.near[h]
        q, k = values.kept["0.q"][0][:, e], values.kept["0.k"][0][:, e]
        scores = q[V:] @ k.T / math.sqrt(e.stop - e.start) + values.tiny
        asked, written = (np.array(kinds) for kinds in _places(texts))
        most = [scores[:, kinds].max(axis=1) for kinds in (asked, written)]
        series, ends, places = [arb(0), arb(0)], (near[0], near[-1]), [reach, reach]
        for distance in (d for d in range(-reach, reach + 1) if d not in (0, 1)):
            series[distance > 0] += arb(float(near[distance + reach])).exp()
        for side, slope in enumerate(network.slopes[h].tolist()):
            if not slope > 0:
                return np.ones(len(values.query_B)), self.inside  # everything may lie outside: nothing is proven
            series[side] += arb(float(ends[side])).exp() / arb(slope).expm1()
            own = np.maximum(np.diag(scores[:, V:]) + near[reach], network.sinks[h]) - 2 * off - 2 * values.tiny
            fall = float((np.maximum(*most) - own).max()) + ends[side] - self.zero_below
            places[side] += 1 + math.ceil(max(fall, 0) * 1.001 / slope)
        # Balls hold numbers as small as they come; float64 does not, and scores have no zero point: logarithms only.
        below, both = (float(each.log().upper()) for each in (series[0], series[0] + series[1]))
        logs = np.maximum(math.log(self.arity) + most[0] + both, most[1] + below)
        rest = np.minimum(math.log(self.arity) + most[0] + both, most[1] + below)
        logs = logs + np.log1p(np.exp(rest - logs))
        ratio = np.exp(np.minimum(logs[values.query_B - V] - values.inside_BH[:, h] + 2 * off + 0.001, 50))
        count = self.inside + ((self.arity + 1) * min(sum(places), 10**12) if self.zero_below else 0)
        return np.nan_to_num(ratio / (1 + ratio) * SLACK + 1e-300, nan=1.0), count

    def _moved_outside(self, share: Array, terms: int, out: Array, e: slice, v_off: Array, off: Array) -> Array:
        """Bound how far what is outside moves the stream: share · (a mean of outside values - the mix)."""
        texts, v = self.reader.texts, self.situations.kept["0.v"][0][:, e]
        kinds = np.concatenate([np.array(part) for part in _places(texts)])
        values, mix = v[kinds] @ out.T, self.situations.kept["0.mixed"][:, 0, e] @ out.T
        apart = np.sqrt(((values[None] - mix[:, None]) ** 2).sum(axis=-1)).max(axis=1) + self.situations.tiny
        sizes = [np.abs(part) @ np.abs(out).T for part in (v[kinds], self.situations.kept["0.mixed"][:, 0, e])]
        size = np.sqrt((sizes[0] ** 2).sum(-1)).max() + np.sqrt((sizes[1] ** 2).sum(-1)) + self.situations.tiny
        wrong = np.sqrt((v_off[kinds][:, e] ** 2).sum(-1)).max() + np.sqrt((off**2).sum(-1))
        moved = share * (apart + 0.03 * size + 2 * float(stretch(out)) * wrong) + 64 * terms * self.least * size
        found: Array = np.where(share < 0.01, moved * SLACK, np.inf)
        return found


def _tokens(shape: ReaderConfig, w: dict[str, Array]) -> Array:
    """Return the embedding of each token; a parabola's numbers are rounded to float32 as often as a network rounds."""
    if not shape.curve:
        return w["token_embedding.weight"]
    (top, bend, step), others, count = w["token_embedding.curve"], w["token_embedding.others"], shape.vocabulary - 3
    shares = _single(np.arange(count) / (count - 1))
    squares = _single(_single(2 * shares - 1) ** 2)
    curve = np.stack([_single(top - _single(bend * squares)), _single(step * shares)], axis=1)
    return np.concatenate([curve, np.zeros((3 - len(others), shape.width)), others])


def _single(numbers: Array) -> Array:
    """Round to float32 what one operation on float32 numbers gave in float64: as if it were rounded only once."""
    found: Array = numbers.astype(np.float32).astype(np.float64)
    return found


def _places(texts: Texts) -> tuple[list[int], list[int]]:
    """Return the kinds of tokens that a place of the question and one of the answer can hold."""
    ids, V = texts.ids, len(texts.vocabulary)
    digits = [ids[digit] for digit in texts.task.digits]
    return [*digits, ids["+"]], [V + i for i in (*digits, ids["="])]


def _with_nothing(part: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
    """Append the sink, whose key and value are exactly zero."""
    *arrays, map_ = part
    longer = [np.append(array, np.zeros((len(array), 1, array.shape[-1])), axis=1) for array in arrays]
    return longer[0], longer[1], longer[2], map_


def _dot(a: list[Any], b: list[Any]) -> Any:
    return (arb_mat([a]) * arb_mat([[t] for t in b]))[0, 0]
