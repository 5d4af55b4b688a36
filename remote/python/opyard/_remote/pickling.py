"""Pickles between driver and workers: values, what travels by hash, and references.

    ("ref", owner, number)    a Ref
    ("thing", hash)           what the worker has read already; see things.py

are persistent ids; everything else is a pickle of protocol 5. Whoever unpickles runs what it was
sent, as with any pickle: a session trusts its engine to know who may connect.
"""

import io
import pickle
from collections.abc import Callable
from typing import Any, NoReturn

from .._C import Tensor
from . import by_value, things, wire
from .references import Ref

# What most of a message is, and needs no second look.
_PLAIN = frozenset((str, int, float, bool, type(None), bytes, tuple, list, dict, Tensor))


def define(kind: str, digest: str, content: Any) -> Any:
    """Only the name of it is in pickles: an unpickler puts its own in its place."""
    raise RuntimeError(f"{kind} {digest}: what travels by hash is read by workers alone")


class Pickler(pickle.Pickler):
    """Pickles for one receiver."""

    def __init__(
        self,
        stream: Any,
        protocol: int,
        *,
        known: "set[str] | None" = None,
        check: "Callable[[Ref], None] | None" = None,
        buffer_callback: Any = None,
    ) -> None:
        super().__init__(stream, protocol, buffer_callback=buffer_callback)
        self._known = known  # None if what it makes has to be whole
        self._check = check
        self.defined: list[str] = []
        self.refs: list[Ref] = []

    def persistent_id(self, thing: Any) -> Any:
        kind = type(thing)
        if kind in _PLAIN:
            return None
        if kind is Ref:
            if self._check is None:
                raise TypeError(
                    f"{thing!r} is in a function that is sent by value: pass it as an argument"
                )
            self._check(thing)
            self.refs.append(thing)
            return ("ref", thing.owner, thing.number)
        if self._known and isinstance(thing, (things.KINDS, things.Thing)):
            digest = _described(thing).digest
            if digest in self._known or digest in self.defined:
                return ("thing", digest)
        return None

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is Tensor:
            return NotImplemented
        if isinstance(thing, (things.KINDS, things.Thing)):
            made = _described(thing)
            if self._known is not None:
                self.defined.append(made.digest)
            return define, (made.kind, made.digest, pickle.PickleBuffer(made.content))
        return by_value.reduce(thing)


def _described(thing: Any) -> things.Thing:
    return thing if isinstance(thing, things.Thing) else things.describe(thing, dumps)


class Unpickler(pickle.Unpickler):
    """Reads what a Pickler wrote."""

    def __init__(
        self,
        stream: Any,
        *,
        table: things.Table,
        ref: "Callable[[int, int], Ref] | None" = None,
        buffers: Any = (),
    ) -> None:
        super().__init__(stream, buffers=buffers)
        self._table = table
        self._ref = ref

    def find_class(self, module: str, name: str) -> Any:
        if name == "define" and module == __name__:
            return self._table.define
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "ref" and self._ref is not None:
            return self._ref(pid[1], pid[2])
        if pid[0] == "thing":
            return self._table.find(pid[1])
        raise pickle.UnpicklingError(f"a message has an unknown reference: {pid!r}")


def dumps(thing: object) -> bytes:
    """The whole pickle of a function or a shape, in one piece."""
    stream = io.BytesIO()
    Pickler(stream, 5).dump(thing)
    return stream.getvalue()


def loads(content: Any) -> Any:
    """What dumps() was given."""
    return Unpickler(io.BytesIO(content), table=things.Table(loads)).load()


# What pickle raises for a value that has no pickle.
UNSENDABLE = (TypeError, AttributeError, pickle.PicklingError)


def refuse(what: str, error: BaseException) -> NoReturn:
    """Raises the error of a value that has no pickle; what speaks for itself stays as it is."""
    if not str(error).lower().startswith(("cannot pickle", "can't pickle", "can't get")):
        raise error
    raise TypeError(
        f"{what} cannot be sent: {error}; send what it is made of, or make it on the worker, where "
        "remote() keeps it"
    ) from error


def describe_callable(function: Any) -> Any:
    """What is called, as it travels: a function by value once, under the hash of its parts.

    Raises TypeError for what cannot be called, or cannot be sent.
    """
    if isinstance(function, things.KINDS):
        return function
    if not callable(function):
        raise TypeError(
            "session: what is called must be a function, an operator, a graph, compiled code or a "
            f"Model, not {type(function).__name__} {function!r:.80}"
        )
    if by_value.reduce(function) is NotImplemented:
        return function
    try:
        return things.function(dumps(function))
    except UNSENDABLE as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        refuse(f"what the function {name} refers to", error)


def pack(value: object, **options: Any) -> "tuple[list[wire.Frame], Pickler]":
    """The frames of a value, and the pickler that knows what was defined in them."""
    made: list[Pickler] = []

    def pickler(*args: Any, **kwargs: Any) -> Pickler:
        made.append(Pickler(*args, **options, **kwargs))
        return made[0]

    return wire.pack(value, pickler), made[0]


def unpack(frames: wire.Frames, **options: Any) -> Any:
    return wire.unpack(
        frames, lambda stream, buffers: Unpickler(stream, buffers=buffers, **options)
    )
