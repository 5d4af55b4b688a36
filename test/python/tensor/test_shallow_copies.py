"""Copies that C++ makes of a tensor whose class handles operators: by the class, seen once.

Suspect dispatcher/src/tensor/shallow_copy.cpp, and autograd/src/saved/saved_tensor.cpp.
"""

import gc
import weakref

import pytest

import opyard
from opyard import Tensor, autograd
from opyard.dispatch import DispatchKeySet

calls = []


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


class Wrapped(Tensor):
    """Has no memory: the tensor that it stands for is an attribute."""

    @classmethod
    def of(cls, inner):
        made = Tensor.make_wrapper_subclass(cls, list(inner.shape), dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        calls.append(op.name())
        result = op(*[a.inner if isinstance(a, cls) else a for a in args], **kwargs or {})
        return cls.of(result) if isinstance(result, Tensor) else result


class OnMemory(Tensor):
    """Is on the memory of the tensor that it was made of."""

    @classmethod
    def of(cls, inner):
        return inner.as_subclass(cls)

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        calls.append(op.name())
        result = op(*[a.as_subclass(Tensor) for a in args if isinstance(a, Tensor)], **kwargs or {})
        return result.as_subclass(cls) if isinstance(result, Tensor) else result


KINDS = pytest.mark.parametrize("kind", [Wrapped, OnMemory])


def leaf_of(kind, *values):
    return kind.of(opyard.tensor(list(values))).requires_grad_()


def values_of(tensor):
    return (tensor.inner if isinstance(tensor, Wrapped) else tensor.as_subclass(Tensor)).tolist()


class Same(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


@KINDS
def test_E3_a_function_that_gives_its_input_gives_another_of_its_class(kind):
    x = leaf_of(kind, 1.0, 2.0)
    calls.clear()
    y = Same.apply(x)
    assert calls == ["aten::detach"]
    assert type(y) is kind
    assert y is not x
    assert values_of(y) == [1.0, 2.0]
    assert y.grad_fn.name() == "SameBackward"


class Inside(autograd.Function):
    """Gives a result that has a history of its own."""

    @staticmethod
    def forward(ctx, x):
        with autograd.enable_grad():
            return x.neg()

    @staticmethod
    def backward(ctx, grad):
        return -grad


@KINDS
def test_E3_a_result_that_has_a_history_already_gets_another_of_its_class(kind):
    x = leaf_of(kind, 1.0, 2.0)
    calls.clear()
    y = Inside.apply(x)
    assert calls == ["aten::neg", "aten::detach"]
    assert type(y) is kind
    assert values_of(y) == [-1.0, -2.0]
    assert y.grad_fn.name() == "InsideBackward"


@KINDS
def test_E3_a_result_is_saved_as_a_copy_by_its_class(kind):
    """Saved itself, it would own its function and be owned by it, for ever."""
    x = leaf_of(kind, 1.0, 2.0)
    calls.clear()
    y = x.exp()
    assert calls == ["aten::exp", "aten::detach"]
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


@KINDS
def test_E3_an_argument_is_saved_as_it_is(kind):
    x = leaf_of(kind, 1.0, 2.0)
    calls.clear()
    y = x * x
    assert calls == ["aten::mul.Tensor"]
    assert type(y) is kind


def test_G10_a_write_into_a_saved_result_of_a_class_is_found():
    y = leaf_of(OnMemory, 1.0, 2.0).exp()
    y.as_subclass(Tensor).detach().add_(1)
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        y.backward(OnMemory.of(opyard.ones(2)))


@KINDS
def test_E3_what_is_no_result_of_a_call_below_handlers_is_made_by_the_class(kind):
    """The kernels of aten::detach and aten::alias are reached by a key below that of handlers."""
    x = kind.of(opyard.tensor([1.0, 2.0]))
    for name in ("detach", "alias"):
        op = getattr(opyard.ops.aten, name).default
        calls.clear()
        y = op.redispatch(DispatchKeySet(["CPU"]), x)
        assert calls == ["aten::detach"]
        assert type(y) is kind
        assert y is not x
        assert values_of(y) == [1.0, 2.0]


def test_E3_a_class_has_to_give_another_tensor():
    class Lazy(Wrapped):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return args[0]

    x = leaf_of(Lazy, 1.0)
    with pytest.raises(RuntimeError, match="detach gave the tensor that it was asked to copy"):
        Same.apply(x)


def test_what_has_no_class_is_copied_by_cpp():
    class Watching(opyard.dispatch.DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            calls.append(op.name())
            return op(*args, **kwargs or {})

    x = opyard.tensor([1.0]).requires_grad_()
    with Watching():
        y = Same.apply(x)
        z = x.exp()
    assert calls == ["aten::exp"]
    assert type(y) is type(z) is Tensor
