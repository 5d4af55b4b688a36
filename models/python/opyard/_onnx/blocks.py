"""Blocks: texts of ONNX operators over operators of aten.

    pointwise Div(Tensor a, Tensor b) {
      if a_floats { a / b } else { a.div(b, rounding_mode="trunc") }
    }
    LeakyRelu(Tensor x; float alpha=0.01) since 6 { leaky_relu(x, alpha) }
    Equal, Same(Tensor a, Tensor b) -> bool { a == b }

A block has the operator's name or names, its inputs, its attributes behind a semicolon, the element
types of its results, the first version of the operator set that it is true of, and a body in the
language of formulas. Of several blocks of one operator the newest one that the file's version has
is taken. `pointwise` says that results have the larger rank of the inputs.

Types of inputs: Tensor, Tensor[] for all that are left, and int, float, bool, int[], float[], whose
values are taken out of a tensor; such an input may also come as an attribute, as in older versions.
A "?" says that it may be left out. In the body, `has_b` says whether an input b is there (one that
is not stands for the first input, in a branch that does not run, or for [] or 0), `a_floats`
whether its elements are floats, `a_rank` how many dimensions it has, `a_dtype` its dtype. What is
known when the file is read is a constant there, and its branches are gone from the graph.

A type of a result is that of an input, by its name, the name of a type, or an attribute's value;
without an arrow it is that of the first input.
"""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Parameter:
    """An input or an attribute."""

    name: str
    type: str
    optional: bool = False
    default: str | None = None


@dataclass(frozen=True)
class Block:
    """One operator of ONNX from one version on."""

    kind: str
    inputs: tuple[Parameter, ...]
    attributes: tuple[Parameter, ...]
    results: tuple[str, ...]
    since: int
    body: str
    pointwise: bool = field(default=False)


_HEAD = re.compile(
    r"\s*(?P<pointwise>pointwise\s+)?(?P<kinds>\w[\w., ]*?)\s*\((?P<inputs>[^;)]*)"
    r"(?:;(?P<attributes>[^)]*))?\)\s*(?:->\s*(?P<results>[\w, ]+?))?\s*"
    r"(?:since\s+(?P<since>\d+))?\s*\{"
)
_PARAMETER = re.compile(
    r"(?P<type>\w+(?:\[\])?)(?P<optional>\?)?\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?"
)
_COMMENT = re.compile(r"#[^\n]*")


def _parameters(text: str | None) -> tuple[Parameter, ...]:
    found = []
    for each in re.split(r",(?![^\[]*\])", text or ""):
        if each.strip():
            match = _PARAMETER.fullmatch(each.strip())
            if match is None:
                raise ValueError(f"{each.strip()!r} is no parameter of a block")
            found.append(
                Parameter(match["name"], match["type"], bool(match["optional"]), match["default"])
            )
    return tuple(found)


def _end_of_body(text: str, at: int) -> int:
    depth = 1
    while depth:
        brace = re.search(r"[{}]", text[at:])
        if brace is None:
            raise ValueError("the body of a block does not end")
        depth += 1 if brace[0] == "{" else -1
        at += brace.end()
    return at


def read_blocks(text: str) -> list[Block]:
    """The blocks of a text. Raises ValueError for what is none."""
    text = _COMMENT.sub("", text)
    found: list[Block] = []
    at = 0
    while text[at:].strip():
        head = _HEAD.match(text, at)
        if head is None:
            raise ValueError(f"no block begins at {text[at : at + 60].strip()!r}")
        end = _end_of_body(text, head.end())
        results = tuple(each.strip() for each in (head["results"] or "").split(",") if each.strip())
        for kind in head["kinds"].split(","):
            found.append(
                Block(
                    kind.strip(),
                    _parameters(head["inputs"]),
                    _parameters(head["attributes"]),
                    results,
                    int(head["since"] or 1),
                    " ".join(text[head.end() : end - 1].split()),
                    bool(head["pointwise"]),
                )
            )
        at = end
    return found


class Table:
    """Blocks by operator; the versions of one, newest first."""

    def __init__(self, *texts: str) -> None:
        self._blocks: dict[str, list[Block]] = {}
        for text in texts:
            for block in read_blocks(text):
                self._blocks.setdefault(block.kind, []).append(block)
        for versions in self._blocks.values():
            versions.sort(key=lambda block: -block.since)

    def find(self, kind: str, version: int) -> Block | None:
        """The block of an operator in this version of the set, or None."""
        return next((b for b in self._blocks.get(kind, ()) if b.since <= version), None)

    def versions(self, kind: str) -> list[Block]:
        """The blocks of an operator, newest first."""
        return self._blocks[kind]

    def kinds(self) -> list[str]:
        """The operators that have a block."""
        return sorted(self._blocks)
