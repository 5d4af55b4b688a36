"""test_builds.py: the loops of the operators, in each build that this processor runs.

Suspect kernels/loops/ and kernels/src/common/builds.cpp.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import run

import opyard

pytestmark = pytest.mark.once

opyard.ones(1)  # brings the plugin
BUILDS = opyard.ops.opyard_kernels.cpu_builds().split(", ")

# Prints a line for each operator, dtype and layout: its name and what its result's bytes add up to.
EXACT = """
    import hashlib, os, sys
    os.environ["OPYARD_CPU"] = sys.argv[1]
    import numpy as np
    import opyard

    aten = opyard.ops.aten
    opyard.ones(1)
    assert opyard.ops.opyard_kernels.cpu_build() == sys.argv[1]

    def layouts(array):
        yield "plain", array
        yield "transposed", array.T
        yield "sliced", array[::2, 1::3]
        yield "odd", np.ascontiguousarray(array[:3, :7])

    def show(name, tensor):
        print(name, hashlib.sha1(np.ascontiguousarray(tensor.numpy()).tobytes()).hexdigest())

    rng = np.random.default_rng(7)
    for dtype in ("float32", "float64", "int64", "bool"):
        x = (rng.standard_normal((34, 57)) * 50).astype(dtype)
        y = (rng.standard_normal((34, 57)) * 50).astype(dtype)
        if dtype.startswith("float"):
            x[3, 5:9] = [np.nan, np.inf, -np.inf, -0.0]
            y[3, 4:8] = [np.nan, -np.inf, 0.0, 1.0]
        for (layout, a), (_, b) in zip(layouts(x), layouts(y)):
            a, b = opyard.from_numpy(a), opyard.from_numpy(b)
            where = f"{dtype} {layout}"
            for name in ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le",
                         "gt", "ge", "logical_and", "logical_or", "logical_xor"):
                if name == "sub" and dtype == "bool":
                    continue
                show(f"{name} {where}", getattr(aten, name)(a, b))
            show(f"where {where}", aten.where(aten.gt(a, b), a, b))
            show(f"sum {where}", aten.sum(a))
            show(f"rows {where}", aten.sum(a, [1]))
            show(f"columns {where}", aten.sum(a, [0]))
            show(f"amax {where}", aten.amax(a, [1]))
            show(f"logical_not {where}", aten.logical_not(a))
            if dtype != "bool":
                show(f"neg {where}", aten.neg(a))
                show(f"clamp {where}", aten.clamp(a, -3, 4))
                show(f"relu {where}", aten.relu(a))
                show(f"scaled {where}", aten.add(a, b, alpha=3))
            for to in (opyard.float32, opyard.float64, opyard.int64, opyard.bool):
                show(f"to {to} {where}", aten.to(a, to))
        if dtype.startswith("float"):
            show(f"sqrt {dtype}", aten.sqrt(opyard.from_numpy(abs(x))))
            show(f"rsqrt {dtype}", aten.rsqrt(opyard.from_numpy(abs(x))))
            for name in ("reciprocal", "floor", "ceil", "round", "trunc", "frac", "sign"):
                show(f"{name} {dtype}", getattr(aten, name)(opyard.from_numpy(x)))
            many = opyard.from_numpy(rng.standard_normal(100_003).astype(dtype))
            show(f"long sum {dtype}", aten.sum(many))
"""


def exact(build):
    """What the operators give whose bits are the same in all builds."""
    ended = run(EXACT, build, limit=60)
    assert (ended.code, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def test_all_builds_give_the_same_bits():
    baseline = exact("baseline")
    assert len(baseline) > 250
    for build in BUILDS[1:]:
        assert exact(build) == baseline


PACKETS = """
    import math, os, sys
    os.environ["OPYARD_CPU"] = sys.argv[1]
    import numpy as np
    import opyard

    aten = opyard.ops.aten
    most = dict(atan=3, atanh=3, cos=3, cosh=3, erf=2, erfc=6, exp=3, exp2=3, expm1=3, log=1,
                log10=3, log1p=3, log2=2, log_sigmoid=4, sigmoid=3, sin=3, sinh=3, tan=5, tanh=7)
    odd = {"atan", "atanh", "erf", "expm1", "log1p", "sin", "sinh", "tan", "tanh"}
    true = dict(atan=np.arctan, atanh=np.arctanh, erf=np.vectorize(math.erf, otypes="d"),
                erfc=np.vectorize(math.erfc, otypes="d"), sigmoid=lambda x: 1 / (1 + np.exp(-x)),
                log_sigmoid=lambda x: np.minimum(x, 0) - np.log1p(np.exp(-abs(x))))
    rng = np.random.default_rng(3)
    for name, limit in most.items():
        for dtype in (np.float32, np.float64):
            info = np.finfo(dtype)
            ends = [0, -0.0, np.inf, -np.inf, np.nan, info.tiny, info.tiny / 8, info.max, -info.max,
                    info.smallest_subnormal, -87.5, -100, -103.5, -740, 88.5, 709,
                    127, 128, -126, -127, -150, 12801, 1e5, 1e30, 0.25, 0.5, 4, 8, 1000]
            scales = (0.01, 1, 9, 30, 90, 800)
            x = np.concatenate([rng.standard_normal(2000) * scale for scale in scales] + [ends])
            x = x.astype(dtype)
            result = getattr(aten, name)(opyard.from_numpy(x)).numpy()
            with np.errstate(all="ignore"):
                wanted = true.get(name, getattr(np, name, None))(x.astype(np.longdouble))
                rounded = wanted.astype(dtype)
                unit = np.spacing(np.abs(rounded)).astype(np.longdouble)
                off = np.abs(result.astype(np.longdouble) - wanted) / unit
            plain = np.isfinite(rounded)
            if name == "exp2":
                integers = np.arange(-126, 128).astype(dtype)
                exact = aten.exp2(opyard.from_numpy(integers)).numpy()
                assert (exact == np.ldexp(np.ones(254, dtype), np.arange(-126, 128))).all()
            if name in ("log2", "log10"):
                powers = np.array([2 if name == "log2" else 10], dtype) ** np.arange(-30, 30)
                exact = getattr(aten, name)(opyard.from_numpy(powers.astype(dtype))).numpy()
                assert (exact == np.arange(-30, 30)).all(), (name, dtype)
            assert (result[np.isnan(wanted)] != result[np.isnan(wanted)]).all(), (name, dtype)
            at_end = ~plain & ~np.isnan(wanted)
            assert (result[at_end] == rounded[at_end]).all(), (name, dtype, x[at_end])
            worst = np.argmax(np.where(plain, off, 0))
            within = limit if dtype is np.float32 else 3
            assert off[worst] <= within, (name, dtype, float(off[worst]), x[worst], result[worst])
            if name in odd:
                zero = getattr(aten, name)(opyard.from_numpy(np.array([-0.0], dtype))).numpy()
                assert zero[0] == 0 and np.signbit(zero)[0], name
            # An element's bits do not depend on its place, nor on what is beside it.
            for start in range(1, 20):
                for stop in (start + 1, start + 7, 1000):
                    part = getattr(aten, name)(opyard.from_numpy(x[start:stop])).numpy()
                    assert part.tobytes() == result[start:stop].tobytes(), (name, start, stop)
            wide = np.repeat(x, 3)[::3]
            assert wide.strides[0] > x.itemsize
            spread = getattr(aten, name)(opyard.from_numpy(wide)).numpy()
            assert spread.tobytes() == result.tobytes()
    print("ok")
"""


@pytest.mark.parametrize("build", BUILDS)
def test_packets_are_exact_to_some_units_and_do_not_depend_on_place(build):
    ended = run(PACKETS, build, limit=60)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "ok\n", "")


ANGLES = """
    import os, sys
    os.environ["OPYARD_CPU"] = sys.argv[1]
    import numpy as np
    import opyard

    aten = opyard.ops.aten
    ends = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 1e-38]
    rng = np.random.default_rng(5)
    y = [rng.standard_normal(3000) * scale for scale in (1e-3, 1, 1e3)] + [np.repeat(ends, 12)]
    x = [rng.standard_normal(9000), np.tile(ends, 12)]
    y, x = (np.concatenate(each).astype("float32") for each in (y, x))
    result = aten.atan2(opyard.from_numpy(y), opyard.from_numpy(x)).numpy()
    wanted = np.arctan2(y.astype("d"), x.astype("d"))
    rounded = wanted.astype("float32")
    plain = ~np.isnan(wanted)
    assert np.isnan(result[~plain]).all() and (~plain).any()
    off = np.abs(result - wanted) / np.spacing(np.abs(rounded)).astype("d")
    assert off[plain].max() <= 4, (off[plain].max(), y[plain][off[plain].argmax()])
    assert (np.signbit(result) == np.signbit(rounded))[plain].all()
    # Parts, gaps and numbers give the same bits.
    for part in (slice(1, 2), slice(3, 3000), slice(5, 9000, 3)):
        some = aten.atan2(opyard.from_numpy(y[part]), opyard.from_numpy(x[part])).numpy()
        assert some.tobytes() == result[part].tobytes(), part
    one = aten.atan2(opyard.from_numpy(y[:50]), opyard.from_numpy(x[7:8])).numpy()
    many = aten.atan2(opyard.from_numpy(y[:50]), opyard.from_numpy(np.repeat(x[7:8], 50))).numpy()
    assert one.tobytes() == many.tobytes()
    print("ok")
"""


@pytest.mark.parametrize("build", BUILDS)
def test_angles_are_exact_to_four_units_and_right_at_the_ends(build):
    ended = run(ANGLES, build, limit=60)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "ok\n", "")


def first_use(cpu, program="import opyard; opyard.ops.aten.add"):
    """How a process ends that uses the operators with this OPYARD_CPU."""
    return run(f"import os; os.environ['OPYARD_CPU'] = {cpu!r}\n{program}")


@pytest.mark.parametrize("cpu", ["avx2", "V3", "v3 ", "v5"])
def test_a_name_that_is_no_build_is_refused(cpu):
    ended = first_use(cpu)
    assert ended.code == 1
    assert ended.stderr.splitlines()[-1] == (
        f"ValueError: OPYARD_CPU is '{cpu}', which names no build of the operators; accepted here "
        f"are {', '.join(BUILDS)}, or leave it unset"
    )


def test_nothing_of_the_operators_is_registered_after_that():
    program = """
import opyard
try:
    opyard.ops.aten.add
except ValueError:
    os.environ["OPYARD_CPU"] = "baseline"
print(opyard.ops.aten.add(opyard.tensor([1.0]), 1).tolist())
print(opyard.ops.opyard_kernels.cpu_build())
"""
    ended = first_use("nonsense", program)
    assert (ended.stdout, ended.stderr) == ("[2.0]\nbaseline\n", "")


@pytest.mark.parametrize("build", BUILDS)
def test_explain_and_the_command_name_the_build(build):
    ended = first_use(
        build,
        "import opyard; exp = opyard.ops.aten.exp.default\n"
        "print(opyard.dispatch.explain(exp, opyard.ones(2)))",
    )
    assert f", loops {build}\n" in ended.stdout
    shown = subprocess.run(
        [sys.executable, "-m", "opyard", "--build-info"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OPYARD_CPU": build,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.splitlines()[-1] == f"loops: {build} (OPYARD_CPU takes {', '.join(BUILDS)})"


def test_a_plugin_without_its_loops_says_what_is_missing(tmp_path):
    kernels = Path(opyard.loaded_libraries()[0])
    assert kernels.name == "opyard_kernels.so"
    shutil.copy(kernels, tmp_path)
    ended = run("import opyard, sys; opyard.load_library(sys.argv[1])", tmp_path / kernels.name)
    assert ended.code == 1
    last = ended.stderr.splitlines()[-1]
    assert "the operators' loops cannot be opened: " in last
    assert "opyard_loops_baseline.so" in last
    assert last.endswith("belongs beside opyard_kernels.so, so install Opyard again")


def test_builds_are_files_beside_the_plugin():
    folder = Path(opyard.loaded_libraries()[0]).parent
    digests = [
        hashlib.sha1((folder / f"opyard_loops_{build}.so").read_bytes()).hexdigest()
        for build in BUILDS
    ]
    assert len(set(digests)) == len(BUILDS)


THREADS = """
    import hashlib, os, sys
    import numpy as np
    import opyard

    opyard.set_num_threads(int(sys.argv[1]))
    assert opyard.get_num_threads() == int(sys.argv[1])
    aten, rng = opyard.ops.aten, np.random.default_rng(5)
    wide = rng.standard_normal((700, 411)).astype(np.float32)
    for x in (wide, wide.T, wide[::2, ::3], wide.astype(np.float64), rng.random(300_001)):
        x = opyard.from_numpy(x)
        last = [x.dim() - 1]
        for result in (aten.tanh(x), aten.add(x, x, alpha=3), aten.exp(x), aten.lt(x, 0.5),
                       aten.sum(x), aten.sum(x, last), aten.sum(x, [0]), aten.mean(x), aten.amax(x),
                       aten.amin(x, [0]), aten.softmax(x, -1), aten.log_softmax(x, 0),
                       aten.clone(x), aten.argmax(x, 0)):
            print(hashlib.sha1(np.ascontiguousarray(result.numpy()).tobytes()).hexdigest())
    for n, k, m in ((300, 200, 310), (900, 70, 5), (5, 300, 900)):
        a, b = (opyard.from_numpy(rng.standard_normal(size)) for size in ((n, k), (k, m)))
        print(hashlib.sha1(aten.mm(a, b).numpy().tobytes()).hexdigest())
"""


def test_any_number_of_threads_gives_the_same_bits():
    alone = run(THREADS, 1, limit=60)
    assert (alone.code, alone.stderr, len(alone.stdout.splitlines())) == (0, "", 73)
    for count in (2, 3, 8):
        assert run(THREADS, count, limit=60).stdout == alone.stdout


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_a_number_of_threads_that_makes_no_sense_is_refused(count):
    before = opyard.get_num_threads()
    with pytest.raises(ValueError, match="1 to 1024"):
        opyard.set_num_threads(count)
    assert opyard.get_num_threads() == before


PRODUCTS = """
    import os, sys
    os.environ["OPYARD_CPU"] = sys.argv[1]
    import numpy as np
    import opyard

    aten, rng = opyard.ops.aten, np.random.default_rng(11)
    sizes = ((4, 1, 4), (5, 7, 9), (12, 256, 32), (13, 257, 33), (24, 600, 64), (4, 0, 4),
             (64, 64, 48), (20, 128, 24), (200, 300, 100))
    for dtype in (np.float32, np.float64):
        for n, k, m in sizes:
            a = rng.standard_normal((n, k)).astype(dtype)
            b = rng.standard_normal((k, m)).astype(dtype)
            wanted = a.astype(np.longdouble) @ b.astype(np.longdouble)
            bound = np.abs(a).astype(np.longdouble) @ np.abs(b) * np.finfo(dtype).eps * (k + 2)
            first = None
            for left in (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
                for right in (b, np.asfortranarray(b), np.repeat(b, 3, axis=0)[::3]):
                    result = aten.mm(opyard.from_numpy(left), opyard.from_numpy(right)).numpy()
                    assert (np.abs(result - wanted) <= bound).all(), (dtype, n, k, m)
                    first = result if first is None else first
                    assert first.tobytes() == result.tobytes(), "whatever the layout is"
            # An element's bits do not depend on its place in the result.
            if n > 8 and m > 8:
                part = aten.mm(opyard.from_numpy(a[3:-1]), opyard.from_numpy(b[:, 2:-2])).numpy()
                assert part.tobytes() == np.ascontiguousarray(first[3:-1, 2:-2]).tobytes()
        # Nor on how a batch is cut among threads.
        for n in (191, 193, 195, 196, 387):
            a, b = (rng.standard_normal(s).astype(dtype) for s in ((1, n, 32), (1, 32, 16)))
            whole = aten.mm(opyard.from_numpy(a[0]), opyard.from_numpy(b[0])).numpy()
            batch = aten.bmm(opyard.from_numpy(a), opyard.from_numpy(b)).numpy()
            assert whole.tobytes() == batch.tobytes(), (dtype, n)
    print("ok")
"""


@pytest.mark.parametrize("build", BUILDS)
def test_products_of_matrices(build):
    ended = run(PRODUCTS, build, limit=60)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "ok\n", "")
