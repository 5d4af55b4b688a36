"""A library of arrays with gradients, in the way of PyTorch, for tests that run without it.

`library` is the module, in sys.modules as "gradients_of_tests", and Tensor its class: NumPy's
arrays by __dlpack__, with requires_grad, is_conj() and is_neg(), views that are conjugated or
negated when they are resolved, and a count of writes.
"""

import contextlib
import sys
import types

import numpy as np

library = types.ModuleType("gradients_of_tests")
library.enabled = True
library.asked = []  # what was asked, of whatever tensor


def is_grad_enabled():
    library.asked.append("is_grad_enabled")
    return library.enabled


def increment_version(tensor):
    tensor.version += 1


@contextlib.contextmanager
def no_grad():
    library.enabled, before = False, library.enabled
    try:
        yield
    finally:
        library.enabled = before


class Tensor:
    """memory: a NumPy array; what the tensor is meant to hold depends on the other attributes."""

    __module__ = library.__name__

    def __init__(self, memory, *, requires_grad=False, conj=False, neg=False, offset=0):
        self.memory = np.asarray(memory)
        self.wants = requires_grad
        self.conj, self.neg, self.offset = conj, neg, offset
        self.version = 0

    @property
    def requires_grad(self):
        library.asked.append("requires_grad")
        return self.wants

    def is_conj(self):
        library.asked.append("is_conj")
        return self.conj

    def is_neg(self):
        library.asked.append("is_neg")
        return self.neg

    def resolve_conj(self):
        return type(self)(self.memory.conj(), neg=self.neg)

    def resolve_neg(self):
        return type(self)(-self.memory, conj=self.conj)

    def storage_offset(self):
        return self.offset

    def __dlpack__(self, **arguments):
        return self.memory.__dlpack__(**arguments)

    def tolist(self):
        return self.memory.tolist()


def from_dlpack(array):
    return Tensor(np.from_dlpack(array))


graph = types.ModuleType("gradients_of_tests.autograd.graph")
graph.increment_version = increment_version
library.autograd = types.SimpleNamespace(graph=graph)
library.is_grad_enabled = is_grad_enabled
library.from_dlpack = from_dlpack
library.no_grad = no_grad
library.Tensor = Tensor
sys.modules[library.__name__] = library
