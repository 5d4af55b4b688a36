"""publish(): operators of Opyard as operators of torch.library."""

import atexit
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .. import _C, _bind
from .._core import ops as _ops
from .._core.queries import RegistrationHandle, on_registration
from .batching import sequential
from .definitions import define, is_of_others
from .gradients import Backward, autograd_of, backward_fake, backward_kernel
from .library import OTHER_CLASSES, other_value, require_torch
from .meta import fake_kernel
from .schemas import Refusal, declaration_for, torch_tags, written_arguments
from .taping import autograd_kernel, reading_kernel, takes_lists, untaped_kernel

# The backends of PyTorch that Opyard knows by the same name: a call with tensors of one goes to the
# kernel at that key, or says that there is none.
_BACKENDS = ("CPU", "CUDA", "XLA", "PrivateUse1")

# A call without tensors has no backend to go by.
_ANY_BACKEND = ("CompositeExplicitAutograd",)

# Publications by the name of each operator in PyTorch, until they are undone.
_published: "dict[str, Published]" = {}


class Published:
    """What a publish() did: a mapping of names in PyTorch to what calls the operators there.

    An operator that writes to arguments has no results in PyTorch; what is here for it gives these
    arguments back. `refused` says of each operator that is not published why.
    """

    def __init__(self, torch: Any, namespace: str, taken: "frozenset[str]") -> None:
        self.namespace = namespace
        self._taken = taken  # names that operators will have here
        self._torch = torch
        self._library: Any = torch.library.Library(namespace, "IMPL")
        self._calls: dict[str, Callable[..., Any]] = {}
        self._refused: dict[str, str] = {}
        self._without_gradient: dict[str, str] = {}
        self._listener: RegistrationHandle | None = None

    @property
    def refused(self) -> Mapping[str, str]:
        """The operators that are not published, with the reasons."""
        return MappingProxyType(self._refused)

    @property
    def without_gradient(self) -> Mapping[str, str]:
        """The published operators whose backward raises, with the reasons."""
        return MappingProxyType(self._without_gradient)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """What calls "ns::name", "ns::name.overload", or the same without the namespace."""
        full = name if "::" in name else f"{self.namespace}::{name}"
        if full in self._calls:
            return self._calls[full]
        why = next(
            (
                why
                for op, why in self._refused.items()
                if op.endswith(f"::{name.rpartition('::')[2]}")
            ),
            "",
        )
        raise KeyError(f"{full} is not published here{': ' + why if why else ''}")

    def __iter__(self) -> Any:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, name: object) -> bool:
        return name in self._calls

    def __repr__(self) -> str:
        lines = [f"{len(self)} operators published into torch.ops.{self.namespace}"]
        lines += [f"  {name}" for name in list(self)[:20]]
        if len(self) > 20:
            lines.append(f"  and {len(self) - 20} more")
        if self._refused:
            lines.append(f"{len(self._refused)} refused")
            lines += [f"  {name}: {why}" for name, why in list(self._refused.items())[:20]]
        return "\n".join(lines)

    def __enter__(self) -> "Published":
        return self

    def __exit__(self, *args: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Takes all kernels back: calls raise from then on, also those of compiled programs.

        PyTorch keeps the schemas, and objects of Python that it made of them, until the process
        ends.
        """
        if self._library is None:
            return
        library, self._library = self._library, None
        self._stop_listening()
        for name in list(self._calls):
            if _published.get(name) is self:
                del _published[name]
        self._calls.clear()
        library._destroy()

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.remove()

    def _add(self, op: "_C.OpOverload") -> None:
        """Publishes one operator. Raises Refusal."""
        torch, library = self._torch, self._library
        base = op.name().partition("::")[2]
        name = f"{self.namespace}::{base}"
        if name in _published:
            raise Refusal(f"it is published as {name} already: undo() that first")
        if is_of_others(torch, name):
            raise Refusal(f"PyTorch has an operator {name}: publish into another namespace, by to=")
        writes = op._schema.is_mutable
        is_taped = not writes and _gives_tensors(op) and _has_tensors(op)
        backward_base = self._backward_name(op, base) if is_taped else ""
        define(torch, self.namespace, declaration_for(torch, op, base), torch_tags(torch, op))
        kernel = _kernel_of(torch, op)
        for key in _BACKENDS if _is_by_tensors(op) else _ANY_BACKEND:
            library.impl(base, kernel, key)
        torch.library.register_fake(name, fake_kernel(torch, op, writes), lib=library)
        call = _overload(torch, name)
        if is_taped and not _has_named_tensors(op):
            self._differentiate(op, backward_base, name)
        elif is_taped or (writes and _has_tensors(op)):
            why = _NO_WRITES if writes else _NO_NAMES
            if is_taped:
                self._without_gradient[name] = why
            refusing = untaped_kernel(torch, op, call, why)
            library.impl(base, refusing, "Autograd", with_keyset=True)
        elif _has_tensors(op):
            library.impl(base, reading_kernel(torch, call), "Autograd", with_keyset=True)
        if not _has_named_tensors(op):  # which torch.library does not take there
            batched = sequential(torch, call, name, _written_places(op))
            torch.library.register_vmap(name, batched, lib=library)
        self._calls[name] = _giving_back(op, call) if writes else call
        _published[name] = self

    def _differentiate(self, op: "_C.OpOverload", base: str, name: str) -> None:
        torch, library = self._torch, self._library
        try:
            backward = Backward(torch, op)
            why = _no_gradient(op, backward)
        except ValueError as error:  # a formula with a fault
            why = str(error)
        if why:
            self._without_gradient[name] = why
            torch.library.register_autograd(name, _refusing(op.name(), why), lib=library)
            return
        tags = [torch.Tag.pt2_compliant_tag]
        define(torch, self.namespace, backward.declaration(base), tags)
        for backend in _BACKENDS:
            library.impl(base, backward_kernel(torch, backward), backend)
        backward_name = f"{self.namespace}::{base}"
        torch.library.register_fake(backward_name, backward_fake(torch, backward), lib=library)
        torch.library.register_autograd(
            backward_name,
            _refusing(backward_name, "second gradients are not published"),
            lib=library,
        )
        backward_op = _overload(torch, backward_name)
        batched = sequential(torch, backward_op, backward_name, ())
        torch.library.register_vmap(backward_name, batched, lib=library)
        if takes_lists(backward):
            setup_context, run = autograd_of(torch, backward, backward_op)
            torch.library.register_autograd(name, run, setup_context=setup_context, lib=library)
        else:
            taping = autograd_kernel(
                torch, _kernel_of(torch, op), _overload(torch, name), backward, backward_op
            )
            library.impl(name.partition("::")[2], taping, "Autograd", with_keyset=True)

    def _backward_name(self, op: "_C.OpOverload", base: str) -> str:
        """A name that no operator has: aten has a silu_backward beside silu. Raises Refusal."""
        here = frozenset(_bind.operator_names())
        base, _, overload = base.partition(".")
        for ending in ("_backward", "_gradient"):
            name = f"{base}{ending}" + (f".{overload}" if overload else "")
            is_free = not is_of_others(self._torch, f"{self.namespace}::{name}")
            if name not in self._taken and is_free and f"{op.namespace}::{name}" not in here:
                return name
        raise Refusal(f"PyTorch has operators {base}_backward and {base}_gradient already")

    def _listen(self, operators: set[str]) -> None:
        """What is undefined here is taken back there."""

        def on_undefined(op: "_C.OpOverload") -> None:
            if op.name() in operators:
                self.undo()

        self._listener = on_registration(on_undefined=on_undefined)


def _overload(torch: Any, name: str) -> Any:
    """The operator "ns::name" or "ns::name.overload" of PyTorch."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


_NO_WRITES = "PyTorch has no gradient for operators of libraries that write"
_NO_NAMES = "PyTorch has no gradient for operators of libraries with tensors that are given by name"


def _gives_tensors(op: "_C.OpOverload") -> bool:
    return any("Tensor" in str(result.type) for result in op._schema.returns)


def _written_places(op: "_C.OpOverload") -> tuple[int, ...]:
    return tuple(n for n, argument in enumerate(op._schema.arguments) if argument.is_write)


def _has_tensors(op: "_C.OpOverload") -> bool:
    return any("Tensor" in str(argument.type) for argument in op._schema.arguments)


def _is_by_tensors(op: "_C.OpOverload") -> bool:
    """Whether each call has a tensor."""
    return any(str(argument.real_type) == "Tensor" for argument in op._schema.arguments)


def _has_named_tensors(op: "_C.OpOverload") -> bool:
    """Whether a tensor is given by name only."""
    return any(
        argument.kwarg_only and "Tensor" in str(argument.type) for argument in op._schema.arguments
    )


def _kernel_of(torch: Any, op: "_C.OpOverload") -> Callable[..., Any]:
    """The operator itself, unless something of a call has to be said otherwise."""
    schema = op._schema
    kernel: Callable[..., Any] = op
    others = any(
        str(argument.real_type).strip("?") in OTHER_CLASSES for argument in schema.arguments
    )
    if others or not _is_by_tensors(op):
        kernel = _converting(torch, op)
    if schema.is_mutable:
        return _without_results(kernel)
    return kernel


def _converting(torch: Any, op: "_C.OpOverload") -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        result = op(
            *[other_value(torch, value) for value in args],
            **{name: other_value(torch, value) for name, value in kwargs.items()},
        )
        return _to_torch(torch, result)

    return kernel


def _to_torch(torch: Any, result: Any) -> Any:
    """A result of an operator that got no tensor of PyTorch, as PyTorch's."""
    if isinstance(result, _C.Tensor):
        return torch.from_dlpack(result)
    if isinstance(result, list | tuple):
        return type(result)(_to_torch(torch, one) for one in result)
    return result


def _without_results(call: Callable[..., Any]) -> Callable[..., None]:
    def kernel(*args: Any, **kwargs: Any) -> None:
        call(*args, **kwargs)

    return kernel


def _written_values(op: "_C.OpOverload", args: tuple, kwargs: dict) -> dict[str, Any]:
    """What was given for the arguments that are written, by name."""
    names = [argument.name for argument in op._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    return {a.name: given[a.name] for a in op._schema.arguments if a.is_write and a.name in given}


def _giving_back(op: "_C.OpOverload", call: Any) -> Callable[..., Any]:
    """`call`, with the written arguments as its results."""
    names = written_arguments(op)

    def called(*args: Any, **kwargs: Any) -> Any:
        call(*args, **kwargs)
        values = _written_values(op, args, kwargs)
        results = tuple(values[name] for name in names)
        return results[0] if len(results) == 1 else results or None

    called.__name__ = called.__qualname__ = op.name().partition("::")[2]
    called.__doc__ = f"{op.declaration}\n\nCalls {call}, which has no results, and gives them."
    return called


def _no_gradient(op: "_C.OpOverload", backward: Backward) -> str:
    """Why an operator that gives new tensors has no gradient in PyTorch; "" if it has one."""
    if backward.is_by_derivative:
        return ""
    if "nondeterministic_seeded" in op.tags:
        return "it draws random numbers, and has no derivative of its own"
    is_composed = any(map(op.has_kernel_for_dispatch_key, _COMPOSED))
    if not is_composed or op.has_kernel_for_dispatch_key("CPU"):
        return "it has no derivative: give it one by derivative() or register_autograd()"
    return ""


_COMPOSED = ("CompositeImplicitAutograd", "Autograd", "AutogradCPU")


def _refusing(name: str, why: str) -> Callable[..., Any]:
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(f"Trying to backward through {name}: {why}")

    return backward


def _operators(what: Any) -> "list[_C.OpOverload]":
    """The operators of a namespace, or those that are named."""
    if isinstance(what, str) and "::" not in what:
        if what == "aten":
            _ops.load_aten()
        else:
            _ops.load_for(f"{what}::")
        names = [name for name in _bind.operator_names() if name.startswith(f"{what}::")]
        if not names:
            raise LookupError(f"no operator {what}::… is defined; is its library loaded?")
        return [_ops.overload_of(name) for name in names]
    if isinstance(what, Iterable) and not isinstance(what, str):
        return [op for one in what for op in _operators(one)]
    if isinstance(what, _C.OpOverloadPacket):
        return [getattr(what, overload) for overload in _ops.overload_names(what)]
    if isinstance(what, str) and "." not in what:
        return _operators(_ops.require_packet(what))
    return [_ops.operator_of(what)]


_at_exit_is_known = False


def _know_exit() -> None:
    """At the end of the process nothing is taken back: PyTorch may be gone."""
    global _at_exit_is_known
    _at_exit_is_known = True

    def stop_listening() -> None:
        for made in set(_published.values()):
            made._stop_listening()

    atexit.register(stop_listening)


def publish(what: Any, *, to: "str | None" = None) -> Published:
    """Makes operators of PyTorch of operators of Opyard.

    `what` is a namespace, as "demo"; an operator or its name, as "demo::scale" with all its
    overloads or "demo::scale.out"; or several of these. They are published under their own names,
    into the namespace `to` if it is given, and stay until the result's undo(), or until one of them
    is undefined here.

    Each gets: the kernels of this library, called with PyTorch's tensors on their memory; a fake
    kernel, by Opyard's for Meta; a gradient, by its derivative; a rule for torch.func.vmap, which
    calls it once for each element of the batch; PyTorch's tags of the same names.

    What PyTorch has no words for is refused, and stands with the reason in the result's `refused`.
    Raises ImportError without PyTorch, LookupError for what is not defined, ValueError if nothing
    could be published.
    """
    torch = require_torch()
    operators = list(dict.fromkeys(_operators(what)))
    namespaces = {op.namespace for op in operators}
    if to is None and len(namespaces) > 1:
        raise ValueError(
            f"publish: operators of {', '.join(sorted(namespaces))} are published into "
            "one namespace, by to=, or one namespace after the other"
        )
    taken = frozenset(op.name().partition("::")[2] for op in operators)
    made = Published(torch, to or namespaces.pop(), taken)
    for op in operators:
        try:
            made._add(op)
        except Refusal as refusal:
            made._refused[op.name()] = str(refusal)
        except BaseException:
            made.undo()
            raise
    if not made:
        made.undo()
        raise ValueError(
            "publish: no operator could be published\n"
            + "\n".join(f"  {name}: {why}" for name, why in made._refused.items())
        )
    if not _at_exit_is_known:
        _know_exit()
    made._listen({op.name() for op in operators if op.name() not in made._refused})
    return made
