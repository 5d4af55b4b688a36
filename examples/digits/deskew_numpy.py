"""digits::deskew again, in NumPy: an override of the C++ kernel in the middle of training."""

import numpy as np

import opyard

SIDE = 8
MIDDLE = (SIDE - 1) / 2


class DeskewInNumPy:
    """A kernel with a counter. Same result as the C++ one, up to rounding."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, images: opyard.Tensor) -> opyard.Tensor:
        self.calls += 1
        pixels = _checked(images.numpy()).reshape(-1, SIDE, SIDE).astype(np.float64)
        rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float64)
        mass = pixels.sum((1, 2), keepdims=True)
        safe = np.where(mass == 0, 1, mass)
        row = (pixels * rows).sum((1, 2), keepdims=True) / safe
        column = (pixels * columns).sum((1, 2), keepdims=True) / safe
        row_row = (pixels * (rows - row) ** 2).sum((1, 2), keepdims=True) / safe
        row_column = (pixels * (rows - row) * (columns - column)).sum((1, 2), keepdims=True) / safe
        blank = row_row == 0
        slant = row_column / np.where(blank, 1, row_row)
        source_rows = (rows - MIDDLE) + row
        source_columns = slant * (rows - MIDDLE) + (columns - MIDDLE) + column
        straight = np.where(blank, pixels, _sample(pixels, source_rows, source_columns))
        return opyard.from_numpy(straight.astype(np.float32).reshape(images.shape))


def _checked(images: np.ndarray) -> np.ndarray:
    """Raises ValueError for another shape, and naming the row for what is no finite number."""
    if images.shape[1:] not in ((SIDE * SIDE,), (SIDE, SIDE)):
        raise ValueError(
            "digits::deskew: images must have the shape [n, 64] or [n, 8, 8], but they have "
            f"{list(images.shape)}"
        )
    bad = np.argwhere(~np.isfinite(images.reshape(len(images), SIDE * SIDE)))
    if len(bad):
        row, pixel = bad[0]
        value = images[row].flat[pixel]
        raise ValueError(
            f"digits::deskew: row {row} of images holds {value} at pixel {pixel}; "
            "every pixel must be a finite number"
        )
    return images


def _sample(pixels: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Bilinear interpolation at (rows, columns) of each image; paper outside."""
    padded = np.pad(pixels, ((0, 0), (2, 2), (2, 2)))
    rows = np.clip(rows, -2, SIDE) + 2
    columns = np.clip(columns, -2, SIDE) + 2
    rows, columns = np.broadcast_arrays(rows, columns)
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    down, right = rows - top, columns - left
    image = np.arange(len(pixels))[:, None, None]
    limit = SIDE + 3
    below, beside = np.minimum(top + 1, limit), np.minimum(left + 1, limit)
    return (1 - down) * (
        (1 - right) * padded[image, top, left] + right * padded[image, top, beside]
    ) + down * ((1 - right) * padded[image, below, left] + right * padded[image, below, beside])
