"""trace(fn, example_inputs): the operators that a function calls, as a graph.

Steps of trace():

    1. flatten the example inputs; what is no tensor belongs to their shape
    2. copy them, for 4: the function may write into them
    3. run the function with the trace on (jit/trace.h); flatten what it gives
    4. run the graph and the function with copies, and compare every bit; so with check_inputs
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import _C, _graphs
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .._core.parameters import signature_of
from .containers import Shape, flatten
from .passes import differentiate


class TracingCheckError(RuntimeError):
    """A traced graph does not do what its function does."""


class TracedFunction:
    """A function as the graph of the operators that it called; made by trace().

    It is called as the function was, with tensors of any shapes for which the traced
    operators are right. Everything else in the arguments has to be what it was.
    """

    def __init__(self, name: str, graph: "_graphs.Graph", inputs: Shape, outputs: Shape) -> None:
        self.__name__ = self.__qualname__ = name
        self.graph = graph
        self.staged: _graphs.Graph | None = None  # with further stages, if they were asked for
        self.code = _graphs.Code(graph)
        self._inputs = inputs
        self._outputs = outputs

    def __call__(self, *args: object, **kwargs: object) -> Any:
        tensors, shape = _flatten_inputs(args, kwargs, _input_array)
        difference = self._inputs.difference(shape)
        if difference is not None:
            raise TypeError(f"{self.__name__}: was traced with other arguments: {difference}")
        return self._outputs.build(_as_list(self.code, self.code(*tensors)))

    def __repr__(self) -> str:
        return f"<traced {self.__name__}>\n{self.graph}"


def _as_list(code: "_graphs.Code", outputs: object) -> Sequence[object]:
    count = code.output_count(0)
    return () if count == 0 else (outputs,) if count == 1 else outputs  # type: ignore[return-value]


def _input_tensor(item: object, path: str) -> _C.Tensor:
    """Arrays of other libraries come to the function as Tensors on the same memory."""
    tensor = _C.tensor_for(item)
    if tensor is None:
        raise TypeError(
            f"{path} is of type {type(item).__name__}; a traced function takes Tensors, arrays, "
            "numbers, texts and None, and lists, tuples and dicts of them"
        )
    return tensor


_PROTOCOLS = ("__dlpack__", "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__")


def _input_array(item: object, path: str) -> object:
    """An array as it is, for a code, which gives results of its kind."""
    if any(hasattr(type(item), name) for name in _PROTOCOLS):
        return item
    try:
        with memoryview(item):  # type: ignore[arg-type]
            return item
    except TypeError:
        return _input_tensor(item, path)


def _flatten_inputs(
    args: Sequence[object],
    kwargs: Mapping[str, object],
    as_tensor: Callable[[object, str], object] = _input_tensor,
) -> tuple[list, Shape]:
    inputs = tuple(args) if not kwargs else (*args, dict(sorted(kwargs.items())))
    return flatten(inputs, "the arguments", as_tensor)


def _refuse_output(item: object, path: str) -> _C.Tensor:
    raise TypeError(
        f"{path} is of type {type(item).__name__}; a traced function gives Tensors, numbers, texts "
        "and None, and lists, tuples and dicts of them. An array of another library is what no "
        "operator of the trace gave: make a Tensor of it before operators get it"
    )


def _names(function: Callable, args: Sequence, kwargs: Mapping, paths: Iterable[str]) -> list[str]:
    """A name for each tensor: that of its parameter, with its place in a container."""
    try:
        bound = signature_of(function).bind(*args, **kwargs)
        parameters = list(bound.arguments)[: len(args)]
        simple = len(parameters) == len(args)
    except (TypeError, ValueError):
        simple = False
    names = []
    for path in paths:
        words = [word.strip("'\"]") for word in path.split("[")[1:]]
        if kwargs and words[0] == str(len(args)):
            words = words[1:]
        elif simple:
            words[0] = parameters[int(words[0])]
        else:
            words[0] = f"input_{words[0]}"
        name = "_".join(
            "".join(c if c.isalnum() and c.isascii() else "_" for c in w) for w in words
        )
        names.append(name if name and not name.isdigit() else f"input_{name}")
    return names


def _tell_apart(tensors: Sequence[_C.Tensor]) -> list[_C.Tensor]:
    """A tensor that is given twice becomes two, on the same memory."""
    seen: set[int] = set()
    apart = []
    for tensor in tensors:
        if id(tensor) in seen:
            tensor = tensor.alias()
        seen.add(id(tensor))
        apart.append(tensor)
    return apart


def _run(function: Callable, tensors: Sequence[object], shape: Shape, count: int) -> object:
    inputs = shape.build(tensors)
    args, kwargs = inputs[:count], inputs[count] if len(inputs) > count else {}  # type: ignore[index,arg-type]
    return function(*args, **kwargs)


@names_keywords
def trace(
    function: Callable[..., object],
    example_inputs: object = (),
    *,
    example_kwargs: Mapping[str, object] | None = None,
    check_trace: bool = True,
    check_inputs: Iterable[object] = (),
    stages: int = 1,
) -> TracedFunction:
    """The graph of the operators that a function calls with these inputs.

    `example_inputs` is a tuple of arguments, or one argument alone. The function runs once for the
    trace; then, unless `check_trace` is False, again with copies of the inputs, and with each
    of `check_inputs`, and must give bit for bit what the graph gives, else TracingCheckError.

    With `stages` the result's `staged` is a graph with the derivatives of the one before in each
    further stage, by all Tensors that it takes: see passes.differentiate(). Operators that are
    composed of others are traced as these then, if they have no formula of their own.

    Raises TypeError for what is neither a tensor, a plain value nor a container of them, and
    NotImplementedError for what cannot be traced; it says what that is. Warns with TracerWarning
    at a line that reads a size or a number of a tensor: in the graph that is a constant.
    """
    if not callable(function):
        raise TypeError(f"trace() takes a function, not an object of {type(function).__name__}")
    if stages < 1:
        raise ValueError(f"trace(): stages is {stages}; there is at least one")
    args = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    kwargs = dict(example_kwargs or {})
    _ops.load_aten()
    tensors, shape = _flatten_inputs(args, kwargs)
    tensors = _tell_apart(tensors)
    copies = _copies(tensors) if check_trace else []

    outputs: list = []

    def run() -> list:
        result = _run(function, tensors, shape, len(args))
        outputs.append(flatten(result, "the result", _refuse_output))
        return outputs[0][0]

    name = getattr(function, "__name__", type(function).__name__)
    names = _names(function, args, kwargs, shape.paths())
    graph = _graphs.trace(run, tensors, names, stages > 1)
    traced = TracedFunction(name, graph, shape, outputs[0][1])
    if check_trace:
        _check(traced, function, copies, shape, len(args))
    for each in check_inputs:
        more = each if isinstance(each, tuple) else (each,)
        others, other_shape = _flatten_inputs(more, kwargs)
        difference = shape.difference(other_shape)
        if difference is not None:
            raise TypeError(f"trace: check_inputs: {difference}")
        _check(traced, function, _copies(_tell_apart(others)), shape, len(args))
    if stages > 1:
        traced.staged = graph.copy()
        for _ in range(1, stages):
            differentiate(traced.staged)
    return traced


def _copies(tensors: Sequence[_C.Tensor]) -> list[_C.Tensor]:
    """Copies that share memory with each other if the tensors do."""
    return copy.deepcopy(list(tensors))


def _check(
    traced: TracedFunction, function: Callable, tensors: list, shape: Shape, count: int
) -> None:
    """Runs both with inputs of their own; results and inputs must be equal by every bit then."""
    mine, its = tensors, _copies(tensors)
    given = _as_list(traced.code, traced.code(*mine))
    wanted, wanted_shape = flatten(_run(function, its, shape, count), "the result", _refuse_output)
    difference = traced._outputs.difference(wanted_shape)
    if difference is not None:
        raise TracingCheckError(
            f"{traced.__name__}: gives something else when it is called again: {difference}"
        )
    for path, one, other in zip(wanted_shape.paths(), given, wanted, strict=True):
        _compare(traced.__name__, path, one, other)
    for path, one, other in zip(shape.paths(), mine, its, strict=True):
        _compare(traced.__name__, f"{path}, which it writes into,", one, other)


def _compare(name: str, path: str, mine: _C.Tensor, its: _C.Tensor) -> None:
    if (mine.dtype, mine.size()) != (its.dtype, its.size()):
        found = f"{mine.dtype}{list(mine.size())}"
        raise TracingCheckError(
            f"{name}: {path} of the graph is {found}, and of the function "
            f"{its.dtype}{list(its.size())}; {_WHY}"
        )
    if bytes(memoryview(mine._bytes())) != bytes(memoryview(its._bytes())):
        raise TracingCheckError(
            f"{name}: {path} of the graph is not bit for bit what the function gives: the graph "
            f"gives\n{mine}\nand the function\n{its}\n{_WHY}"
        )


_WHY = (
    "does the function read numbers of tensors, take another way for other inputs, keep something "
    "between its calls, or use random numbers? A graph does what was traced"
)
