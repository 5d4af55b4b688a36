"""test_other_ways.py: arguments that fit in another way than as they are: ints spread at the end,
numbers beside a tensor. Suspect operators/binding.cpp, then packet.cpp."""

import pytest
from raised import message_of

import opyard


class Counted:
    """An int that counts how often it is asked."""

    def __init__(self, value):
        self.value = value
        self.asked = 0

    def __index__(self):
        self.asked += 1
        return self.value


def test_ints_spread_at_the_end_are_converted_once():
    x = opyard.ones(6)
    rows = Counted(2)
    assert opyard.ops.aten.reshape.default(x, rows, 3).shape == (2, 3)
    assert rows.asked == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda op, x, n: op(x, n),
        lambda op, x, n: op._call_boxed(x, n),
        lambda op, x, n: op.redispatch(opyard.dispatch.DispatchKeySet(["CPU"]), x, n),
    ],
    ids=["direct", "boxed", "redispatch"],
)
def test_numbers_stand_for_tensors_however_an_operator_is_called(call):
    total = call(opyard.ops.aten.add.Tensor, opyard.ones(2), 2)
    assert total.tolist() == [3.0, 3.0]


def test_the_argument_behind_a_number_is_the_one_to_blame():
    text = message_of(TypeError, opyard.ops.aten.add.Tensor, opyard.ones(2), 2, alpha="much")
    assert "for argument 'alpha'" in text, text
