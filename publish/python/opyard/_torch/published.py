"""publish(): operators of Opyard as operators of torch.library."""

from collections.abc import Callable
from typing import Any, ClassVar

from .. import _C, _bind
from .._core.keywords import names_keywords
from .._publish.gradients import Backward, why_no_gradient
from .._publish.operators import operators_of
from .._publish.publication import Publication
from .._publish.schemas import Refusal, gives_tensors, has_tensors
from .batching import sequential
from .definitions import define, is_of_others
from .gradients import autograd_of, backward_fake, backward_kernel
from .library import OTHER_CLASSES, other_value, require_torch
from .meta import fake_kernel
from .schemas import declaration_for, torch_tags, written_arguments
from .taping import autograd_kernel, reading_kernel, takes_lists, untaped_kernel

# The backends of PyTorch that Opyard knows by the same name: a call with tensors of one goes to the
# kernel at that key, or says that there is none.
_BACKENDS = ("CPU", "CUDA", "XLA", "PrivateUse1")

# A call without tensors has no backend to go by.
_ANY_BACKEND = ("CompositeExplicitAutograd",)


class Published(Publication):
    """What a publish() did: a mapping of names in PyTorch to what calls the operators there.

    An operator that writes to arguments has no results in PyTorch; what is here for it gives these
    arguments back. `refused` says of each operator that is not published why.
    """

    _place = "torch.ops.{}"
    _all: ClassVar[dict[str, Publication]] = {}

    def __init__(self, torch: Any, namespace: str, taken: "frozenset[str]") -> None:
        super().__init__(namespace)
        self._taken = taken  # names that operators will have here
        self._torch = torch
        self._library: Any = torch.library.Library(namespace, "IMPL")

    def undo(self) -> None:
        """Takes all kernels back: calls raise from then on, also those of compiled programs.

        PyTorch keeps the schemas, and objects of Python that it made of them, until the process
        ends.
        """
        super().undo()

    def _take_back(self) -> None:
        library, self._library = self._library, None
        library._destroy()

    def _add(self, op: "_C.OpOverload") -> None:
        """Publishes one operator. Raises Refusal."""
        torch, library = self._torch, self._library
        base = op.name().partition("::")[2]
        name = f"{self.namespace}::{base}"
        self._refuse_twice(name)
        if is_of_others(torch, name):
            raise Refusal(f"PyTorch has an operator {name}: publish into another namespace, by to=")
        writes = op._schema.is_mutable
        is_taped = not writes and gives_tensors(op) and has_tensors(op)
        backward_base = self._backward_name(op, base) if is_taped else ""
        define(torch, self.namespace, declaration_for(torch, op, base), torch_tags(torch, op))
        kernel = _kernel_of(torch, op)
        for key in _BACKENDS if _is_by_tensors(op) else _ANY_BACKEND:
            library.impl(base, kernel, key)
        torch.library.register_fake(name, fake_kernel(torch, op, writes), lib=library)
        call = _overload(torch, name)
        if is_taped and not _has_named_tensors(op):
            self._differentiate(op, backward_base, name)
        elif is_taped or (writes and has_tensors(op)):
            why = _NO_WRITES if writes else _NO_NAMES
            if is_taped:
                self._without_gradient[name] = why
            refusing = untaped_kernel(torch, op, call, why)
            library.impl(base, refusing, "Autograd", with_keyset=True)
        elif has_tensors(op):
            library.impl(base, reading_kernel(torch, call), "Autograd", with_keyset=True)
        if not _has_named_tensors(op):  # which torch.library does not take there
            batched = sequential(torch, call, name, _written_places(op))
            torch.library.register_vmap(name, batched, lib=library)
        self._know(name, _giving_back(op, call) if writes else call)

    def _differentiate(self, op: "_C.OpOverload", base: str, name: str) -> None:
        torch, library = self._torch, self._library
        try:
            backward = Backward(
                op, OTHER_CLASSES, lambda value: other_value(torch, value), torch.from_dlpack
            )
            why = why_no_gradient(op, backward)
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


def _overload(torch: Any, name: str) -> Any:
    """The operator "ns::name" or "ns::name.overload" of PyTorch."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


_NO_WRITES = "PyTorch has no gradient for operators of libraries that write"
_NO_NAMES = "PyTorch has no gradient for operators of libraries with tensors that are given by name"


def _written_places(op: "_C.OpOverload") -> tuple[int, ...]:
    return tuple(n for n, argument in enumerate(op._schema.arguments) if argument.is_write)


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


def _refusing(name: str, why: str) -> Callable[..., Any]:
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(f"Trying to backward through {name}: {why}")

    return backward


@names_keywords
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
    operators = operators_of(what)
    namespaces = {op.namespace for op in operators}
    if to is None and len(namespaces) > 1:
        raise ValueError(
            f"publish: operators of {', '.join(sorted(namespaces))} are published into "
            "one namespace, by to=, or one namespace after the other"
        )
    taken = frozenset(op.name().partition("::")[2] for op in operators)
    made = Published(torch, to or namespaces.pop(), taken)
    made._add_all(operators)
    return made
