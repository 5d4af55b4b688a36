"""test_generator.py: opyard.Generator, and the operators that draw from one.

Suspect opyard/_core/generator.py, objects/values/generator.cpp and
kernels/src/creation/{random,random_generator}.cpp.
"""

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import opyard

aten = opyard.ops.aten

# Every operator with a generator, as a call of it.
DRAWS = {
    "rand": lambda g: opyard.rand(5, generator=g),
    "randn": lambda g: opyard.randn(5, generator=g),
    "randint": lambda g: aten.randint(9, [5], generator=g),
    "randint.low": lambda g: aten.randint(-4, 9, [5], generator=g),
    "randperm": lambda g: aten.randperm(50, generator=g),
    "rand_like": lambda g: aten.rand_like(opyard.zeros(5), generator=g),
    "randn_like": lambda g: aten.randn_like(opyard.zeros(5), generator=g),
    "uniform_": lambda g: opyard.zeros(5).uniform_(2, 3, generator=g),
    "normal_": lambda g: opyard.zeros(5).normal_(2, 3, generator=g),
    "exponential_": lambda g: opyard.zeros(5).exponential_(generator=g),
    "random_": lambda g: opyard.zeros(5).random_(generator=g),
    "random_.to": lambda g: opyard.zeros(5).random_(99, generator=g),
    "random_.from": lambda g: opyard.zeros(5).random_(-9, 99, generator=g),
    "bernoulli": lambda g: aten.bernoulli(opyard.ones(64) / 2, generator=g),
    "bernoulli.p": lambda g: aten.bernoulli(opyard.ones(64), 0.5, generator=g),
    "bernoulli_": lambda g: opyard.zeros(64).bernoulli_(0.5, generator=g),
    "normal.Tensor_float": lambda g: aten.normal(opyard.zeros(5), 2.0, generator=g),
    "normal.float_Tensor": lambda g: aten.normal(1.0, opyard.ones(5), generator=g),
    "normal.Tensor_Tensor": lambda g: aten.normal(opyard.zeros(5), opyard.ones(5), generator=g),
    "normal.float_float": lambda g: aten.normal(0.0, 1.0, [5], generator=g),
    "multinomial": lambda g: aten.multinomial(opyard.ones(50), 9, generator=g),
    "multinomial again": lambda g: aten.multinomial(opyard.ones(50), 9, True, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_the_numbers_and_the_process_draws_others(name):
    draw = DRAWS[name]
    g = opyard.Generator().manual_seed(11)
    first, second = draw(g).tolist(), draw(g).tolist()
    assert first != second
    opyard.manual_seed(5)
    process = opyard.rand(1).item()
    opyard.manual_seed(5)
    assert draw(g.manual_seed(11)).tolist() == first
    assert opyard.rand(1).item() == process, "the process's generator is another one"
    opyard.manual_seed(11)
    assert draw(None).tolist() == first, "None is the process's"


def test_every_operator_with_a_generator_is_here():
    have = set()
    for name in dir(aten):
        packet = getattr(aten, name)
        for overload in packet.overloads():
            op = getattr(packet, overload)
            if any(str(a.type) == "Generator?" for a in op._schema.arguments):
                have.add(name if overload == "default" else f"{name}.{overload}")
    covered = {name.split(" ")[0].split(".")[0] for name in DRAWS}
    assert {name.split(".")[0] for name in have} == covered


def test_the_same_numbers_on_every_machine():
    g = opyard.Generator().manual_seed(2026)
    assert aten.randint(1000, [6], generator=g).tolist() == INTS
    assert aten.rand([3], generator=g, dtype=opyard.float64).tolist() == FLOATS
    assert aten.randperm(8, generator=g).tolist() == ORDER
    assert aten.multinomial(opyard.tensor([1.0, 2, 3, 0]), 3, generator=g).tolist() == DRAWN


# Of numbers 0, 1, … of the seed: of Philox 4x32-10, by an independent computation below.
def philox(seed, at):
    x, key = [at & 0xFFFFFFFF, at >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(b >> 32) ^ x[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ x[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return x[0] << 32 | x[1]


def order_of(seed, first, count):
    order = list(range(count))
    for i in range(count, 1, -1):
        j = philox(seed, first + i - 1) * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


INTS = [philox(2026, i) * 1000 >> 64 for i in range(6)]
FLOATS = [(philox(2026, i) >> 11) * 2.0**-53 for i in range(6, 9)]
ORDER = order_of(2026, 9, 8)
TIMES = [-np.log1p(-(philox(2026, 17 + i) >> 11) * 2.0**-53) / (i + 1) for i in range(3)]
DRAWN = list(np.argsort(TIMES))


def test_seeds():
    g = opyard.Generator()
    assert g.initial_seed() == 67280421310721 and opyard.Generator("cpu") != g
    assert g.manual_seed(-1) is g and g.initial_seed() == 2**64 - 1
    assert g.manual_seed(np.int64(7)).initial_seed() == 7
    assert g.seed() == g.initial_seed() != opyard.Generator().seed()
    with pytest.raises(TypeError, match="manual_seed: the seed must be an int, not '7'"):
        g.manual_seed("7")
    for seed in (2**64, -(2**63) - 1, 10**40):
        with pytest.raises(ValueError, match="accepted are -2.*63 to 2.*64 - 1"):
            g.manual_seed(seed)


def test_a_state_is_gone_back_to():
    g = opyard.Generator().manual_seed(3)
    opyard.rand(100, generator=g)
    state = g.get_state()
    assert state.dtype is opyard.uint8 and state.shape == (16,)
    expected = opyard.rand(4, generator=g).tolist()
    for again in (opyard.Generator(), g):
        again.set_state(state)
        assert again.initial_seed() == 3
        assert opyard.rand(4, generator=again).tolist() == expected
    g.set_state(state)
    for made in (pickle.loads(pickle.dumps(g)), copy.copy(g), copy.deepcopy(g), g.clone_state()):
        assert made != g and opyard.rand(4, generator=made).tolist() == expected


@pytest.mark.parametrize(
    "state",
    [
        opyard.zeros(16),
        opyard.zeros(15, dtype=opyard.uint8),
        opyard.zeros(0, dtype=opyard.uint8),
        opyard.zeros(4, 4, dtype=opyard.uint8),
        opyard.zeros(32, dtype=opyard.uint8)[::2],
        opyard.empty(16, dtype=opyard.uint8, device="meta"),
    ],
)
def test_a_state_that_is_none_changes_nothing(state):
    g = opyard.Generator().manual_seed(3)
    with pytest.raises((TypeError, ValueError), match="set_generator_state"):
        g.set_state(state)
    assert g.get_state().tolist() == [3] + 15 * [0]


def test_generators_of_no_device_here():
    with pytest.raises(NotImplementedError, match="new_generator: device is cuda; generators"):
        opyard.Generator("cuda")
    with pytest.raises(ValueError, match="device"):
        opyard.Generator("nowhere")
    with pytest.raises(TypeError):
        opyard.Generator("cpu", 3)


def test_an_argument_that_is_no_generator_is_refused():
    for wrong in (3, "cpu", opyard.zeros(2), opyard.Generator):
        with pytest.raises(TypeError, match="generator"):
            aten.bernoulli(opyard.ones(3), generator=wrong)
        with pytest.raises(TypeError, match="generator"):
            opyard.rand(3, generator=wrong)


def test_nothing_is_drawn_on_meta():
    g = opyard.Generator().manual_seed(3)
    state = g.get_state().tolist()
    meta = opyard.ones(4, device="meta")
    assert opyard.rand(3, generator=g, device="meta").device.type == "meta"
    assert aten.bernoulli(meta, generator=g).shape == (4,)
    assert aten.multinomial(meta, 2, generator=g).shape == (2,)
    assert meta.normal_(generator=g).exponential_(generator=g).random_(generator=g) is meta
    assert g.get_state().tolist() == state


def test_what_it_looks_like():
    g = opyard.Generator()
    assert repr(g) == "<opyard.Generator on cpu>" and g.device == opyard.device("cpu")
    assert g == g and hash(g) == hash(g) and g != 3
    assert g.manual_seed.__self__ is g
    with pytest.raises(TypeError):
        type("Own", (opyard.Generator,), {})


def test_kernels_and_modes_of_python_get_it(library, ns):
    library.define("draw(int n, *, Generator? generator=None) -> Tensor")
    library.define("same(Generator g) -> Generator")
    library.define("made(Any x) -> Any")
    seen = []

    def draw(n, *, generator=None):
        seen.append(generator)
        return opyard.rand(n, generator=generator)

    library.impl("draw", draw, "CompositeExplicitAutograd")
    library.impl("same", lambda g: g, "CompositeExplicitAutograd")
    library.impl("made", lambda x: x, "CompositeExplicitAutograd")
    ops = getattr(opyard.ops, ns)
    g = opyard.Generator().manual_seed(4)
    expected = opyard.rand(3, generator=g).tolist()
    assert ops.draw(3, generator=g.manual_seed(4)).tolist() == expected
    assert seen == [g] and ops.same(g) == g and ops.made(g) == g
    with opyard.testing.LoggingMode() as log:
        assert opyard.rand(3, generator=g.manual_seed(4)).tolist() == expected
    assert any("rand.generator" in str(call) for call in log.lines)


def test_a_graph_draws_from_its_argument():
    graph = opyard.jit.parse_ir("""
        graph(%x : Tensor, %g : Generator):
          %y : Tensor = aten::bernoulli(%x, %g)
          return (%y)
    """)
    g = opyard.Generator()
    x = opyard.ones(64) / 2
    expected = aten.bernoulli(x, generator=g.manual_seed(9)).tolist()
    assert graph(x, g.manual_seed(9)).tolist() == expected


def test_threads_draw_numbers_that_no_other_draws():
    g = opyard.Generator().manual_seed(1)
    drawn, lock = [], threading.Lock()

    def draw():
        for _ in range(50):
            numbers = opyard.rand(40, generator=g, dtype=opyard.float64).tolist()
            with lock:
                drawn.extend(numbers)

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = opyard.rand(8000, generator=g.manual_seed(1), dtype=opyard.float64).tolist()
    assert sorted(drawn) == sorted(expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_P10_a_forked_child_goes_on_with_it():
    program = """
import os, opyard
g = opyard.Generator().manual_seed(1)
opyard.rand(3, generator=g)
pid = os.fork()
if pid: os.waitpid(pid, 0)
print(opyard.rand(2, generator=g).tolist(), flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    one, other = done.stdout.splitlines()
    assert one == other and done.returncode == 0


# The distributions ----------------------------------------------------------------------------


def test_normal_has_its_mean_and_deviation():
    g = opyard.Generator().manual_seed(1)
    mean, std = opyard.tensor([[0.0], [100.0]]), opyard.tensor([1.0, 5.0])
    drawn = np.stack([aten.normal(mean, std, generator=g).numpy() for _ in range(4000)])
    assert drawn.shape == (4000, 2, 2)
    assert np.allclose(drawn.mean(0), [[0, 0], [100, 100]], atol=0.4)
    assert np.allclose(drawn.std(0), [[1, 5], [1, 5]], rtol=0.1)
    half = aten.normal(opyard.zeros(3, dtype=opyard.float16), 1.0, generator=g)
    assert half.dtype is opyard.float16
    for bad in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=r"aten::normal.*std"):
            aten.normal(opyard.zeros(2), bad)
        with pytest.raises(ValueError, match=r"aten::normal.*std is .* at element 1; each must"):
            aten.normal(0.0, opyard.tensor([1.0, bad]))
    with pytest.raises((TypeError, NotImplementedError)):
        aten.normal(opyard.zeros(2, dtype=opyard.int64), 1.0)


def test_exponential_and_whole_numbers():
    g = opyard.Generator().manual_seed(1)
    drawn = opyard.zeros(20000).exponential_(4.0, generator=g).numpy()
    assert drawn.min() >= 0 and abs(drawn.mean() - 0.25) < 0.01
    with pytest.raises(ValueError, match="exponential_: lambd is 0"):
        opyard.zeros(2).exponential_(0)
    for dtype, most in (
        (opyard.bool, 1), (opyard.uint8, 255), (opyard.int8, 127), (opyard.float16, 2**11),
        (opyard.int64, 2**63 - 1), (opyard.float64, 2**53),
    ):  # fmt: skip
        whole = opyard.zeros(4000, dtype=dtype).random_(generator=g)
        values = whole.to(opyard.float64).numpy()
        assert values.min() >= 0 and values.max() <= most and values.max() > 0.9 * most
    assert set(opyard.zeros(500).random_(-2, 3, generator=g).tolist()) == {-2, -1, 0, 1, 2}
    signed = opyard.zeros(100, dtype=opyard.int64).random_(-(2**63), None, generator=g)
    assert signed.min().item() < 0 < signed.max().item()
    for wrong in ((3, 3), (5, 2), (0, 300), (-1, 5)):
        with pytest.raises((ValueError, OverflowError)):
            opyard.zeros(2, dtype=opyard.uint8).random_(*wrong)


def test_multinomial_draws_by_weight():
    g = opyard.Generator().manual_seed(1)
    weights = opyard.tensor([[1.0, 0.0, 3.0], [5.0, 5.0, 0.0]])
    drawn = aten.multinomial(weights, 4000, True, generator=g).numpy()
    shares = np.stack([(drawn == i).mean(1) for i in range(3)], 1)
    assert drawn.dtype == np.int64 and np.allclose(
        shares, [[0.25, 0, 0.75], [0.5, 0.5, 0]], atol=0.03
    )
    once = np.stack([aten.multinomial(weights, 2, generator=g).numpy() for _ in range(2000)])
    assert (np.sort(once, 2) == [[0, 2], [0, 1]]).all()
    assert abs((once[:, 0, 0] == 2).mean() - 0.75) < 0.05


@pytest.mark.parametrize(
    ("weights", "samples", "again", "message"),
    [
        ([1.0, -1.0], 1, False, "the weight -1"),
        ([1.0, float("nan")], 1, False, "the weight nan"),
        ([1.0, float("inf")], 1, True, "the weight inf"),
        ([0.0, 0.0], 1, True, "0 weights above 0"),
        ([1.0, 0.0], 2, False, "1 weights above 0 and num_samples is 2"),
        ([1.0, 1.0], 3, False, "num_samples is 3"),
        ([1.0, 1.0], 0, False, "num_samples is 0"),
        ([[[1.0]]], 1, False, "self is"),
        (1.0, 1, False, "self is"),
    ],
)
def test_multinomial_refuses(weights, samples, again, message):
    with pytest.raises(ValueError, match=f"aten::multinomial: .*{message}"):
        aten.multinomial(opyard.tensor(weights), samples, again)
