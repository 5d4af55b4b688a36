"""repeat_interleave by NumPy: elements repeated by a count for each."""

from typing import Any

import numpy as np

from .answers import answer, check, depends_on_elements
from .reductions import line


def _times(repeats: np.ndarray, output_size: "int | None") -> np.ndarray:
    check(repeats.dtype in (np.int32, np.int64), f"repeats is int32 or int64, not {repeats.dtype}")
    check(repeats.ndim <= 1, f"repeats has at most one dimension, not {repeats.ndim}")
    check(np.all(repeats >= 0), "nothing is repeated less than 0 times")
    return repeats


def _repeat(x: np.ndarray, repeats: Any, dim: int) -> np.ndarray:
    """NumPy's, which writes beyond memory when the number of elements wraps."""
    times = float(np.sum(repeats, dtype=np.float64))
    if np.size(repeats) == 1:
        times *= x.shape[dim]
    bytes_wanted = times * x.nbytes / max(x.shape[dim], 1)
    check(bytes_wanted < 2**62, f"{list(x.shape)} is repeated to more bytes than fit in 64 bits")
    return np.repeat(x, repeats, dim)


def _sized(made: np.ndarray, dim: int, output_size: "int | None") -> np.ndarray:
    size = made.shape[dim]
    check(output_size in (None, size), f"output_size is {size} here, not {output_size}")
    return made


@answer("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor")
@depends_on_elements
def repeat_indices(repeats: np.ndarray, output_size: "int | None") -> np.ndarray:
    repeats = _times(repeats, output_size)
    check(repeats.ndim == 1, f"repeats has one dimension, not {repeats.ndim}")
    made = _repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats, 0)
    return _sized(made, 0, output_size)


def _repeated(x: np.ndarray, repeats: Any, dim: "int | None", output_size: Any) -> np.ndarray:
    x = x.reshape(-1) if dim is None else line(x, dim)
    dim = 0 if dim is None else dim
    return _sized(_repeat(x, repeats, dim), dim, output_size)


@answer(
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
def repeat_number(x: np.ndarray, repeats: int, dim: Any, output_size: Any) -> np.ndarray:
    check(repeats >= 0, f"nothing is repeated {repeats} times")
    return _repeated(x, repeats, dim, output_size)


@answer(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor"
)
@depends_on_elements
def repeat_each(x: np.ndarray, repeats: np.ndarray, dim: Any, output_size: Any) -> np.ndarray:
    return _repeated(x, _times(repeats, output_size), dim, output_size)
