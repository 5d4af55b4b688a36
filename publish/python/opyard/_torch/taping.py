"""The kernel at PyTorch's Autograd key of a published operator, if it takes no lists of tensors.

[Plain] A call whose tensors have no key below autograd but their backend's, and that no mode sees,
goes straight to the operator: PyTorch's dispatcher has nothing more to say of it. Every other call
goes on there: wrapped tensors, fake ones, traces, functional programs. So does its backward.

torch.library.register_autograd() makes the same of other operators, and serves lists.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _C
from .._publish.gradients import Backward


class PlainCalls:
    """Tells plain calls, see [Plain]."""

    def __init__(self, torch: Any) -> None:
        self.below = torch._C._after_autograd_keyset
        self._keys_of = torch._C._dispatch_keys
        self._mode_count = torch._C._len_torch_dispatch_stack
        self._trace = torch._C._get_tracing_state
        plain = self._keys_of(torch.empty(0))
        with torch.inference_mode():
            inference = self._keys_of(torch.empty(0))
        # Of a tensor; of a call, from which the dispatcher has taken what falls through.
        self._plain = frozenset((plain.raw_repr(), inference.raw_repr()))
        self.plain_calls = (
            torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).raw_repr(),
            (plain & self.below).raw_repr(),
        )

    def are_plain(self, tensors: "Iterable[Any]") -> bool:
        """Whether a call with these tensors, of which some may be None, would be plain now."""
        if self._mode_count() or self._trace() is not None:
            return False
        plain, keys_of = self._plain, self._keys_of
        for tensor in tensors:
            if tensor is not None and keys_of(tensor).raw_repr() not in plain:
                return False
        return True


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

    save_for = _reading(arguments, tensors)
    know_for = _reading(arguments, others)
    # Most derivatives give one gradient, which is wanted if they run at all.
    single = gives[0] if len(gives) == 1 and not backward.missing else -1
    first = 2  # argument of the Function that is one of the operator's
    is_grad_enabled, run_plain, are_plain = torch.is_grad_enabled, backward.run, calls.are_plain

    def forward(ctx: Any, keyset: Any, kwargs: dict, *args: Any) -> Any:
        result = run(keyset, args, kwargs)
        saved = save_for(args, kwargs)
        if results:
            whole = result if isinstance(result, tuple) else (result,)
            saved += [whole[number] for number in results]
        ctx.save_for_backward(*saved)
        if others:
            ctx.opyard_others = know_for(args, kwargs)
        return result

    def gradients_of(ctx: Any, given: tuple, wanted: "list[bool]") -> Any:
        saved = ctx.saved_tensors
        of_results = [given[number] for number in gradients]
        if others:
            known = ctx.opyard_others
            values = [saved[at] if is_saved else known[at] for at, is_saved in where]
        else:
            values = saved
        plain = not is_grad_enabled() and are_plain(of_results) and are_plain(saved)
        return (run_plain if plain else backward_op)(*of_results, *values, wanted)

    def run_backward(ctx: Any, *given: Any) -> Any:
        needs = ctx.needs_input_grad
        answer: list[Any] = [None] * len(needs)
        if single >= 0:
            if first + single < len(needs) and needs[first + single]:
                answer[first + single] = gradients_of(ctx, given, [True])[0]
            return tuple(answer)
        places = [first + number for number in gives]
        wanted = [place < len(needs) and needs[place] for place in places]
        for number in backward.missing:
            if first + number < len(needs) and needs[first + number]:
                backward.refuse_missing(number)
        if any(wanted):
            made = iter(gradients_of(ctx, given, wanted))
            for place, is_wanted in zip(places, wanted, strict=True):
                if is_wanted:
                    answer[place] = next(made)
        return tuple(answer)

    name = backward.op.name().partition("::")[2].replace(".", "_")
    return type(
        name,  # PyTorch adds Backward to it
        (torch.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(run_backward)},
    )


def _reading(
    arguments: "Sequence[Any]", numbers: "list[int]"
) -> "Callable[[tuple, dict], list[Any]]":
    """What gives the arguments of these numbers, of a call by position and by name."""

    def value_of(number: int, args: tuple, kwargs: dict) -> Any:
        if number < len(args):
            return args[number]
        argument = arguments[number]
        return kwargs[argument.name] if argument.name in kwargs else argument.default_value

    def read(args: tuple, kwargs: dict) -> "list[Any]":
        if last < len(args):
            return [args[number] for number in numbers]
        return [value_of(number, args, kwargs) for number in numbers]

    last = max(numbers, default=-1)
    return read
