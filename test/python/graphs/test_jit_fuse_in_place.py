"""Protects fused groups that write into the memory of an input at its last use.

Suspect part_plan.h [In place], fused_group.cpp and take_over.h.
"""

import gc
import itertools
import weakref

import numpy as np
import pytest
from test_jit_fuse import (
    CHAIN_COUNTS,
    LAYOUTS,
    assert_same_numbers,
    bits,
    laid,
    plain_and_fused,
    random_chain,
    random_text,
    sample,
    special,
)

import opyard
from opyard import jit
from opyard.jit import passes

# The group's input %m is the graph's own, and no one else has it.
OWN = """graph(%x, %y):
  %none : NoneType = prim::Constant()
  %half : float = prim::Constant[value=0.5]()
  %m : Tensor = aten::clone(%x, %none)
  %a : Tensor = aten::mul(%m, %y)
  %b : Tensor = aten::add(%a, %half)
  %c : Tensor = aten::mul(%b, %m)
  return (%c)
"""


def fused(text):
    graph = jit.parse_ir(text)
    assert passes.fuse(graph) >= 1
    return jit.compile(graph)


def count_blocks(code, *inputs):
    code(*inputs)
    before = opyard.memory.stats()
    kept = code(*inputs)
    after = opyard.memory.stats()
    del kept
    return sum(after[name] - before[name] for name in ("hits", "misses"))


COUNTED = count_blocks(lambda x: x.clone(), opyard.ones(1000)) == 1


def takes(code, inputs, wanted):
    """Whether a run takes so many blocks of memory, where freed memory is kept and so counted."""
    return not COUNTED or count_blocks(code, *inputs) == wanted


@pytest.mark.parametrize("count", [100, 1000, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_input_that_is_used_a_last_time_gives_its_memory(count, dtype):
    x, y = sample(count, dtype), sample(count, dtype, 1)
    code, plain = fused(OWN), jit.compile(jit.parse_ir(OWN))
    assert takes(code, (x, y), 1)  # the clone
    before = bits([x, y])
    assert bits(code(x, y)) == bits(plain(x, y))
    assert bits([x, y]) == before
    result = code(x, y)
    assert result._version == 0 and result.storage_offset() == 0 and result.is_contiguous()


def test_two_outputs_take_two_inputs_and_a_step_that_reads_later_keeps_its_own():
    text = """graph(%x, %y):
      %none : NoneType = prim::Constant()
      %m : Tensor = aten::clone(%x, %none)
      %n : Tensor = aten::clone(%y, %none)
      %a : Tensor = aten::mul(%m, %n)
      %b : Tensor = aten::exp(%a)
      %c : Tensor = LAST
      return (%a, %c)
    """
    x, y = sample(3000), sample(3000, seed=1)
    for last in (
        "aten::maximum(%b, %n)",  # %a has %m, and %c has %n, which the very step reads
        "aten::neg(%b)",
        "aten::add(%b, %m)",  # %a has %n
    ):
        one = text.replace("LAST", last)
        code = fused(one)
        assert bits(code(x, y)) == bits(jit.compile(jit.parse_ir(one))(x, y))
        assert takes(code, (x, y), 2), last


KEPT = {
    "the caller has it": OWN.replace("return (%c)", "return (%c, %m)"),
    "it is the caller's": """graph(%m, %y):
      %a : Tensor = aten::mul(%m, %y)
      %c : Tensor = aten::add(%a, %m)
      return (%c)
    """,
    "a view of it is used later": """graph(%x, %y):
      %none : NoneType = prim::Constant()
      %zero : int = prim::Constant[value=0]()
      %m : Tensor = aten::clone(%x, %none)
      %v : Tensor = aten::select(%m, %zero, %zero)
      %a : Tensor = aten::mul(%m, %y)
      %c : Tensor = aten::add(%a, %m)
      %s : Tensor = aten::cumsum(%v, %zero, %none)
      return (%c, %s)
    """,
    "it is a view": """graph(%x, %y):
      %zero : int = prim::Constant[value=0]()
      %one : int = prim::Constant[value=1]()
      %m : Tensor = aten::transpose(%x, %zero, %one)
      %a : Tensor = aten::mul(%m, %y)
      %c : Tensor = aten::add(%a, %m)
      return (%c)
    """,
    "it is less than its memory": """graph(%x, %y):
      %none : NoneType = prim::Constant()
      %two : int = prim::Constant[value=2]()
      %zero : int = prim::Constant[value=0]()
      %big : Tensor[] = prim::ListConstruct(%x, %x)
      %all : Tensor = aten::cat(%big, %zero)
      %parts : Tensor[] = aten::chunk(%all, %two, %zero)
      %m, %other = prim::ListUnpack(%parts)
      %a : Tensor = aten::mul(%m, %y)
      %c : Tensor = aten::add(%a, %m)
      return (%c)
    """,
    "it was written": """graph(%x, %y):
      %none : NoneType = prim::Constant()
      %m : Tensor = aten::clone(%x, %none)
      %w : Tensor = aten::add_(%m, %y)
      %a : Tensor = aten::mul(%m, %y)
      %c : Tensor = aten::add(%a, %m)
      return (%c)
    """,
    "it is another dtype": """graph(%x, %y):
      %zero : int = prim::Constant[value=0]()
      %none : NoneType = prim::Constant()
      %m : Tensor = aten::clone(%x, %none)
      %a : Tensor = aten::mul(%m, %y)
      %c : Tensor = aten::gt(%a, %zero)
      return (%c)
    """,
    "it is a row": """graph(%x, %y):
      %zero : int = prim::Constant[value=0]()
      %none : NoneType = prim::Constant()
      %m : Tensor = aten::cumsum(%x, %zero, %none)
      %r : Tensor = aten::select(%m, %zero, %zero)
      %a : Tensor = aten::mul(%y, %y)
      %c : Tensor = aten::add(%a, %r)
      return (%c)
    """,
}


@pytest.mark.parametrize("reason", KEPT)
def test_memory_that_someone_may_see_is_kept(reason):
    x, y = sample((40, 40)), sample((40, 40), seed=1)
    before = bits([x, y])
    code, plain = fused(KEPT[reason]), jit.compile(jit.parse_ir(KEPT[reason]))
    for _ in range(3):
        kept = code(x, y)
        assert bits(code(x, y)) == bits(plain(x, y)) == bits(kept)
        assert bits([x, y]) == before
    # One more than what the operators before and behind the group take.
    others = sum(name in KEPT[reason] for name in ("clone", "cumsum(", "cat("))
    assert takes(code, (x, y), others + 1)


TWICE = """graph(%x):
  %none : NoneType = prim::Constant()
  %m : Tensor = aten::clone(%x, %none)
  %r, %s = prim::FusionGroup_0(%m, %m)
  return (%r, %s)
with prim::FusionGroup_0 = graph(%a : Tensor, %b : Tensor):
  %1 : Tensor = aten::mul(FIRST, FIRST)
  %2 : Tensor = aten::exp(%1)
  %3 : Tensor = aten::add(%2, SECOND)
  return (%1, %3)
"""
# The last part does not read what the first one gives.
TWICE_IN_PARTS = TWICE.replace("add(%2, SECOND)", "neg(SECOND)")


@pytest.mark.parametrize("text", [TWICE, TWICE_IN_PARTS])
@pytest.mark.parametrize("first, second", [("%a", "%b"), ("%b", "%a"), ("%a", "%a"), ("%b", "%b")])
@pytest.mark.parametrize("count", [1, 5, 700, 70_000])
def test_a_group_that_takes_a_value_twice_is_right(text, first, second, count):
    code = jit.compile(jit.parse_ir(text.replace("FIRST", first).replace("SECOND", second)))
    x = sample(count)
    squares, others = code(x)
    assert bits(squares) == bits(x * x)
    assert bits(others) == bits(-x if text == TWICE_IN_PARTS else (x * x).exp() + x)


def test_inputs_that_become_one_when_equal_operators_are_joined():
    text = """graph(%x):
      %none : NoneType = prim::Constant()
      %zero : int = prim::Constant[value=0]()
      %m : Tensor = aten::cumsum(%x, %zero, %none)
      %n : Tensor = aten::cumsum(%x, %zero, %none)
      %p : Tensor = aten::exp(%m)
      %1 : Tensor = aten::neg(%n)
      %2 : Tensor = aten::add(%p, %1)
      %3 : Tensor = aten::mul(%2, %m)
      return (%1, %3)
    """
    graph, x = jit.parse_ir(text), -opyard.arange(1, 9, dtype=opyard.float32)
    assert passes.fuse(graph) == 1
    passes.eliminate_common_subexpressions(graph)
    assert "FusionGroup_0(%m, %m)" in str(graph)
    assert bits(jit.compile(graph)(x)) == bits(jit.compile(jit.parse_ir(text))(x))


@pytest.mark.parametrize("first, second", [*itertools.product(LAYOUTS, LAYOUTS)])
def test_any_order_in_memory(first, second):
    code, plain = fused(OWN), jit.compile(jit.parse_ir(OWN))
    for sizes in ((40, 50), (34, 3, 37)):
        x, y = (
            laid(np.asarray(sample(sizes)), first),
            laid(np.asarray(sample(sizes, seed=1)), second),
        )
        assert bits(code(x, y)) == bits(plain(x, y))


def with_own_inputs(text):
    """The graph, whose first lines copy its tensors."""
    head, _, rest = text.partition("\n")
    names = [name.strip("%), :") for name in head.removeprefix("graph(").split(",")]
    given = ", ".join(f"%{name}_given" for name in names)
    clones = "".join(f"  %{name} : Tensor = aten::clone(%{name}_given, %keep)\n" for name in names)
    return f"graph({given}):\n  %keep : NoneType = prim::Constant()\n{clones}{rest}"


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.parametrize("make", [random_chain, random_text])
def test_random_groups_on_inputs_of_their_own(make, seed):
    graph, plain, code = plain_and_fused(with_own_inputs(make(seed + 5000)))
    inputs = 3 if make is random_chain else 4
    for number, count in enumerate(CHAIN_COUNTS[1 + seed % 2 :: 2]):
        dtype = ("float32", "float64")[number % 2]
        tensors = [special(count, dtype, seed + i) for i in range(inputs)]
        if inputs == 4:
            tensors[3] = tensors[3] > 0
        before = bits(tensors)
        mine, wanted = code(*tensors), plain(*tensors)
        if not isinstance(mine, tuple):
            mine, wanted = [mine], [wanted]
        assert_same_numbers(mine, wanted)
        assert bits(tensors) == before


def test_a_tensor_that_python_has_seen_keeps_its_memory():
    seen = []
    with opyard.library.Library("taken", "DEF") as library:
        library.define("look(Tensor x) -> Tensor")

        def look(x):
            made = x * 2
            seen.append(weakref.ref(made))
            return made

        library.impl("look", look, "CompositeExplicitAutograd")
        text = OWN.replace("aten::clone(%x, %none)", "taken::look(%x)")
        code, plain = fused(text), jit.compile(jit.parse_ir(text))
        x, y = sample(500), sample(500, seed=1)
        assert bits(code(x, y)) == bits(plain(x, y))
        gc.collect()
        assert all(reference() is None for reference in seen)


def test_a_compiled_function_and_its_gradients():
    @opyard.jit.compile
    def compiled(x, w):
        h = x @ w
        return ((h * 2 + 1).tanh() * h).sum()

    x, w = sample((60, 70)), sample((70, 30), seed=1)
    mine, theirs = w.clone().requires_grad_(), w.clone().requires_grad_()
    for _ in range(3):
        mine.grad = theirs.grad = None
        compiled(x, mine).backward()
        h = x @ theirs
        ((h * 2 + 1).tanh() * h).sum().backward()
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-5, atol=1e-5)


def test_inference_mode_makes_no_tensor_of_the_other_kind():
    code = fused(OWN)
    x, y = sample(500), sample(500, seed=1)
    with opyard.autograd.inference_mode():
        inside = code(x, y)
        assert inside.is_inference()
    assert not code(x, y).is_inference()
