"""Protects opyard.jit.passes.fuse: groups give the bits of their operators, in blocks or not."""

import numpy as np
import pytest

import opyard
from opyard import jit
from opyard.jit import passes
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
    x, y = opyard.ones(100_000), opyard.ones(100_000)

    def blocks_taken(code):
        code(x, y)
        before = opyard.memory.stats()
        code(x, y)
        after = opyard.memory.stats()
        return sum(after[name] - before[name] for name in ("hits", "misses"))

    plain, fused = both(text)
    if blocks_taken(plain) == 0:
        pytest.skip("freed memory is not kept here, so nothing counts allocations")
    assert (blocks_taken(plain), blocks_taken(fused)) == (4, 1)


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


def test_what_blocks_cannot_compute_calls_the_operators():
    plain, group = both(TEN)
    x, y = sample((30, 40)), sample((40, 30), seed=1)
    assert bits(group(x, y.t())) == bits(plain(x, y.t()))  # not contiguous
    assert bits(group(x, sample((30, 40), "float64"))) == bits(
        plain(x, sample((30, 40), "float64"))
    )
    with pytest.raises(ValueError, match="FusionGroup") as error:
        group(x, y)
    assert "aten::mul" in str(error.value)


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
