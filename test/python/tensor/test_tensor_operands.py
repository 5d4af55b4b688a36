"""test_tensor_operands.py: operands beside a tensor in arithmetic: unknown types, arrays, NumPy.

Suspect tensor_number.cpp, tensor_compare.cpp, numpy_functions.cpp of objects/tensor/.
"""

import operator
import sys
from array import array as array_of
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from test_tensor_arithmetic import ARITHMETIC, BITWISE, COMPARISON, name_of

import opyard

# what does not fit ------------------------------------------------------------------------

STRANGERS = ["text", None, object(), [1, 2, 3], {}, Decimal(1), Fraction(1, 2)]


# A fraction makes itself a float in powers, on either side.
STRANGE_CALLS = [
    (symbol, stranger)
    for symbol in [*ARITHMETIC, *BITWISE, operator.matmul]
    for stranger in STRANGERS
    if (symbol, type(stranger)) != (operator.pow, Fraction)
]


@pytest.mark.parametrize(
    ("symbol", "stranger"), STRANGE_CALLS, ids=lambda v: getattr(v, "__name__", type(v).__name__)
)
def test_strangers_are_refused_on_either_side(x, symbol, stranger):
    with pytest.raises(TypeError):
        symbol(x, stranger)
    if (symbol, type(stranger)) == (operator.mod, str):
        return  # on the left it is a format, which takes any object
    with pytest.raises(TypeError):
        symbol(stranger, x)


@pytest.mark.parametrize("stranger", STRANGERS, ids=lambda s: type(s).__name__)
def test_strangers_are_unequal_and_have_no_order(x, stranger):
    assert (x == stranger) is False
    assert (x != stranger) is True
    with pytest.raises(TypeError, match="not supported between instances of"):
        x < stranger  # noqa: B015


def test_an_operand_that_knows_tensors_is_asked():
    class Knows:
        def __radd__(self, other):
            return "radd"

        def __matmul__(self, other):
            return "matmul"

        def __gt__(self, other):
            return "gt"

    tensor = opyard.tensor([1])
    assert (tensor + Knows(), Knows() @ tensor, tensor < Knows()) == ("radd", "matmul", "gt")


def test_the_message_names_both_types(x):
    with pytest.raises(TypeError) as caught:
        x + "text"
    assert str(caught.value) == "unsupported operand type(s) for +: 'opyard.Tensor' and 'str'"


def test_numbers_are_no_matrices(x):
    for arguments in ((x, 2), (2, x)):
        with pytest.raises(TypeError, match="unsupported operand"):
            operator.matmul(*arguments)


def test_bitwise_symbols_take_no_floats():
    with pytest.raises(TypeError, match="unsupported operand"):
        opyard.tensor([1]) & 1.0
    with pytest.raises(TypeError, match="unsupported operand"):
        1.0 | opyard.tensor([1])


def test_power_has_no_modulus(x):
    with pytest.raises(TypeError):
        pow(x, 2, 5)


def test_errors_of_operators_come_through(x):
    with pytest.raises(ValueError, match="aten::add"):
        x + opyard.tensor([1.0, 2.0])


SYMBOLS = {name_of(symbol): symbol for symbol in ARITHMETIC + COMPARISON}


def arrays_of_others(values):
    """The same numbers as arrays of other libraries."""
    yield np.array(values, np.float32)
    yield np.array([values, values], np.float32).T[:, 0]
    yield memoryview(np.array(values, np.float32))
    yield array_of("f", values)
    torch = sys.modules.get("torch")
    if torch is not None:
        yield torch.tensor(values)


@pytest.mark.parametrize("name", SYMBOLS)
def test_arrays_are_operands_on_both_sides(name, x):
    symbol, numbers = SYMBOLS[name], [1.0, 5.0, 2.0]
    plain = opyard.tensor(numbers)
    for other in arrays_of_others(numbers):
        if isinstance(other, memoryview) and symbol in (operator.eq, operator.ne):
            continue  # on the left it answers for itself
        here, there = symbol(x, other), symbol(other, x)
        for got, right in ((here, symbol(x, plain)), (there, symbol(plain, x))):
            assert type(got) is opyard.Tensor
            assert got.dtype == right.dtype
            assert got.tolist() == right.tolist()


def test_arrays_are_operands_of_products_and_of_bits(x):
    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (opyard.from_numpy(m) @ m.T).tolist() == (m @ m.T).tolist()
    assert (m @ opyard.from_numpy(m.T)).tolist() == (m @ m.T).tolist()
    bits = opyard.tensor([1, 2, 3])
    for symbol in (operator.and_, operator.or_, operator.xor):
        right = symbol(np.array([1, 2, 3]), np.array([3, 3, 3])).tolist()
        assert symbol(bits, np.array([3, 3, 3])).tolist() == right
        assert symbol(np.array([3, 3, 3]), bits).tolist() == right


def test_functions_of_operators_give_what_the_operator_gives(x):
    a = np.full(3, 2, np.float32)
    for function, symbol in (
        (np.add, operator.add),
        (np.subtract, operator.sub),
        (np.multiply, operator.mul),
        (np.divide, operator.truediv),
        (np.floor_divide, operator.floordiv),
        (np.remainder, operator.mod),
        (np.power, operator.pow),
        (np.matmul, operator.matmul),
        (np.less, operator.lt),
        (np.less_equal, operator.le),
        (np.greater, operator.gt),
        (np.greater_equal, operator.ge),
        (np.equal, operator.eq),
        (np.not_equal, operator.ne),
    ):
        result = function(a, x)
        assert isinstance(result, opyard.Tensor)
        assert result.tolist() == symbol(a, x).tolist() == symbol(a, x.numpy()).tolist()
    assert (np.float32(2) - x).tolist() == (2 - x.numpy()).tolist()


def test_an_array_takes_no_tensor_in_place(x):
    a = np.ones(3, np.float32)
    before = a.copy()
    with pytest.raises(TypeError, match="numpy.add does not take"):
        a += x
    assert (a == before).all()


def test_an_array_is_added_in_place(x):
    before = x.data_ptr()
    y = x
    y += np.ones(3, np.float32)
    assert y is x and x.data_ptr() == before and x.tolist() == [2.0, 3.0, 4.0]


def test_an_array_that_broadcasts_or_does_not(x):
    assert (x == np.float32([[1], [2]])).tolist() == [[True, False, False], [False, True, False]]
    for symbol in (operator.eq, operator.add):
        with pytest.raises(ValueError, match="must be equal or 1"):
            symbol(x, np.ones(2, np.float32))


def test_an_array_that_is_no_tensor_is_refused_and_not_unequal(x):
    for other in (np.array(["a", "b", "c"]), np.ones(3)[::-1], np.ones(3, ">f4")):
        for symbol in (operator.eq, operator.ne, operator.add):
            for arguments in ((x, other), (other, x)):
                with pytest.raises((TypeError, ValueError), match="operand of type 'numpy.nd"):
                    symbol(*arguments)


def test_what_is_no_array_is_unequal(x):
    for other in ("abc", b"abc", bytearray(b"abc"), None, [1.0, 2.0, 3.0], object()):
        assert (x == other) is False and (other == x) is False
        assert (x != other) is True and (other != x) is True
        with pytest.raises(TypeError):
            x + other
