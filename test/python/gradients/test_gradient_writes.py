"""Gradients through operators that write: fill_ with a tensor, and in-place forms of functions.

Suspect kernels/src/creation/number.cpp, kernels/src/common/define.cpp, autograd/src/tape.cpp.
"""

import pytest

import opyard
from opyard import autograd

aten = opyard.ops.aten


def ones(*sizes):
    return opyard.ones(*sizes, dtype=opyard.float64)


def tensor(values, **options):
    return opyard.tensor(values, dtype=opyard.float64, **options)


def test_the_gradient_of_what_fills_is_the_sum():
    value = tensor(3.0, requires_grad=True)
    b = opyard.zeros(2, 3, dtype=opyard.float64)
    b.fill_(value)
    (b * tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    assert value.grad.item() == 21.0 and b.tolist() == [[3.0] * 3] * 2


def test_a_part_that_is_filled_keeps_the_history_of_the_rest():
    value, x = tensor(3.0, requires_grad=True), tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y[1:2].fill_(value)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 6.0] and value.grad.item() == 1.0


def test_fill_gives_a_new_tensor_and_its_gradient():
    value, x = tensor(3.0, requires_grad=True), tensor([1.0, 2.0], requires_grad=True)
    y = aten.fill(x, value)
    assert y.tolist() == [3.0, 3.0] and x.tolist() == [1.0, 2.0]
    y.sum().backward()
    assert value.grad.item() == 2.0 and (x.grad is None or x.grad.tolist() == [0.0, 0.0])


def test_the_gradient_of_a_value_of_another_dtype_has_its_dtype():
    value = opyard.tensor(3.0, dtype=opyard.float32, requires_grad=True)
    b = opyard.zeros(4, dtype=opyard.float64)
    b.fill_(value)
    b.sum().backward()
    assert value.grad.dtype is opyard.float32 and value.grad.item() == 4.0


def test_what_fills_has_no_dimensions():
    with pytest.raises(ValueError, match="value is .* accepted is a tensor without dimensions"):
        opyard.zeros(3).fill_(opyard.ones(3))


IN_PLACE = {
    "abs": (),
    "clamp": (0.5, 1.5),
    "exp": (),
    "log": (),
    "neg": (),
    "reciprocal": (),
    "sigmoid": (),
    "sqrt": (),
    "tanh": (),
    "masked_fill": (opyard.tensor([True, False, False]), 7.0),
}


CASES = [(name, arguments) for name, arguments in IN_PLACE.items()] + [
    ("pow", (3,)),
    ("pow", (opyard.tensor([2.0, 0.0, 0.5], dtype=opyard.float64),)),
    ("remainder", (0.75,)),
    ("remainder", (opyard.tensor([0.5, 0.75, 1.5], dtype=opyard.float64),)),
    ("floor_divide", (0.75,)),
    ("floor_divide", (opyard.tensor([0.5, 0.75, 1.5], dtype=opyard.float64),)),
]


@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_an_in_place_form_has_the_gradient_of_its_function(name, arguments):
    given = [0.25, 1.0, 2.0]

    def run(function):
        x = tensor(given, requires_grad=True)
        y = function(x * 1)
        (y * tensor([1.0, 2.0, 4.0]) + x).sum().backward()
        return y.tolist(), x.grad.tolist()

    assert run(lambda x: getattr(x, name + "_")(*arguments)) == run(
        lambda x: getattr(x, name)(*arguments)
    )
    x = tensor(given)
    assert getattr(x, name + "_")(*arguments) is x
    with autograd.no_grad():
        leaf = tensor(given, requires_grad=True)
        getattr(leaf, name + "_")(*arguments)
    with pytest.raises(ValueError, match="a leaf Variable that requires grad"):
        getattr(leaf, name + "_")(*arguments)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_xor"])
def test_what_is_compared_in_place_is_a_number_without_a_gradient(name):
    given, other = [0.0, 1.0, 2.0], [1.0, 1.0, 0.0]
    x, factor = tensor(given, requires_grad=True), tensor(other, requires_grad=True)
    y = x * 1
    assert getattr(y, name + "_")(factor) is y
    assert y.tolist() == [float(b) for b in getattr(tensor(given), name)(tensor(other)).tolist()]
    (y * 3 + x).sum().backward()
    assert x.grad.tolist() == [1.0] * 3
    assert factor.grad is None or factor.grad.tolist() == [0.0] * 3
    whole = opyard.tensor([3, 4])
    assert getattr(whole, name + "_")(opyard.tensor([3, 0])) is whole
    assert whole.dtype is opyard.int64


def test_bits_are_written_in_place():
    bits = opyard.tensor([6, 3])
    assert bits.bitwise_and_(2).tolist() == [2, 2]
    assert bits.bitwise_or_(opyard.tensor([1, 4])).tolist() == [3, 6]
    assert bits.bitwise_xor_(7).tolist() == [4, 1]
    assert bits.bitwise_not_().tolist() == [-5, -2]
    with pytest.raises(TypeError, match="which it cannot hold"):
        opyard.tensor([2, 3]).pow_(0.5)


def test_a_value_with_leading_ones_is_written_and_differentiated():
    row = tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    m = opyard.zeros(2, 3, dtype=opyard.float64)
    m[0] = row
    m[opyard.tensor([1])] = row.reshape(1, 1, 3) * 2
    m[1, 2] = row[:, :1]
    (m * tensor([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])).sum().backward()
    assert m.tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 1.0]]
    assert row.grad.tolist() == [[1.0 + 4.0 + 200.0, 10.0 + 40.0, 100.0]]
    with pytest.raises(ValueError):
        m[0] = opyard.zeros(2, 3, dtype=opyard.float64)


def test_detach_in_place_makes_a_leaf_of_what_had_a_history():
    x = ones(3).requires_grad_()
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf and not y.requires_grad and y.grad_fn is None
    y.add_(1)
    (x * y).sum().backward()
    assert x.grad.tolist() == [3.0] * 3
    x.detach_()
    assert not x.requires_grad


def test_detach_in_place_leaves_other_tensors_on_the_memory_their_history():
    x = ones(2).requires_grad_()
    b = opyard.zeros(2, dtype=opyard.float64)
    v = b[:]
    b.copy_(x)
    b.detach_()
    assert not b.requires_grad and v.requires_grad
    v.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_view_is_not_detached_in_place():
    y = ones(3).requires_grad_() * 2
    with pytest.raises(ValueError, match="can't detach views in-place"):
        y[:1].detach_()
