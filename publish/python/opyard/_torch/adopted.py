"""adopt(): operators that were registered with PyTorch, called by Opyard's dispatcher."""

from collections.abc import Callable, Sequence
from typing import Any

from .. import _C, _gradients
from .._autograd.modes import is_grad_enabled
from .._core.ops import overload_of
from .._library.library import Library
from .._library.shortcuts import register_autograd
from .library import require_torch, torch_dtype
from .meta import Meta

# What is adopted stays until it is undone.
_adopted: "list[Adopted]" = []


class Adopted:
    """What an adopt() did; `operators` are the operators here."""

    def __init__(self, operators: "Sequence[_C.OpOverload]", libraries: Sequence[Any]) -> None:
        self.operators = tuple(operators)
        self._libraries = list(libraries)

    def __repr__(self) -> str:
        return f"adopted: {', '.join(op.name() for op in self.operators)}"

    def __enter__(self) -> "Adopted":
        return self

    def __exit__(self, *args: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Undefines the operators here; PyTorch's stay."""
        while self._libraries:
            self._libraries.pop()._destroy()
        if self in _adopted:
            _adopted.remove(self)


class _Border:
    """Values on their way to PyTorch and back, for one call."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self._given: list[tuple[Any, _C.Tensor]] = []

    def to_torch(self, value: Any, type_: str) -> Any:
        """An argument of this type, tensors on their memory."""
        if isinstance(value, _C.Tensor):
            plain = _gradients.detached(value) if value.requires_grad else value
            made = self.torch.from_dlpack(plain)
            self._given.append((made, value))
            return made
        if isinstance(value, list | tuple):
            return [self.to_torch(one, type_) for one in value]
        return other_to_torch(self.torch, value, type_)

    def from_torch(self, value: Any) -> Any:
        """A result: an argument if it is one, else a tensor on its memory."""
        if isinstance(value, self.torch.Tensor):
            for made, given in self._given:
                if value is made:
                    return given
            return _C.from_dlpack(value.detach())
        if isinstance(value, list | tuple):
            return type(value)(self.from_torch(one) for one in value)
        return value


def other_to_torch(torch: Any, value: Any, type_: str) -> Any:
    """An argument that is no tensor, as PyTorch takes it."""
    if value is None:
        return None
    kind = type_.rstrip("?")
    if kind == "ScalarType" and isinstance(value, _C.dtype):
        return torch_dtype(torch, value)
    if kind == "Device":
        return torch.device(str(value))
    return value


# The types of an operator's arguments by their names, as its schema here says them.
_Types = dict[str, str]


def _call(
    op: Any, types: _Types, convert: Callable[[Any, str], Any], args: tuple, kwargs: dict
) -> Any:
    """PyTorch's operator with converted arguments."""
    return op(
        *[convert(value, type_) for value, type_ in zip(args, types.values(), strict=False)],
        **{name: convert(value, types[name]) for name, value in kwargs.items()},
    )


def _kernel_of(torch: Any, op: Any, types: _Types) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        border = _Border(torch)
        with torch.no_grad():
            return border.from_torch(_call(op, types, border.to_torch, args, kwargs))

    return kernel


def _meta_of(torch: Any, op: Any, types: _Types) -> Callable[..., Any]:
    meta = Meta(torch)

    def to_torch(value: Any, type_: str) -> Any:
        if isinstance(value, list | tuple):
            return [to_torch(one, type_) for one in value]
        if isinstance(value, _C.Tensor):
            return meta.value_out(value, "meta")
        return other_to_torch(torch, meta.number_out(value), type_)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given: list[tuple[Any, _C.Tensor]] = []

        def noted(value: Any, type_: str) -> Any:
            made = to_torch(value, type_)
            if isinstance(value, _C.Tensor):
                given.append((made, value))
            return made

        result = _call(op, types, noted, args, kwargs)
        for made, value in given:
            if result is made:
                return value
        return meta.value_in(result)

    return kernel


def _refusing(op: Any, why: str) -> Callable[..., Any]:
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(f"Trying to backward through {op.name()}: {why}")

    return backward


def _autograd_of(
    torch: Any, op: Any, types: _Types, named: "list[str]"
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """setup_context and backward: PyTorch's operator runs again there, under its own autograd."""

    def setup_context(ctx: Any, inputs: tuple, *rest: Any) -> None:
        # With arguments that are given by name only, these come before the result.
        by_name = rest[0] if named else {}
        for name, value in by_name.items():
            if any(isinstance(one, _C.Tensor) and one.requires_grad for one in _spread(value)):
                raise RuntimeError(
                    f"{op.name()}: argument '{name}', which is given by name only, requires a "
                    "gradient, and has none here: pass detach() of it"
                )
        tensors: list[_C.Tensor] = []
        ctx.inputs = [_without_tensors(value, tensors) for value in inputs]
        ctx.named = {name: _without_tensors(value, tensors) for name, value in by_name.items()}
        ctx.save_for_backward(*tensors)

    def backward(ctx: Any, *gradients: Any) -> Any:
        if is_grad_enabled():
            raise RuntimeError(f"{op.name()}: second gradients do not come from PyTorch")
        saved = ctx.saved_tensors
        inputs = [_with_tensors(value, saved) for value in ctx.inputs]
        leaves: dict[tuple[int, int], Any] = {}

        def leaf(value: Any, place: tuple[int, int], needs: bool, type_: str) -> Any:
            if not isinstance(value, _C.Tensor):
                return other_to_torch(torch, value, type_)
            made = torch.from_dlpack(_gradients.detached(value))
            if needs and (made.is_floating_point() or made.is_complex()):
                leaves[place] = made.requires_grad_()
            return made

        again = []
        for number, (value, type_) in enumerate(zip(inputs, types.values(), strict=False)):
            needs = ctx.needs_input_grad[number]
            if isinstance(value, list | tuple):
                flags = needs if isinstance(needs, list) else [False] * len(value)
                each = enumerate(zip(value, flags, strict=True))
                again.append([leaf(one, (number, at), n, type_) for at, (one, n) in each])
            else:
                again.append(leaf(value, (number, 0), bool(needs), type_))
        by_name = {}
        for name, value in ctx.named.items():
            given = _with_tensors(value, saved)
            made = [leaf(one, (-1, 0), False, types[name]) for one in _spread(given)]
            by_name[name] = made if isinstance(given, list | tuple) else made[0]
        with torch.inference_mode(False), torch.enable_grad():
            results = op(*again, **by_name)
        whole = results if isinstance(results, tuple) else (results,)
        flat = [one for result in whole for one in _spread(result)]
        given = [one for gradient in gradients for one in _spread(gradient)]
        pairs = [
            (result, torch.from_dlpack(gradient))
            for result, gradient in zip(flat, given, strict=True)
            if isinstance(result, torch.Tensor) and result.requires_grad and gradient is not None
        ]
        if not pairs:
            raise RuntimeError(
                f"Trying to backward through {op.name()}, whose results have no gradient in PyTorch"
            )
        roots, weights = zip(*pairs, strict=True)
        made = torch.autograd.grad(roots, list(leaves.values()), weights, allow_unused=True)
        found = dict(zip(leaves, made, strict=True))
        return tuple(
            [_back(found.get((number, at))) for at in range(len(needs))]
            if isinstance(needs, list)
            else _back(found.get((number, 0)))
            for number, needs in enumerate(ctx.needs_input_grad[: len(inputs)])
        )

    return setup_context, backward


class _Saved(int):
    """The place of a tensor among those that are saved."""


def _spread(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _without_tensors(value: Any, tensors: "list[_C.Tensor]") -> Any:
    """A value with the places of its tensors in their place; they are added to `tensors`."""
    if isinstance(value, list | tuple):
        return [_without_tensors(one, tensors) for one in value]
    if isinstance(value, _C.Tensor):
        tensors.append(value)
        return _Saved(len(tensors) - 1)
    return value


def _with_tensors(value: Any, saved: "Sequence[_C.Tensor]") -> Any:
    if isinstance(value, list):
        return [_with_tensors(one, saved) for one in value]
    return saved[value] if isinstance(value, _Saved) else value


def _back(gradient: Any) -> "_C.Tensor | None":
    return None if gradient is None else _C.from_dlpack(gradient.detach().contiguous())


def _overloads(torch: Any, name: str) -> list[Any]:
    namespace, colons, rest = name.partition("::")
    if not colons or not rest:
        raise ValueError(f'adopt: {name!r} is no "ns::name" or "ns::name.overload" of PyTorch')
    base, _, overload = rest.partition(".")
    try:
        packet = getattr(getattr(torch.ops, namespace), base)
        if overload:
            return [getattr(packet, overload)]
        return [getattr(packet, one) for one in packet.overloads()]
    except AttributeError as error:
        raise LookupError(
            f"adopt: PyTorch has no operator {name}; is the package imported that registers it?"
        ) from error


def adopt(name: str) -> Adopted:
    """Defines an operator that PyTorch has here, under its name, with its schema.

    `name` is "ns::name", with all its overloads, or one "ns::name.overload". Calls go through this
    dispatcher, so that modes, traces, profiles and explain() see them; the kernel runs in PyTorch,
    on the memory of the tensors. On Meta PyTorch's own kernel for meta runs. In a backward
    PyTorch's operator runs again, under its autograd.

    Raises ImportError without PyTorch, LookupError if it has no such operator, ValueError for one
    that gives views, whose schema is not understood, or that is defined here already.
    """
    torch = require_torch()
    operators: list[_C.OpOverload] = []
    libraries: list[Any] = []
    try:
        for op in _overloads(torch, name):
            operators.append(_adopt(torch, op, libraries))
    except BaseException:
        Adopted((), libraries).undo()
        raise
    made = Adopted(operators, libraries)
    _adopted.append(made)
    return made


def _adopt(torch: Any, op: Any, libraries: list[Any]) -> "_C.OpOverload":
    schema = op._schema
    full_name = op.name()
    writes = schema.is_mutable
    if any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns):
        raise ValueError(f"adopt: {full_name} gives a view, which the tape here would not know of")
    namespace, _, base = full_name.partition("::")
    made = Library(namespace, "FRAGMENT")
    libraries.append(made)
    made.define(str(schema).partition("::")[2])
    here = overload_of(full_name)
    types = {argument.name: str(argument.real_type) for argument in here._schema.arguments}
    named = [argument.name for argument in here._schema.arguments if argument.kwarg_only]
    # A call without tensors has no backend to go by.
    by_tensors = "Tensor" in types.values()
    key = "CPU" if by_tensors else "CompositeExplicitAutograd"
    made.impl(base, _kernel_of(torch, op, types), key)
    made.impl(base, _meta_of(torch, op, types), "Meta")
    if not writes and any("Tensor" in type_ for type_ in types.values()):
        setup_context, backward = _autograd_of(torch, op, types, named)
        if torch.Tag.nondeterministic_seeded in op.tags:
            backward = _refusing(op, "it draws random numbers, and other ones when it runs again")
        register_autograd(full_name, backward, setup_context=setup_context, lib=made)
    return here
