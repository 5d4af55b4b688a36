"""Calls: the arguments of an operator as arrays of JAX and constants of the program.

What XLA gets of a call is said in publish/src/xla/call_site.h. Opyard's kernel for Meta says what
the results are like while JAX traces, so that wrong sizes raise there.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _C
from .._core import ops as _ops
from .._publish.schemas import TENSORS, plain_type, spread
from .library import TARGET
from .schemas import constant, text_of


@dataclass(frozen=True)
class Site:
    """A call without its arrays. Equal ones are one program."""

    arguments: str
    given: str
    # For each argument its constant, and its letters as XLA gets them: "-" for a constant.
    values: tuple[Any, ...] = field(compare=False)
    letters: tuple[str, ...] = field(compare=False)

    def first(self, number: int) -> int:
        """The place of an argument's first array among the arrays."""
        return sum(_count(letters) for letters in self.letters[:number])

    def joined(self, arrays: Sequence[Any]) -> list[Any]:
        """A value for each argument: its constant, or its arrays of those of the call."""
        rest = iter(arrays)
        return [
            value if letters == "-" else _taken(letters, rest)
            for value, letters in zip(self.values, self.letters, strict=True)
        ]


def _count(letters: str) -> int:
    return letters.count("t") + letters.count("w")


def _taken(letters: str, rest: Any) -> Any:
    if letters[0] != "[":
        return next(rest)
    return [next(rest) if letter == "t" else None for letter in letters[1:-1]]


class Operator:
    """An operator as JAX calls it."""

    def __init__(self, jax: Any, op: "_C.OpOverload") -> None:
        self.jax = jax
        self.op = op
        self.name = op.name()
        self.arguments = op._schema.arguments
        self.kinds = [plain_type(argument.real_type) for argument in self.arguments]
        self.written = [n for n, argument in enumerate(self.arguments) if argument.is_write]
        # For each result the place of its argument among those that are written; None if it is new.
        self.results = self._results()
        self.is_random = "nondeterministic_seeded" in op.tags
        self.is_pointwise = "pointwise" in op.tags
        self._declaration = op.declaration
        self._signature = inspect.signature(op)
        self._empty = _ops.ops.aten.empty.memory_format

    def _results(self) -> "list[int | None]":
        sets = [set(self.arguments[number].alias_info.before) for number in self.written]
        return [
            None
            if (info := result.alias_info) is None or not info.is_write
            else next(place for place, names in enumerate(sets) if names & set(info.before))
            for result in self.op._schema.returns
        ]

    # ---- Arguments

    def bind(self, args: tuple, kwargs: dict) -> list[Any]:
        """The arguments in the order of the schema, with its defaults. Raises TypeError."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}.\nDeclaration: {self._declaration}") from error
        bound.apply_defaults()
        return [bound.arguments[argument.name] for argument in self.arguments]

    def split(self, values: Sequence[Any]) -> tuple[Site, list[Any]]:
        """What is no array of a call, and its arrays."""
        arrays: list[Any] = []
        letters, given, constants = [], [], []
        for argument, kind, value in zip(self.arguments, self.kinds, values, strict=True):
            what = f"{self.name}(): argument '{argument.name}'"
            made = None
            if kind not in TENSORS or value is None:
                made = constant(self.jax, value, str(argument.real_type), what)
                letters.append("-")
                given.append(f"{argument.real_type} {argument.name}={text_of(made, what)}")
            elif kind.endswith("[]"):
                several = list(value)
                letters.append(f"[{''.join('-' if one is None else 't' for one in several)}]")
                arrays += [self._array(one, what) for one in several if one is not None]
            else:
                letters.append("w" if argument.is_write else "t")
                arrays.append(self._array(value, what))
            constants.append(made)
        site = Site("".join(letters), ", ".join(given), tuple(constants), tuple(letters))
        return site, arrays

    def _array(self, value: Any, what: str) -> Any:
        jax = self.jax
        array = value if isinstance(value, jax.Array) else jax.numpy.asarray(value)
        if not isinstance(getattr(_C, array.dtype.name, None), _C.dtype):
            raise TypeError(
                f"{what} has elements of {array.dtype.name}, which no tensor has: convert it first"
            )
        return array

    # ---- Results

    def outline(self, site: Site, arrays: Sequence[Any]) -> "list[Any]":
        """What is like each result, by the kernel for Meta: a tensor, or a list of tensors.

        What is written comes first, then what is new. Raises what that kernel raises.
        """
        metas = [self._meta(array) for array in arrays]
        values = site.joined(metas)
        for number, kind in enumerate(self.kinds):
            if kind.rstrip("?") == "Device":
                values[number] = "meta"
        result = self.op(
            *(v for v, a in zip(values, self.arguments, strict=True) if not a.kwarg_only),
            **{a.name: v for v, a in zip(values, self.arguments, strict=True) if a.kwarg_only},
        )
        several = result if len(self.results) > 1 else (result,)
        new = [one for one, place in zip(several, self.results, strict=False) if place is None]
        return [metas[site.first(number)] for number in self.written] + new

    def arranged(self, made: "list[Any]") -> Any:
        """The results of a function, of those in the order of outline()."""
        new = iter(made[len(self.written) :])
        given = [next(new) if place is None else made[place] for place in self.results]
        given = given or made[: len(self.written)]  # "-> ()": what is written is the result
        return given[0] if len(given) == 1 else tuple(given)

    def _meta(self, array: Any) -> "_C.Tensor":
        sizes = []
        for size in array.shape:
            if not isinstance(size, int):
                raise TypeError(
                    f"{self.name}(): an array has the symbolic size {size}; operators of Opyard "
                    "are traced with sizes that are known"
                )
            sizes.append(size)
        return self._empty(sizes, dtype=getattr(_C, array.dtype.name), device="meta")

    def like(self, tensor: "_C.Tensor") -> Any:
        """A tensor on Meta as JAX describes arrays: of 64 bits only if JAX has them on."""
        jax = self.jax
        dtype = jax.dtypes.canonicalize_dtype(jax.numpy.dtype(tensor.dtype.name))
        return jax.ShapeDtypeStruct(tuple(tensor.shape), dtype)

    # ---- Programs

    def run(self, site: Site, arrays: Sequence[Any], outline: "list[Any]") -> "list[Any]":
        """The call as a part of a program of XLA; `outline` is what JAX knows of the results."""
        flat = [one for like in outline for one in spread(like)]
        ranks = {len(array.shape) for array in arrays}
        is_whole = self.is_pointwise and len(ranks) == 1 and not self.written
        call = self.jax.ffi.ffi_call(
            TARGET,
            flat,
            vmap_method="broadcast_all" if is_whole else "sequential",
            has_side_effect=self.is_random,
            input_output_aliases={site.first(n): place for place, n in enumerate(self.written)},
        )
        made = iter(
            call(
                *arrays,
                declaration=self._declaration,
                arguments=site.arguments,
                given=site.given,
            )
        )
        return [
            [next(made) for _ in like] if isinstance(like, list | tuple) else next(made)
            for like in outline
        ]

    def __call__(self, site: Site, *arrays: Any) -> Any:
        """The results of a call."""
        outline = [
            [self.like(one) for one in meta] if isinstance(meta, list | tuple) else self.like(meta)
            for meta in self.outline(site, arrays)
        ]
        return self.arranged(self.run(site, arrays, outline))
