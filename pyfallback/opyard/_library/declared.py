"""Checks a call against its schema's alias annotations: the arguments that it writes to, and those
that its results alias. opcheck() asks it of a call with copies, check_writes() of the calls of a
program.

[Memory] Two tensors alias if the bytes that they span overlap, so views of one tensor that are side
by side do not, and arrays of others that are in one block do. A tensor without elements aliases
what it is, and nothing else.
"""

from collections.abc import Iterator
from typing import Any

from .._C import Tensor


def tensors_in(value: Any, place: str = "") -> "Iterator[tuple[str, Tensor]]":
    """The tensors in a value, each with where it is: "", "[0]", "['a']"."""
    if isinstance(value, Tensor):
        yield place, value
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from tensors_in(item, f"{place}[{number}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(item, f"{place}[{key!r}]")


_Span = tuple[int, int]


def span_of(tensor: Tensor) -> "_Span | None":
    """The addresses of the first byte and behind the last; None without memory. See [Memory]."""
    try:
        if tensor.numel() == 0 or tensor.data_ptr() == 0:
            return None
    except (RuntimeError, ValueError):  # a wrapper subclass, which has no elements
        return None
    steps = zip(tensor.shape, tensor.strides, strict=True)
    last = sum((size - 1) * stride for size, stride in steps)
    begin = tensor.data_ptr()
    return begin, begin + (last + 1) * tensor.element_size()


def overlap(one: Tensor, other: Tensor) -> bool:
    if one is other:
        return True
    first, second = span_of(one), span_of(other)
    return (
        first is not None and second is not None and first[0] < second[1] and second[0] < first[1]
    )


def elements_of(tensor: Tensor) -> bytes:
    """The elements, row by row."""
    return bytes(memoryview(tensor._bytes())) if span_of(tensor) is not None else b""


def by_name(schema: Any, args: tuple, kwargs: dict) -> "list[tuple[Any, str, Tensor]]":
    """Each tensor with the argument of the schema that it is of, and its place in words."""
    arguments = list(schema.arguments)
    named = {argument.name: argument for argument in arguments}
    given = [*zip(arguments, args, strict=False), *((named[k], v) for k, v in kwargs.items())]
    return [
        (argument, argument.name + place, tensor)
        for argument, value in given
        for place, tensor in tensors_in(value)
    ]


def outputs_of(schema: Any, result: Any) -> tuple:
    """What was returned, one item for each result of the schema."""
    count = len(schema.returns)
    return () if count == 0 else (result,) if count == 1 else tuple(result)


def sets_of(argument: Any) -> "set[str]":
    """The alias sets of an argument or result, before the call and after it, at any depth."""

    def walk(info: Any) -> "set[str]":
        found = set(info.before_set) | set(info.after_set)
        return found.union(*map(walk, info.contained))

    info = argument.alias_info
    return set() if info is None else walk(info)


def share(one: "set[str]", other: "set[str]") -> bool:
    return bool(one & other) or (bool(one and other) and "*" in one | other)


class Watch:
    """The tensors of a call, as they are before it; and what the call did that its schema does not
    say.

    `most` is up to how many bytes a tensor's elements are compared; for larger ones, and for those
    without memory, the number of writes that its storage counts is.
    """

    def __init__(
        self, schema: Any, given: "list[tuple[Any, str, Tensor]]", most: "int | None" = None
    ) -> None:
        self._schema, self._given, self._most = schema, given, most
        self._overlaps = {
            (i, j)
            for i, (_, _, one) in enumerate(given)
            for j, (_, _, other) in enumerate(given)
            if overlap(one, other)
        }
        self._before = [self._state(tensor) for _, _, tensor in given]

    def _state(self, tensor: Tensor) -> tuple:
        size = tensor.numel() * tensor.element_size()
        compared = self._most is None or (isinstance(size, int) and size <= self._most)
        elements = elements_of(tensor) if compared else b""
        # opcheck() looks at what is there: writing the same elements again is no change.
        counted = self._most is not None and not tensor.is_inference()
        version = tensor._version if counted else 0
        return elements, version, tensor.shape, tensor.strides

    def faults(self, outputs: tuple) -> "list[str]":
        """What the call that gave these results did and its schema does not say, a text each."""
        results = [
            (number, place, tensor, sets_of(returned))
            for number, (returned, value) in enumerate(
                zip(self._schema.returns, outputs, strict=self._schema.is_varret is False)
            )
            for place, tensor in tensors_in(value)
        ]
        return [*self._writes(), *self._aliases(results)]

    def _writes(self) -> "Iterator[str]":
        writable = [i for i, (argument, _, _) in enumerate(self._given) if argument.is_write]
        for i, (_, name, tensor) in enumerate(self._given):
            changed = self._before[i] != self._state(tensor)
            if changed and not any((i, j) in self._overlaps for j in writable):
                yield (
                    f"Argument {name} is not defined as mutable but was mutated; write it as "
                    "Tensor(a!) in the schema, or work on a copy"
                )

    def _aliases(self, results: "list[tuple]") -> "Iterator[str]":
        # The arguments that each result may alias, by declaration and because those alias each
        # other.
        given = self._given
        declared = [
            {i for i, (argument, _, _) in enumerate(given) if share(sets, sets_of(argument))}
            for _, _, _, sets in results
        ]
        allowed = [
            {i for i in range(len(given)) for j in own if (i, j) in self._overlaps}
            for own in declared
        ]
        reported = set()
        for at, (_, _, tensor, _) in enumerate(results):
            for i, (_, name, other) in enumerate(given):
                if i in allowed[at] or name in reported or not overlap(tensor, other):
                    continue
                reported.add(name)
                yield (
                    f"Argument {name} is not defined to alias output but was aliasing; give both "
                    "the same alias set in the schema, or return a copy"
                )
        for at, (number, place, tensor, sets) in enumerate(results):
            for later in range(at + 1, len(results)):
                other_number, other_place, other, other_sets = results[later]
                expected = (
                    share(sets, other_sets) or allowed[at] & declared[later]
                    or allowed[later] & declared[at]
                )  # fmt: skip
                if expected or not overlap(tensor, other):
                    continue
                first, second = f"{number}{place}", f"{other_number}{other_place}"
                yield f"Outputs {first} and {second} alias unexpectedly; return a copy of one"
