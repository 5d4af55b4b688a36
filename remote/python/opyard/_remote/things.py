"""Graphs, compiled code, Models and functions as text and constants, under the hash of both.

What is sent to a worker the first time travels as a file of `opyard.jit.save()`, or as the parts of
a function; from then on its hash does. A hash is of the content: an object that was changed since
has another one, and travels again. A worker keeps what it has read, by hash; if a function has
written into it there, the next call reads it anew.
"""

import hashlib
import os
import tempfile
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _graphs
from .._core import ops
from .._files.model import Model, load, save
from .._jit.compiled import CompiledFunction
from .._jit.tracing import TracedFunction

KINDS = (_graphs.Graph, _graphs.Code, Model, CompiledFunction, TracedFunction)


class Thing(NamedTuple):
    """What travels once."""

    kind: str
    digest: str
    content: bytes


# The content of things that have no tensors in their text, as of a fingerprint.
_described: "weakref.WeakKeyDictionary[Any, tuple[Any, Thing]]" = weakref.WeakKeyDictionary()


def _thing(kind: str, content: bytes) -> Thing:
    return Thing(kind, hashlib.sha256(kind.encode() + b"\0" + content).hexdigest(), content)


def _saved(thing: "Model | _graphs.Graph") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "thing.safetensors")
        save(thing, path)
        with open(path, "rb") as file:
            return file.read()


def _loaded(content: Any) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "thing.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        return load(path, untrusted=False)


def _fingerprint(thing: Any) -> Any:
    """What changes when a thing is changed; None if that is not known without reading it all."""
    if isinstance(thing, Model):
        state = thing.state_dict()
        text = str(thing.graph)
        marks = tuple((each.data_ptr(), each._version()) for each in state.values())
        return (text, *marks)
    graph = thing if isinstance(thing, _graphs.Graph) else thing.graph
    text = str(graph)
    return None if "<Tensor>" in text else (text,)


def describe(thing: Any, dumps: Callable[[object], bytes]) -> Thing:
    """A thing of one of the KINDS, as what travels. `dumps` pickles functions and shapes."""
    if isinstance(thing, CompiledFunction):
        return _thing("compiled", dumps(thing._function))
    mark = _fingerprint(thing)
    known = _described.get(thing) if mark is not None else None
    if known is not None and known[0] == mark:
        return known[1]
    if isinstance(thing, TracedFunction):
        parts = (thing.__name__, _saved(thing.graph), thing._inputs, thing._outputs)
        made = _thing("traced", dumps(parts))
    elif isinstance(thing, Model):
        made = _thing("model", _saved(thing))
    else:
        is_code = isinstance(thing, _graphs.Code)
        made = _thing("code" if is_code else "graph", _saved(thing.graph if is_code else thing))
    if mark is not None:
        try:
            _described[thing] = (mark, made)
        except TypeError:  # it takes no weak references
            pass
    return made


def build(kind: str, content: Any, loads: Callable[[Any], Any]) -> Any:
    """What describe() described."""
    if kind == "function":
        return loads(content)
    if kind == "block":
        return _graphs.Code(_block_of(str(content, "utf-8")))
    if kind == "compiled":
        return CompiledFunction(loads(content))
    if kind == "traced":
        name, saved, inputs, outputs = loads(content)
        return TracedFunction(name, _loaded(saved).graph, inputs, outputs)
    model = _loaded(content)
    if kind == "model":
        return model
    return _graphs.Code(model.graph) if kind == "code" else model.graph


def block(text: str) -> Thing:
    """The text of a graph without tensors, which is run as a code."""
    return _thing("block", text.encode())


def _block_of(text: str) -> "_graphs.Graph":
    """The graph of a block, with the plugins whose operators it calls."""
    words = text.replace("(", " ").replace("[", " ").split()
    for name in {each for each in words if "::" in each}:
        ops.load_for(name)
    return _graphs.parse_ir(text, "<block>", [], False, False, [])


def function(content: bytes) -> Thing:
    """A pickled function, as what travels."""
    return _thing("function", content)


class Table:
    """What a worker has read, by hash."""

    def __init__(self, loads: Callable[[Any], Any]) -> None:
        self._loads = loads
        self._read: dict[str, tuple[str, Any, Any, Any]] = {}

    def define(self, kind: str, digest: str, content: Any) -> Any:
        made = build(kind, content, self._loads)
        mark = _fingerprint(made) if kind == "model" else None
        # A function has nothing that calls write into but what it refers to, as it had here.
        self._read[digest] = (kind, content if mark is not None else None, made, mark)
        return made

    def find(self, digest: str) -> Any:
        """Raises LookupError for a hash that was not defined here."""
        kind, content, made, mark = self._read[digest]
        if mark is not None and _fingerprint(made) != mark:
            return self.define(kind, digest, content)
        return made

    def forget(self, digests: "list[str]") -> None:
        """Drops what its session will not call by hash any more."""
        for digest in digests:
            self._read.pop(digest, None)

    def __len__(self) -> int:
        return len(self._read)
