"""Gradients: the backward of an operator as an operator.

[Backward] `<name>_backward` takes the gradients of the results, the arguments and results that
the derivative uses, and for each argument with a gradient whether it is wanted; it gives those that
are, one after the other, and as many for a list of tensors as the list has. So a compiler sees an
operator with a schema, and none of the formula's steps.

[Again] An operator without a derivative whose kernel is made of other operators has the gradient
of these: it runs again under Opyard's tape in its backward. One that draws random numbers does not.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import _C, _gradients
from .._autograd import runs
from .._autograd.modes import enable_grad
from .._core import ops as _ops
from .._dispatch.modes import DispatchMode
from .schemas import TENSORS, plain_type, spread

_CONTIGUOUS = 0  # the number of that memory format


def _tensor_of(value: Any) -> Any:
    """An array of another library as a Tensor on its memory, anything else as it is."""
    return _C.from_dlpack(value) if hasattr(type(value), "__dlpack__") else value


class _RefusesRandomNumbers(DispatchMode):
    """A call that runs again must draw nothing: it would draw other numbers."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __opyard_dispatch__(
        self, op: "_C.OpOverload", types: Any, args: tuple = (), kwargs: "dict | None" = None
    ) -> Any:
        if "nondeterministic_seeded" in op.tags:
            raise RuntimeError(
                f"Trying to backward through {self._name}: it calls {op.name()}, which draws "
                "random numbers, and other ones when it runs again; give it a derivative"
            )
        return op(*args, **(kwargs or {}))


class Backward:
    """The backward of an operator: what it takes, and how it runs.

    `arguments`, `results` and `gradients` are the numbers of what it takes, `gives` those of the
    arguments whose gradients it gives, `missing` those of which the derivative says nothing.
    """

    def __init__(
        self,
        op: "_C.OpOverload",
        other_classes: Sequence[str] = (),
        other_value: "Callable[[Any], Any]" = lambda value: value,
        as_theirs: "Callable[[_C.Tensor], Any]" = lambda tensor: tensor,
    ) -> None:
        """Values of the types `other_classes` come as classes of the framework's own, and
        `other_value` makes ours of them; `as_theirs` makes a tensor of the framework. Raises
        ValueError for a formula with a fault."""
        self.op = op
        self._as_theirs = as_theirs
        self._other_value = other_value
        self._arguments = op._schema.arguments
        self._results = op._schema.returns
        self._call = _gradients.derivative_call(op)
        self._tensors = [
            number
            for number, argument in enumerate(self._arguments)
            if plain_type(argument.type) in TENSORS
        ]
        self._has_call = bool(self._call)
        if self._has_call:
            use = self._call.use()
            self.arguments, self.results, self.gradients = use.arguments, use.results, use.gradients
            self.gives, self.missing = use.gives, use.missing
        else:
            self.arguments = list(range(len(self._arguments)))
            self.results, self.gradients = [], list(range(len(self._results)))
            self.gives, self.missing = self._tensors, []
        gradients = len(self.gradients)
        # Places of values whose classes are others in the framework.
        self._others = [
            gradients + place
            for place, number in enumerate(self.arguments)
            if str(self._arguments[number].real_type).strip("?") in other_classes
        ]

    @property
    def is_by_derivative(self) -> bool:
        """Whether the operator has a derivative; else see [Again]."""
        return self._has_call

    def declaration(self, name: str, *, optional: bool = False) -> str:
        """Its schema, under `name`: all arguments can be given by position.

        With `optional` a gradient may be None, which is zero.
        """
        used = {argument.name for argument in self._arguments}
        takes = [self._result("grad", number, used, optional) for number in self.gradients]
        for number in self.arguments:
            argument = self._arguments[number]
            takes.append(f"{plain_type(argument.real_type)} {argument.name}")
        takes += [self._result("result", number, used) for number in self.results]
        wanted = "wanted"
        while wanted in used:
            wanted += "_"
        return f"{name}({', '.join([*takes, f'bool[] {wanted}'])}) -> Tensor[]"

    def _result(self, what: str, number: int, used: set[str], optional: bool = False) -> str:
        name = what if len(self._results) == 1 else f"{what}{number}"
        while name in used:
            name += "_"
        type_ = plain_type(self._results[number].real_type)
        if optional:
            type_ = {"Tensor": "Tensor?", "Tensor[]": "Tensor?[]"}.get(type_, type_)
        return f"{type_} {name}"

    def refuse_missing(self, number: int) -> None:
        """Raises for an argument that requires a gradient and of which the derivative is silent."""
        raise RuntimeError(
            f"{self.op.name()}: its derivative has no formula for its argument "
            f"'{self._arguments[number].name}', which requires a gradient"
        )

    def run(self, *values: Any) -> "list[Any]":
        """The gradients that are wanted, of tensors that can have one.

        `values` are in the order of the declaration, the last one says for each of `gives` whether
        it is wanted. Tensors of the framework give gradients of its kind. Each is contiguous, on
        memory of its own.
        """
        if self._others:
            given = list(values)
            for at in self._others:
                given[at] = self._other_value(given[at])
            values = tuple(given)
        return self._call(*values) if self._has_call else self._again(*values)

    def _again(self, *values: Any) -> "list[Any]":
        """See [Again]."""
        *values_given, wanted = values
        count = len(self._results)
        given = [one for gradient in values_given[:count] for one in spread(gradient)]
        arguments = values_given[count:]
        asked = {number for number, is_one in zip(self.gives, wanted, strict=True) if is_one}
        leaves: list[_C.Tensor] = []

        def leaf(value: Any) -> Any:
            tensor = _tensor_of(value)
            if isinstance(tensor, _C.Tensor) and (
                tensor.dtype.is_floating_point or tensor.dtype.is_complex
            ):
                tensor = _gradients.detached(tensor).requires_grad_()
                leaves.append(tensor)
            return tensor

        again = []
        for number, value in enumerate(arguments):
            make = leaf if number in asked else _tensor_of
            several = isinstance(value, list | tuple)
            again.append([make(one) for one in value] if several else make(value))
        with enable_grad(), _RefusesRandomNumbers(self.op.name()):
            results = self.op(
                *(v for v, a in zip(again, self._arguments, strict=True) if not a.kwarg_only),
                **{a.name: v for v, a in zip(again, self._arguments, strict=True) if a.kwarg_only},
            )
        whole = results if len(self._results) > 1 else (results,)
        flat = [one for result in whole for one in spread(result)]
        pairs = [
            (result, _tensor_of(gradient))
            for result, gradient in zip(flat, given, strict=True)
            if isinstance(result, _C.Tensor) and result.requires_grad and gradient is not None
        ]
        made: Sequence[_C.Tensor | None] = [None] * len(leaves)
        if pairs and leaves:
            roots, gradients = zip(*pairs, strict=True)
            made = runs.grad(roots, leaves, gradients, allow_unused=True)
        aten = _ops.ops.aten
        return [
            self._as_theirs(
                aten.zeros(list(leaf.shape), dtype=leaf.dtype)
                if gradient is None
                else aten.clone(gradient, memory_format=_CONTIGUOUS)
            )
            for leaf, gradient in zip(leaves, made, strict=True)
        ]


def why_no_gradient(op: "_C.OpOverload", backward: Backward) -> str:
    """Why an operator that gives new tensors has no gradient elsewhere; "" if it has one."""
    if backward.is_by_derivative:
        return ""
    if "nondeterministic_seeded" in op.tags:
        return "it draws random numbers, and has no derivative of its own"
    is_composed = any(map(op.has_kernel_for_dispatch_key, _COMPOSED))
    if not is_composed or op.has_kernel_for_dispatch_key("CPU"):
        return "it has no derivative: give it one by derivative() or register_autograd()"
    return ""


_COMPOSED = ("CompositeImplicitAutograd", "Autograd", "AutogradCPU")
