"""Libraries of arrays for the tests of foreign arrays: ways into operators, and results.

`LIBRARIES` has one line for each. PyTorch is there where it is installed.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from built import import_arrays

import opyard


@dataclass(frozen=True)
class Library:
    """make() gives an array of float32, `kind` is the type of results."""

    name: str
    make: Callable[[list], Any]
    kind: type
    address: Callable[[Any], int] = lambda array: opyard.from_dlpack(array).data_ptr()


class Exporter:
    """An array with __dlpack__ only, of a module without from_dlpack."""

    def __init__(self, values):
        self.array = np.array(values, np.float32)

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def tolist(self):
        return self.array.tolist()


class Namespaced(Exporter):
    """The same of a library that follows the array API."""

    def __array_namespace__(self, api_version=None):
        return Namespaced

    @staticmethod
    def from_dlpack(source):
        made = Namespaced([])
        made.array = np.from_dlpack(source)
        return made


class Matrix(np.ndarray):
    """A subclass of numpy.ndarray."""


def flat(values):
    return np.array(values, np.float32)


def libraries():
    arrays = import_arrays()

    def of_table(kind):
        def make(values):
            data = flat(values)
            return kind(data.ravel().tolist(), data.shape)

        return make

    yield Library("numpy", flat, np.ndarray, address=lambda a: a.ctypes.data)
    yield Library(
        "numpy subclass",
        lambda v: flat(v).view(Matrix),
        np.ndarray,
        address=lambda a: a.ctypes.data,
    )
    for kind, result in (
        (arrays.Array, arrays.Array),
        (arrays.Older, arrays.Older),
        (arrays.Subclassable, arrays.Array),
    ):
        yield Library(
            kind.__name__.lower() + " by table",
            of_table(kind),
            result,
            address=lambda a: a.address,
        )
    yield Library("__dlpack__ only", Exporter, opyard.Tensor)
    yield Library("array api", Namespaced, Namespaced, address=lambda a: a.array.ctypes.data)
    yield Library(
        "memoryview",
        lambda v: memoryview(flat(v)),
        opyard.Tensor,
        address=lambda a: np.asarray(a).ctypes.data,
    )
    if importlib.util.find_spec("torch") is not None:
        import torch

        yield Library("torch", torch.tensor, torch.Tensor, address=lambda a: a.data_ptr())
        yield Library(
            "torch.nn.Parameter",
            lambda v: torch.nn.Parameter(torch.tensor(v), requires_grad=False),
            torch.Tensor,
            address=lambda a: a.data_ptr(),
        )


LIBRARIES = list(libraries())


class Constant(bytes):
    """As JAX's arrays: the capsule has no flag for what must not be written, the buffer says it."""

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self):
        return np.frombuffer(bytearray(self), np.float32).__dlpack__()
