"""Nested containers as a flat list of tensors and a shape to build them again.

    tensors, shape = flatten({"x": t, "rest": [u, 3]}, "the inputs")
    shape.build([v, w])              {"x": v, "rest": [w, 3]}

Tuples, named tuples, lists and dicts are taken apart, exactly of these types. What is in them
and is no tensor belongs to the shape: two values have the same shape if these are equal.
"""

from collections.abc import Callable, Iterator, Sequence

from .. import _C

_SCALARS = (type(None), bool, int, float, complex, str, bytes, _C.dtype, _C.device)


class Leaf:
    """The place of a tensor."""

    def build(self, tensors: Iterator[object]) -> object:
        return next(tensors)

    def paths(self, path: str) -> Iterator[str]:
        yield path

    def difference(self, other: object, path: str) -> str | None:
        return None if isinstance(other, Leaf) else f"{path} was a Tensor, and now is {other}"

    def __str__(self) -> str:
        return "a Tensor"


class Fixed:
    """A value that is no tensor."""

    def __init__(self, value: object) -> None:
        self.value = value

    def build(self, tensors: Iterator[object]) -> object:
        return self.value

    def paths(self, path: str) -> Iterator[str]:
        return iter(())

    def difference(self, other: object, path: str) -> str | None:
        if isinstance(other, Fixed) and type(other.value) is type(self.value):
            if other.value == self.value or (
                self.value != self.value and other.value != other.value
            ):
                return None
        return f"{path} was {self}, and now is {other}"

    def __str__(self) -> str:
        return repr(self.value)


class Container:
    """A tuple, list or dict; keys are the places of a sequence, or the dict's own."""

    def __init__(self, kind: type, keys: Sequence[object], items: Sequence[object]) -> None:
        self.kind = kind
        self.keys = keys
        self.items = items

    def build(self, tensors: Iterator[object]) -> object:
        items = [item.build(tensors) for item in self.items]  # type: ignore[attr-defined]
        if self.kind is dict:
            return dict(zip(self.keys, items, strict=True))
        if hasattr(self.kind, "_fields"):
            return self.kind(*items)
        return self.kind(items)

    def paths(self, path: str) -> Iterator[str]:
        for key, item in zip(self.keys, self.items, strict=True):
            yield from item.paths(f"{path}[{key!r}]")  # type: ignore[attr-defined]

    def difference(self, other: object, path: str) -> str | None:
        if not isinstance(other, Container) or other.kind is not self.kind:
            return f"{path} was {self}, and now is {other}"
        if len(self.keys) != len(other.keys):
            return f"{path} was {self}, and now is {other}"
        if list(self.keys) != list(other.keys):
            return f"{path} had the keys {list(self.keys)}, and now has {list(other.keys)}"
        for key, mine, its in zip(self.keys, self.items, other.items, strict=True):
            found = mine.difference(its, f"{path}[{key!r}]")  # type: ignore[attr-defined]
            if found is not None:
                return found
        return None

    def __str__(self) -> str:
        return f"a {self.kind.__name__} of {len(self.items)}"


class Shape:
    """How flattened values were nested."""

    def __init__(self, root: object, what: str) -> None:
        self._root = root
        self._what = what

    @property
    def is_leaf(self) -> bool:
        """Whether it is one tensor, and no container."""
        return isinstance(self._root, Leaf)

    def build(self, tensors: Sequence[object]) -> object:
        return self._root.build(iter(tensors))  # type: ignore[attr-defined]

    def paths(self) -> list[str]:
        """Where each tensor is: "the inputs[0]['x']"."""
        return list(self._root.paths(self._what))  # type: ignore[attr-defined]

    def difference(self, other: "Shape") -> str | None:
        """What is another one there, in words, or None."""
        return self._root.difference(other._root, self._what)  # type: ignore[attr-defined]


def flatten(
    value: object, what: str, as_tensor: Callable[[object, str], object]
) -> tuple[list, Shape]:
    """The tensors in a value, in order, and how they are nested.

    `as_tensor` is asked for what is neither a Tensor, a container nor a plain value, with the words
    that say where it is; it gives a tensor, or raises.
    """
    tensors: list = []
    open_containers: set[int] = set()

    def walk(item: object, path: str) -> object:
        if isinstance(item, _C.Tensor):
            tensors.append(item)
            return Leaf()
        kind = type(item)
        if kind in (list, dict, tuple) or (isinstance(item, tuple) and hasattr(kind, "_fields")):
            if id(item) in open_containers:
                raise ValueError(f"{path} contains itself")
            open_containers.add(id(item))
            keys = list(item) if kind is dict else range(len(item))  # type: ignore[arg-type,call-overload]
            values = item.values() if kind is dict else item  # type: ignore[attr-defined]
            items = [walk(each, f"{path}[{key!r}]") for key, each in zip(keys, values, strict=True)]  # type: ignore[call-overload]
            open_containers.discard(id(item))
            return Container(kind, keys, items)
        if isinstance(item, _SCALARS):
            return Fixed(item)
        tensors.append(as_tensor(item, path))
        return Leaf()

    return tensors, Shape(walk(value, what), what)
