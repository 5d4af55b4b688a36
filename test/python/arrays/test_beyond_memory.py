"""test_beyond_memory.py: properties of arrays beyond their memory are respected or refused.

Suspect objects/arrays/beyond_memory.cpp, then objects/arrays/foreign_arguments.cpp. Each rule is
asked of a stand-in for PyTorch (gradient_library.py), and of PyTorch if it is installed.
"""

import sys

import gradient_library
import numpy as np
import pytest
from array_libraries import Constant
from built import import_arrays

import opyard

arrays = import_arrays()
aten = opyard.ops.aten
fake = gradient_library.library


class FakeLibrary:
    """What the tests need of a library, by the names that PyTorch has for it."""

    Tensor = fake.Tensor
    no_grad = staticmethod(fake.no_grad)
    hint = r"x\.detach\(\), or call under gradients_of_tests\.no_grad\(\)"

    @staticmethod
    def ones(count, *, requires_grad=False):
        return fake.Tensor(np.ones(count, np.float32), requires_grad=requires_grad)

    @staticmethod
    def conj(values):
        return fake.Tensor(np.array(values, np.complex64), conj=True)

    @staticmethod
    def neg(values, dtype="float32"):
        return fake.Tensor(-np.array(values, dtype), neg=True)

    @staticmethod
    def both(values):
        return fake.Tensor(-np.array(values, np.complex64).conj(), neg=True, conj=True)

    @staticmethod
    def version(tensor):
        return tensor.version


class PyTorch:
    hint = r"x\.detach\(\), or call under torch\.no_grad\(\)"

    def __init__(self, torch):
        self.torch = torch
        self.Tensor = torch.Tensor
        self.no_grad = torch.no_grad
        self.ones = torch.ones

    def conj(self, values):
        return self.torch.tensor(values, dtype=self.torch.complex64).conj()

    def neg(self, values, dtype="float32"):
        of = self.torch.tensor(values, dtype=getattr(self.torch, dtype))
        return self.torch._neg_view(of.neg())

    def both(self, values):
        of = self.torch.tensor(values, dtype=self.torch.complex64)
        return self.torch._neg_view(of.neg().conj().resolve_conj().conj())

    def version(self, tensor):
        return tensor._version


@pytest.fixture(params=["fake", "torch"])
def lib(request):
    if request.param == "fake":
        return FakeLibrary()
    return PyTorch(pytest.importorskip("torch", reason="PyTorch is not installed"))


# gradients ------------------------------------------------------------------------------------


def test_F57_a_gradient_is_refused_while_gradients_are_enabled(lib):
    w = lib.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match=rf"aten::neg\(\) .*argument 'self'.*{lib.hint}"):
        aten.neg.default(w)
    with pytest.raises(ValueError, match=lib.hint):
        aten.mul_.Scalar(w, 10)
    with pytest.raises(ValueError, match=lib.hint):
        aten.cat.default([lib.ones(2), w])
    assert w.tolist() == [1.0, 1.0] and lib.version(w) == 0


def test_F57_a_gradient_is_let_through_while_gradients_are_disabled(lib):
    w = lib.ones(2, requires_grad=True)
    with lib.no_grad():
        assert aten.neg(w).tolist() == [-1.0, -1.0]
        assert aten.mul_(w, 10) is w
    assert w.tolist() == [10.0, 10.0] and lib.version(w) == 1


@pytest.mark.parametrize("take", [opyard.from_dlpack, opyard.tensor])
def test_F57_a_gradient_is_refused_by_imports_too(lib, take):
    w = lib.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match=lib.hint):
        take(w)
    with lib.no_grad():
        assert take(w).tolist() == [1.0, 1.0]


def test_F57_a_kernel_that_returns_a_gradient_is_told_so(lib, define):
    w = lib.ones(2, requires_grad=True)
    op = define("gives(Tensor x) -> Tensor", CPU=lambda x: w)
    with pytest.raises(RuntimeError, match=rf"result 0|{lib.hint}"):
        op(lib.ones(2))


def test_F57_each_write_is_counted_once_and_before_the_kernel(lib, define):
    seen = []
    x, y = lib.ones(2), lib.ones(2)
    op = define("writes(Tensor(a!) x, Tensor y) -> ()", CPU=lambda *_: seen.append(lib.version(x)))
    op(x, y)
    assert (seen, lib.version(x), lib.version(y)) == ([1], 1, 0)
    op.default.redispatch(opyard.dispatch.DispatchKeySet("CPU"), x, y)
    assert (seen, lib.version(x)) == ([1, 2], 2)
    aten.add_(y, x)
    assert (lib.version(x), lib.version(y)) == (2, 1)


def test_F57_a_call_that_does_not_fit_counts_no_write(lib):
    x = lib.ones(2)
    with pytest.raises(TypeError):
        aten.add_(x, object())
    assert lib.version(x) == 0


def test_F57_pytorch_raises_where_its_own_operators_would_make_it():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    w, x = torch.ones(2, requires_grad=True), torch.ones(2)
    y = (w * w * x).sum()
    aten.mul_(x, 10)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    z = (w * w).sum()
    with torch.no_grad():
        aten.mul_(w, 10)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch itself
def test_F57_a_tangent_is_not_seen_and_transforms_are_refused():
    """As docs/guides/arrays.md says."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(torch.ones(2), torch.full((2,), 3.0))
        result = aten.neg(x)
        assert result.tolist() == [-1.0, -1.0]
        assert forward.unpack_dual(result).tangent is None
    x = torch.ones(2, 2)
    for transform in (torch.func.vmap(aten.neg), lambda x: torch.func.jvp(aten.neg, (x,), (x,))):
        with pytest.raises(ValueError, match="doesn't have storage"):
            transform(x)


# conjugate and negative views --------------------------------------------------------------------


def test_F57_views_are_read_as_what_they_mean(lib, define):
    assert aten.clone(lib.conj([1 + 2j])).tolist() == [1 - 2j]
    assert aten.clone(lib.neg([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert aten.clone(lib.neg([1, 2], "int64")).tolist() == [1, 2]
    assert aten.clone(lib.both([1 + 2j])).tolist() == [1 + 2j]
    assert aten.cat([lib.neg([1.0]), lib.neg([2.0])]).tolist() == [1.0, 2.0]
    assert type(aten.clone(lib.neg([1.0]))) is lib.Tensor


def test_F57_pytorchs_own_ways_to_views():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    z = torch.tensor([[1 + 2j, 3 + 4j]])
    assert aten.add(z.conj().imag, 0).tolist() == [[-2.0, -4.0]]
    assert aten.add(z.conj().imag.detach(), 0).tolist() == [[-2.0, -4.0]]
    assert aten.clone(z.mH).tolist() == [[1 - 2j], [3 - 4j]]


def test_F57_a_view_is_not_written_to(lib, define):
    op = define("put(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", CPU=lambda x, *, out: out)
    for view, words in (
        (lib.conj([1 + 2j]), r"a conjugate view of other memory; pass x\.resolve_conj\(\)"),
        (lib.neg([1.0]), r"a negative view of other memory; pass x\.resolve_neg\(\)"),
    ):
        with pytest.raises(ValueError, match=words):
            aten.copy_(view, view)
        with pytest.raises(ValueError, match=words):
            op(view, out=view)
        assert lib.version(view) == 0


def test_F57_what_stands_for_a_view_is_read_only(lib, define):
    def kernel(x):
        with pytest.raises(ValueError, match="read-only"):
            x.fill_(0)

    op = define("tries(Tensor x) -> ()", CPU=kernel)
    view = lib.neg([1.0, 2.0])
    op(view)
    imported = opyard.from_dlpack(view)
    assert imported.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        imported.fill_(0)
    assert opyard.tensor(view).fill_(0).tolist() == [0.0, 0.0]


def test_F57_a_view_that_comes_back_is_the_object_that_was_given(lib, define):
    op = define("same(Tensor x) -> Tensor", CPU=lambda x: x)
    view = lib.neg([1.0])
    assert op(view) is view


def test_F57_a_view_is_held_for_the_call_and_no_longer(lib, define):
    kept = []
    op = define("keeps(Tensor x) -> ()", CPU=kept.append)
    for values in ([1.0, 2.0], [3.0]):
        op(lib.neg(values))
        assert kept.pop().tolist() == values


# what is asked ----------------------------------------------------------------------------------


def asked_by(call):
    fake.asked.clear()
    call()
    return fake.asked[:]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="is_conj is asked, too; only slower")
def test_F57_only_what_a_dtype_can_need_is_asked(define):
    """By the way that knows the dtype beforehand: arrays with a table."""
    op = define("look(Tensor x, Tensor y) -> ()", CPU=lambda x, y: None)

    class Exported(arrays.Subclassable):
        requires_grad = fake.Tensor.requires_grad
        is_conj = fake.Tensor.is_conj
        is_neg = fake.Tensor.is_neg
        wants = conj = neg = False

    a, b = Exported([1.0]), Exported([2.0])
    op(a, b)  # the type is looked at
    assert asked_by(lambda: op(a, b)) == ["requires_grad", "is_neg"] * 2
    a.conj = True  # nothing that float32 could be
    assert asked_by(lambda: op(a, b)) == ["requires_grad", "is_neg"] * 2


def test_F57_the_mode_is_asked_once_a_call_and_only_for_a_gradient():
    w = fake.Tensor(np.ones(2, np.float32), requires_grad=True)
    v = fake.Tensor(np.ones(2, np.float32), requires_grad=True)
    with fake.no_grad():
        aten.cat([w, v])
        assert asked_by(lambda: aten.cat([w, v])).count("is_grad_enabled") == 1
    x = fake.Tensor(np.ones(2, np.float32))
    assert "is_grad_enabled" not in asked_by(lambda: aten.cat([x, x]))


def test_F57_an_exception_of_a_question_comes_out_and_nothing_is_lost():
    class Broken(arrays.Subclassable):
        @property
        def requires_grad(self):
            raise ZeroDivisionError("no answer")

    before = arrays.counts()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="no answer"):
            aten.neg(Broken([1.0]))
    after = arrays.counts()
    assert after[0] - before[0] == after[1] - before[1]


def test_F57_a_copy_that_is_no_array_is_refused():
    class Odd(fake.Tensor):
        def resolve_conj(self):
            return "text"

    for call in (aten.neg, lambda x: aten.cat([x])):
        with pytest.raises(ValueError, match="an object of type 'str' for its elements"):
            call(Odd(np.array([1j], np.complex64), conj=True))


def test_F57_arrays_that_cannot_answer_are_asked_nothing():
    assert asked_by(lambda: aten.neg(np.ones(2))) == []


# offsets ----------------------------------------------------------------------------------------


def test_F57_an_offset_counts_in_the_memory_of_the_library(lib):
    whole = np.arange(10, dtype=np.float32)
    if isinstance(lib, FakeLibrary):
        part = fake.Tensor(whole[4:], offset=4)
    else:
        part = lib.torch.arange(10.0)[4:]
    assert aten.as_strided(part, [2], [1]).tolist() == [4.0, 5.0]
    assert aten.as_strided(part, [2], [1], 5).tolist() == [5.0, 6.0]
    assert aten.as_strided(part, [2], [3], storage_offset=4).tolist() == [4.0, 7.0]
    with pytest.raises(
        ValueError, match="storage_offset=1 is before the first element of argument"
    ):
        aten.as_strided(part, [2], [1], 1)
    assert aten.as_strided(whole[4:], [2], [1], 1).tolist() == [5.0, 6.0]
    assert aten.as_strided(opyard.tensor(whole)[4:], [2], [1], 1).tolist() == [1.0, 2.0]


# arrays that move --------------------------------------------------------------------------------


class Meanwhile:
    """Runs code while it is converted to a number."""

    def __init__(self, code, number=1):
        self.code, self.number = code, number

    def __opyard_value__(self):
        self.code()
        return self.number


@pytest.mark.parametrize("shrinks", [True, False])
def test_F57_a_tensor_that_is_resized_while_others_are_converted_is_refused(shrinks):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for op in (aten.add.Scalar, aten.add_.Scalar):
        x = torch.ones(3)
        resize = (
            (lambda x=x: x.untyped_storage().resize_(0))
            if shrinks
            else (lambda x=x: x.resize_(1_000_000))
        )
        with pytest.raises(ValueError, match=r"aten::add_?\(\): an argument .* was resized"):
            op(x, Meanwhile(resize))
    x = torch.ones(3)
    assert aten.add.Scalar(x, Meanwhile(lambda: None)).tolist() == [2.0] * 3


def test_F57_an_array_whose_table_lends_other_memory_later_is_refused(define):
    op = define("two(Tensor x, int n) -> int", CPU=lambda x, n: n)
    x = arrays.Array([1.0, 2.0])
    assert op(x, Meanwhile(lambda: x.set(0, 5.0), 3)) == 3
    with pytest.raises(ValueError, match=r"two\(\): an argument of type '.*Array' was resized"):
        op(x, Meanwhile(lambda: x.move(), 3))


# memory that only its buffer calls read-only -----------------------------------------------------


def test_P17_from_dlpack_asks_the_buffer_where_the_capsule_cannot_say_it(define):
    constant = Constant(np.float32([1.5, 2.5]).tobytes())
    t = opyard.from_dlpack(constant)
    assert t.tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="read-only"):
        t.fill_(0)

    def kernel(x):
        with pytest.raises(ValueError, match="read-only"):
            x.fill_(0)

    define("look(Tensor x) -> ()", CPU=kernel)(constant)
