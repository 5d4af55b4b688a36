"""Special functions, by SciPy; without SciPy these operators are not there."""

from typing import Any

import numpy as np
import scipy.linalg
from scipy import special

from .answers import answer, check, columns, keeps_order
from .linalg import alike, matrices, square
from .promotion import category, floating, together

_UNARY = "(Tensor self) -> Tensor"
_BINARY = "(Tensor self, Tensor other) -> Tensor"
_POLYNOMIAL = "(Tensor x, Tensor n) -> Tensor"


def _real(x: np.ndarray) -> np.ndarray:
    check(category(x.dtype) < 3, f"real numbers are wanted, not {x.dtype.name}")
    return floating(x)


def _unary(name: str, function: Any, schema: str = _UNARY) -> None:
    @answer(name + schema)
    def run(x: np.ndarray) -> np.ndarray:
        x = _real(x)
        return np.asarray(function(x)).astype(x.dtype)


def _binary(name: str, function: Any, schema: str = _BINARY) -> None:
    @answer(name + schema)
    def run(x: np.ndarray, other: np.ndarray) -> np.ndarray:
        x, other = map(_real, together(x, other))
        return np.asarray(function(x, other)).astype(x.dtype)


for _name, _function in {
    "erfinv": special.erfinv,
    "special_erfinv": special.erfinv,
    "i0": special.i0,
    "special_i0": special.i0,
    "special_i0e": special.i0e,
    "special_i1": special.i1,
    "special_i1e": special.i1e,
    "special_entr": special.entr,
    "special_erfcx": special.erfcx,
    "special_log_ndtr": special.log_ndtr,
    "special_ndtr": special.ndtr,
    "special_ndtri": special.ndtri,
    "special_bessel_j0": special.j0,
    "special_bessel_j1": special.j1,
    "special_bessel_y0": special.y0,
    "special_bessel_y1": special.y1,
    "special_modified_bessel_i0": special.i0,
    "special_modified_bessel_i1": special.i1,
    "special_modified_bessel_k0": special.k0,
    "special_modified_bessel_k1": special.k1,
}.items():
    _unary(_name, _function)

for _name, _function in {
    "special_scaled_modified_bessel_k0": special.k0e,
    "special_scaled_modified_bessel_k1": special.k1e,
    "special_spherical_bessel_j0": lambda x: special.spherical_jn(0, x),
    "special_airy_ai": lambda x: special.airy(x)[0],
}.items():
    _unary(_name, _function, "(Tensor x) -> Tensor")

for _name, _function in {
    "special_zeta": special.zeta,
    "special_xlog1py": special.xlog1py,
    "special_gammainc": special.gammainc,
    "special_gammaincc": special.gammaincc,
    "igamma": special.gammainc,
    "igammac": special.gammaincc,
}.items():
    _binary(_name, _function)


@answer(
    "special_multigammaln(Tensor self, int p) -> Tensor", "mvlgamma(Tensor self, int p) -> Tensor"
)
def multigammaln(x: np.ndarray, p: int) -> np.ndarray:
    check(p > 0, f"p is at least 1, not {p}")
    x = _real(x)
    shifted = x[..., None].astype(np.float64) - np.arange(p) / 2
    made = special.gammaln(shifted).sum(-1) + p * (p - 1) / 4 * np.log(np.pi)
    return made.astype(x.dtype)


@answer(
    "polygamma(int n, Tensor self) -> Tensor", "special_polygamma(int n, Tensor self) -> Tensor"
)
def polygamma(n: int, x: np.ndarray) -> np.ndarray:
    check(n >= 0, f"n is at least 0, not {n}")
    x = _real(x)
    return special.polygamma(n, x).astype(x.dtype)


@answer("linalg_matrix_exp(Tensor self) -> Tensor", "matrix_exp(Tensor self) -> Tensor")
def matrix_exp(x: np.ndarray) -> np.ndarray:
    square(x)
    return scipy.linalg.expm(x).astype(x.dtype) if x.size else x


@answer(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
    "bool unitriangular=False) -> Tensor"
)
@keeps_order
def solve_triangular(
    a: np.ndarray, b: np.ndarray, upper: bool, left: bool, unitriangular: bool
) -> np.ndarray:
    alike(square(a), matrices(b))
    if not left:
        turned = [np.swapaxes(each, -1, -2) for each in (a, b)]
        made = solve_triangular(*turned, not upper, True, unitriangular)
        return np.ascontiguousarray(np.swapaxes(made, -1, -2))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (a, b))
    check(a.shape[-1] == b.shape[-2], f"{list(a.shape)} and {list(b.shape)} do not fit")
    made = np.empty(b.shape, b.dtype)
    for index in np.ndindex(batch):
        if made[index].size:
            made[index] = scipy.linalg.solve_triangular(
                a[index], b[index], lower=not upper, unit_diagonal=unitriangular
            )
    return columns(made)


def _factors(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The factors of each matrix in one, and its rows' exchanges, counted from 1."""
    matrices(x)
    short = min(x.shape[-2:])
    made, exchanged = np.empty(x.shape, x.dtype), np.empty((*x.shape[:-2], short), np.int32)
    for index in np.ndindex(x.shape[:-2]):
        if x[index].size:
            made[index], places = scipy.linalg.lu_factor(x[index])
            exchanged[index] = places + 1
    return made, exchanged


def _with_pivots(pivot: bool) -> None:
    check(pivot, "pivot=False is for CUDA")


@answer("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)")
def lu_factor(x: np.ndarray, pivot: bool) -> tuple[np.ndarray, np.ndarray]:
    _with_pivots(pivot)
    return _factors(x)


@answer("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)")
def lu(x: np.ndarray, pivot: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    _with_pivots(pivot)
    factors, exchanged = _factors(x)
    rows, columns = x.shape[-2:]
    short = min(rows, columns)
    order = np.broadcast_to(np.arange(rows), (*x.shape[:-2], rows)).copy()
    for index in np.ndindex(x.shape[:-2]):
        for row, other in enumerate(exchanged[index] - 1):
            order[index][[row, other]] = order[index][[other, row]]
    permuted = np.swapaxes(np.eye(rows, dtype=x.dtype)[order], -1, -2)
    lower = np.tril(factors[..., :short], -1) + np.eye(rows, short, dtype=x.dtype)
    return permuted, lower, np.triu(factors[..., :short, :])


def _polynomial(name: str, first: Any, second: Any, step: Any) -> None:
    """P₀ = 1, P₁ = second(x), and each further one by step(n, x, Pₙ, Pₙ₋₁); 0 below P₀."""

    @answer(f"special_{name}{_POLYNOMIAL}")
    def run(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        x, n = map(_real, together(x, n))
        x, n = np.broadcast_arrays(x, n)
        degree = np.trunc(n)
        before, now = np.zeros_like(x), np.full_like(x, first)
        made = np.where(degree == 0, now, np.zeros_like(x))
        highest = int(np.max(degree, initial=0))
        check(highest <= 1000, f"degrees up to 1000 are computed, not {highest}")
        for k in range(highest):
            before, now = now, second(x) if k == 0 else step(k, x, now, before)
            made = np.where(degree == k + 1, now, made)
        return made.astype(x.dtype)


def _chebyshev(k: int, x: Any, now: Any, before: Any) -> Any:
    return 2 * x * now - before


_polynomial("chebyshev_polynomial_t", 1, lambda x: x, _chebyshev)
_polynomial("chebyshev_polynomial_u", 1, lambda x: 2 * x, _chebyshev)
_polynomial("chebyshev_polynomial_v", 1, lambda x: 2 * x - 1, _chebyshev)
_polynomial("chebyshev_polynomial_w", 1, lambda x: 2 * x + 1, _chebyshev)
_polynomial(
    "hermite_polynomial_h", 1, lambda x: 2 * x,
    lambda k, x, now, before: 2 * (x * now - k * before),
)  # fmt: skip
_polynomial("hermite_polynomial_he", 1, lambda x: x, lambda k, x, now, before: x * now - k * before)
_polynomial(
    "laguerre_polynomial_l", 1, lambda x: 1 - x,
    lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1),
)  # fmt: skip
_polynomial(
    "legendre_polynomial_p", 1, lambda x: x,
    lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1),
)  # fmt: skip
