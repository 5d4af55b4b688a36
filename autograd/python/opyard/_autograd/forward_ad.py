"""Forward mode: tensors with tangents, which calls take from arguments to results.

with dual_level():
    y = f(make_dual(x, direction))
    value, slope = unpack_dual(y)      # slope: the Jacobian of f times direction
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _C, _gradients
from .._core import ops as _ops
from .._core.keywords import names_keywords
from . import functions
from .errors import GradientError, GradientTypeError
from .functions import FunctionCtx
from .vectors import as_tuple, require_function, vectors_like


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent, or None."""

    primal: "_C.Tensor"
    tangent: "_C.Tensor | None"


def _guarded(call: Callable, *given: Any) -> Any:
    """A call whose refusals are errors of gradients, too."""
    try:
        return call(*given)
    except ValueError as error:
        raise GradientError(str(error)) from None
    except TypeError as error:
        raise GradientTypeError(str(error)) from None


class _CallTangents:
    """The tangents of the arguments of a Function's call, whose forward sees none of them."""

    def __init__(self, given: tuple, tangents: list) -> None:
        self._given = given
        self._tangents = tangents
        self._left_out = _gradients.begin_primal()

    def end_forward(self) -> None:
        _gradients.end_primal(self._left_out)

    def give(self, cls: type, ctx: FunctionCtx, results: Any) -> Any:
        """The results with the tangents that jvp() computes."""
        zeros_like = _ops.ops.aten.zeros_like
        given = [
            zeros_like(_gradients.primal_of(one))
            if tangent is None and ctx.materialize_grads and _has_tangents(one)
            else tangent
            for one, tangent in zip(self._given, self._tangents, strict=True)
        ]
        left_out = _gradients.begin_primal()
        ctx._in_forward = True
        try:
            found = cls.jvp(ctx, *given)  # type: ignore[attr-defined]
        finally:
            ctx._in_forward = False
            _gradients.end_primal(left_out)
        outputs = list(results) if isinstance(results, tuple) else [results]
        tangents = list(found) if isinstance(found, tuple) else [found]
        if len(tangents) != len(outputs):
            raise GradientError(
                f"{cls.__name__}: jvp gave {len(tangents)} tangents, and forward {len(outputs)} "
                "outputs: it gives a tangent or None for each"
            )
        for number, tangent in enumerate(tangents):
            if tangent is not None:
                outputs[number] = self._with_tangent(cls, ctx, outputs[number], tangent)
        among = [one if isinstance(one, _C.Tensor) else None for one in outputs]
        for saved in ctx._saved or ():  # the backward's gradients depend on these, too
            saved.take_tangents(among)
        return tuple(outputs) if isinstance(results, tuple) else outputs[0]

    def _with_tangent(self, cls: type, ctx: FunctionCtx, output: Any, tangent: Any) -> Any:
        for what, one in (("the output", output), ("its tangent", tangent)):
            if not isinstance(one, _C.Tensor):
                raise GradientTypeError(
                    f"{cls.__name__}: jvp gave a tangent, and {what} is an object of "
                    f"{type(one).__name__}, no Tensor"
                )
        former = _gradients.tangent_of(output)
        if former is not None and any(output is one for one in ctx._dirty):
            former.copy_(tangent)
            return output
        self._require_view(cls, output, tangent)
        if any(output is one for one in self._given) and not any(
            output is one for one in ctx._dirty
        ):
            output = _ops.ops.aten.alias(_gradients.primal_of(output))
        _guarded(_gradients.give_tangent, output, tangent)
        return output

    def _require_view(self, cls: type, output: "_C.Tensor", tangent: "_C.Tensor") -> None:
        """Raises GradientError for a view of an argument whose tangent is none of its tangent: what
        is written to one would be lost to the other."""
        memory = output._memory_key()  # None: no other tensor is on it
        for number, (given, its) in enumerate(zip(self._given, self._tangents, strict=True)):
            if its is None or its is tangent:
                continue
            if given is not output and (memory is None or given._memory_key() != memory):
                continue
            shared = its._memory_key()
            if shared is None or tangent._memory_key() != shared:
                raise GradientError(
                    f"{cls.__name__}: A custom Function's forward is returning a view (or an input "
                    f"as-is), of argument {number}, and jvp is not returning a view of the tangent "
                    "of that, so that a write to one would be lost to the other: give the same "
                    "view of the tangent, or a clone() from forward"
                )


def _has_tangents(value: Any) -> bool:
    return isinstance(value, _C.Tensor) and (
        value.dtype.is_floating_point or value.dtype.is_complex
    )


def _note_tangents(given: tuple) -> "_CallTangents | None":
    """The tangents of a call's arguments, or None if there are none that count here."""
    if not _gradients.has_forward_calls():
        return None
    tangents = [_gradients.tangent_of(one) if isinstance(one, _C.Tensor) else None for one in given]
    return _CallTangents(given, tangents) if any(one is not None for one in tangents) else None


def enter_dual_level() -> int:
    """Opens a level of forward mode on this thread, and gives its number.

    Tangents belong to the level that is open when they are made. There is one level at a time on a
    thread: a second one raises GradientError. exit_dual_level() closes it; dual_level() does both.
    """
    _ops.load_aten()
    level = _guarded(_gradients.enter_forward_level)
    functions.note_tangents = _note_tangents
    return level


@names_keywords
def exit_dual_level(*, level: "int | None" = None) -> None:
    """Closes the level that is open on this thread, and frees its tangents; tensors stay.

    Raises GradientError if none is open, or if `level` is another one.
    """
    _guarded(_gradients.exit_forward_level, _gradients.forward_level() if level is None else level)


class dual_level:
    """A level of forward mode for a `with` statement, which gives its number."""

    def __enter__(self) -> int:
        self._level = enter_dual_level()
        return self._level

    def __exit__(self, *exception: object) -> None:
        exit_dual_level(level=self._level)


def _check_level(function: str, level: "int | None") -> None:
    if level is not None and level != _gradients.forward_level():
        raise GradientError(
            f"{function}: level {level} is not open on this thread; what is open is "
            f"{_gradients.forward_level() or 'none'}"
        )


@names_keywords
def make_dual(
    tensor: "_C.Tensor", tangent: "_C.Tensor", *, level: "int | None" = None
) -> "_C.Tensor":
    """A view of a tensor of floats or complex numbers with a tangent, by which its change is told.

    The tangent has the shape, dtype and device of the tensor. It is copied only if it lies
    otherwise in memory: a write in place to the result writes it as well. Raises GradientError
    outside of dual_level(), for a tensor that has a tangent, and for another shape;
    GradientTypeError for another dtype.
    """
    _check_level("make_dual", level)
    for what, one in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(one, _C.Tensor):
            raise GradientTypeError(
                f"make_dual: {what} must be a Tensor, not an object of {type(one).__name__}"
            )
    return _guarded(_gradients.make_dual, tensor, tangent)


@names_keywords
def unpack_dual(tensor: "_C.Tensor", *, level: "int | None" = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent: None if it has none.

    A tangent is there while the level is open that it was made in.
    """
    _check_level("unpack_dual", level)
    if not isinstance(tensor, _C.Tensor):
        raise GradientTypeError(
            f"unpack_dual: a Tensor is wanted, not an object of {type(tensor).__name__}"
        )
    return UnpackedDualTensor(_gradients.primal_of(tensor), _gradients.tangent_of(tensor))


@names_keywords
def jvp(
    func: Callable,
    primals: "_C.Tensor | tuple[_C.Tensor, ...]",
    tangents: "_C.Tensor | tuple[_C.Tensor, ...]",
) -> "tuple[Any, Any]":
    """The outputs of a function, and the product of its Jacobian with tangents: one run forward.

    `tangents` has the shapes of `primals`. The function gives a Tensor or a tuple of them, and is
    run in a level of its own. Both answers have a graph if what they come of has one. Raises what
    make_dual() raises, and NotImplementedError for an operator that has no rule.
    """
    name = "jvp"
    require_function(name, func)
    several, given = as_tuple(name, "primals", primals)
    vectors = vectors_like(name, tangents, given, "input")
    zeros_like = _ops.ops.aten.zeros_like
    with dual_level():
        duals = [make_dual(one, vector) for one, vector in zip(given, vectors, strict=True)]
        several, outputs = as_tuple(name, "what the function gives", func(*duals))
        pairs = [unpack_dual(one) for one in outputs]
        found = tuple(
            zeros_like(primal) if tangent is None else tangent for primal, tangent in pairs
        )
        primal_outputs = tuple(primal for primal, _ in pairs)
    return (primal_outputs, found) if several else (primal_outputs[0], found[0])
