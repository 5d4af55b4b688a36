"""The `_ex` forms of linear algebra: inverses and factors, with an error code for each matrix.

`info` is 0 for a matrix that has; else it is the number, from 1, at which LAPACK finds that
it has none: a pivot of zero, or a leading minor that is not positive. PyTorch leaves open what the
result is then; here it is NaN. With check_errors=True the first such matrix is refused.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .answers import answer, check, columns, keeps_order
from .linalg import alike, cholesky, inv, solve, square

_Pair = tuple[np.ndarray, np.ndarray]


def _zero_pivot(matrix: np.ndarray) -> int:
    """The first column in which elimination finds no pivot, counted from 1; 0 if there is none."""
    left = matrix.copy()
    for column in range(len(left)):
        pivot = column + int(np.argmax(np.abs(left[column:, column])))
        if left[pivot, column] == 0:
            return column + 1
        left[[column, pivot]] = left[[pivot, column]]
        factors = left[column + 1 :, column] / left[column, column]
        left[column + 1 :, column:] -= np.outer(factors, left[column, column:])
    return 0


def _not_positive(matrix: np.ndarray) -> int:
    """The order of the first leading minor that is not positive; 0 if there is none."""
    for order in range(1, len(matrix) + 1):
        try:
            np.linalg.cholesky(matrix[:order, :order])
        except np.linalg.LinAlgError:
            return order
    return 0


def _each(
    a: np.ndarray,
    compute: Callable[..., np.ndarray],
    of: list[np.ndarray],
    failed_at: Callable[[np.ndarray], int],
    what: "str | None",
) -> _Pair:
    """Computes all at once, and one after another if that fails."""
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        return compute(*of), info
    except np.linalg.LinAlgError:
        pass
    batch = np.broadcast_shapes(*(each.shape[:-2] for each in of))
    of = [np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in of]
    pages = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    found = np.zeros(batch, np.int32)
    made = np.full((*batch, *of[-1].shape[-2:]), np.nan, a.dtype)
    for index in np.ndindex(batch):
        try:
            made[index] = compute(*(each[index] for each in of))
        except np.linalg.LinAlgError:
            found[index] = failed_at(pages[index]) or a.shape[-1]
            if what is not None:
                raise np.linalg.LinAlgError(
                    f"matrix {list(index)} of the batch {what}, at {found[index]}"
                ) from None
    for index in np.ndindex(batch):
        own = index[len(index) - info.ndim :]
        info[tuple(i if size > 1 else 0 for i, size in zip(own, info.shape, strict=True))] = found[
            index
        ]
    return columns(made), info


def _checked(check_errors: bool, what: str) -> "str | None":
    return what if check_errors else None


@answer("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)")
@keeps_order
def inv_ex(x: np.ndarray, check_errors: bool) -> _Pair:
    return _each(square(x), inv, [x], _zero_pivot, _checked(check_errors, "is singular"))


@answer(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
    "(Tensor L, Tensor info)"
)
@keeps_order
def cholesky_ex(x: np.ndarray, upper: bool, check_errors: bool) -> _Pair:
    def compute(matrix: np.ndarray) -> Any:
        return cholesky(matrix, upper)

    def failed_at(matrix: np.ndarray) -> int:
        return _not_positive(np.conj(matrix.T) if upper else matrix)

    return _each(
        square(x), compute, [x], failed_at, _checked(check_errors, "is not positive definite")
    )


@answer(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
    "(Tensor result, Tensor info)"
)
@keeps_order
def solve_ex(a: np.ndarray, b: np.ndarray, left: bool, check_errors: bool) -> _Pair:
    alike(square(a), b)
    what = _checked(check_errors, "is singular")
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        check(left, "vectors are solved for with left=True alone")
        made, info = solve_ex(a, b[..., None], True, check_errors)
        return made[..., 0], info

    def compute(matrix: np.ndarray, right: np.ndarray) -> Any:
        return solve(matrix, right, left)

    return _each(a, compute, [a, b], _zero_pivot, what)
