"""Source -> mutants: every small change of one file, each named by function and change, never by line.

Docstrings, annotations, imports and decorators are left alone. A message of an error counts once, as a whole.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
_CALLED: Final = {
    "max": "min", "min": "max", "any": "all", "all": "any", "sorted": "list", "rjust": "ljust", "ljust": "rjust",
    "lstrip": "rstrip", "rstrip": "lstrip", "startswith": "endswith", "endswith": "startswith", "ceil": "floor",
}  # fmt: skip
_PLAIN: Final = (ast.Name, ast.Attribute, ast.Call)  # conditions that nothing else changes
MODULE: Final = "<module>"
_UNTOUCHED: Final = ("annotation", "returns", "decorator_list", "type_comment")


@dataclass(frozen=True)
class Mutant:
    """One change of a file; `number` tells equal changes of one function apart."""

    file: str
    function: str
    change: str
    number: int = 1

    @property
    def name(self) -> str:
        """The mutant in one line."""
        return f"{self.file}: {self.function}: {self.change}" + (f" (#{self.number})" if self.number > 1 else "")


@dataclass
class _Site:
    """A place in a tree; `swap` applies the change, and undoes it."""

    function: str
    before: ast.AST  # the text shown
    after: ast.AST
    swap: Callable[[], None]


def mutants_of(source: str, file: str = "") -> list[Mutant]:
    """Return the mutants of a source, in its order.

    >>> [mutant.name for mutant in mutants_of("def f(a):\\n    return a < 1", "f.py")]
    ['f.py: f: return a < 1 -> return None', 'f.py: f: a < 1 -> a <= 1', 'f.py: f: a < 1 -> a < 2']
    """
    found, seen = [], Counter[tuple[str, str]]()
    for site in list(_within(ast.parse(source), MODULE)):
        before = _shown(site.before)
        site.swap()
        change = f"{before} -> {_shown(site.after)}"
        site.swap()  # back again
        function = site.function.removesuffix(":")
        seen[function, change] += 1
        found.append(Mutant(file, function, change, seen[function, change]))
    return found


def mutated(source: str, index: int) -> ast.Module:
    """Return the tree of the mutant with an index in `mutants_of`."""
    tree = ast.parse(source)
    list(_within(tree, MODULE))[index].swap()
    return ast.fix_missing_locations(tree)


def _shown(node: ast.AST) -> str:
    """Return a node as one short line; of a compound statement only its head."""
    text = " ".join(ast.unparse(node).split("\n")[0].split())
    return text if len(text) <= 110 else f"{text[:109]}…"


def _within(node: ast.AST, function: str) -> Iterator[_Site]:
    for field, value in ast.iter_fields(node):
        if field in _UNTOUCHED:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _left_alone(child, node):
                continue
            yield from _of_node(child, node, field, function)
            yield from _within(child, _scope(child, function))


def _scope(node: ast.AST, function: str) -> str:
    """Return the function that a node's children belong to; nested functions count as the outer one."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return function
    if function == MODULE:
        return f"{node.name}{':' * isinstance(node, ast.ClassDef)}"
    return f"{function[:-1]}.{node.name}{':' * isinstance(node, ast.ClassDef)}" if function.endswith(":") else function


def _left_alone(node: ast.AST, parent: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring, or the dots of a stub
            return True
        case ast.ClassDef() if any(ast.unparse(base) == "Protocol" for base in node.bases):
            return True
    return isinstance(parent, ast.JoinedStr | ast.FormattedValue) and not isinstance(
        node, ast.FormattedValue | ast.expr
    )


def _of_node(node: ast.AST, parent: ast.AST, field: str, function: str) -> Iterator[_Site]:
    """Yield the changes of one node itself."""
    inside = not function.endswith(":") and function != MODULE

    def instead(new: ast.AST) -> _Site:
        """Put a new node in place of this one."""
        here = getattr(parent, field)
        at = next(i for i, each in enumerate(here) if each is node) if isinstance(here, list) else None
        held = isinstance(parent, ast.expr | ast.keyword | ast.Assign | ast.AnnAssign)  # shown with its surroundings
        return _Site(function, parent if held else node, parent if held else new, _swapping(parent, field, new, at))

    match node:
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield instead(ast.Return(value=ast.Constant(value=None)))
        case ast.Assign(targets=[ast.Name(), *_], value=value) if inside and not _is_none(value):
            yield instead(ast.Assign(targets=node.targets, value=ast.Constant(value=None), lineno=0))
        case ast.Expr(value=ast.Call()) | ast.Raise(exc=ast.expr()):
            yield instead(ast.Pass())
        case ast.Break():
            yield instead(ast.Continue())
        case ast.Continue():
            yield instead(ast.Break())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield instead(copy.deepcopy(operand))
        case ast.JoinedStr() if not isinstance(parent, ast.FormattedValue):
            yield instead(ast.Constant(value="XX"))
        case ast.Constant(value=value) if not isinstance(parent, ast.JoinedStr | ast.FormattedValue):
            for other in _other_values(value):
                yield instead(ast.Constant(value=other))
    for name, new, at in _other_parts(node):
        yield _Site(function, node, node, _swapping(node, name, new, at))


def _other_parts(node: ast.AST) -> Iterator[tuple[str, object, int | None]]:
    """Yield fields of a node with replacement values, and the index if the field is a list."""
    match node:
        case ast.AugAssign(op=op) | ast.BinOp(op=op) if type(op) in _COMPUTED:
            yield "op", _COMPUTED[type(op)](), None
        case ast.BoolOp(op=op):
            yield "op", ast.Or() if isinstance(op, ast.And) else ast.And(), None
        case ast.Compare(ops=ops):
            for i, compared in enumerate(ops):
                yield "ops", _COMPARED[type(compared)](), i
        case ast.Call(func=called):
            field = "attr" if isinstance(called, ast.Attribute) else "id"
            if getattr(called, field, "") in _CALLED:
                renamed = copy.deepcopy(called)
                setattr(renamed, field, _CALLED[getattr(called, field)])
                yield "func", renamed, None
            for keyword in node.keywords:
                if keyword.arg is not None and len(node.keywords) + len(node.args) > 1:
                    yield "keywords", [each for each in node.keywords if each is not keyword], None
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if isinstance(test, _PLAIN):
            yield "test", ast.UnaryOp(op=ast.Not(), operand=test), None
        case ast.comprehension(ifs=tests):
            for i, test in enumerate(tests):
                if isinstance(test, _PLAIN):
                    yield "ifs", ast.UnaryOp(op=ast.Not(), operand=test), i


def _swapping(node: ast.AST, field: str, new: object, at: int | None) -> Callable[[], None]:
    """Return a function that swaps a field of a node, or one of its items, with a new value, and back."""
    other = [new]

    def swap() -> None:
        holder, key = (vars(node), field) if at is None else (getattr(node, field), at)
        holder[key], other[0] = other[0], holder[key]

    return swap


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _other_values(value: object) -> list[object]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1]
        case float():
            return [2 * value or 1.0]
        case str():
            return [f"XX{value}" if value else "XX"]
        case bytes():
            return [b"XX" + value]
    return []
