"""gradcheck and gradgradcheck: gradients beside differences of values."""

from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .backward_checks import not_repeatable, not_undefined
from .runs import grad
from .vectors import require_function


class GradcheckError(RuntimeError):
    """A gradient is not what differences of values say."""


def _tensors_in(given: Any) -> list:
    items = [given] if isinstance(given, _C.Tensor) else list(given)
    return [one for one in items if isinstance(one, _C.Tensor)]


def _outputs(fn: Callable, inputs: Sequence) -> list:
    return [one for one in _tensors_in(fn(*inputs)) if one.dtype.is_floating_point]


def _parts(value: Any) -> Any:
    """A complex tensor as the real one of its parts, with a dimension more; else as it is."""
    if isinstance(value, _C.Tensor) and value.dtype.is_complex:
        return value.view_as_real()
    return value


def _by_parts(func: Callable, inputs: list) -> "tuple[Callable, list]":
    """A function of real numbers and its inputs, for one of complex numbers and its inputs."""
    which = [isinstance(one, _C.Tensor) and one.dtype.is_complex for one in inputs]
    leaves = [
        _parts(one.detach()).clone().requires_grad_(one.requires_grad) if is_complex else one
        for one, is_complex in zip(inputs, which, strict=True)
    ]

    def of_parts(*given: Any) -> Any:
        joined = [
            one.contiguous().view_as_complex() if is_complex else one
            for one, is_complex in zip(given, which, strict=True)
        ]
        found = func(*joined)
        return _parts(found) if isinstance(found, _C.Tensor) else [_parts(one) for one in found]

    return of_parts, leaves


def _flat(tensor: "_C.Tensor") -> list:
    return tensor.detach().reshape([-1]).tolist()


def _like(tensor: "_C.Tensor", values: list) -> "_C.Tensor":
    return _C.tensor(values, dtype=tensor.dtype).reshape(list(tensor.shape))


def _require_shapes(wanted: list, outputs: list, at: int, element: int) -> None:
    shapes = [list(one.shape) for one in outputs]
    if shapes != wanted:
        raise ValueError(
            f"gradcheck: the function gives outputs of the shapes {wanted}, and of {shapes} once "
            f"element {element} of input {at} is another number; differences are of outputs whose "
            "shapes do not depend on values"
        )


def _numerical(fn: Callable, inputs: list, at: int, eps: float, shapes: list) -> list:
    """Columns: for each element of an input how every element of every output changes."""
    tensor = inputs[at]
    values = _flat(tensor)
    columns = []
    for i, value in enumerate(values):
        sides = []
        for step in (eps, -eps):
            moved = [*values[:i], value + step, *values[i + 1 :]]
            others = list(inputs)
            others[at] = _like(tensor, moved).requires_grad_(tensor.requires_grad)
            moved_outputs = _outputs(fn, others)
            _require_shapes(shapes, moved_outputs, at, i)
            sides.append([v for out in moved_outputs for v in _flat(out)])
        columns.append([(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)])
    return columns


@names_keywords
def gradcheck(
    func: Callable,
    inputs: "_C.Tensor | Sequence",
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
) -> bool:
    """Whether the gradients of a function are those that differences of its values give.

    `inputs` are float64 or complex128; those that require a gradient are checked, element by
    element. A complex number counts as two elements, its real and its imaginary part, in inputs and
    outputs. Two backwards may give gradients that are `nondet_tol` apart. check_undefined_grad has
    backwards made without gradients of some outputs, and of all, which give none or zeros. With
    `check_forward_ad` tangents of forward mode are checked as well, and without `check_backward_ad`
    they alone. Raises GradcheckError, or gives False without `raise_exception`; ValueError if an
    output has other shapes for other numbers.
    """
    if not (check_forward_ad or check_backward_ad):
        raise ValueError("gradcheck: check_forward_ad and check_backward_ad are both False")
    require_function("gradcheck", func)
    _ops.load_aten()
    given = [inputs] if isinstance(inputs, _C.Tensor) else list(inputs)
    checked = [i for i, one in enumerate(given) if isinstance(one, _C.Tensor) and one.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "inputs have requires_grad=True."
        )
    for i in checked:
        if given[i].dtype not in (_C.float64, _C.complex128):
            raise ValueError(
                f"gradcheck: input {i} is {given[i].dtype}; differences are too coarse for all but "
                "float64 and complex128"
            )
    try:
        real, leaves = _by_parts(func, given)
        shapes = [list(one.shape) for one in _outputs(real, leaves)]
        numerical = {i: _numerical(real, leaves, i, eps, shapes) for i in checked}
        if check_backward_ad:
            _compare(real, leaves, numerical, atol, rtol)
            _check_backward(func, given, checked, nondet_tol, check_undefined_grad)
        if check_forward_ad:
            _compare_forward(real, leaves, numerical, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _seeds(outputs: list) -> list:
    return [_like(one, [0.3 + 0.1 * i for i in range(len(_flat(one)))]) for one in outputs]


def _check_backward(
    func: Callable, given: list, checked: list, tolerance: float, undefined: bool
) -> None:
    inputs = [given[i] for i in checked]
    of_parts, leaves = _by_parts(func, given)
    outputs = _outputs(of_parts, leaves)
    wrong = not_repeatable(outputs, [leaves[i] for i in checked], _seeds(outputs), tolerance)
    if wrong is None and undefined:
        wrong = not_undefined(lambda: _differentiable(func(*given)), inputs)
    if wrong is not None:
        raise GradcheckError(wrong)


def _differentiable(given: Any) -> list:
    return [one for one in _tensors_in(given) if one.requires_grad]


def _compare_forward(
    func: Callable, given: list, numerical: dict, atol: float, rtol: float
) -> None:
    """The tangents of all outputs for each element of an input, beside the differences."""
    from .forward_ad import dual_level, make_dual, unpack_dual

    for i, columns in numerical.items():
        for j, column in enumerate(columns):
            direction = _like(given[i], [float(j == k) for k in range(len(columns))])
            with dual_level():
                duals = list(given)
                duals[i] = make_dual(given[i], direction)
                found: list = []
                for output in _outputs(func, duals):
                    primal, tangent = unpack_dual(output)
                    found += [0.0] * primal.numel() if tangent is None else _flat(tangent)
            for row, (value, wanted) in enumerate(zip(found, column, strict=True)):
                if abs(value - wanted) > atol + rtol * abs(wanted):
                    raise GradcheckError(
                        f"Jacobian mismatch in forward mode with respect to input {i}: element "
                        f"{row} of the outputs changes by {wanted} with element {j} of the input, "
                        f"and the tangent is {value}"
                    )


def _compare(func: Callable, given: list, numerical: dict, atol: float, rtol: float) -> None:
    checked = list(numerical)
    outputs = _outputs(func, given)
    row = 0
    for number, output in enumerate(outputs):
        count = len(_flat(output))
        for element in range(count):
            seed = _like(output, [float(i == element) for i in range(count)])
            if output.requires_grad:
                found = grad(
                    output, [given[i] for i in checked], seed, keep_graph=True, allow_unused=True
                )
            else:
                found = tuple(None for _ in checked)
            for i, gradient in zip(checked, found, strict=True):
                columns = numerical[i]
                analytical = [0.0] * len(columns) if gradient is None else _flat(gradient)
                for j, value in enumerate(analytical):
                    wanted = columns[j][row + element]
                    if abs(value - wanted) <= atol + rtol * abs(wanted):
                        continue
                    raise GradcheckError(
                        f"Jacobian mismatch for output {number} with respect to input {i}: element "
                        f"{element} of the output changes by {wanted} with element {j} of the "
                        f"input, and the gradient is {value}"
                    )
        row += count


@names_keywords
def gradgradcheck(
    func: Callable,
    inputs: "_C.Tensor | Sequence",
    grad_outputs: "_C.Tensor | Sequence | None" = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
) -> bool:
    """The same of the gradients themselves: gradcheck of what grad() gives with create_graph."""
    require_function("gradgradcheck", func)
    _ops.load_aten()
    func, given = _by_parts(func, [inputs] if isinstance(inputs, _C.Tensor) else list(inputs))
    checked = [i for i, one in enumerate(given) if isinstance(one, _C.Tensor) and one.requires_grad]
    outputs = [one for one in _outputs(func, given) if one.requires_grad]
    if grad_outputs is None:
        seeds = [one.requires_grad_() for one in _seeds(outputs)]
    else:
        seeds = [_parts(one) for one in _tensors_in(grad_outputs)]

    def gradients(*everything: Any) -> tuple:
        inner, used = list(everything[: len(given)]), everything[len(given) :]
        results = [one for one in _outputs(func, inner) if one.requires_grad]
        found = grad(
            results, [inner[i] for i in checked], list(used), create_graph=True, allow_unused=True
        )
        return tuple(one for one in found if one is not None)

    return gradcheck(
        gradients,
        [*given, *seeds],
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
    )
