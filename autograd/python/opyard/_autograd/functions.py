"""Function: an operation whose backward is written in Python.

class Square(opyard.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 2

y = Square.apply(x)
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _C, _gradients
from .._core import ops as _ops
from .._core.late import loaded
from .._core.parameters import signature_of
from .errors import GradientError, GradientTypeError
from .saved import SavedTensor

_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Give keep_graph=True (retain_graph=True) the first time to run "
    "it again"
)

# What notes the tangents of a call's arguments, once a level of forward mode was opened: given by
# forward_ad.py.
note_tangents: "Callable | None" = None


class FunctionCtx:
    """What a Function's forward keeps for its backward. Any attribute may be set."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool | list[bool], ...] = ()
        self.materialize_grads = True
        self._to_save: tuple = ()
        self._saved: list | None = []
        self._for_forward: tuple | None = None
        self._in_forward = False  # jvp() runs
        self._dirty: tuple = ()
        self._non_differentiable: tuple = ()
        # The function that runs, once for each thread that runs it: each takes its own off.
        self._running: list[_gradients.Function] = []

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def save_for_backward(self, *tensors: "_C.Tensor | None") -> None:
        """Keeps tensors; whether they were written since is found in `saved_tensors`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, _C.Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(tensor).__name__}; other things can be attributes of the context"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: "_C.Tensor | None") -> None:
        """Keeps tensors for jvp(), which finds them in `saved_tensors`."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors: "_C.Tensor") -> None:
        """These inputs were written in place, and are returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: "_C.Tensor") -> None:
        """These outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros for an output that was not used, or None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> "tuple[_C.Tensor, ...]":
        """What was saved, or None. Raises ValueError if it was written since, or freed."""
        if self._in_forward and self._for_forward is not None:
            return self._for_forward
        held = self._saved  # read once: another thread's run may free it
        if held is None:
            raise RuntimeError(_FREED)
        if self._to_save:
            return tuple(self._to_save)
        running = self._running[-1:]  # at once: another thread's run may end
        function = running[0] if running else None
        return tuple(saved.take_out(function) for saved in held)

    @property
    def _raw_saved_tensors(self) -> "tuple[SavedTensor, ...]":
        """What was saved, as SavedTensors, which take hooks."""
        held = self._saved
        if held is None:
            raise RuntimeError(_FREED)
        return tuple(SavedTensor(None if one.is_none() else one.pack) for one in held)

    def _keep(self, outputs: list) -> None:
        """Saves what save_for_backward() was given, now that the outputs are known."""
        saved = []
        for tensor in self._to_save:
            number = next((i for i, one in enumerate(outputs) if one is tensor), -1)
            saved.append(_gradients.save(tensor, number >= 0, max(number, 0)))
        self._saved = saved
        self._to_save = ()


def _same(tensor: object, among: tuple) -> bool:
    return any(tensor is one for one in among)


def _is_differentiable(tensor: "_C.Tensor") -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def like_of(output: object) -> "Callable | None":
    """What makes zeros like an output, whether it has a gradient or not; None for no Tensor."""
    if not isinstance(output, _C.Tensor):
        return None
    shape, dtype, device = list(output.shape), output.dtype, output.device

    def make() -> "_C.Tensor":
        return _ops.ops.aten.zeros(shape, dtype=dtype, device=device)

    return make


def materialized(gradients: tuple, likes: list) -> tuple:
    """Gradients with zeros for those of outputs that were not used."""
    return tuple(
        like() if one is None and like is not None else one
        for one, like in zip(gradients, likes, strict=False)
    )


class _Backward:
    """What the engine calls: a class's backward with its context. Gives a tuple."""

    def __init__(
        self, call: Callable, ctx: FunctionCtx, positions: list, count: int, name: str
    ) -> None:
        self._call = call
        self._ctx = ctx
        self._positions = positions  # of inputs, those that are tensors
        self._count = count  # of inputs
        self._name = name
        self._likes: list = []  # for each output what makes zeros like it, or None

    def __call__(self, function: "_gradients.Function", gradients: tuple) -> tuple:
        ctx = self._ctx
        if ctx.materialize_grads:
            gradients = materialized(gradients, self._likes)
        ctx._running.append(function)
        try:
            results = self._call(ctx, *gradients)
        finally:
            ctx._running.pop()
        if not isinstance(results, tuple):
            results = (results,)
        while len(results) > self._count and results[-1] is None:
            results = results[:-1]
        if len(results) != self._count:
            raise RuntimeError(
                f"function {self._name} returned an incorrect number of gradients (expected "
                f"{self._count}, got {len(results)})"
            )
        for position, result in enumerate(results):
            if result is not None and position not in self._positions:
                raise RuntimeError(
                    f"function {self._name} returned a gradient different than None at position "
                    f"{position + 1}, but the argument of forward there is no Tensor"
                )
        return tuple(results[position] for position in self._positions)


def _backward_of(cls: "type[Function]") -> Callable:
    """The class's backward, which may be called vjp. Raises RuntimeError if it has both."""
    vjp = getattr(cls, "vjp", None)
    if vjp is None:
        return cls.backward
    if cls.backward is not Function.backward:
        raise RuntimeError(
            f"{cls.__name__}: Implementing both 'backward' and 'vjp' for a custom Function is not "
            "allowed: they are two names of one method; keep one of them"
        )
    return vjp  # type: ignore[no-any-return]


class _FunctionMeta(type):
    """Gives each class the name that its functions have in a graph."""

    def __init__(cls, name: str, bases: tuple, attributes: dict) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_name = name + "Backward"


class Function(metaclass=_FunctionMeta):
    """The base of operations with a backward of their own; see the module's head."""

    _backward_name = "FunctionBackward"

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """forward(ctx, ...), or forward(...) if the class has a setup_context."""
        raise NotImplementedError("You must implement the forward function for custom Function.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """backward(ctx, *gradients): a gradient, or None, for each argument of forward.

        It may be called vjp, as beside a jvp; a class that has both raises RuntimeError.
        """
        raise NotImplementedError(
            "the Function has no backward: write backward(ctx, *gradients), or vjp, which gives a "
            "gradient or None for each argument of forward"
        )

    @staticmethod
    def jvp(*args: Any, **kwargs: Any) -> Any:
        """jvp(ctx, *tangents): a tangent, or None, for each output, in forward mode.

        It is given a tangent for each argument of forward, and None for what is no Tensor.
        """
        raise NotImplementedError(
            "the Function has no jvp, and an argument has a tangent: write jvp(ctx, *tangents), "
            "which gives a tangent or None for each output of forward"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises GradientTypeError: a Function has no instances that are called."""
        name = type(self).__name__
        raise GradientTypeError(
            f"{name}: a Function is applied by its class: {name}.apply(...), and its forward and "
            "backward are static methods; an instance of it is not called"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward, and tapes it if an argument requires a gradient.

        Backward gives a gradient, or None, for each positional argument and then for each keyword.
        """
        graphs = loaded("opyard._graphs")  # by a trace
        if graphs is not None and graphs.traces_calls():
            taped = _apply_traced(graphs, cls, args, kwargs)
            if taped is not None:
                return taped
        ctx = FunctionCtx()
        setup = getattr(cls, "setup_context", None)
        if setup is not None:  # it gets the defaults, too
            bound = signature_of(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        given = (*args, *kwargs.values()) if kwargs else args
        needs = tuple(isinstance(arg, _C.Tensor) and arg.requires_grad for arg in given)
        ctx.needs_input_grad = needs
        any_needs = any(needs)
        tangents = None if note_tangents is None else note_tangents(given)
        former = _gradients.begin_forward()  # nothing in front of the try may need memory
        is_taped = former == 0 and any_needs
        try:
            if setup is None:
                results = cls.forward(ctx, *args, **kwargs)
            else:
                results = cls.forward(*args, **kwargs)
                setup(ctx, given, results)
        finally:
            _gradients.set_gradient_mode(former)
            if tangents is not None:
                tangents.end_forward()
        for one in ctx._dirty:
            _gradients.count_write(one)
        if is_taped:
            results = _tape(cls, ctx, given, results)
        elif any_needs:
            results = _without_history(given, results)
        return results if tangents is None else tangents.give(cls, ctx, results)


class _ApplyByName:
    """apply() with arguments by name, as a graph calls it: with all of them by position."""

    def __init__(self, cls: "type[Function]", names: "tuple[str, ...]") -> None:
        self._cls = cls
        self._names = names

    def __call__(self, *given: Any) -> Any:
        count = len(given) - len(self._names)
        return self._cls.apply(*given[:count], **dict(zip(self._names, given[count:], strict=True)))


def _apply_traced(graphs: Any, cls: "type[Function]", args: tuple, kwargs: dict) -> Any:
    """The results of apply(), which is one node of the graph that is traced; None if there
    will be none, as compile() takes it. Raises NotImplementedError for what a graph cannot hold."""
    name = cls.__name__
    given = (*args, *kwargs.values())
    for number, item in enumerate(given):
        if not isinstance(item, _C.Tensor) and _holds_tensor(item):
            why = (
                f"{name}: argument {number} is of type {type(item).__name__} and holds tensors, "
                "which a graph would keep as they are; a function of a graph takes Tensors one by "
                "one"
            )
            if graphs.give_up(why):
                return None
            raise NotImplementedError(why)
    calling = "".join("t" if isinstance(item, _C.Tensor) else "s" for item in given)
    needs = [int(item.requires_grad) for item in given if isinstance(item, _C.Tensor)]
    function = _ApplyByName(cls, tuple(kwargs)) if kwargs else cls.apply
    return graphs.call_function(function, name, given, calling, needs)


def _holds_tensor(item: object) -> bool:
    if isinstance(item, dict):
        return any(_holds_tensor(one) for one in item.values())
    if isinstance(item, (list, tuple, set, frozenset)):
        return any(_holds_tensor(one) for one in item)
    return isinstance(item, _C.Tensor) or _C.tensor_for(item) is not None


def _without_history(args: tuple, results: Any) -> Any:
    """The results of a forward without gradients: inputs that it hands through are given as views,
    which require none."""

    def each(output: object) -> object:
        if not isinstance(output, _C.Tensor) or not _same(output, args):
            return output
        return _ops.ops.aten.alias(output) if output.requires_grad else output

    if isinstance(results, tuple):
        return tuple(each(output) for output in results)
    return each(results)


def _tape(cls: "type[Function]", ctx: FunctionCtx, args: tuple, results: Any) -> Any:
    """Gives the results of a forward their history."""
    outputs = list(results) if isinstance(results, tuple) else [results]
    positions = [i for i, arg in enumerate(args) if isinstance(arg, _C.Tensor)]
    for one in ctx._dirty:
        if not _same(one, args):
            raise RuntimeError(
                f"{cls.__name__}: mark_dirty() was given a tensor that is no input of forward"
            )
        if not _same(one, tuple(outputs)):
            raise RuntimeError(
                f"{cls.__name__}: an input that was marked dirty has to be returned by forward"
            )
        if _is_differentiable(one):
            try:
                _gradients.begin_write(one, cls.__name__)
            except ValueError as error:
                raise GradientError(str(error)) from None
    name = cls._backward_name
    backward = _Backward(_backward_of(cls), ctx, positions, len(args), name)
    inputs = [args[i] for i in positions]
    function = _gradients.make_function(name, inputs, backward)
    again = False
    for number, output in enumerate(outputs):
        backward._likes.append(like_of(output))
        if not isinstance(output, _C.Tensor):
            _gradients.skip_output(function)
            continue
        if number < len(outputs) - 1 and _same(output, tuple(outputs[number + 1 :])):
            again = True  # the last one has the gradients of all
            _gradients.skip_output(function)
            continue
        if _same(output, ctx._non_differentiable) or not _is_differentiable(output):
            _gradients.skip_output(function)
            continue
        is_written = _same(output, ctx._dirty)
        if not is_written and _same(output, args):
            output = outputs[number] = _gradients.another_tensor(output)
        elif not is_written and output.requires_grad:
            output = outputs[number] = _gradients.detached(output)
        output.__dict__  # noqa: B018 - so that the collector sees the wrapper, and by it `ctx`
        if is_written:
            _gradients.tape_write(output, function)
        else:
            _gradients.set_history(output, function, inputs)
    if again:
        _make_one_again(results, outputs)
    ctx._keep(outputs)
    return tuple(outputs) if isinstance(results, tuple) else outputs[0]


def _make_one_again(given: tuple, outputs: list) -> None:
    """Puts the tensor that was made of the last of equal outputs in the place of each."""
    last = {id(one): number for number, one in enumerate(given)}
    for number, one in enumerate(given):
        if isinstance(one, _C.Tensor):
            outputs[number] = outputs[last[id(one)]]


def once_differentiable(fn: Callable) -> Callable:
    """A backward whose results cannot be differentiated again, also with create_graph."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        former = _gradients.gradient_mode()
        _gradients.set_gradient_mode(former | 1)
        try:
            results = fn(ctx, *gradients)
        finally:
            _gradients.set_gradient_mode(former)
        if former != 0 or not any(
            isinstance(one, _C.Tensor) and one.requires_grad for one in gradients
        ):
            return results
        outputs = results if isinstance(results, tuple) else (results,)

        def refuse(_: object, __: tuple) -> tuple:
            raise RuntimeError(
                "trying to differentiate twice a function that was marked with @once_differentiable"
            )

        inputs = [one for one in gradients if isinstance(one, _C.Tensor)]
        function = _gradients.make_function("Error", inputs, refuse)
        marked = []
        for one in outputs:
            if isinstance(one, _C.Tensor):
                one = _gradients.detached(one)
                _gradients.set_history(one, function, [])
            marked.append(one)
        return tuple(marked) if isinstance(results, tuple) else marked[0]

    return wrapper
