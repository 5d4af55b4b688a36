"""Products with Jacobians and Hessians of functions, and both of them as tensors.

Nearly all of it is made of grad(). A product with a Jacobian from the right is a product from the
left that is differentiated by the vector it was taken with, in which it is linear. So any function
whose formulas can be differentiated has both products; autograd.forward_ad takes one run for it,
and strategy="forward-mode" makes a Jacobian of such runs.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _C
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .errors import GradientError
from .forward_ad import dual_level, make_dual, unpack_dual
from .modes import enable_grad, set_grad_enabled
from .runs import grad
from .vectors import as_tuple, require_function, vectors_like

_Tensors = "_C.Tensor | tuple[_C.Tensor, ...]"


def _leaves(inputs: tuple, create_graph: bool) -> tuple:
    """The inputs as tensors of our own that require a gradient, so that theirs is not touched."""
    alias = _ops.ops.aten.alias
    return tuple(
        alias(one) if create_graph and one.requires_grad else one.detach().requires_grad_()
        for one in inputs
    )


def _pulled(
    outputs: Sequence,
    inputs: Sequence,
    vectors: Sequence,
    create_graph: bool,
    batched: bool = False,
) -> "tuple[_C.Tensor | None, ...]":
    """grad() of those outputs that come of something that requires a gradient."""
    pairs = [
        (output, vector)
        for output, vector in zip(outputs, vectors, strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    wanted, given = zip(*pairs, strict=True)
    return grad(
        wanted,
        inputs,
        given,
        keep_graph=True,
        create_graph=create_graph,
        allow_unused=True,
        is_grads_batched=batched,
    )


def _independent(function: str, what: str) -> GradientError:
    return GradientError(
        f"{function}: {what}; with strict=True that is an error, and without it the answer there "
        "is zeros"
    )


def _filled(
    function: str, found: Sequence, likes: Sequence, strict: bool, create_graph: bool, what: str
) -> tuple:
    """Zeros for what is None. Raises GradientError if `strict`, also for what has no history."""
    filled = []
    for number, (one, like) in enumerate(zip(found, likes, strict=True)):
        if one is None:
            if strict:
                raise _independent(function, f"the {what} does not depend on input {number}")
            one = _ops.ops.aten.zeros_like(like)
        elif strict and create_graph and not one.requires_grad:
            raise _independent(
                function,
                f"the answer for input {number} does not depend on the inputs, and has no graph",
            )
        filled.append(one)
    return tuple(filled)


def _given_back(tensors: tuple, several: bool, create_graph: bool) -> Any:
    """What came out, without a graph unless one is wanted."""
    if not create_graph:
        tensors = tuple(one.detach() for one in tensors)
    return tensors if several else tensors[0]


def _run(function: str, func: Callable, inputs: tuple, strict: bool) -> "tuple[bool, tuple]":
    """The outputs of the user's function. Raises GradientError if `strict`."""
    several, outputs = as_tuple(function, "what the function gives", func(*inputs))
    if strict:
        for number, one in enumerate(outputs):
            if not one.requires_grad:
                raise _independent(function, f"output {number} does not depend on any input")
    return several, outputs


def _run_to_number(function: str, func: Callable, inputs: tuple, strict: bool) -> tuple:
    """The output of a function that gives one number. Raises GradientError."""
    several, outputs = _run(function, func, inputs, strict)
    if several or outputs[0].numel() != 1:
        shapes = ", ".join(str(tuple(one.shape)) for one in outputs)
        raise GradientError(
            f"{function}: the function has to give one Tensor of one element, and gave {shapes}"
        )
    return outputs


@names_keywords
def vjp(
    func: Callable,
    inputs: _Tensors,
    v: "_C.Tensor | tuple[_C.Tensor, ...] | None" = None,
    create_graph: bool = False,
    strict: bool = False,
) -> "tuple[Any, Any]":
    """The outputs of a function, and the product of a vector with its Jacobian.

    `v` has the shapes of the outputs, and may be left out for one number. The product has the
    shapes of the inputs. Both have a graph with `create_graph`. What does not depend on an input is
    zeros, or with `strict` an error. Raises GradientError for a `v` that does not fit,
    GradientTypeError for what is no Tensor.
    """
    name = "vjp"
    require_function(name, func)
    _ops.load_aten()
    with enable_grad():
        several, given = as_tuple(name, "inputs", inputs)
        leaves = _leaves(given, create_graph)
        several_out, outputs = _run(name, func, leaves, strict)
        vectors = vectors_like(name, v, outputs, "output")
    with set_grad_enabled(create_graph):
        found = _pulled(outputs, leaves, vectors, create_graph)
        found = _filled(name, found, leaves, strict, create_graph, "output")
    return (
        _given_back(outputs, several_out, create_graph),
        _given_back(found, several, create_graph),
    )


def _zero_vectors(likes: Sequence) -> tuple:
    return tuple(_ops.ops.aten.zeros_like(one).requires_grad_() for one in likes)


def _pushed(
    name: str,
    outputs: tuple,
    leaves: tuple,
    vectors: tuple,
    strict: bool,
    create_graph: bool,
    what: str,
) -> tuple:
    """The product of the Jacobian of the outputs with vectors: that from the left, differentiated
    by the vector it is taken with."""
    seeds = _zero_vectors(outputs)
    pulled = _pulled(outputs, leaves, seeds, True)
    if strict:
        _filled(name, pulled, leaves, True, False, what)
    with set_grad_enabled(create_graph):
        found = _pulled(pulled, seeds, vectors, create_graph)
        return _filled(name, found, outputs, False, create_graph, what)


@names_keywords
def jvp(
    func: Callable,
    inputs: _Tensors,
    v: "_C.Tensor | tuple[_C.Tensor, ...] | None" = None,
    create_graph: bool = False,
    strict: bool = False,
) -> "tuple[Any, Any]":
    """The outputs of a function, and the product of its Jacobian with a vector.

    `v` has the shapes of the inputs, and may be left out for one number. The product has the shapes
    of the outputs. It is taken by two runs backward, which every function with formulas has;
    `forward_ad.jvp()` takes one run forward. Else as vjp().
    """
    name = "jvp"
    require_function(name, func)
    _ops.load_aten()
    with enable_grad():
        several, given = as_tuple(name, "inputs", inputs)
        leaves = _leaves(given, create_graph)
        vectors = vectors_like(name, v, leaves, "input")
        several_out, outputs = _run(name, func, leaves, strict)
        found = _pushed(name, outputs, leaves, vectors, strict, create_graph, "output")
        if strict and create_graph:
            _refuse_constants(name, found, "output")
    return (
        _given_back(outputs, several_out, create_graph),
        _given_back(found, several_out, create_graph),
    )


def _refuse_constants(function: str, found: Sequence, what: str) -> None:
    for number, one in enumerate(found):
        if not one.requires_grad:
            raise _independent(
                function,
                f"the answer for {what} {number} does not depend on the inputs, and has no graph",
            )


def _one_hots(like: "_C.Tensor") -> "_C.Tensor":
    """A batch of tensors of this shape, each with a one at another element."""
    aten, count = _ops.ops.aten, like.numel()
    return aten.eye(count, dtype=like.dtype, device=like.device).reshape([count, *like.shape])


def _rows(output: "_C.Tensor", inputs: tuple, create_graph: bool, batched: bool) -> "Iterator":
    """For each element of an output its gradients, of which one may be None; if batched, all in one
    call, in a list."""
    seeds = _one_hots(output)
    if batched:
        found = _pulled([output], inputs, [seeds], create_graph, True)
        for number in range(output.numel()):
            yield tuple(None if one is None else one[number] for one in found)
        return
    for number in range(output.numel()):
        yield _pulled([output], inputs, [seeds[number]], create_graph)


def _jacobian_of(
    output: "_C.Tensor", inputs: tuple, create_graph: bool, strict: bool, batched: bool
) -> tuple:
    """The Jacobian of one output: for each input a tensor of the output's shape and the input's."""
    name, stack = "jacobian", _ops.ops.aten.stack
    columns: list[list] = [[] for _ in inputs]
    for row in _rows(output, inputs, create_graph, batched):
        row = _filled(name, row, inputs, strict, create_graph, "output")
        for column, one in zip(columns, row, strict=True):
            column.append(one)
    return tuple(
        (stack(column, 0) if column else output.new_zeros([0])).reshape([*output.shape, *one.shape])
        for column, one in zip(columns, inputs, strict=True)
    )


def _column(
    func: Callable, inputs: tuple, at: int, direction: "_C.Tensor"
) -> "tuple[bool, tuple, tuple]":
    """The outputs for an input that moves in a direction, and their tangents: None of one that does
    not depend on the input. Raises GradientError if a level of forward mode is open already."""
    with dual_level():
        dual = make_dual(inputs[at], direction)
        found = func(*inputs[:at], dual, *inputs[at + 1 :])
        several, outputs = as_tuple("jacobian", "what the function gives", found)
        pairs = [unpack_dual(one) for one in outputs]
    return several, tuple(one.primal for one in pairs), tuple(one.tangent for one in pairs)


def _forward_jacobian(
    func: Callable, inputs: tuple, create_graph: bool, strict: bool
) -> "tuple[bool, list]":
    """The Jacobians of each output by each input. A run forward for each element of the inputs
    gives a column of those of all outputs."""
    name, (several, outputs) = "jacobian", (False, ())
    by_input: list[list[tuple]] = [[] for _ in inputs]
    for at, one in enumerate(inputs):
        for direction in _one_hots(one).unbind(0):
            several, outputs, tangents = _column(func, inputs, at, direction)
            for number, tangent in enumerate(tangents):
                if strict and (tangent is None or (create_graph and not tangent.requires_grad)):
                    of = f"output {number}" if tangent is None else f"the answer for input {at}"
                    on = f"input {at}" if tangent is None else "the inputs, and has no graph"
                    raise _independent(name, f"{of} does not depend on {on}")
            by_input[at].append(tangents)
    if not any(by_input):  # no input has an element
        several, outputs = as_tuple(name, "what the function gives", func(*inputs))

    def matrix(number: int, at: int) -> "_C.Tensor":
        output = outputs[number]
        columns = [
            _ops.ops.aten.zeros_like(output) if tangents[number] is None else tangents[number]
            for tangents in by_input[at]
        ]
        made = _ops.ops.aten.stack(columns, -1) if columns else output.new_zeros([0])
        return made.reshape([*output.shape, *inputs[at].shape])

    every = range(len(inputs))
    return several, [tuple(matrix(n, at) for at in every) for n in range(len(outputs))]


STRATEGIES = ("reverse-mode", "forward-mode")


def _check_strategy(function: str, argument: str, strategy: str) -> None:
    if strategy not in STRATEGIES:
        known = ", ".join(map(repr, STRATEGIES))
        raise ValueError(f"{function}: {argument} is {strategy!r}; it is one of {known}")


@names_keywords
def jacobian(
    func: Callable,
    inputs: _Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function: a tensor of the output's shape followed by the input's.

    Of several outputs it is a tuple, of several inputs one as well, and of both a tuple of tuples,
    by output. It takes a run backward for each element of the outputs, or, with
    strategy="forward-mode", a run of the function in forward mode for each element of the inputs:
    for few inputs and many outputs. `vectorize` gives all vectors in one call of grad(), which runs
    them one after the other, as forward mode does: operators have no batching rules here.
    Raises GradientError if `strict` and an output does not depend on an input; in forward mode also
    inside of a dual_level(), and NotImplementedError for an operator that has no rule.
    """
    name = "jacobian"
    require_function(name, func)
    _check_strategy(name, "strategy", strategy)
    if strict and vectorize:
        raise GradientError("jacobian: strict=True goes without vectorize=True")
    _ops.load_aten()
    with enable_grad():
        several, given = as_tuple(name, "inputs", inputs)
        leaves = _leaves(given, create_graph)
        if strategy == "forward-mode":
            several_out, found = _forward_jacobian(func, leaves, create_graph, strict)
        else:
            several_out, outputs = _run(name, func, leaves, strict)
            how = create_graph, strict, vectorize
            found = [_jacobian_of(one, leaves, *how) for one in outputs]
        rows = tuple(_given_back(one, several, create_graph) for one in found)
    return rows if several_out else rows[0]


@names_keywords
def hessian(
    func: Callable,
    inputs: _Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that gives one number: the Jacobian of its gradient.

    For one input it is a tensor with the input's shape twice; for several a tuple of tuples.
    `outer_jacobian_strategy` is that of the Jacobian of the gradient: in forward mode the gradient
    is run with tangents, which costs less than to go backward through it. Else as jacobian().
    """
    name = "hessian"
    require_function(name, func)
    _check_strategy(name, "outer_jacobian_strategy", outer_jacobian_strategy)
    several, given = as_tuple(name, "inputs", inputs)

    def gradient(*leaves: "_C.Tensor") -> Any:
        def number(*inner: "_C.Tensor") -> "_C.Tensor":
            return _run_to_number(name, func, inner, strict)[0].reshape([])

        found = jacobian(number, leaves, create_graph=True, strict=strict)
        return found if several else found[0]

    return jacobian(
        gradient,
        given if several else given[0],
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )


def _gradient(name: str, func: Callable, leaves: tuple, strict: bool) -> "tuple[tuple, tuple]":
    """The output of a function that gives one number, and its gradient, with a graph."""
    outputs = _run_to_number(name, func, leaves, strict)
    found = _pulled(outputs, leaves, [_ops.ops.aten.ones_like(outputs[0])], True)
    return outputs, _filled(name, found, leaves, strict, strict, "output")


@names_keywords
def vhp(
    func: Callable,
    inputs: _Tensors,
    v: "_C.Tensor | tuple[_C.Tensor, ...] | None" = None,
    create_graph: bool = False,
    strict: bool = False,
) -> "tuple[Any, Any]":
    """The output of a function that gives one number, and the product of a vector with its Hessian.

    `v`, which has the shapes of the inputs, may be left out for one number. It is cheaper than
    hvp(), and the same if the Hessian is symmetric. Else as vjp().
    """
    name = "vhp"
    require_function(name, func)
    _ops.load_aten()
    with enable_grad():
        several, given = as_tuple(name, "inputs", inputs)
        leaves = _leaves(given, create_graph)
        vectors = vectors_like(name, v, leaves, "input")
        outputs, gradient = _gradient(name, func, leaves, strict)
    with set_grad_enabled(create_graph):
        found = _pulled(gradient, leaves, vectors, create_graph)
        found = _filled(name, found, leaves, strict, create_graph, "gradient")
    return _given_back(outputs, False, create_graph), _given_back(found, several, create_graph)


@names_keywords
def hvp(
    func: Callable,
    inputs: _Tensors,
    v: "_C.Tensor | tuple[_C.Tensor, ...] | None" = None,
    create_graph: bool = False,
    strict: bool = False,
) -> "tuple[Any, Any]":
    """The output of a function that gives one number, and the product of its Hessian with a vector.

    It runs backward three times; vhp() runs twice, and `forward_ad` with grad() inside of it once
    forward and once backward. Else as vhp().
    """
    name = "hvp"
    require_function(name, func)
    _ops.load_aten()
    with enable_grad():
        several, given = as_tuple(name, "inputs", inputs)
        leaves = _leaves(given, create_graph)
        vectors = vectors_like(name, v, leaves, "input")
        outputs, gradient = _gradient(name, func, leaves, strict)
        found = _pushed(name, gradient, leaves, vectors, strict, create_graph, "gradient")
        if strict and create_graph:
            _refuse_constants(name, found, "input")
    return _given_back(outputs, False, create_graph), _given_back(found, several, create_graph)
