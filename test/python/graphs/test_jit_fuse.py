"""Protects opyard.jit.passes.fuse: groups give the bits of their operators, in blocks or not.

Suspect jit/src/passes/fuse.cpp for groups, jit/src/fusion/ for bits.
"""

import itertools
import random

import numpy as np
import pytest

import opyard
from opyard import _graphs, jit
from opyard.jit import passes
from opyard.profiler import profile
from opyard.testing import FileCheck

TEN = """graph(%x, %y):
  %two : int = prim::Constant[value=2]()
  %half : float = prim::Constant[value=0.5]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %x)
  %c : Tensor = aten::sub(%b, %two)
  %d : Tensor = aten::tanh(%c)
  %e : Tensor = aten::maximum(%d, %y)
  %f : Tensor = aten::div(%e, %half)
  %g : Tensor = aten::exp(%f)
  %h : Tensor = aten::neg(%g)
  %r : Tensor = aten::relu(%b)
  %s : Tensor = aten::add(%h, %r)
  return (%s, %d)
"""


def both(text):
    """The text compiled as it is, and as one group."""
    graph = jit.parse_ir(text)
    assert passes.fuse(graph) == 1
    assert passes.fuse(graph) == 0
    assert str(jit.parse_ir(str(graph))) == str(graph)
    return jit.compile(jit.parse_ir(text)), jit.compile(graph)


def plain_and_fused(text):
    """The graph of a text without what is unused, fused; compiled before and after that."""
    graph = jit.parse_ir(text)
    passes.eliminate_dead_code(graph)
    plain = jit.compile(jit.parse_ir(str(graph)))
    passes.fuse(graph)
    return graph, plain, jit.compile(graph)


def check_blocks_taken(codes, args, wanted):
    """How many blocks of memory each of the two codes takes for a call."""

    def taken(code):
        code(*args)
        before = opyard.memory.stats()
        code(*args)
        after = opyard.memory.stats()
        return sum(after[name] - before[name] for name in ("hits", "misses"))

    plain, fused = codes
    if taken(plain) == 0:
        pytest.skip("freed memory is not kept here, so nothing counts allocations")
    assert (taken(plain), taken(fused)) == wanted


def bits(values):
    values = values if isinstance(values, (tuple, list)) else [values]
    return [
        (list(value.shape), str(value.dtype), value.stride(), np.asarray(value).tobytes())
        for value in values
    ]


def sample(sizes, dtype="float32", seed=0):
    return opyard.from_numpy(np.random.default_rng(seed).standard_normal(sizes).astype(dtype))


def test_a_group_prints_and_leaves_what_is_used_outside():
    graph = jit.parse_ir(TEN)
    assert passes.fuse(graph) == 1
    FileCheck().check("prim::FusionGroup_0(%x, %y)").check_next("return").check(
        "with prim::FusionGroup_0 = graph("
    ).check("aten::mul").check("aten::tanh").check("aten::relu").run(str(graph))
    assert "FusionGroup aten::mul" in jit.compile(graph).disassemble()


def test_a_group_makes_no_tensor_for_what_stays_inside():
    text = """graph(%x : Tensor, %y : Tensor):
      %1 : Tensor = aten::mul(%x, %y)
      %2 : Tensor = aten::neg(%1)
      %3 : Tensor = aten::exp(%2)
      %4 : Tensor = aten::mul(%3, %y)
      return (%4)"""
    check_blocks_taken(both(text), [opyard.ones(100_000), opyard.ones(100_000)], (4, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("count", [0, 1, 17, 511, 513, 40_000, 300_001])
def test_H45_a_group_gives_the_bits_of_its_operators(count, dtype):
    plain, group = both(TEN)
    x, y = sample(count, dtype), sample(count, dtype, 1)
    assert bits(group(x, y)) == bits(plain(x, y))


@pytest.mark.parametrize(
    "sizes, others",
    [
        ((4, 100), (100,)),
        ((4, 100), (4, 1)),
        ((3, 5, 70), (5, 1)),
        ((600, 1, 700), (2, 700)),
        ((4, 100), ()),
        ((9, 3), (3,)),
        ((5, 1), (1, 6)),
        ((2, 3, 4, 50), (3, 1, 50)),
        ((0, 5), (5,)),
        ((5,), (1, 5)),
        ((2, 1, 40), (40,)),
        ((0,), (1,)),
    ],
)
def test_inputs_broadcast(sizes, others):
    plain, group = both(TEN)
    for dtype in ("float32", "float64"):
        x, y = sample(sizes, dtype), sample(others, dtype, 1)
        assert bits(group(x, y)) == bits(plain(x, y))
        assert bits(group(y, x)) == bits(plain(y, x))


def in_blocks(group, *inputs):
    """What a group gives, which computes in blocks."""
    before = _graphs.fusion_counts()[1]
    given = group(*inputs)
    assert _graphs.fusion_counts()[1] == before
    return given


def test_what_blocks_cannot_compute_calls_the_operators():
    plain, group = both(TEN)
    x, y = sample((30, 40)), sample((40, 30), seed=1)
    before = _graphs.fusion_counts()[1]
    assert bits(group(x, sample((30, 40), "float64"))) == bits(
        plain(x, sample((30, 40), "float64"))
    )
    assert _graphs.fusion_counts()[1] == before + 1
    with pytest.raises(ValueError, match="FusionGroup") as error:
        group(x, y)
    assert "aten::mul" in str(error.value)


def laid(array, how):
    """The array's elements in another order in memory."""
    if how == "gaps":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        wide[..., 1::2] = array
        return opyard.from_numpy(wide)[..., 1::2]
    dims = {"turned": range(array.ndim)[::-1], "rolled": [*range(1, array.ndim), 0]}
    dims = list(dims.get(how, range(array.ndim)))
    back = [dims.index(dim) for dim in range(array.ndim)]
    return opyard.from_numpy(np.ascontiguousarray(array.transpose(dims))).permute(back)


LAYOUTS = ("plain", "turned", "rolled", "gaps")


@pytest.mark.parametrize("first, second", list(itertools.product(LAYOUTS, LAYOUTS)))
def test_H44_inputs_in_any_order_give_what_operators_give(first, second):
    plain, group = both(TEN)
    for dtype, sizes in itertools.product(("float32", "float64"), [(40, 50), (34, 3, 37)]):
        arrays = [np.asarray(sample(sizes, dtype, seed)) for seed in (0, 1)]
        x, y = laid(arrays[0], first), laid(arrays[1], second)
        assert bits(in_blocks(group, x, y)) == bits(plain(x, y))
        row = laid(arrays[1][..., :1], second) if second != "gaps" else y[..., :1]
        assert bits(group(x, row)) == bits(plain(x, row))


MASKED = """graph(%x, %y, %m):
  %none : NoneType = prim::Constant()
  %false : bool = prim::Constant[value=0]()
  %dtype : int = prim::Constant[value=7]()
  %zero : int = prim::Constant[value=0]()
  %half : float = prim::Constant[value=0.5]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::gt(%a, %half)
  %c : Tensor = aten::logical_and(%b, %m)
  %d : Tensor = aten::where(%c, %x, %a)
  %e : Tensor = aten::le(%d, %y)
  %f : Tensor = aten::masked_fill(%d, %e, %zero)
  %g : Tensor = aten::_to_copy(%f, %dtype, %none, %none, %none, %false, %none)
  %h : Tensor = aten::exp(%g)
  %i : Tensor = aten::logical_not(%e)
  return (%h, %f, %i)
"""


@pytest.mark.parametrize("count", [1, 40, 511, 513, 300_001])
def test_H45_comparisons_choices_and_conversions_are_fused(count):
    plain, group = both(MASKED)
    mask = sample(count, seed=2) > 0
    x, y = sample(count), sample(count, seed=1)
    assert bits(in_blocks(group, x, y, mask)) == bits(plain(x, y, mask))
    wide = [x.double(), y.double(), mask]
    assert bits(in_blocks(group, *wide)) == bits(plain(*wide))
    plain, group = both(MASKED.replace("value=0.5", "value=1").replace(": float", ": int"))
    ints = [(x * 5).long(), (y * 5).long(), mask]
    assert bits(in_blocks(group, *ints)) == bits(plain(*ints))


def test_H43_a_group_is_planned_once_for_each_kind_of_inputs():
    _, group = both(TEN)
    _, other = both(TEN)

    def plans_of(code, x, y):
        before = _graphs.fusion_counts()[0]
        code(x, y)
        return _graphs.fusion_counts()[0] - before

    x, y = sample((20, 50)), sample((20, 50), seed=1)
    assert [plans_of(group, x, y) for _ in range(3)] == [1, 0, 0]
    assert plans_of(group, sample((20, 50), seed=2), sample((20, 50), seed=3)) == 0  # values
    assert plans_of(group, x.double(), y.double()) == 1  # dtypes
    assert plans_of(group, x[:10], y[:10]) == 1  # sizes
    assert plans_of(group, sample((50, 20)).t(), y) == 1  # strides
    assert plans_of(group, x, y[0]) == 1
    assert plans_of(group, x, y) == 0
    assert plans_of(other, x, y) == 1  # by graph
    for count in range(1, 40):  # more kinds than are kept
        assert plans_of(group, sample(count), sample(count)) == 1
    assert plans_of(group, x, y) == 0


def test_H41_a_group_is_one_instruction_and_its_outputs_are_the_caller_s():
    plain, group = both(TEN)
    x, y = sample(1000), sample(1000, seed=1)
    wanted = bits(plain(x, y))
    first, second = in_blocks(group, x, y)
    again = in_blocks(group, x, y)
    before = bits(again)
    first.zero_()
    second.zero_()
    assert bits(again) == before == wanted
    with profile(with_stack=False) as prof:
        group(x, y)
    instructions = [event for event in prof.events() if event.kind == "Instruction"]
    [event] = [event for event in instructions if "prim::FusionGroup" in event.name]
    # The profile sees every operator, so they are called.
    for child, name in zip(event.children, ("aten::mul", "aten::add"), strict=False):
        assert name in child.name
    del group, x, y
    assert bits(again) == wanted


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38]
ARITHMETIC = ("add", "sub", "mul", "div")


def special(count, dtype, seed):
    """Numbers among which are infinities, both zeros, subnormal ones and one kind of nan."""
    numbers = np.random.default_rng(seed).standard_normal(count)
    with np.errstate(over="ignore"):
        numbers[:: 1 + seed % 3] = np.resize(SPECIAL, len(numbers[:: 1 + seed % 3]))
    return opyard.from_numpy(numbers.astype(dtype))


def assert_same_numbers(mine, wanted):
    """The same bits, but that the sign of a nan is that of either operand."""
    for one, other in zip(mine, wanted, strict=True):
        assert one.shape == other.shape and one.stride() == other.stride()
        one, other = np.asarray(one), np.asarray(other)
        assert np.array_equal(np.isnan(one), np.isnan(other))
        assert (
            np.where(np.isnan(one), 0, one).tobytes()
            == np.where(np.isnan(other), 0, other).tobytes()
        )


@pytest.mark.parametrize("first, second", list(itertools.product(ARITHMETIC, ARITHMETIC)))
def test_H45_two_operations_in_a_chain_have_the_bits_of_both(first, second):
    for operands, order, dtype in itertools.product(
        itertools.product(("%x", "%y", "%n"), repeat=3), (0, 1), ("float32", "float64")
    ):
        if operands[0] == "%n" or (operands[2] == "%n" and order):
            continue  # a number is the second operand
        a, b, c = operands
        last = f"%r, {c}" if order == 0 else f"{c}, %r"
        plain, group = both(f"""graph(%x, %y):
          %n : float = prim::Constant[value=-2.5]()
          %r : Tensor = aten::{first}({a}, {b})
          %s : Tensor = aten::{second}({last})
          return (%s)
        """)
        x, y = special(77, dtype, 0), special(77, dtype, 1)
        assert_same_numbers([group(x, y)], [plain(x, y)])


# Around the steps of a chain, which are of 4 to 256 elements.
CHAIN_COUNTS = (0, 1, 7, 8, 15, 16, 31, 32, 33, 64, 65, 127, 128, 129, 159, 255, 256, 257, 1000)
NEXT_COUNT = itertools.cycle(CHAIN_COUNTS)


@pytest.mark.parametrize(
    "operations", [*itertools.product(ARITHMETIC, repeat=3)], ids=lambda one: "-".join(one)
)
def test_H45_three_operations_in_a_chain_and_what_they_give_outside(operations):
    first, second, third = operations
    seconds = ("%r, %y", "%y, %r", "%r, %n", "%r, %r")
    thirds = ("%s, %x", "%r, %s", "%s, %n", "%s, %s")
    turned = sum(ARITHMETIC.index(operation) for operation in operations)
    for number, second_operands in enumerate(seconds):
        outputs = ("%t", "%r, %t", "%t, %s, %r")[(number + turned) % 3]
        plain, group = both(f"""graph(%x, %y):
          %n : float = prim::Constant[value=-2.5]()
          %r : Tensor = aten::{first}(%x, %y)
          %s : Tensor = aten::{second}({second_operands})
          %t : Tensor = aten::{third}({thirds[(number + turned) % 4]})
          return ({outputs})
        """)
        for dtype, _ in itertools.product(("float32", "float64"), range(4)):
            count = next(NEXT_COUNT)
            x, y = special(count, dtype, 0), special(count, dtype, 1)
            mine, wanted = group(x, y), plain(x, y)
            if outputs == "%t":
                mine, wanted = [mine], [wanted]
            assert_same_numbers(mine, wanted)


def test_H45_a_chain_takes_no_element_from_beside_its_operands():
    plain, group = both(SHARED)
    for dtype, count in itertools.product(("float32", "float64"), range(0, 300, 3)):
        wide = special(count + 64, dtype, 0)
        x, y = wide[7 : 7 + count], wide[31 : 31 + count]
        assert_same_numbers([group(x, y)], [plain(x, y)])


# %a and %b are stored within the chain, since later operations need them, too.
SHARED = """graph(%x, %y):
  %half : float = prim::Constant[value=0.5]()
  %two : float = prim::Constant[value=2.0]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %x)
  %c : Tensor = aten::mul(%b, %half)
  %d : Tensor = aten::sub(%c, %y)
  %e : Tensor = aten::mul(%d, %a)
  %f : Tensor = aten::add(%e, %two)
  %g : Tensor = aten::mul(%f, %x)
  %h : Tensor = aten::sub(%g, %b)
  %i : Tensor = aten::mul(%h, %y)
  return (%i)
"""


@pytest.mark.parametrize("sizes", [(1,), (511,), (512,), (513,), (3000,), (3, 700), (40, 33)])
def test_H45_what_two_operations_share_has_the_same_bits(sizes):
    plain, group = both(SHARED)
    for dtype, layout in itertools.product(("float32", "float64"), LAYOUTS):
        x, y = (laid(np.asarray(sample(sizes, dtype, seed)), layout) for seed in (0, 1))
        assert bits(group(x, y)) == bits(plain(x, y))


def random_chain(seed):
    """A graph of arithmetic, with up to three outputs, and now and then a function between."""
    choose = random.Random(seed)
    values, lines = ["%x", "%y", "%z"], []
    for number in range(choose.randint(2, 20)):
        # Mostly of what has just been computed.
        a = choose.choice((values[-1], values[-1], choose.choice(values)))
        b = choose.choice(("%n", choose.choice(values), choose.choice(values), values[-1]))
        if b != "%n" and choose.random() < 0.5:
            a, b = b, a
        call = f"{choose.choice((*ARITHMETIC, 'mul', 'add'))}({a}, {b})"
        if choose.random() < 0.08:
            call = f"{choose.choice(('neg', 'exp'))}({a})"
        values.append(f"%v{number}")
        lines.append(f"  %v{number} : Tensor = aten::{call}\n")
    outputs = [*choose.sample(values[3:], min(choose.randint(0, 2), len(lines))), values[-1]]
    return (
        "graph(%x, %y, %z):\n  %n : float = prim::Constant[value=0.75]()\n"
        + "".join(lines)
        + f"  return ({', '.join(dict.fromkeys(outputs))})\n"
    )


@pytest.mark.parametrize("seed", range(200))
def test_H45_random_chains_give_the_numbers_of_their_operators(seed):
    _, plain, group = plain_and_fused(random_chain(seed))
    choose = random.Random(seed + 1000)
    for _ in range(6):
        sizes = choose.choice([(n,) for n in CHAIN_COUNTS[1:]] + [(33, 40), (5, 257), (3, 1, 65)])
        dtype = choose.choice(("float32", "float64"))
        tensors = []
        for number in range(3):
            own = [1 if choose.random() < 0.2 else size for size in sizes]
            own = own[choose.randint(0, len(own) - 1) if choose.random() < 0.2 else 0 :]
            array = np.asarray(special(int(np.prod(own)), dtype, number)).reshape(own)
            tensors.append(laid(array, choose.choice(LAYOUTS)))
        mine, wanted = group(*tensors), plain(*tensors)
        if not isinstance(mine, tuple):
            mine, wanted = [mine], [wanted]
        assert_same_numbers(mine, wanted)


def random_text(seed):
    """A graph of up to 12 operators on three tensors, some of them bools."""
    choose = random.Random(seed)
    numbers, truths, lines = ["%x", "%y", "%z"], ["%m"], []
    for number in range(choose.randint(2, 12)):
        kind = choose.choice(("two", "two", "two", "number", "one", "compare", "select", "fill"))
        a, b, m = choose.choice(numbers), choose.choice(numbers), choose.choice(truths)
        name = f"%v{number}"
        if kind == "two":
            call = f"{choose.choice((*ARITHMETIC, 'maximum', 'minimum'))}({a}, {b})"
        elif kind == "number":
            call = f"{choose.choice(ARITHMETIC)}({a}, %n)"
        elif kind == "one":
            call = f"{choose.choice(('neg', 'abs', 'relu', 'exp', 'tanh', 'sigmoid'))}({a})"
        elif kind == "compare":
            call = f"{choose.choice(('eq', 'ne', 'lt', 'le', 'gt', 'ge'))}({a}, {b})"
        elif kind == "select":
            call = f"where({m}, {a}, {b})"
        else:
            call = f"masked_fill({a}, {m}, %n)"
        (truths if kind == "compare" else numbers).append(name)
        lines.append(f"  {name} : Tensor = aten::{call}\n")
    outputs = [*choose.sample(numbers[3:] or truths[1:], 1), f"%v{len(lines) - 1}"]
    constant = f"prim::Constant[value={choose.choice((0.5, -3.0))}]()"
    return (
        f"graph(%x, %y, %z, %m):\n  %n : float = {constant}\n"
        + "".join(lines)
        + f"  return ({', '.join(dict.fromkeys(outputs))})\n"
    )


@pytest.mark.parametrize("seed", range(150))
def test_H45_random_groups_give_the_bits_of_their_operators(seed):
    graph, plain, group = plain_and_fused(random_text(seed))
    choose = random.Random(seed + 1000)
    for _ in range(4):
        sizes = choose.choice([(7,), (700,), (33, 40), (5, 70), (3, 1, 65), (2, 3, 4)])
        tensors = []
        for number in range(4):
            own = [1 if choose.random() < 0.15 else size for size in sizes]
            own = own[choose.randint(0, len(own) - 1) if choose.random() < 0.2 else 0 :]
            array = np.asarray(sample(own, choose.choice(("float32",) * 5 + ("float64",)), number))
            array = array > 0 if number == 3 else array
            tensors.append(laid(array, choose.choice(LAYOUTS)))
        assert bits(group(*tensors)) == bits(plain(*tensors)), str(graph)


def test_gradients_flow_through_a_group():
    plain, group = both(TEN)
    gradients = []
    for run in (plain, group):
        x, y = sample(50).requires_grad_(), sample(50, seed=1)
        run(x, y)[0].sum().backward()
        gradients.append(x.grad)
    assert bits(gradients[0]) == bits(gradients[1])
    with opyard.autograd.no_grad():
        x = sample(50).requires_grad_()
        assert not group(x, y)[0].requires_grad
        assert bits(group(x, y)) == bits(plain(x, y))


def test_an_override_is_called():
    _, group = both(TEN)
    x, y = sample(50), sample(50, seed=1)
    before = bits(group(x, y))
    seen = []

    def relu(self):
        seen.append(1)
        return self

    with opyard.library.override("aten::relu", "CPU", relu):
        assert bits(group(x, y)) != before
    assert seen == [1]
    assert bits(group(x, y)) == before


def test_code_that_is_not_of_cpp_is_asked_for_no_address():
    _, group = both(TEN)
    x, y = sample(50), sample(50, seed=1)
    before = bits(group(x, y))
    with opyard.library.override(
        "opyard_fusion::block_functions", "CompositeImplicitAutograd", lambda: 4711
    ):
        graph = jit.parse_ir(TEN)
        assert passes.fuse(graph) == 0
        assert bits(jit.compile(graph)(x, y)) == before == bits(group(x, y))
    assert passes.fuse(graph) == 1


def test_a_write_ends_a_row_and_parts_are_groups_of_their_own():
    graph = jit.parse_ir("""graph(%x, %y, %n : int):
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::neg(%a)
  %w : Tensor = aten::add_(%x, %y)
  %c : Tensor = aten::exp(%x)
  %d : Tensor = aten::neg(%y)
  %e : Tensor = aten::tanh(%c)
  %f : Tensor = aten::abs(%d)
  %g : Tensor = aten::add(%f, %f, %n)
  return (%b, %e, %g)
""")
    plain = jit.compile(jit.parse_ir(str(graph)))
    assert passes.fuse(graph) == 3
    FileCheck().check("prim::FusionGroup_0(%x, %y)").check_next("aten::add_").check_next(
        "prim::FusionGroup_1(%x)"
    ).check_next("prim::FusionGroup_2(%y)").check_next("aten::add(").check_next("return").run(
        str(graph)
    )
    group = jit.compile(graph)
    x, y = sample(20), sample(20, seed=1)
    assert bits(group(x.clone(), y, 3)) == bits(plain(x.clone(), y, 3))


def test_stages_branches_and_long_rows_end_a_group():
    graph = jit.parse_ir("""graph(%x, %c : bool):
  %a : Tensor = aten::neg(%x)
  %r : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::neg(%a)
      %q : Tensor = aten::exp(%p)
      -> (%q)
    block1():
      -> (%a)
  %b : Tensor = aten::neg(%r)
  return (%b)
stage 1():
  %d : Tensor = aten::neg(%b)
  %e : Tensor = aten::neg(%d)
  return (%e)
""")
    assert passes.fuse(graph) == 2
    lines = "".join(f"  %v{i + 1} : Tensor = aten::neg(%v{i})\n" for i in range(100))
    long = jit.parse_ir(f"graph(%v0):\n{lines}  return (%v100)\n")
    assert passes.fuse(long) == 4
    x = sample(1000)
    assert bits(jit.compile(long)(x)) == bits(x)


def test_passes_know_that_a_group_writes_nothing():
    graph = jit.parse_ir(TEN)
    passes.fuse(graph)
    unused = jit.parse_ir(str(graph).replace("return (%15, %14)", "return (%x)"))
    assert passes.eliminate_dead_code(unused)
    assert "FusionGroup" not in str(unused)


def test_fuse_takes_a_graph():
    with pytest.raises(TypeError, match="takes a Graph, not str"):
        passes.fuse("graph")
