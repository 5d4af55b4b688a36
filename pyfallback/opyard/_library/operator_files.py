"""load_operators(): the operators of a file, in which each is one block of text.

What a block may have: docs/reference/operator_files.md. The file is read by libopyard_jit; here its
blocks are registered.
"""

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from .._core import hooks
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .._core.paths import require_path
from .library import Library

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_BYTES = 4 << 20


class _Text(NamedTuple):
    """A part of a file, and where it begins."""

    text: str
    line: int
    column: int


class _Block(NamedTuple):
    schema: _Text
    doc: str
    tags: "list[str]"
    derivatives: "list[tuple[str, _Text]]"
    body: "_Text | None"


class _File(NamedTuple):
    name: str
    namespace: str
    blocks: "list[_Block]"


# By the real path of their files: one that is loaded again replaces its former self.
_loaded: "dict[str, tuple[_File, Library]]" = {}


def read_operators(path: "str | os.PathLike") -> _File:
    """The blocks of a file. Raises ValueError, with file, line and column; OSError."""
    require_path("load_operators", path)
    name = os.fsdecode(path)
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(content) > MOST_BYTES:
            text = " " * len(content)  # cut inside of a letter; refused for its length
        else:
            raise ValueError(f"{name}: the file is no UTF-8 text: {error}") from None
    namespace, blocks = hooks["parse_operator_file"](text, name)
    return _File(name, namespace, [
        _Block(_Text(*schema), doc, tags, [(of, _Text(*one)) for of, one in derivatives],
               None if body is None else _Text(*body))
        for schema, doc, tags, derivatives, body in blocks
    ])  # fmt: skip


@names_keywords
def load_operators(path: "str | os.PathLike") -> Library:
    """Registers the operators of a file, all or none, and gives the library that they are in.

        load_operators("shop.ops")

    They stay until that is closed. A file that is loaded again replaces its former self, which
    comes back if it has a fault. docs/reference/operator_files.md says what a file has.

    Raises ValueError for what does not parse, for a body or formula that is refused and for an
    unknown tag, RuntimeError for an operator that is defined already, each with file, line and
    column; OSError.
    """
    file = read_operators(path)
    place = os.path.realpath(file.name)
    for each, (_, ended) in list(_loaded.items()):
        if each != place and not ended._end.alive:
            del _loaded[each]
    former, library = _loaded.pop(place, (None, None))
    if library is None or not library._end.alive:
        former = None
    else:
        library._destroy()
    try:
        made = _registered(file)
    except BaseException:
        if former is not None:
            _loaded[place] = former, _registered(former)
        raise
    _loaded[place] = file, made
    return made


def _registered(file: _File) -> Library:
    library = Library(file.namespace, "FRAGMENT")
    try:
        names = [_define(library, file, block) for block in file.blocks]
        for name, block in zip(names, file.blocks, strict=True):
            _differentiate(library, file, name, block)
    except BaseException:
        library._undo()
        raise
    return library


def _define(library: Library, file: _File, block: _Block) -> str:
    from .._core.tags import names_of

    where = f"{file.name}:{block.schema.line}"
    with _placed(file, block.schema, {"": block.body}):
        tags = names_of(block.tags)
        if block.body is None:
            return library._define_at(where, block.schema.text, False, tags, block.doc)
        return library._composite_at(where, block.schema.text, block.body.text, tags, block.doc)


def _differentiate(library: Library, file: _File, name: str, block: _Block) -> None:
    if not block.derivatives:
        return
    formulas = dict(block.derivatives)
    with _placed(file, block.derivatives[0][1], formulas):
        library.derivative(name, {of: formula.text for of, formula in formulas.items()})
        hooks["check_formulas"](_ops.operator_of(name))


_PLACE = re.compile(r"the (?:body|derivative) of \S+?(?: for ([\w, ]+))?:(\d+):(\d+): ")
_KINDS = (ValueError, RuntimeError, LookupError, TypeError)


@contextmanager
def _placed(file: _File, text: _Text, parts: "Mapping[str, _Text | None]") -> "Iterator[None]":
    """Says where in a file an error is: at the line and column that it names in the body, or in the
    formula of an argument, which are `parts`; else where `text` begins."""
    try:
        yield
    except _KINDS as error:
        message = str(error)
        line, column = text.line, text.column
        found = _PLACE.match(message)
        part = parts.get(found[1] or "") if found is not None else None
        if found is not None and part is not None:
            at, within = int(found[2]), int(found[3])
            line, column = part.line + at - 1, within + (part.column - 1 if at == 1 else 0)
        kind = next(kind for kind in _KINDS if isinstance(error, kind))
        raise kind(f"{file.name}:{line}:{column}: {message}") from None
