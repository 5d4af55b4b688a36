"""test_tensor_repr.py: repr and format of tensors. Suspect opyard/_tensor/formatting.py."""

import math

import pytest

import opyard
from opyard._tensor.formatting import WIDTH

inf, nan = math.inf, math.nan


def tensor(data, dtype=None):
    return opyard.tensor(data, dtype=None if dtype is None else getattr(opyard, dtype))


@pytest.mark.parametrize(
    ("data", "dtype", "shown"),
    [
        (3, None, "tensor(3)"),
        (True, None, "tensor(True)"),
        (1.5, None, "tensor(1.5)"),
        (2.0, None, "tensor(2.)"),
        ([1, 20, -3], None, "tensor([ 1, 20, -3])"),
        ([True, False], None, "tensor([ True, False])"),
        ([1.0, 2.0], None, "tensor([1., 2.])"),
        ([1.0, -2.5], None, "tensor([ 1.0, -2.5])"),
        ([1.0, 2.25, 1 / 3], None, "tensor([1.0000, 2.2500, 0.3333])"),
        ([0.1], None, "tensor([0.1])"),
        ([0.0, -0.0], None, "tensor([ 0., -0.])"),
        ([1.5, inf, -inf, nan], None, "tensor([ 1.5,  inf, -inf,  nan])"),
        ([nan], None, "tensor([nan])"),
        ([1e10, 1.0], None, "tensor([1.e+10, 1.e+00])"),
        ([1.25e-5, 0.0], None, "tensor([1.25e-05, 0.00e+00])"),
        ([1000.0, 0.001, inf], None, "tensor([1.e+03, 1.e-03,    inf])"),
        ([123456.0, 100.0], None, "tensor([123456.,    100.])"),
        ([1.5], "float64", "tensor([1.5], dtype=opyard.float64)"),
        ([1], "int8", "tensor([1], dtype=opyard.int8)"),
        (1, "float16", "tensor(1., dtype=opyard.float16)"),
        ([1], "bfloat16", "tensor([1.], dtype=opyard.bfloat16)"),
        ([1, 0.5], "complex64", "tensor([1.0+0.j, 0.5+0.j], dtype=opyard.complex64)"),
        ([], None, "tensor([])"),
        ([], "int64", "tensor([], dtype=opyard.int64)"),
        ([], "float64", "tensor([], dtype=opyard.float64)"),
        ([[], []], None, "tensor([], shape=(2, 0))"),
        ([[], []], "bool", "tensor([], shape=(2, 0), dtype=opyard.bool)"),
    ],
)
def test_small_tensors(data, dtype, shown):
    assert repr(tensor(data, dtype)) == shown
    assert str(tensor(data, dtype)) == shown


def test_complex_numbers_keep_their_signs():
    import numpy as np

    array = np.array([1 - 2j, complex(nan, inf)])
    assert repr(opyard.from_numpy(array)) == (
        "tensor([ 1.-2.j, nan+infj], dtype=opyard.complex128)"
    )


def test_brackets_nest_and_columns_line_up():
    assert repr(tensor([[1, 2], [30, 4]])) == "tensor([[ 1,  2],\n        [30,  4]])"
    assert repr(tensor([[[1, 2]], [[3, 4]]])) == "tensor([[[1, 2]],\n\n        [[3, 4]]])"


def test_views_show_their_own_elements():
    whole = tensor([[1, 2, 3], [4, 5, 6]])
    assert repr(whole.T[1:]) == "tensor([[2, 5],\n        [3, 6]])"


def test_long_rows_are_broken():
    shown = repr(tensor(list(range(100))))
    lines = shown.split("\n")
    assert len(lines) > 4
    assert max(map(len, lines)) <= WIDTH
    assert all(line.startswith(" " * 8) for line in lines[1:])
    assert shown.replace("\n", "").replace(" ", "") == f"tensor({list(range(100))})".replace(
        " ", ""
    )


def test_many_elements_are_shortened():
    assert repr(tensor(list(range(1001)))) == "tensor([   0,    1,    2, ...,  998,  999, 1000])"
    square = repr(opyard.ops.aten.zeros([40, 40], dtype=opyard.int64))
    row = "[0, 0, 0, ..., 0, 0, 0]"
    rows = ",\n        ".join([row, row, row, "...", row, row, row])
    assert square == f"tensor([{rows}])"
    assert "..." not in repr(tensor(list(range(1000))))


def test_only_long_dimensions_are_shortened():
    shown = repr(opyard.ops.aten.zeros([2, 7, 8, 20]))
    assert shown.count("...") == 2 * 7 * (6 + 1)
    assert shown.count("0.") == 2 * 7 * 6 * 6


def test_only_what_is_shown_decides_about_decimals():
    values = [0.5] * 3 + [1e-20] * 1000 + [0.25] * 3
    assert repr(tensor(values)) == "tensor([0.50, 0.50, 0.50, ..., 0.25, 0.25, 0.25])"


def test_printing_reads_few_elements_of_a_large_tensor():
    large = opyard.ops.aten.expand(tensor([1.0]), [10**6, 10**6])
    assert "1." in repr(large)


def test_notes_that_do_not_fit_get_a_line():
    shown = repr(tensor([123456789.0 * i for i in range(1, 6)], "float64"))
    assert shown == (
        "tensor([1.2346e+08, 2.4691e+08, 3.7037e+08, 4.9383e+08, 6.1728e+08],\n"
        "       dtype=opyard.float64)"
    )


def test_memory_that_cannot_be_read_is_not_shown():
    meta = opyard.ops.aten.empty([2, 3], dtype=opyard.int64, device="meta")
    assert repr(meta) == "tensor(..., shape=(2, 3), device='meta')"


def test_gradients_are_named():
    x = opyard.tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward>)"
    assert repr((x * 2).detach()) == "tensor([2., 4.])"
    assert repr(opyard.zeros(0, requires_grad=True)) == "tensor([], requires_grad=True)"
    on_meta = opyard.zeros(2, device="meta", requires_grad=True)
    assert repr(on_meta) == "tensor(..., shape=(2,), device='meta', requires_grad=True)"
