"""Protects that modes and subclasses see the values that Python asks a tensor for.

Suspect objects/tensor/tensor_methods.cpp, kernels/handlers.cpp, opyard/_tensor/copying.py.
"""

import copy
import pickle

import pytest

import opyard
from opyard.dispatch import DispatchMode
from opyard.testing import LoggingMode

aten = opyard.ops.aten


class Wrapper(opyard.Tensor):
    """Holds a tensor, and has no memory of its own."""

    def __new__(cls, held):
        made = opyard.Tensor.make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        made.held = held
        return made

    def __reduce__(self):
        return Wrapper, (self.held,)

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        assert type(kwargs) is dict
        inside = [a.held if isinstance(a, Wrapper) else a for a in args]
        result = op(*inside, **kwargs)
        return Wrapper(result) if isinstance(result, opyard.Tensor) else result


class Unpicklable(Wrapper):
    __reduce__ = object.__reduce__


@pytest.fixture
def w():
    return Wrapper(opyard.tensor([3.0]))


def test_a_wrapper_answers_for_its_value(w):
    assert (w.item(), float(w), int(w), bool(w > 2)) == (3.0, 3.0, 3, True)
    assert Wrapper(opyard.tensor([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]


def test_an_array_of_numpy_is_made_of_what_a_wrapper_answers():
    np = pytest.importorskip("numpy")
    w = Wrapper(opyard.tensor([[1, 2], [3, 4]]))
    for array in (w.numpy(), np.asarray(w), np.array(w)):
        assert array.dtype == np.int64 and array.tolist() == [[1, 2], [3, 4]]
    assert Wrapper(opyard.tensor([], dtype=opyard.float64)).numpy().dtype == np.float64
    with pytest.raises(ValueError, match="an array of it is a copy, and copy=False was given"):
        w.__array__(copy=False)


def test_a_wrapper_can_be_shown(w):
    assert repr(w) == "Wrapper(..., shape=(1,))"
    assert repr(Wrapper(opyard.tensor([1, 2], dtype=opyard.int32))) == (
        "Wrapper(..., shape=(2,), dtype=opyard.int32)"
    )


def test_a_mode_sees_the_question_for_a_value():
    with LoggingMode() as mode:
        assert opyard.tensor([2.0]).item() == 2.0
    assert any("item" in line or "_local_scalar_dense" in line for line in mode.lines)


def test_a_mode_sees_each_element_of_a_list():
    with LoggingMode() as mode:
        assert opyard.tensor([[2.0, 3.0]]).tolist() == [[2.0, 3.0]]
    assert sum("_local_scalar_dense" in line for line in mode.lines) == 2


def test_E23_no_other_instance_is_made_of_a_wrapper(w):
    for make in (lambda: opyard.Tensor.make_subclass(Wrapper, w), lambda: w.as_subclass(Wrapper)):
        with pytest.raises(TypeError, match="it is a wrapper without memory"):
            make()
    with pytest.raises(ValueError, match="data_ptr: a .*Wrapper has no memory of its own"):
        w.data_ptr()
    assert aten.empty([2], device="meta").data_ptr() == 0


def test_deepcopy_goes_through_clone(w):
    made = copy.deepcopy(w)
    assert type(made) is Wrapper and made.held is not w.held
    aten.mul_(made.held, 2)
    assert (w.item(), made.item()) == (3.0, 6.0)


def test_pickle_works_or_says_what_to_define(w):
    assert pickle.loads(pickle.dumps(w)).item() == 3.0
    with pytest.raises(TypeError, match=r"Define __reduce__\(self\) in Unpicklable"):
        pickle.dumps(Unpicklable(opyard.tensor([1.0])))


def test_handlers_get_a_dict_that_nobody_else_has():
    seen = []

    class Keeping(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append(kwargs)
            kwargs["left"] = 1
            return op(*args)

    with Keeping():
        x = opyard.tensor([1.0])
        x + x
        x * x
    assert seen == [{"left": 1}] * 2
    assert seen[0] is not seen[1]


def test_a_mode_whose_handler_is_a_class_method_is_refused():
    class Wrong(DispatchMode):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return op(*args, **kwargs)

    with pytest.raises(TypeError, match="of the mode Wrong is a classmethod"), Wrong():
        pass


WRITES = {
    "addcdiv_": lambda x, y: x.addcdiv_(y, y),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=2),
    "baddbmm_": lambda x, y: x.unsqueeze(0).baddbmm_(y.unsqueeze(0), y.unsqueeze(0)),
    "index_fill_": lambda x, y: x.index_fill_(0, opyard.tensor([1]), 4.0),
    "index_add_": lambda x, y: x.index_add_(0, opyard.tensor([1, 0]), y),
    "lerp_": lambda x, y: x.lerp_(y, 0.25),
    "square_": lambda x, y: x.square_(),
    "tril_": lambda x, y: x.tril_(),
    "out": lambda x, y: aten.addcmul.out(y, y, y, out=x),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_composition_writes_a_wrapper_by_what_its_class_copies(write):
    values = [[1.0, 2.0], [3.0, 4.0]], [[0.5, 1.0], [-1.0, 2.0]]
    plain, other = map(opyard.tensor, values)
    held = opyard.tensor(values[0])
    w = Wrapper(held)
    write(plain, other)
    before = w._version
    write(w, Wrapper(other))
    assert held.tolist() == plain.tolist() != values[0]
    assert w._version == before + 1


def test_a_composition_that_writes_a_wrapper_is_taped():
    def gradient_of(make):
        x = make(opyard.tensor([1.0, 2.0])).requires_grad_()
        y = x * 2
        y.addcmul_(x, x)
        y.square_()
        y.sum().backward()
        return x.grad.tolist()

    assert gradient_of(Wrapper) == gradient_of(lambda values: values) == [24.0, 96.0]
