"""test_neural_loops.py: convolution, attention, pooling and norms in each build, beside NumPy.

Suspect kernels/loops/{attention,convolution,normalisation,pooling}.cpp and, in kernels/src/neural/,
attention_blocks.cpp, convolution_direct.cpp, one_pass.cpp and max_pool.cpp.
"""

import pytest
from processes import run

import opyard

pytestmark = pytest.mark.once

opyard.ones(1)  # brings the plugin
BUILDS = opyard.ops.opyard_kernels.cpu_builds().split(", ")

BEGIN = """
    import hashlib, itertools, os, sys
    os.environ["OPYARD_CPU"] = sys.argv[1]
    import numpy as np
    import opyard

    aten, ours, rng = opyard.ops.aten, opyard.ops.opyard, np.random.default_rng(11)
    if len(sys.argv) > 2:
        opyard.set_num_threads(int(sys.argv[2]))
    tensor = opyard.from_numpy

    def some(dtype, *sizes):
        return rng.standard_normal(sizes).astype(dtype)

    def show(*tensors):
        for one in tensors:
            print(hashlib.sha1(np.ascontiguousarray(one.numpy()).tobytes()).hexdigest())
"""

# Batch, channels of a group, sizes; channels of a group of the result, kernel, stride, padding,
# dilation, groups.
CONVOLUTIONS = """
    CASES = [
        (2, 3, (33, 31), 8, (3, 3), (1, 1), (1, 1), (1, 1), 1),
        (1, 3, (64, 64), 32, (3, 3), (1, 1), (1, 1), (1, 1), 1),
        (2, 30, (17, 15), 67, (3, 3), (2, 2), (1, 1), (1, 1), 1),  # several blocks of weights
        (1, 70, (7, 7), 130, (3, 3), (1, 1), (1, 1), (1, 1), 1),   # and of channels
        (1, 64, (40, 56), 12, (3, 3), (1, 1), (1, 1), (1, 1), 1),  # several strips
        (2, 1, (28, 29), 1, (3, 3), (1, 1), (1, 1), (1, 1), 6),    # depthwise
        (1, 1, (56, 56), 1, (5, 3), (2, 2), (2, 1), (1, 1), 5),
        (1, 1, (20, 21), 2, (3, 3), (1, 1), (1, 1), (2, 3), 3),
        (2, 2, (13, 14), 3, (3, 2), (3, 2), (1, 1), (1, 2), 2),
        (1, 2, (30, 30), 7, (1, 1), (2, 3), (0, 0), (1, 1), 1),    # places that are left out
        (1, 3, (32, 32), 16, (16, 16), (16, 16), (0, 0), (1, 1), 1),
        (1, 4, (5, 5), 5, (5, 5), (1, 1), (0, 0), (1, 1), 1),      # one window
        (1, 2, (6, 6), 3, (3, 3), (1, 1), (7, 7), (1, 1), 1),      # windows of padding alone
        (1, 2, (5, 6), 3, (2, 2), (1, 1), (4, 4), (9, 8), 1),      # far apart
        (1, 2, (9, 8), 3, (2, 2), (7, 5), (1, 1), (3, 2), 1),
        (2, 3, (301,), 5, (7,), (1,), (3,), (1,), 1),
        (1, 2, (301,), 4, (4,), (3,), (2,), (5,), 2),
        (1, 2, (5, 9, 8), 5, (3, 3, 2), (2, 1, 1), (1, 1, 1), (1, 1, 2), 1),
        (2, 1, (6, 7, 9), 1, (2, 3, 3), (1, 2, 2), (1, 1, 0), (2, 1, 1), 4),
        (0, 3, (8, 8), 4, (3, 3), (1, 1), (1, 1), (1, 1), 1),
        (2, 0, (8, 8), 4, (3, 3), (1, 1), (1, 1), (1, 1), 1),      # the bias alone
    ]

    def windows(x, kernel, stride, padding, dilation):
        x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
        axes = tuple(range(2, x.ndim))
        view = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
        view = view[(slice(None), slice(None), *[slice(None, None, s) for s in stride])]
        return view[(..., *[slice(None, None, d) for d in dilation])]

    def convolved(x, w, stride, padding, dilation, groups):
        dims, out = x.ndim - 2, []
        for part, by in zip(np.split(x, groups, 1), np.split(w, groups)):
            view = windows(part, w.shape[2:], stride, padding, dilation)
            axes = [1, *range(2 + dims, 2 + 2 * dims)], list(range(1, 2 + dims))
            out.append(np.moveaxis(np.tensordot(view, by, axes), -1, 1))
        return np.concatenate(out, 1)
"""

EXACT = (
    BEGIN
    + CONVOLUTIONS
    + """
    def call(x, w, bias, stride, padding, dilation, groups):
        return aten.convolution(tensor(x), tensor(w), None if bias is None else tensor(bias),
                                stride, padding, dilation, False, [0] * len(stride), groups)

    for dtype in ("float32", "float64"):
        eps = np.finfo(dtype).eps
        for batch, into, sizes, out, kernel, stride, padding, dilation, groups in CASES:
            x = some(dtype, batch, into * groups, *sizes)
            w = some(dtype, out * groups, into, *kernel)
            bias = some(dtype, out * groups)
            lists = stride, padding, dilation, groups
            wanted = convolved(x.astype("g"), w.astype("g"), *lists)
            bound = convolved(abs(x.astype("g")), abs(w.astype("g")), *lists)
            by_channel = bias.reshape(-1, *[1] * len(sizes)).astype("g")
            for added, both in ((None, 0), (bias, by_channel)):
                result = call(x, w, added, *lists).numpy()
                assert result.shape == wanted.shape and result.dtype == dtype
                off = abs(result - (wanted + both)) - (bound + abs(both)) * eps * (w[0].size + 2)
                assert (off <= 0).all(), (dtype, lists, kernel, off.max())
            # Whatever the layout, and however many images there are.
            if batch and into:
                strange = np.repeat(np.moveaxis(x, 1, -1), 2, 0)[::2]
                again = call(np.moveaxis(strange, -1, 1), w, bias, *lists).numpy()
                assert again.tobytes() == result.tobytes()
                alone = call(x[-1:], w, bias, *lists).numpy()
                assert alone.tobytes() == result[-1:].tobytes()
    # What is outside of an image is zero even where all that is inside is not finite.
    x = np.full((1, 1, 5, 5), np.inf, "float32")
    w = np.ones((1, 1, 3, 3), "float32")
    w[..., 1, 1] = np.nan
    assert np.isnan(call(x, w, None, [1, 1], [1, 1], [1, 1], 1).numpy()).all()
    w[..., 1, 1] = 1
    corner = call(x, w, None, [1, 1], [3, 3], [1, 1], 1).numpy()[0, 0]
    assert (corner[0] == 0).all() and (corner[1, 1:-1] == np.inf).all() and corner[1, 0] == 0
    print("ok")
"""
)


@pytest.mark.parametrize("build", BUILDS)
def test_convolutions_of_floats_without_columns(build):
    ended = run(EXACT, build, limit=120)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "ok\n", "")


POOLS = (
    BEGIN
    + CONVOLUTIONS
    + """
    def pooled(x, kernel, stride, padding, dilation):
        lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        places = np.arange(np.prod(x.shape[2:])).reshape(1, 1, *x.shape[2:])
        pad = [(0, 0), (0, 0), *[(p, p) for p in padding]]
        none = (0,) * len(kernel)
        values = windows(np.pad(x, pad, constant_values=lowest), kernel, stride, none, dilation)
        at = windows(np.pad(places, pad, constant_values=-1), kernel, stride, none, dilation)
        flat = (*values.shape[: 2 + len(kernel)], -1)
        values, at = values.reshape(flat), np.broadcast_to(at, values.shape).reshape(flat)
        best, found = np.full(flat[:-1], lowest, x.dtype), np.full(flat[:-1], -1)
        for i in range(values.shape[-1]):
            inside = at[..., i] >= 0
            here = values[..., i]
            takes = inside & ((found < 0) | (here > best) | (here != here))
            best[takes], found[takes] = values[takes, i], at[takes, i]
        return best, found

    for dtype in ("float32", "float64", "int64"):
        for sizes, kernel, stride, padding, dilation in (
            ((12, 13), (3, 3), (2, 2), (1, 1), (1, 1)),
            ((56, 57), (2, 2), (2, 2), (0, 0), (1, 1)),
            ((9, 40), (3, 5), (1, 1), (1, 2), (1, 1)),
            ((15, 16), (2, 3), (3, 4), (1, 0), (2, 3)),
            ((7, 8, 9), (3, 2, 3), (2, 1, 2), (1, 1, 1), (1, 2, 1)),
            ((3, 1), (3, 1), (1, 1), (1, 0), (1, 1)),
        ):
            x = (some("float64", 2, 3, *sizes) * 4).astype(dtype)
            x[0, 0] = np.round(x[0, 0])  # equal elements, of which the first is found
            if dtype != "int64":
                x[0, 1].flat[::7] = np.nan
                x[1, 0].flat[::3] = -np.inf
                x[1, 1] = -np.inf
            pool = aten.max_pool2d_with_indices if len(sizes) == 2 else aten.max_pool3d_with_indices
            for layout in (x, np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)):
                values, places = pool(tensor(layout), kernel, stride, padding, dilation)
                best, found = pooled(x, kernel, stride, padding, dilation)
                assert values.numpy().tobytes() == best.tobytes(), (dtype, sizes)
                assert (places.numpy() == found).all(), (dtype, sizes)
    # The last window of ceil_mode is cut off.
    x = tensor(np.arange(25, dtype="float32").reshape(1, 1, 5, 5))
    values, places = aten.max_pool2d_with_indices(x, [2, 2], [2, 2], [0, 0], [1, 1], True)
    assert values.tolist() == [[[[6, 8, 9], [16, 18, 19], [21, 23, 24]]]]
    assert places.tolist() == [[[[6, 8, 9], [16, 18, 19], [21, 23, 24]]]]
    print("ok")
"""
)


@pytest.mark.parametrize("build", BUILDS)
def test_pooling_by_rows_finds_the_first_of_equal_elements_and_the_last_nan(build):
    ended = run(POOLS, build, limit=60)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "ok\n", "")


NORMS = (
    BEGIN
    + """
    def layer_norm(x, weight, bias, eps):
        # The operators one after the other.
        middle = aten.mean(x, [-1], True)
        apart = aten.sub(x, middle)
        rstd = aten.rsqrt(aten.add(aten.mean(aten.mul(apart, apart), [-1], True), eps))
        normal = aten.mul(apart, rstd)
        normal = normal if weight is None else aten.mul(normal, weight)
        return normal if bias is None else aten.add(normal, bias), middle, rstd

    def batch_norm(x, weight, bias, mean, var, eps):
        spread = lambda each: aten.reshape(each, [-1] + [1] * (x.dim() - 2))
        normal = aten.mul(aten.sub(x, spread(mean)), spread(aten.rsqrt(aten.add(var, eps))))
        normal = normal if weight is None else aten.mul(normal, spread(weight))
        return normal if bias is None else aten.add(normal, spread(bias))

    def same(one, other):
        assert one.sizes == other.sizes if hasattr(one, "sizes") else True
        assert one.numpy().tobytes() == other.numpy().tobytes()

    for dtype in ("float32", "float64"):
        for rows, length in ((1, 1), (3, 7), (5, 64), (7, 257), (2, 1500), (300, 256), (600, 512)):
            x = some(dtype, rows, length) * 3 + 5
            if rows > 2:
                x[1, length // 2], x[2, 0] = np.nan, np.inf
                x[0] = -0.0
            w, b = some(dtype, length), some(dtype, length)
            for weight, bias in itertools.product((None, tensor(w)), (None, tensor(b))):
                given = tensor(x)
                results = aten.native_layer_norm(given, [length], weight, bias, 1e-5)
                for one, other in zip(results, layer_norm(given, weight, bias, 1e-5)):
                    same(one, other)
        for sizes in ((3, 5), (2, 3, 7), (4, 6, 9, 11), (300, 1000), (8, 64, 32, 32)):
            x = some(dtype, *sizes)
            x.flat[:2] = [np.nan, np.inf]
            w, b, mean, var = (tensor(some(dtype, sizes[1])) for _ in range(4))
            var = aten.abs(var)
            for weight, bias in itertools.product((None, w), (None, b)):
                one = aten.batch_norm(tensor(x), weight, bias, mean, var, False, 0.1, 1e-5, False)
                same(one, batch_norm(tensor(x), weight, bias, mean, var, 1e-5))
                show(one)
    # Empty ones, and zeros whose sign is theirs.
    assert aten.layer_norm(opyard.zeros(0, 3), [3]).size(0) == 0
    zeros, ones = opyard.zeros(3), opyard.ones(3)
    empty = aten.batch_norm(opyard.zeros(0, 3, 2), None, None, zeros, ones, False, 0.1, 1e-5, False)
    assert empty.numel() == 0
    zero = tensor(np.array([[-0.0, 0.0]], "float32"))
    result = aten.batch_norm(zero, None, None, zeros[:2], ones[:2], False, 0.1, 0.0, False)
    assert np.signbit(result.numpy()).tolist() == [[True, False]]
    print("ok")
"""
)


def test_norms_in_one_pass_have_the_bits_of_their_parts_in_every_build():
    first = run(NORMS, BUILDS[0], limit=60)
    assert (first.code, first.stderr) == (0, "")
    assert first.stdout.endswith("ok\n") and len(first.stdout) > 1000
    for build in BUILDS[1:]:
        assert run(NORMS, build, limit=60).stdout == first.stdout


ATTENTION = (
    BEGIN
    + """
    def attended(q, k, v, mask, causal, scale):
        q, k, v = (each.astype("g") for each in (q, k, v))
        scores = q @ np.swapaxes(k, -1, -2) * scale
        if causal:
            mask = np.tri(*scores.shape[-2:], dtype=bool)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        largest = scores.max(-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isinf(largest), 0, largest))
        total = weights.sum(-1, keepdims=True)
        return weights / np.where(total == 0, 1, total) @ v

    def call(q, k, v, mask, causal, scale):
        mask = None if mask is None else tensor(mask)
        return aten.scaled_dot_product_attention(tensor(q), tensor(k), tensor(v), mask, 0.0, causal,
                                                 scale=scale).numpy()

    for dtype in ("float32", "float64"):
        limit = 40 * np.finfo(dtype).eps
        for lead, rows, keys, depth, width in (
            ((), 8, 1, 1, 1), ((3,), 33, 31, 5, 7), ((2, 3), 64, 64, 32, 32),
            ((1, 2), 100, 7, 8, 3), ((2, 1), 9, 300, 64, 16), ((2,), 7, 9, 4, 4),
            ((1, 1), 1, 20, 8, 8),
        ):
            q = some(dtype, *lead, rows, depth)
            k, v = some(dtype, *lead, keys, depth), some(dtype, *lead, keys, width)
            some_keys = rng.random((rows, keys)) < 0.7
            some_keys[rows // 2] = False
            numbers = some(dtype, *lead[:-1], *[1][: len(lead)], rows, keys)
            numbers[..., rows // 3, :] = -np.inf
            for mask, causal in ((None, False), (None, True), (some_keys, False), (numbers, False),
                                 (some_keys[:1], False), (numbers[..., :1], False)):
                wanted = attended(q, k, v, mask, causal, 0.3)
                result = call(q, k, v, mask, causal, 0.3)
                assert result.shape == wanted.shape and result.dtype == dtype
                off = abs(result - wanted).max()
                assert off <= limit * abs(v).max(), (dtype, lead, rows, causal, off)
            # Heads beside each other in memory, as of one product for all of them.
            if len(lead) == 2:
                plain = call(q, k, v, None, True, 0.3).tobytes()
                turned = [np.ascontiguousarray(np.swapaxes(x, 1, 2)) for x in (q, k, v)]
                turned = [np.swapaxes(x, 1, 2) for x in turned]
                assert call(*turned, None, True, 0.3).tobytes() == plain
                strange = [np.repeat(x, 2, -1)[..., ::2] for x in (q, k, v)]
                assert call(*strange, None, True, 0.3).tobytes() == plain
        # A query does not depend on those beside it, and large scores do not overflow.
        q, k, v = (some(dtype, 2, 70, 16) for _ in range(3))
        whole = call(q, k, v, None, False, 0.3)
        assert (call(q[:, 32:], k, v, None, False, 0.3) == whole[:, 32:]).all()
        large = call(q * 1e4, k, v, None, False, 1.0)
        assert np.isfinite(large).all() and abs(large).max() <= abs(v).max()
        q[0, 3] = np.nan
        assert np.isnan(call(q, k, v, None, True, 0.3)).any(-1).sum() == 1
    empty = [np.zeros((2, n, 4), "float32") for n in (8, 0, 0)]
    assert (call(*empty, None, False, 1.0) == 0).all()
    none = [np.zeros((0, n, 4), "float32") for n in (8, 3, 3)]
    assert call(*none, None, False, 1.0).size == 0
    print("ok")
"""
)


@pytest.mark.parametrize("build", BUILDS)
def test_attention_in_blocks_of_queries(build):
    ended = run(ATTENTION, build, limit=60)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "ok\n", "")


THREADS = (
    BEGIN
    + CONVOLUTIONS
    + """
    for dtype in ("float32", "float64"):
        x = tensor(some(dtype, 3, 16, 60, 64))
        for out, into, groups in ((24, 16, 1), (16, 1, 16), (8, 4, 4)):
            w = tensor(some(dtype, out, into, 3, 3))
            for stride in (1, 2):
                show(aten.conv2d(x, w, None, stride, 1, 1, groups))
        show(*aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1]))
        show(*aten.native_layer_norm(x, [64], None, None, 1e-5))
        show(*aten.native_group_norm(x, None, None, 3, 16, 60 * 64, 4, 1e-5))
        show(aten.batch_norm(x, None, None, opyard.zeros(16, dtype=x.dtype),
                             opyard.ones(16, dtype=x.dtype), False, 0.1, 1e-5, False))
        q, k, v = (tensor(some(dtype, 3, 130, 24)) for _ in range(3))
        show(aten.scaled_dot_product_attention(q, k, v, None, 0.0, True))
        show(aten.scaled_dot_product_attention(q, k, v))
    print(opyard.get_num_threads())
"""
)


def test_any_number_of_threads_gives_the_same_bits_of_networks():
    alone = run(THREADS, BUILDS[-1], 1, limit=60)
    assert (alone.code, alone.stderr, alone.stdout[-2:]) == (0, "", "1\n")
    for count in (2, 5):
        several = run(THREADS, BUILDS[-1], count, limit=60).stdout
        assert several == alone.stdout[:-2] + f"{count}\n"
