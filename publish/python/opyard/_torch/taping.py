"""The kernel at PyTorch's Autograd key of a published operator, if it takes no lists of tensors.

[Plain] A call whose tensors have no key below autograd but their backend's, and that no mode sees,
goes straight to the operator: PyTorch's dispatcher has nothing more to say of it. Every other call
goes on there: wrapped tensors, fake ones, traces, functional programs. So does its backward.

torch.library.register_autograd() makes the same of other operators, and serves lists.
"""

from collections.abc import Callable
from typing import Any

from .. import _C
from .._publish.gradients import Backward


class PlainCalls:
    """Tells plain calls, see [Plain]."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.below = torch._C._after_autograd_keyset
        self._keys_of = torch._C._dispatch_keys
        # Of a tensor; of a call, from which the dispatcher has taken what falls through.
        self.plain = self.keys(torch.empty(0))
        self.plain_calls = (
            torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).raw_repr(),
            self.plain,
        )

    def keys(self, tensor: Any) -> int:
        """The keys of a tensor below autograd, as bits."""
        keys: int = (self._keys_of(tensor) & self.below).raw_repr()
        return keys

    def are_plain(self, tensors: "list[Any]") -> bool:
        """Whether a call with these tensors, of which some may be None, would be plain now."""
        if self._torch._C._len_torch_dispatch_stack() != 0:
            return False
        if self._torch._C._get_tracing_state() is not None:
            return False
        return all(tensor is None or self.keys(tensor) == self.plain for tensor in tensors)


def takes_lists(backward: Backward) -> bool:
    """Whether the operator takes or gives lists of tensors."""
    schema = backward.op._schema
    return any(
        "Tensor" in (text := str(one.real_type)) and "[" in text
        for one in (*schema.arguments, *schema.returns)
    )


def autograd_kernel(
    torch: Any,
    kernel: Callable[..., Any],
    call: Any,
    backward: Backward,
    backward_op: Callable[..., Any],
) -> Callable[..., Any]:
    """What Library.impl(..., "Autograd", with_keyset=True) takes.

    `kernel` runs the operator on plain tensors, `call` and `backward_op` are the operators of
    PyTorch.
    """
    calls = PlainCalls(torch)
    below, plain_calls = calls.below, calls.plain_calls
    is_grad_enabled, any_requires_grad = torch.is_grad_enabled, torch._C._any_requires_grad
    below_autograd = torch._C._AutoDispatchBelowAutograd
    forward_ad = torch.autograd.forward_ad
    taped = _taped(torch, calls, backward, backward_op, lambda *given: run(*given))

    def run(keyset: Any, args: tuple, kwargs: dict) -> Any:
        keys = keyset & below
        if keys.raw_repr() in plain_calls:
            return kernel(*args, **kwargs)
        with below_autograd():
            return call.redispatch(keys, *args, **kwargs)

    def at_autograd(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if forward_ad._current_level >= 0:
            _refuse_tangents(torch, backward.op.name(), args)
        if is_grad_enabled() and any_requires_grad(*args):
            return taped.apply(keyset, kwargs, *args)
        return run(keyset, args, kwargs)

    return at_autograd


def _refuse_tangents(torch: Any, name: str, args: tuple) -> None:
    """Forward mode does not go through an operator of a library. Raises if an argument has one."""
    for value in args:
        if isinstance(value, torch.Tensor):
            if torch.autograd.forward_ad.unpack_dual(value).tangent is not None:
                raise RuntimeError(f"{name}: it has no derivative for forward mode")


def reading_kernel(torch: Any, call: Any) -> Callable[..., Any]:
    """The same for an operator that gives no tensors: it reads, and there is nothing to tape."""
    below = torch._C._after_autograd_keyset

    def at_autograd(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
            return call.redispatch(keyset & below, *args, **kwargs)

    return at_autograd


def untaped_kernel(torch: Any, op: "_C.OpOverload", call: Any, why: str) -> Callable[..., Any]:
    """What Library.impl(..., "Autograd", with_keyset=True) takes if there is no gradient.

    It refuses tensors that require one, and counts the declared writes: PyTorch counts those of its
    own operators on the tensors that the program has, which may be wrappers.
    """
    below = torch._C._after_autograd_keyset
    written = [(n, a.name) for n, a in enumerate(op._schema.arguments) if a.is_write]

    def requires(value: Any) -> bool:
        if isinstance(value, list | tuple):
            return any(map(requires, value))
        return isinstance(value, torch.Tensor) and value.requires_grad

    def at_autograd(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled() and any(map(requires, (*args, *kwargs.values()))):
            raise RuntimeError(
                f"{op.name()}: an argument requires a gradient, and {why}: pass detach() of it, or "
                "call under torch.no_grad()"
            )
        with torch._C._AutoDispatchBelowAutograd():
            result = call.redispatch(keyset & below, *args, **kwargs)
        for number, name in written:
            value = args[number] if number < len(args) else kwargs[name]
            torch.autograd.graph.increment_version(value)
        return result

    return at_autograd


def _taped(
    torch: Any,
    calls: PlainCalls,
    backward: Backward,
    backward_op: Callable[..., Any],
    run: Callable[..., Any],
) -> Any:
    """The torch.autograd.Function of an operator."""
    arguments = backward.op._schema.arguments
    names = [argument.name for argument in arguments]
    defaults = {
        number: argument.default_value
        for number, argument in enumerate(arguments)
        if argument.has_default_value()
    }
    tensors = [
        n for n in backward.arguments if str(arguments[n].real_type) in ("Tensor", "Tensor?")
    ]
    others = [n for n in backward.arguments if n not in tensors]
    results, gradients, gives = backward.results, backward.gradients, backward.gives
    # Where each value of the backward's arguments is, in the order of its declaration.
    where = [
        (tensors.index(n), True) if n in tensors else (others.index(n), False)
        for n in backward.arguments
    ]
    where += [(len(tensors) + place, True) for place in range(len(results))]

    def value_of(number: int, args: tuple, kwargs: dict) -> Any:
        if number < len(args):
            return args[number]
        found = kwargs.get(names[number], kwargs)
        return defaults[number] if found is kwargs else found

    def forward(ctx: Any, keyset: Any, kwargs: dict, *args: Any) -> Any:
        result = run(keyset, args, kwargs)
        saved = [value_of(number, args, kwargs) for number in tensors]
        if results:
            whole = result if isinstance(result, tuple) else (result,)
            saved += [whole[number] for number in results]
        ctx.save_for_backward(*saved)
        ctx.opyard_others = [value_of(number, args, kwargs) for number in others]
        return result

    def run_backward(ctx: Any, *given: Any) -> Any:
        needs = ctx.needs_input_grad[2:]
        for number in backward.missing:
            if number < len(needs) and needs[number]:
                backward.refuse_missing(number)
        wanted = [number < len(needs) and needs[number] for number in gives]
        answer: list[Any] = [None] * (2 + len(needs))
        if not any(wanted):
            return tuple(answer)
        saved, known = ctx.saved_tensors, ctx.opyard_others
        tensors_given = [given[number] for number in gradients]
        values = tensors_given + [saved[at] if is_saved else known[at] for at, is_saved in where]
        if not torch.is_grad_enabled() and calls.are_plain([*tensors_given, *saved]):
            made = [torch.from_dlpack(one) for one in backward.run(values, wanted)]
        else:
            made = backward_op(*values, wanted)
        place = 0
        for number, is_wanted in zip(gives, wanted, strict=True):
            if is_wanted:
                answer[2 + number] = made[place]
                place += 1
        return tuple(answer)

    name = backward.op.name().partition("::")[2].replace(".", "_")
    return type(
        name,  # PyTorch adds Backward to it
        (torch.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(run_backward)},
    )
