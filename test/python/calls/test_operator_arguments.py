"""test_operator_arguments.py: any arguments to every operator of aten and opyard.

The calls are made by operator_fuzz.py, in a process of its own, as in test_argument_kinds.py. With
the address sanitizer, what reads or writes beyond memory is found, too. Suspect the operator that
the message names: its file in kernels/src.
"""

from pathlib import Path

import pytest
from test_argument_kinds import SEED, died, fuzz

import opyard

pytestmark = [pytest.mark.once, pytest.mark.memory]

aten, inner = opyard.ops.aten, opyard.ops.opyard
PROGRAM = Path(__file__).with_name("operator_fuzz.py")
CALLS = 6_000  # of each of the seeds


@pytest.mark.parametrize("run", range(4))
def test_any_argument_of_an_operator_is_answered_or_refused(tmp_path, run):
    done, call = fuzz(PROGRAM, tmp_path, SEED + run, CALLS)
    assert not died(done), f"{call}\n{done.stderr[-3000:]}"
    found, answered = map(int, done.stdout.split())
    assert found > 700 and answered > 300, done.stdout


def test_an_operator_that_trusts_an_index_is_found(tmp_path):
    done, call = fuzz(PROGRAM, tmp_path, SEED, CALLS, "plant")
    assert died(done)
    assert "fuzz_planted" in call, call


def ones(*sizes, **options):
    return aten.ones(list(sizes), **options)


def on_meta(*sizes):
    return aten.empty(list(sizes), device="meta")


def places_on_meta(count):
    return aten.empty([count], dtype=opyard.int64, device="meta")


def at(*numbers):
    return opyard.tensor(list(numbers), dtype=opyard.int64)


def backward_of_strided(sizes, strides):
    return inner.as_strided_backward(ones(2, 3), sizes, strides, 0, 6, [2, 3], [3, 1], 0)


def gru_of(layers):
    return aten.gru(ones(1, 1, 2), ones(2, 1, 2), [], False, layers, 0.0, True, True, False)


def spectrum_of(normalization, sizes, dim=1):
    return inner.fft_r2c_backward(ones(2, 3), [dim], normalization, True, sizes)


def group_norm_of(n, channels, hw):
    return aten.native_group_norm(ones(2, 4), None, None, n, channels, hw, 2, 1e-5)


def strided_of(sizes, strides, device="cpu"):
    return aten.new_empty_strided(aten.empty([1], device=device), sizes, strides)


def bytes_of(*numbers):
    return opyard.tensor(list(numbers), dtype=opyard.uint8)


MOST = 2**63 - 1
UNCOUNTED = (ValueError, "must be a number of 64 bits")
SUMS = [[[MOST, -2, MOST]]]

# What the fuzz found, and what is like it.
REFUSED = [
    (lambda: inner.gather_backward(ones(3), [2], 0, at(0, 0, 2)), IndexError, "contains 2"),
    (lambda: inner.gather_backward(ones(3), [2], 0, at(0, 0, -1)), IndexError, "contains -1"),
    (lambda: inner.gather_backward(ones(3), [2], 0, at(0, 0)), ValueError, "need one shape"),
    (lambda: inner.gather_backward(ones(3), [], 0, ones(2, 3)), ValueError, "need one shape"),
    (lambda: inner.scatter_strided(ones(5), 4, [3], [0], 0), ValueError, "size is \\[3\\]"),
    (
        lambda: aten.select_backward(ones(4), [2, 3], 0, 1),
        ValueError,
        "does not fit",
    ),
    (lambda: aten.slice_backward(ones(5, 3), [2, 3], 0, 0, 2, 1), ValueError, "does not fit"),
    (lambda: inner.narrow_backward(ones(5, 3), [2, 3], 0, 0, 2), ValueError, "does not fit"),
    (lambda: aten.copy_(ones(2), on_meta(2)), NotImplementedError, "on meta"),
    (lambda: aten.index_select(ones(2), 0, places_on_meta(1)), TypeError, "says no place"),
    (lambda: backward_of_strided([2, 3], [1]), ValueError, "self_stride is \\[1\\]; both need"),
    (lambda: aten.repeat_interleave(ones(2, 3, 4), 2**62), ValueError, "more bytes than fit"),
    (lambda: aten.repeat_interleave(ones(4, 2), 2**61, 0), ValueError, "more bytes than fit"),
    (lambda: aten.repeat_interleave(at(2**62, 2**62)), ValueError, "more bytes than fit"),
    (lambda: aten.repeat_interleave(ones(2), at(2**62), 0), ValueError, "more bytes than fit"),
    (lambda: gru_of(2**62), ValueError, "times 2, for layers and directions"),
    (lambda: aten.adaptive_avg_pool1d(ones(2, 3), [2**62]), ValueError, "sizes from 0 to 16777216"),
    (lambda: aten.constant_pad_nd(ones(2), [2**63 - 1, 1]), ValueError, "would have the size"),
    (lambda: aten.reflection_pad1d(ones(1, 3), [2**63 - 1, 2]), ValueError, "is not enough for it"),
    (lambda: inner.constant_pad_nd_backward(ones(2), [-(2**63), 0]), ValueError, "the size"),
    (lambda: aten.embedding(ones(2, 3), places_on_meta(1)), TypeError, "says no place"),
    (lambda: aten.add.out(ones(2), on_meta(2), out=ones(2)), TypeError, "result is on meta; out"),
    (lambda: aten.add.out(ones(2), ones(2), out=on_meta(2)), TypeError, "result is on cpu; out"),
    (lambda: aten.sin.out(ones(2), out=on_meta(2)), TypeError, "aten::sin.out: out is .* on meta"),
    (lambda: aten.mm.out(ones(2, 2), ones(2, 2), out=on_meta(2, 2)), TypeError, "on cpu; out must"),
    (lambda: aten.cumsum.out(ones(2), 0, out=on_meta(2)), TypeError, "result is on cpu; out"),
    (lambda: aten.matmul.out(ones(2, 2), on_meta(2, 2), out=ones(2, 2)), TypeError, "is on meta"),
    (lambda: ones(2**40, 2**40), ValueError, "aten::ones: size is .* than fit in 64 bits"),
    (lambda: aten.zeros([2**62]), ValueError, "aten::zeros: size is .* than fit in 64 bits"),
    (lambda: on_meta(2**32, 2**31), ValueError, "size is .* than fit in 64 bits"),
    (lambda: aten.randn([2**61]), ValueError, "aten::randn: size is .* than fit in 64 bits"),
    (lambda: ones(2, 0).repeat(2**62, 2), ValueError, "repeats are .* must fit in 64 bits"),
    (lambda: ones(2).repeat(2**60, 4), ValueError, "aten::repeat: the result is .* 64 bits"),
    (lambda: group_norm_of(2**62, 4, 1), ValueError, "N is 4611686018427387904, C is 4 and HxW"),
    (lambda: group_norm_of(2, 4, 2), ValueError, "must be the number of elements, 8"),
    (lambda: group_norm_of(-2, -4, 1), ValueError, "N is -2, C is -4 and HxW is 1"),
    (lambda: strided_of([2**62, 3], [MOST, 4]), ValueError, "that holds them all must fit in 64"),
    (lambda: strided_of([3, 3], [MOST, 1], "meta"), ValueError, "that holds them all must fit in"),
    (lambda: strided_of([2], [-1], "meta"), ValueError, "a stride of 0 or more is needed"),
    (lambda: aten.remainder(bytes_of(2, 3), at(256)[0]), ValueError, "other contains a zero"),
    (lambda: aten.floor_divide(bytes_of(2, 3), at(256)[0]), ValueError, "other contains a zero"),
    (lambda: aten.fmod(bytes_of(2, 3), at(256)[0]), ValueError, "other contains a zero"),
    (lambda: aten.div(bytes_of(3), at(512)[0], rounding_mode="trunc"), ValueError, "a zero"),
    (lambda: aten.im2col(on_meta(4, 2, 2), [2**31 - 1] * 2, [1], [2**31 - 1], [1]), *UNCOUNTED),
    (lambda: aten.col2im(ones(3, 5), [MOST, 1], [1], [4, 33], [3, 4], [2, 2]), *UNCOUNTED),
    (lambda: aten.col2im(ones(3, 5), [2**40, 2**40], [1], [1], [0], [1]), *UNCOUNTED),
    (lambda: aten.unfold(on_meta(MOST, 0), 0, 0, 1), ValueError, "with windows that can be"),
    (lambda: inner.scatter_strided(ones(1), 3, [0, 9], [MOST, MOST], 0), ValueError, "same sizes"),
    (lambda: inner.gather_strided(ones(5), [2], [1], MOST), ValueError, "outside of the row"),
    (lambda: inner.gather_strided(ones(5), [2**62], [1], 1), ValueError, "outside of the row"),
    (lambda: inner.gather_strided(ones(5), [4, 4], [MOST, MOST], 0), ValueError, "outside of the"),
    (lambda: inner.gather_strided(ones(5), [4], [-MOST], 4), ValueError, "outside of the row"),
    (lambda: inner.gather_strided(ones(5), [2], [1], -1), ValueError, "outside of the row"),
    (lambda: inner.gather_strided(ones(5), [4, 4], [1], 0), ValueError, "a number for each"),
    (lambda: inner.scatter_strided(ones(2), 4, [2], [MOST], MOST), ValueError, "outside of the"),
    (lambda: inner.replace_strided(ones(5), ones(2), [2], [3], MOST), ValueError, "outside of the"),
    (lambda: backward_of_strided([2, 3], [MOST, MOST]), ValueError, "outside of the row"),
    (lambda: spectrum_of(4, [4, 5, 1]), ValueError, "size has 3 numbers for grad of 2 dimensions"),
    (lambda: spectrum_of(MOST, [-MOST - 1, 0]), ValueError, "a size must be 0 or more"),
    (lambda: spectrum_of(0, [2, 2]), ValueError, "grad has 3 elements along dimension 1, and size"),
    (lambda: spectrum_of(0, [2, 3], 2), IndexError, "dimension 2 is out of range"),
]

# What wraps or turns as every other integer does, by numbers at their limits.
AT_LIMITS = [
    (lambda: inner.gather_strided(at(1, 2), [0, 2], [MOST, MOST], MOST), []),
    (lambda: inner.gather_strided(at(1, 2, 3), [2], [-2], 2), [3, 1]),
    (lambda: aten.roll(at(1, 2, 3), [-MOST - 1], [0]), [3, 1, 2]),
    (lambda: aten.roll(at(1, 2, 3), [MOST], [0]), [3, 1, 2]),
    (lambda: aten.roll(at(1, 2, 3), [-1], [0]), [2, 3, 1]),
    (lambda: aten.unfold(at(1, 2, 3), 0, 2, MOST), [[1, 2]]),
    (lambda: aten.eye(0, MOST), []),
    (lambda: aten.cross_entropy_loss(ones(0), ones(0)), 0),
    (lambda: aten.cross_entropy_loss(ones(2, 0), ones(2, 0)), 0),
    (lambda: aten.unfold(at(1, 2, 3, 4).view(2, 2), 0, 2, MOST), [[[1, 3], [2, 4]]]),
    (lambda: inner.scatter_strided(at(MOST, MOST), 1, [2], [0], 0), [-2]),
    (lambda: inner.gather_backward(at(MOST, MOST), [1], 0, at(0, 0)), [-2]),
    (lambda: aten.conv_transpose1d(at(MOST, MOST).view(1, 1, 2), at(1, 1).view(1, 1, 2)), SUMS),
]

# What an operator answered that had no answer: each left out a part of what was given.
MISREAD = [
    (lambda: aten.index_fill(ones(3), 0, ones(1), 2), TypeError, "index is float32"),
    (lambda: aten.index_add(ones(3), 0, ones(1), ones(1)), TypeError, "index is float32"),
    (lambda: aten.index_fill(ones(3), 0, at(0, 1).view(1, 2), 2), ValueError, "at most one dim"),
    (lambda: aten.index_add(ones(3), 0, at(0).view(1, 1), ones(1)), ValueError, "at most one dim"),
    (lambda: aten.index_select_backward(ones(1), [3], 0, ones(1)), TypeError, "index is float32"),
    (lambda: aten.index_select_backward(ones(1), [], 0, at(0, 0)), ValueError, "what it selects"),
    (lambda: aten.index_select_backward(ones(1), [3], 0, at(0, 0)), ValueError, "what it selects"),
    (lambda: aten.reflection_pad1d(ones(1, 3), [2]), ValueError, "padding is \\[2\\]; two numbers"),
    (lambda: aten.replication_pad3d(ones(1, 2, 3), [1, 1]), ValueError, "padding is .* as 6 for 3"),
    (lambda: aten._pad_circular(ones(1, 3), [1]), ValueError, "padding is \\[1\\]; two numbers"),
    (
        lambda: aten.reflection_pad1d_backward(ones(2, 4), ones(2, 3), [1, 1]),
        ValueError,
        "grad_output is .* the sizes \\[2, 5\\]",
    ),
    (
        lambda: aten.binary_cross_entropy_with_logits(ones(3), ones(1)),
        ValueError,
        "an element of target for each",
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_an_operator_would_follow_out_of_memory_is_refused(case):
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("case", range(len(MISREAD)))
def test_what_an_operator_would_leave_out_is_refused(case):
    call, kind, message = MISREAD[case]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("case", range(len(AT_LIMITS)))
def test_integers_at_their_limits_wrap(case):
    call, wanted = AT_LIMITS[case]
    assert call().tolist() == wanted


@pytest.mark.parametrize("product", ["mm", "bmm", "matmul"])
def test_a_product_with_a_factor_on_meta_is_there_too(product):
    sizes = [1, 2, 2] if product == "bmm" else [2, 2]
    op = getattr(aten, product)
    for factors in ((ones(*sizes), on_meta(*sizes)), (on_meta(*sizes), ones(*sizes))):
        result = op(*factors)
        assert (list(result.shape), str(result.device)) == (sizes, "meta")
