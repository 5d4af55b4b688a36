"""The 1,797 handwritten digits of examples/data, read and checked."""

import gzip
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent.parent / "data" / "digits.csv.gz"
PIXELS = 64


def load(path: Path = DATA) -> tuple[np.ndarray, np.ndarray]:
    """Reads images as float32[n, 64] in [0, 1] and labels as int64[n] in [0, 9].

    Raises ValueError, naming the row, for a row that is not 64 pixels of 0 to 16 and a label.
    """
    with gzip.open(path, "rt", encoding="ascii") as file:
        rows = [line.strip().split(",") for line in file if line.strip()]
    images = np.empty((len(rows), PIXELS), np.float32)
    labels = np.empty(len(rows), np.int64)
    for index, fields in enumerate(rows):
        if len(fields) != PIXELS + 1:
            count = len(fields)
            raise ValueError(f"{path.name}: row {index} has {count} numbers, not {PIXELS + 1}")
        try:
            numbers = [float(field) for field in fields]
        except ValueError as error:
            raise ValueError(f"{path.name}: row {index}: {error}") from None
        images[index] = numbers[:PIXELS]
        if not (images[index] >= 0).all() or not (images[index] <= 16).all():
            raise ValueError(f"{path.name}: row {index} has a pixel that is not in 0 to 16")
        if numbers[PIXELS] not in range(10):
            raise ValueError(f"{path.name}: row {index} has the label {fields[PIXELS]}, not 0 to 9")
        labels[index] = int(numbers[PIXELS])
    return images / 16, labels


def split(images: np.ndarray, labels: np.ndarray, train: int, seed: int):
    """A seeded permutation of the rows, cut after the first `train`: (train, held out)."""
    order = np.random.default_rng(seed).permutation(len(images))
    first, rest = order[:train], order[train:]
    return (images[first], labels[first]), (images[rest], labels[rest])
