"""Linear algebra, by NumPy's linalg: determinants, inverses, decompositions, norms.

Matrices that LAPACK computes are column after column, as PyTorch's do; the signs of eigenvectors
and singular vectors are LAPACK's. What can be computed of some matrices of a batch alone is in
attempts.py.
"""

from typing import Any

import numpy as np

from .answers import answer, check, columns, keeps_order
from .promotion import category, complex_of

_Pair = tuple[np.ndarray, np.ndarray]
_Three = tuple[np.ndarray, np.ndarray, np.ndarray]
_SVD = "(Tensor U, Tensor S, Tensor Vh)"
_EIGH = "(Tensor eigenvalues, Tensor eigenvectors)"


def matrices(x: np.ndarray) -> np.ndarray:
    check(x.ndim >= 2, f"a matrix or more are wanted, not the shape {list(x.shape)}")
    check(category(x.dtype) >= 2, f"floating point numbers are wanted, not {x.dtype.name}")
    return x


def square(x: np.ndarray) -> np.ndarray:
    matrices(x)
    check(x.shape[-1] == x.shape[-2], f"square matrices are wanted, not {list(x.shape)}")
    return x


def alike(x: np.ndarray, other: np.ndarray) -> None:
    check(x.dtype == other.dtype, f"both have one dtype, not {x.dtype.name}, {other.dtype.name}")


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


@answer("linalg_det(Tensor A) -> Tensor", "det(Tensor self) -> Tensor")
def det(x: np.ndarray) -> np.ndarray:
    return np.linalg.det(square(x)).astype(x.dtype)


@answer("logdet(Tensor self) -> Tensor")
def logdet(x: np.ndarray) -> np.ndarray:
    sign, size = np.linalg.slogdet(square(x))
    if category(x.dtype) == 3:
        return (size + np.log(sign)).astype(x.dtype)
    return np.where(sign < 0, np.nan, size).astype(x.dtype)


@answer(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
)
def slogdet(x: np.ndarray) -> _Pair:
    sign, size = np.linalg.slogdet(square(x))
    return sign, size


@answer("linalg_inv(Tensor A) -> Tensor", "inverse(Tensor self) -> Tensor")
@keeps_order
def inv(x: np.ndarray) -> np.ndarray:
    return columns(np.linalg.inv(square(x)))


def _lower(x: np.ndarray, upper: bool) -> np.ndarray:
    """The matrices that one of the triangles stands for, with that triangle below."""
    return adjoint(square(x)) if upper else square(x)


@answer(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
)
@keeps_order
def cholesky(x: np.ndarray, upper: bool) -> np.ndarray:
    made = np.linalg.cholesky(_lower(x, upper))
    return columns(adjoint(made) if upper else made)


@answer("cholesky(Tensor self, bool upper=False) -> Tensor")
@keeps_order
def old_cholesky(x: np.ndarray, upper: bool) -> np.ndarray:
    return cholesky(x, upper)


@answer("cholesky_inverse(Tensor self, bool upper=False) -> Tensor")
@keeps_order
def cholesky_inverse(x: np.ndarray, upper: bool) -> np.ndarray:
    inverse = np.linalg.inv(np.triu(square(x)) if upper else np.tril(square(x)))
    return columns(inverse @ adjoint(inverse) if upper else adjoint(inverse) @ inverse)


@answer("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor")
@keeps_order
def cholesky_solve(x: np.ndarray, factor: np.ndarray, upper: bool) -> np.ndarray:
    alike(matrices(x), square(factor))
    factor = np.triu(factor) if upper else np.tril(factor)
    whole = adjoint(factor) @ factor if upper else factor @ adjoint(factor)
    return columns(np.linalg.solve(whole, x))


@answer('linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)')
@keeps_order
def qr(x: np.ndarray, mode: str) -> _Pair:
    check(mode in ("reduced", "complete", "r"), f"mode is reduced, complete or r, not {mode!r}")
    if mode == "r":
        return np.empty(0, x.dtype), columns(np.linalg.qr(matrices(x), "r"))
    made = np.linalg.qr(matrices(x), mode)
    return columns(made[0]), columns(made[1])


@answer("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)")
@keeps_order
def old_qr(x: np.ndarray, some: bool) -> _Pair:
    return qr(x, "reduced" if some else "complete")


def _triangle(triangle: str) -> str:
    check(triangle.upper() in ("L", "U"), f'UPLO is "L" or "U", not {triangle!r}')
    return triangle.upper()


@answer(f'linalg_eigh(Tensor self, str UPLO="L") -> {_EIGH}')
@keeps_order
def eigh(x: np.ndarray, triangle: str) -> _Pair:
    made = np.linalg.eigh(square(x), _triangle(triangle))
    return made[0], columns(made[1])


@answer(f'_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> {_EIGH}')
@keeps_order
def eigh_or_values(x: np.ndarray, triangle: str, compute_v: bool) -> _Pair:
    return eigh(x, triangle) if compute_v else (eigvalsh(x, triangle), np.empty(0, x.dtype))


@answer('linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor')
def eigvalsh(x: np.ndarray, triangle: str) -> np.ndarray:
    return np.linalg.eigvalsh(square(x), _triangle(triangle))


@answer(f"linalg_eig(Tensor self) -> {_EIGH}")
@keeps_order
def eig(x: np.ndarray) -> _Pair:
    made = np.linalg.eig(square(x))
    return made[0].astype(complex_of(x.dtype)), columns(made[1].astype(complex_of(x.dtype)))


@answer("linalg_eigvals(Tensor self) -> Tensor", "_linalg_eigvals(Tensor self) -> Tensor")
def eigvals(x: np.ndarray) -> np.ndarray:
    return np.linalg.eigvals(square(x)).astype(complex_of(x.dtype))


def _no_driver(driver: "str | None") -> None:
    check(driver is None, f"driver is for CUDA, and None here, not {driver!r}")


@answer(f"linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> {_SVD}")
@keeps_order
def svd(x: np.ndarray, full_matrices: bool, driver: "str | None") -> _Three:
    _no_driver(driver)
    made = np.linalg.svd(matrices(x), full_matrices)
    return columns(made[0]), made[1], columns(made[2])


@answer(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, "
    f"str? driver=None) -> {_SVD}"
)
@keeps_order
def svd_or_values(x: np.ndarray, full: bool, compute_uv: bool, driver: "str | None") -> _Three:
    if compute_uv:
        return svd(x, full, driver)
    return np.empty(0, x.dtype), svdvals(x, driver), np.empty(0, x.dtype)


@answer("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor")
def svdvals(x: np.ndarray, driver: "str | None") -> np.ndarray:
    _no_driver(driver)
    return np.linalg.svd(matrices(x), compute_uv=False)


def _is_vector(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether b is a vector, or a batch of them, against the matrices in a."""
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])


@answer("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor")
@keeps_order
def solve(a: np.ndarray, b: np.ndarray, left: bool) -> np.ndarray:
    alike(square(a), b)
    if _is_vector(a, b):
        check(left, "vectors are solved for with left=True alone")
        return np.linalg.solve(a, b[..., None])[..., 0]
    if left:
        return columns(np.linalg.solve(a, b))
    flipped = np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2))
    return np.ascontiguousarray(np.swapaxes(flipped, -1, -2))


def _values(x: np.ndarray, hermitian: bool) -> np.ndarray:
    if hermitian:
        return np.abs(np.linalg.eigvalsh(square(x)))
    return np.linalg.svd(matrices(x), compute_uv=False)


def _limit(values: np.ndarray, x: np.ndarray, atol: Any, rtol: Any) -> np.ndarray:
    """Below it a singular value counts as 0. Without rtol it is that of the dtype, if atol is 0."""
    atol = np.asarray(0.0 if atol is None else atol)[..., None]
    if rtol is None:
        rtol = np.where(atol > 0, 0.0, np.finfo(x.dtype).eps * max(x.shape[-2:]))
    else:
        rtol = np.asarray(rtol)[..., None]
    return np.maximum(atol, rtol * values.max(-1, keepdims=True, initial=0))


def _pinv(x: np.ndarray, atol: Any, rtol: Any, hermitian: bool) -> np.ndarray:
    if hermitian:
        square(x)
        values, vectors = np.linalg.eigh(x)
        u, vh = vectors, adjoint(vectors)
    else:
        u, values, vh = np.linalg.svd(matrices(x), False)
    sizes = np.abs(values)
    large = sizes > _limit(sizes, x, atol, rtol)
    inverse = np.where(large, 1 / np.where(large, values, 1), 0).astype(values.dtype)
    return (adjoint(vh) * inverse[..., None, :]) @ adjoint(u)


@answer("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor")
def pinv(x: np.ndarray, rcond: float, hermitian: bool) -> np.ndarray:
    return _pinv(x, 0.0, rcond, hermitian)


@answer(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
    "bool hermitian=False) -> Tensor"
)
@answer(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
    "bool hermitian=False) -> Tensor"
)
def pinv_limits(x: np.ndarray, atol: Any, rtol: Any, hermitian: bool) -> np.ndarray:
    return _pinv(x, atol, rtol, hermitian)


@answer(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
)
def matrix_rank(x: np.ndarray, tol: float, hermitian: bool) -> np.ndarray:
    values = _values(x, hermitian)
    return np.sum(values > tol, -1, dtype=np.int64)


@answer(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, "
    "bool hermitian=False) -> Tensor"
)
@answer(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
    "bool hermitian=False) -> Tensor"
)
def matrix_rank_limits(x: np.ndarray, atol: Any, rtol: Any, hermitian: bool) -> np.ndarray:
    values = _values(x, hermitian)
    return np.sum(values > _limit(values, x, atol, rtol), -1, dtype=np.int64)


@answer("linalg_tensorinv(Tensor self, int ind=2) -> Tensor")
def tensorinv(x: np.ndarray, ind: int) -> np.ndarray:
    check(category(x.dtype) >= 2, f"floating point numbers are wanted, not {x.dtype.name}")
    return np.linalg.tensorinv(x, ind)


@answer("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor")
def tensorsolve(x: np.ndarray, other: np.ndarray, dims: "list[int] | None") -> np.ndarray:
    alike(x, other)
    check(category(x.dtype) >= 2, f"floating point numbers are wanted, not {x.dtype.name}")
    return np.linalg.tensorsolve(x, other, dims)
