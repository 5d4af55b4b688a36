"""Gradients: jax.custom_vjp with an operator's derivative.

The backward is an operator as well, of the namespace opyard_jax_<ns>, which programs call as they
call others; _publish/gradients.py says what it takes. It is told which gradients are wanted. One
that is zero, because nothing depends on a result, is None.

[Conjugates] For complex numbers a cotangent of JAX is the conjugate of a gradient here.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .._publish.gradients import Backward
from .._publish.schemas import spread
from .calls import Operator, Site


def differentiable(
    operator: Operator, call: Callable[..., Any], backward: "BackwardCall | None", why: str
) -> Callable[..., Any]:
    """`call`, of a Site and arrays, with a gradient; without `backward` that raises, saying why."""
    jax = operator.jax
    made = jax.custom_vjp(call, nondiff_argnums=(0,))

    def forward(site: Site, *given: Any) -> tuple[Any, Any]:
        arrays = [one.value for one in given]
        wanted = [one.perturbed for one in given]
        result = made(site, *arrays)  # for the gradient of a gradient
        is_smooth = any(_is_inexact(jax, one) for one in jax.tree_util.tree_leaves(result))
        if not is_smooth or not any(wanted):
            return result, None
        if backward is None:
            raise TypeError(f"{operator.name}() has no gradient in JAX: {why}")
        return result, backward.saved(site, arrays, result, wanted)

    def run_backward(site: Site, saved: Any, cotangents: Any) -> Any:
        if saved is None or backward is None:
            return (None,) * _count(site)
        return backward.run(site, saved, cotangents)

    made.defvjp(forward, run_backward, symbolic_zeros=True)
    function: Callable[..., Any] = made
    return function


def _count(site: Site) -> int:
    return site.first(len(site.letters))


def _is_inexact(jax: Any, array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, jax.numpy.inexact))


class BackwardCall:
    """The backward of an operator, in programs of XLA."""

    def __init__(self, operator: Operator, backward: Backward, run: Operator) -> None:
        self._jax = operator.jax
        self._operator = operator
        self._backward = backward
        self._run = run
        self._saved_arguments = frozenset(backward.arguments)

    def saved(self, site: Site, arrays: "list[Any]", result: Any, wanted: "list[bool]") -> Any:
        """What the backward needs; None and () stand for False and True, which JAX keeps apart."""
        values = site.joined(arrays)
        results = result if isinstance(result, tuple) else (result,)
        return (
            [values[n] if site.letters[n] != "-" else None for n in self._backward.arguments],
            [results[number] for number in self._backward.results],
            [() if one else None for one in wanted],
        )

    def run(self, site: Site, saved: Any, cotangents: Any) -> tuple[Any, ...]:
        """A gradient for each array of the call; None is zero."""
        backward, jax = self._backward, self._jax
        arrays, results, marks = saved
        flags = site.joined([mark is not None for mark in marks])
        wanted_of = [
            letters != "-" and any(flag for flag in spread(flags[number]) if flag)
            for number, letters in enumerate(site.letters)
        ]
        for number in backward.missing:
            if wanted_of[number]:
                backward.refuse_missing(number)
        wanted = [wanted_of[number] for number in backward.gives]
        if not any(wanted):
            return (None,) * len(marks)
        of_results = cotangents if len(self._operator.results) > 1 else (cotangents,)
        arguments = [
            site.values[n] if site.letters[n] == "-" else array
            for n, array in zip(backward.arguments, arrays, strict=True)
        ]
        given = [_gradient(jax, of_results[number]) for number in backward.gradients]
        call, flat = self._run.split([*given, *arguments, *results, wanted])
        by_number = dict(zip(backward.arguments, arguments, strict=True))
        # Where each gradient belongs, and what it is like.
        places, outline = [], []
        for number, is_wanted in zip(backward.gives, wanted, strict=True):
            if not is_wanted:
                continue
            present = [one for one in spread(by_number[number]) if one is not None]
            for place, array in enumerate(present, site.first(number)):
                if _is_inexact(jax, array):
                    places.append(place)
                    outline.append(jax.ShapeDtypeStruct(array.shape, array.dtype))
        [made] = _once(jax, self._operator.name, self._run, call, [outline])(*flat)
        answer: list[Any] = [None] * len(marks)
        for place, gradient in zip(places, made, strict=True):
            if marks[place] is not None:
                answer[place] = _conjugate(jax, gradient)
        return tuple(answer)


def _once(
    jax: Any, name: str, run: Operator, site: Site, outline: "list[Any]"
) -> Callable[..., Any]:
    """The call of a backward, of arrays; it has no gradient itself."""
    call = jax.custom_jvp(lambda *arrays: run.run(site, arrays, outline))

    @call.defjvp
    def refuse(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        raise TypeError(f"{name}(): second gradients are not published")

    function: Callable[..., Any] = call
    return function


def _gradient(jax: Any, cotangent: Any) -> Any:
    """The gradient of a result, or of each of a list; None is zero."""
    if isinstance(cotangent, list | tuple):
        return [_gradient(jax, one) for one in cotangent]
    if isinstance(cotangent, jax.custom_derivatives.SymbolicZero):
        return None
    return None if cotangent.dtype == jax.dtypes.float0 else _conjugate(jax, cotangent)


def _conjugate(jax: Any, array: Any) -> Any:
    """See [Conjugates]."""
    is_complex = jax.numpy.issubdtype(array.dtype, jax.numpy.complexfloating)
    return jax.numpy.conj(array) if is_complex else array
