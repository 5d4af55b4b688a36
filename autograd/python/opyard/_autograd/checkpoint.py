"""checkpoint(): a function whose saved tensors are computed again in the backward, not kept.

[Without reentrance] The function runs as ever, with hooks that keep a number in the place of each
tensor that is saved. The first number that a backward needs has the function run again, with hooks
that keep what it saves, by the same numbers, and it stops once it has saved as many. The arguments
are saved by a Function of their own, so that checkpoints inside of checkpoints, and other hooks
around them, pack them, too.

[Reentrant] The function runs without gradients, as the forward of a Function. Its backward runs it
again, taped, and a backward of its own through that.
"""

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C, _gradients
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .._dispatch.autocast import autocast, autocast_states
from .functions import Function
from .modes import enable_grad
from .runs import backward as _backward
from .saved import saved_tensors_hooks


class CheckpointError(RuntimeError):
    """A function that was computed again has saved other tensors than the first time."""


CheckpointError.__module__ = "opyard.autograd"


class _StopError(Exception):
    """Enough was computed again. Ends the function, and no one else sees it."""


def _no_contexts() -> tuple:
    return contextlib.nullcontext(), contextlib.nullcontext()


class _State:
    """What a function reads of its thread: random numbers, if they are to be the same, and
    autocast."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self._autocast = autocast_states()
        self._numbers = _ops.ops.opyard.generator_state(None) if preserve_rng_state else None

    @contextlib.contextmanager
    def again(self) -> Any:
        with contextlib.ExitStack() as stack:
            for device_type, enabled, dtype in self._autocast:
                stack.enter_context(autocast(device_type, enabled, dtype=dtype))
            if self._numbers is not None:
                own = _ops.ops.opyard
                stack.callback(own.set_generator_state, None, own.generator_state(None))
                own.set_generator_state(None, self._numbers)
            yield


def _apart(tensor: "_C.Tensor", requires_grad: bool) -> "_C.Tensor":
    """The same tensor as a leaf."""
    return tensor.detach().requires_grad_() if requires_grad else tensor.detach()


class _SaveArguments(Function):
    """Saves the tensors among some arguments as any call saves them."""

    @staticmethod
    def forward(ctx: Any, seed: "_C.Tensor", *tensors: "_C.Tensor") -> "_C.Tensor":
        ctx.save_for_backward(*tensors)
        return seed.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise AssertionError("no gradient flows to the arguments by way of their being saved")


class _Arguments:
    """The arguments of a call, whose tensors are saved."""

    def __init__(self, args: tuple) -> None:
        self._args = [None if isinstance(one, _C.Tensor) else one for one in args]
        self._places = [i for i, one in enumerate(args) if isinstance(one, _C.Tensor)]
        with enable_grad():  # a function is made, whatever the arguments require
            seed = _ops.ops.aten.zeros([0]).requires_grad_()
            self._saved = _SaveArguments.apply(seed, *(args[place] for place in self._places))
        self._requires = [args[place].requires_grad for place in self._places]

    def take(self) -> list:
        args = list(self._args)
        tensors = self._saved.grad_fn.saved_tensors
        for place, tensor, requires in zip(self._places, tensors, self._requires, strict=True):
            args[place] = _apart(tensor, requires)
        return args


class _Saved:
    """What stands in the graph for one saved tensor."""

    __slots__ = ("__weakref__", "facts", "number")

    def __init__(self, number: int, facts: tuple) -> None:
        self.number = number
        self.facts = facts


def _facts(tensor: "_C.Tensor") -> tuple:
    return tuple(tensor.shape), tensor.dtype, tensor.device


class _Frame:
    """One call of checkpoint() without reentrance."""

    def __init__(
        self,
        function: Callable,
        args: tuple,
        kwargs: dict,
        state: _State,
        again: Any,
        checks: bool,
        stops_early: bool,
    ) -> None:
        self._function = function
        self._args = _Arguments(args)
        self._kwargs = kwargs
        self._state = state
        self._again = again  # the context in which it is computed again
        self._checks = checks
        self._stops_early = stops_early
        self._count = 0
        self._alive: list[weakref.ref[_Saved]] = []
        # By the run: tensors that were computed again and are not used yet.
        self._found: dict[int, dict[int, _C.Tensor]] = {}

    def pack(self, tensor: "_C.Tensor") -> _Saved:
        saved = _Saved(self._count, _facts(tensor))
        self._count += 1
        self._alive.append(weakref.ref(saved))
        return saved

    def unpack(self, saved: _Saved) -> "_C.Tensor":
        run = _gradients.run_number()
        found = self._found.get(run)
        if found is None:
            found = self._compute(run)
        if saved.number not in found:
            raise CheckpointError(
                "checkpoint: a saved tensor was asked for a second time in one backward, and what "
                "is computed again is given once; take ctx.saved_tensors once"
            )
        tensor = found.pop(saved.number)
        if not found or run == 0:  # outside of a run it is looked at alone
            self._found.pop(run, None)
        return tensor

    def _compute(self, run: int) -> "dict[int, _C.Tensor]":
        """Runs the function again; gives what is still wanted of what it saves, by number."""
        wanted = {one.number: one for ref in self._alive if (one := ref()) is not None}
        last = max(wanted)
        found: dict[int, _C.Tensor] = {}
        wrong: list[str] = []
        count = 0

        def pack(tensor: "_C.Tensor") -> "_C.Tensor":
            nonlocal count
            number, count = count, count + 1
            first = wanted.get(number)
            if first is not None:
                found[number] = tensor.detach()
                if self._checks and _facts(tensor) != first.facts:
                    wrong.append(
                        f"tensor {number} was {_said(first.facts)} and is {_said(_facts(tensor))}"
                    )
            if self._stops_early and number == last:
                raise _StopError
            return tensor

        with contextlib.suppress(_StopError), self._state.again(), enable_grad():
            args = self._args.take()
            with saved_tensors_hooks(pack, lambda tensor: tensor), self._again:
                self._function(*args, **self._kwargs)
        if count != (last + 1 if self._stops_early else self._count):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward "
                f"and recomputation: {self._count} the first time, and {count} when it was "
                "computed again; does the function read something that has changed since?"
            )
        if wrong:
            raise CheckpointError(
                "checkpoint: Recomputed values for the following tensors have different metadata "
                f'than during the forward pass: {"; ".join(wrong)}. determinism_check="none" '
                "compares nothing"
            )
        if run != 0:
            _gradients.queue_callback(lambda: self._found.pop(run, None))
        self._found[run] = found
        return found


def _said(facts: tuple) -> str:
    shape, dtype, device = facts
    return f"{list(shape)} of {dtype} on {device}"


class _Reentrant(Function):
    """A function that is run without gradients, and taped when its backward runs it again."""

    @staticmethod
    def forward(ctx: Any, function: Callable, state: _State, *args: Any) -> Any:
        ctx.function, ctx.state = function, state
        ctx.places = [i for i, one in enumerate(args) if isinstance(one, _C.Tensor)]
        ctx.args = [None if isinstance(one, _C.Tensor) else one for one in args]
        ctx.save_for_backward(*(args[place] for place in ctx.places))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        if _gradients.run_has_inputs():
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(): its own backward accumulates for all leaves. "
                "Give use_reentrant=False"
            )
        args = list(ctx.args)
        needs = ctx.needs_input_grad[2:]
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = _apart(tensor, needs[place])
        with ctx.state.again(), enable_grad():
            results = ctx.function(*args)
        outputs = results if isinstance(results, tuple) else (results,)
        pairs = [
            (output, gradient)
            for output, gradient in zip(outputs, gradients, strict=True)
            if isinstance(output, _C.Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        _backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        found = (one.grad if isinstance(one, _C.Tensor) else None for one in args)
        return (None, None, *found)


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    context_fn: "Callable[[], tuple]" = _no_contexts,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Gives function(*args, **kwargs), whose saved tensors are computed again in the backward.

    The graph keeps the tensors among `args` in their place: less memory for one more forward.

    `use_reentrant`: False keeps numbers in the place of tensors, and works with grad(), with
    checkpoints inside of checkpoints and with arguments in lists and dicts. True runs the function
    without gradients, and a backward inside of the backward; it takes tensors among `args` alone,
    no `kwargs`, and backward() without `inputs`. `preserve_rng_state` has random numbers be the
    same again. Without reentrance: `context_fn()` gives two context managers, for the forward and
    for what is computed again; `determinism_check` compares shape, dtype and device of what is
    saved, or "none"; with `early_stop` the function ends once all that is wanted is there.

    Raises ValueError for options that do not go together, NotImplementedError for `debug`; in the
    backward CheckpointError if the function saved other tensors than the first time.
    """
    if not callable(function):
        raise TypeError(
            f"checkpoint: a function is wanted first, not an object of {type(function).__name__}"
        )
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"checkpoint: determinism_check must be 'default' or 'none', not {determinism_check!r}"
        )
    if debug:
        raise NotImplementedError(
            "checkpoint: debug=True is not there; opyard.profiler.profile() shows the operators of "
            "the forward and of what is computed again"
        )
    _ops.load_aten()
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"checkpoint: Unexpected keyword arguments: {', '.join(kwargs)}; a function takes "
                "arguments by name with use_reentrant=False"
            )
        if context_fn is not _no_contexts:
            raise ValueError("checkpoint: context_fn goes with use_reentrant=False alone")
        return _Reentrant.apply(function, _State(preserve_rng_state), *args)
    forward_context, again = context_fn()
    if _gradients.gradient_mode() != 0:  # nothing is saved
        with forward_context:
            return function(*args, **kwargs)
    frame = _Frame(
        function,
        args,
        kwargs,
        _State(preserve_rng_state),
        again,
        checks=determinism_check == "default",
        stops_early=early_stop,
    )
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        return function(*args, **kwargs)


@names_keywords
def checkpoint_sequential(
    functions: "Callable | Sequence[Callable]",
    segments: int,
    input: Any,
    use_reentrant: bool = False,
    *,
    preserve_rng_state: bool = True,
) -> Any:
    """Runs functions one after the other, in segments of which all but the last are checkpoints.

    `functions` are a Sequential, or a sequence of functions of one argument. Raises ValueError for
    a number of segments that is not from 1 to their number.
    """
    children = getattr(functions, "children", None)
    every = list(children() if children is not None else functions)  # type: ignore[arg-type]
    if not 1 <= segments <= len(every):
        raise ValueError(
            f"checkpoint_sequential: segments is {segments}; accepted are 1 to {len(every)}, the "
            "number of functions"
        )
    size = len(every) // segments

    def run(some: list) -> Callable:
        def each(value: Any) -> Any:
            for function in some:
                value = function(value)
            return value

        return each

    for number in range(segments - 1):
        input = checkpoint(
            run(every[number * size : (number + 1) * size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return run(every[(segments - 1) * size :])(input)
