"""Protects elementwise operators on tensors whose memory order differs from their result's.

Suspect kernels/src/common/walk.cpp.
"""

import numpy as np
import pytest

import opyard

pytestmark = pytest.mark.once

aten = opyard.ops.aten

SIZES = (1, 2, 5, 16, 33, 64, 127, 128, 129, 200)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64", "bool", "complex128"])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_dense_across_the_lines_is_read_in_pieces_of_them(dtype, seed):
    """As in a transposed copy: walk.h [Turned]."""
    rng = np.random.default_rng(seed)
    sizes = [200, int(rng.choice(SIZES)), int(rng.choice(SIZES[3:]))][: 2 + seed % 2]
    rng.shuffle(sizes)
    array = (rng.standard_normal(sizes) * 50).astype(dtype)
    order = rng.permutation(len(sizes))
    turned, wanted = opyard.from_numpy(array).permute(order.tolist()), array.transpose(order)
    for cut in (0, 1):
        wanted, turned = wanted[..., cut:], turned[..., cut:]
        plain = np.ascontiguousarray(wanted)
        assert turned.contiguous().numpy().tobytes() == plain.tobytes()
        place = opyard.from_numpy(np.zeros_like(plain))
        aten.copy_(place, turned)
        assert place.numpy().tobytes() == plain.tobytes()
        other = opyard.from_numpy(plain[::-1].copy())
        both = aten.mul(other, turned).numpy()
        assert both.tobytes() == aten.mul(other, opyard.from_numpy(plain)).numpy().tobytes()
        # Written so that the result is dense across its lines.
        written = opyard.from_numpy(np.zeros_like(array)).permute(order.tolist())[..., cut:]
        aten.copy_(written, opyard.from_numpy(plain))
        assert np.ascontiguousarray(written.numpy()).tobytes() == plain.tobytes()


def test_a_transposed_copy_by_threads():
    array = np.arange(700 * 1031, dtype=np.float32).reshape(700, 1031)
    before = opyard.get_num_threads()
    try:
        for count in (1, 2, 3):
            opyard.set_num_threads(count)
            copied = opyard.from_numpy(array).t().contiguous().numpy()
            assert (copied == array.T).all()
    finally:
        opyard.set_num_threads(before)
