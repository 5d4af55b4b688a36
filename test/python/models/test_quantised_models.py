"""Protects models that were quantised by pt2e: operators of quantized_decomposed beside NumPy, and
a model of them that is saved and loaded as a stranger's.

Suspect kernels/operators/quantized.ops for values, models/src/files/own_namespaces.h for a refusal.
"""

import numpy as np
import pytest

import opyard
from opyard import jit

pytestmark = pytest.mark.once

ops = opyard.ops.quantized_decomposed
INT8 = (-128, 127, opyard.int8)
X = np.array([[0.04, -1.0, 3.3], [0.05, 0.15, -40.0]], np.float32)


def tensor(array, dtype=np.float32):
    return opyard.from_numpy(np.asarray(array, dtype))


def steps(x, scale, zero_point):
    return np.clip(np.round(x * (1.0 / scale)) + zero_point, -128, 127).astype(np.int8)


def test_integers_are_the_nearest_between_the_bounds():
    made = ops.quantize_per_tensor(tensor(X), 0.1, 5, *INT8)
    assert made.dtype == opyard.int8 and made.tolist() == steps(X, 0.1, 5).tolist()
    by_tensors = ops.quantize_per_tensor(
        tensor(X), tensor([0.1], np.float64), tensor([5], np.int64), *INT8
    )
    assert by_tensors.dtype == opyard.int8 and by_tensors.tolist() == made.tolist()
    halves = ops.quantize_per_tensor(tensor([0.5, 1.5, 2.5]), 1.0, 0, *INT8)
    assert halves.tolist() == [0, 2, 2]


@pytest.mark.parametrize("axis", [0, -1])
def test_each_channel_has_its_scale(axis):
    count = X.shape[axis]
    scales, points = np.linspace(0.05, 0.4, count), np.arange(count) - 1
    shape = [count, 1] if axis == 0 else [count]
    made = ops.quantize_per_channel(
        tensor(X), tensor(scales, np.float64), tensor(points, np.int64), axis, *INT8
    )
    wanted = steps(X, scales.reshape(shape), points.reshape(shape))
    assert made.tolist() == wanted.tolist()
    for given in (tensor(points, np.int64), None):
        back = ops.dequantize_per_channel(made, tensor(scales, np.float64), given, axis, *INT8)
        moved = wanted.astype(np.float32) - (0 if given is None else points.reshape(shape))
        assert back.dtype == opyard.float32
        np.testing.assert_allclose(back.numpy(), moved * scales.reshape(shape), rtol=1e-6)


def test_integers_stand_for_floats():
    whole = tensor([-3, 0, 127], np.int8)
    back = ops.dequantize_per_tensor(whole, 0.5, 1, *INT8)
    assert back.dtype == opyard.float32 and back.tolist() == [-2.0, -0.5, 63.0]
    half = ops.dequantize_per_tensor(whole, 0.5, 1, *INT8, out_dtype=opyard.bfloat16)
    assert half.dtype == opyard.bfloat16 and half.tolist() == [-2.0, -0.5, 63.0]
    by_tensors = ops.dequantize_per_tensor(
        whole, tensor([0.5], np.float64), tensor([1], np.int64), *INT8
    )
    assert by_tensors.dtype == opyard.float32 and by_tensors.tolist() == back.tolist()


def test_scales_are_chosen_by_the_extremes():
    scale, point = ops.choose_qparams(tensor(X), -128, 127, 1e-6, opyard.int8)
    assert (scale.dtype, point.dtype) == (opyard.float64, opyard.int64)
    assert scale.tolist() == [pytest.approx(43.3 / 255)]
    assert point.tolist() == [-128 + round(40 / (43.3 / 255))]
    scale, point = ops.choose_qparams(tensor([2.0, 3.0]), 0, 255, 1e-6, opyard.uint8)
    assert scale.tolist() == [pytest.approx(3 / 255)] and point.tolist() == [0]
    scale, point = ops.choose_qparams_symmetric(tensor(X), -128, 127, 1e-6, opyard.int8)
    assert scale.tolist() == [pytest.approx(40 / 127.5)] and point.tolist() == [0]
    scale, point = ops.choose_qparams_symmetric(tensor([0.0]), 0, 255, 0.25, opyard.uint8)
    assert scale.tolist() == [0.25] and point.tolist() == [128]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ops.quantize_per_tensor(tensor(X), 1.0, 0, 5, 4, opyard.int8), "quant_min is 5"),
        (
            lambda: ops.quantize_per_tensor(
                tensor(X), tensor([1, 2]), tensor([0], np.int64), *INT8
            ),
            "scale and zero_point need one element",
        ),
        (
            lambda: ops.quantize_per_channel(
                tensor(X), tensor([1]), tensor([0], np.int64), 2, *INT8
            ),
            "axis is 2, and input has 2 dimensions",
        ),
        (
            lambda: ops.dequantize_per_channel(tensor(X, np.int8), tensor([1, 2]), None, 1, *INT8),
            "scales needs an element for each index of dimension 1",
        ),
        (
            lambda: ops.choose_qparams(tensor([]), -128, 127, 1e-6, opyard.int8),
            "input has no elements",
        ),
    ],
)
def test_what_does_not_fit_is_named(call, said):
    with pytest.raises(ValueError, match="quantized_decomposed::.*" + said):
        call()


def test_a_stranger_may_call_them(tmp_path):
    graph = jit.parse_ir(
        """graph(%x : Tensor):
  %scale : float = prim::Constant[value=0.5]()
  %p : int = prim::Constant[value=1]()
  %low : int = prim::Constant[value=-128]()
  %high : int = prim::Constant[value=127]()
  %int8 : int = prim::Constant[value=1]()
  %no : NoneType = prim::Constant()
  %q : Tensor = quantized_decomposed::quantize_per_tensor(%x, %scale, %p, %low, %high, %int8)
  %y : Tensor = quantized_decomposed::dequantize_per_tensor(%q, %scale, %p, %low, %high, %int8, %no)
  return (%y)
"""
    )
    jit.save(graph, tmp_path / "quantised.safetensors")
    model = jit.load(tmp_path / "quantised.safetensors")
    assert model(tensor([0.3, -0.8, 1000.0])).tolist() == [0.5, -1.0, 63.0]
