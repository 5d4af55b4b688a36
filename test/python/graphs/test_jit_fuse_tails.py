"""Protects groups that end in a reduction or in joined tensors: the bits are the operators'.

Suspect jit/src/fusion/run_part.cpp for rows, fused_plan.cpp for what is computed in blocks, and the
functions that kernels/src/reduction/sum.cpp and extremes.cpp offer.
"""

import itertools
import random

import numpy as np
import pytest
from test_jit_fuse import (
    LAYOUTS,
    bits,
    both,
    check_blocks_taken,
    in_blocks,
    laid,
    plain_and_fused,
    sample,
    special,
)

import opyard
from opyard import _graphs, jit
from opyard.jit import passes
from opyard.profiler import profile
from opyard.testing import FileCheck

REDUCTIONS = ("sum", "mean", "amax", "amin")


def reduction(name, dims, keepdim=False, outputs="%s"):
    """x * y + x, reduced."""
    takes_dtype = name in ("sum", "mean")
    last = ", %none" if takes_dtype else ""
    return f"""graph(%x, %y):
  %none : NoneType = prim::Constant()
  %dims : int[] = prim::Constant[value={list(dims)}]()
  %keep : bool = prim::Constant[value={int(keepdim)}]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %x)
  %s : Tensor = aten::{name}(%b, %dims, %keep{last})
  return ({outputs})
"""


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_H43_rows_have_the_bits_of_the_reduction(name, dtype):
    if name == "mean" and dtype == "int64":
        dtype = "float32"
    shapes = [(7,), (3, 1), (5, 16), (4, 100), (40, 513), (300, 33), (2, 3, 70), (6, 1, 1)]
    for sizes, keepdim in itertools.product(shapes, (False, True)):
        plain, group = both(reduction(name, [-1], keepdim))
        x, y = (special(int(np.prod(sizes)), "float64", seed) for seed in (0, 1))
        if dtype == "int64":
            x, y = (sample(sizes, "float64", seed) * 100 for seed in (0, 1))
        x, y = (one.reshape(sizes).to(getattr(opyard, dtype)) for one in (x, y))
        assert bits(in_blocks(group, x, y)) == bits(plain(x, y))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_H43_all_of_the_last_dimensions_are_one_row(name):
    for dims, sizes in [
        ([-2, -1], (4, 5, 70)),
        ([2, 1], (4, 50, 40)),
        ([], (30, 40)),
        ([0, 1, 2], (3, 4, 64)),
        ([-1], (9000,)),
    ]:
        plain, group = both(reduction(name, dims))
        x, y = sample(sizes), sample(sizes, seed=1)
        assert bits(group(x, y)) == bits(plain(x, y))
        assert bits(group(x, y[..., :1])) == bits(plain(x, y[..., :1]))
        assert bits(group(y[:1], x)) == bits(plain(y[:1], x))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_H43_a_reduction_of_everything(name):
    overload = ", %n" if name in ("sum", "mean") else ""
    plain, group = both(f"""graph(%x, %y):
  %n : NoneType = prim::Constant()
  %a : Tensor = aten::sub(%x, %y)
  %b : Tensor = aten::mul(%a, %a)
  %s : Tensor = aten::{name}(%b{overload})
  return (%s)
""")
    for sizes in [(), (1,), (700,), (33, 40), (64, 3, 65), (1000, 700)]:
        x, y = sample(sizes), sample(sizes, seed=1)
        assert bits(group(x, y)) == bits(plain(x, y))


@pytest.mark.parametrize("sizes", [(700_001,), (2, 300_000), (3000, 300), (1, 1, 262_144)])
def test_H43_threads_share_rows_and_long_ones(sizes):
    for name, dtype in itertools.product(("sum", "mean"), ("float32", "float64")):
        plain, group = both(reduction(name, [-1]))
        x, y = sample(sizes, dtype), sample(sizes, dtype, 1)
        assert bits(in_blocks(group, x, y)) == bits(plain(x, y))


@pytest.mark.parametrize("first, second", list(itertools.product(LAYOUTS, LAYOUTS)))
def test_H44_rows_of_inputs_in_any_order(first, second):
    for name, dtype in itertools.product(REDUCTIONS, ("float32", "float64")):
        plain, group = both(reduction(name, [-1]))
        arrays = [np.asarray(sample((34, 3, 37), dtype, seed)) for seed in (0, 1)]
        x, y = laid(arrays[0], first), laid(arrays[1], second)
        assert bits(group(x, y)) == bits(plain(x, y))


def test_H43_what_is_reduced_may_be_an_output_too():
    for sizes in [(40, 50), (3, 5000)]:
        plain, group = both(reduction("sum", [-1], outputs="%s, %b, %a"))
        x, y = sample(sizes), sample(sizes, seed=1)
        assert bits(in_blocks(group, x, y)) == bits(plain(x, y))


def test_other_dimensions_are_reduced_by_the_operator_behind_the_blocks():
    for name, dims in [("sum", [0]), ("mean", [0, 2]), ("amax", [1]), ("amax", [-1])]:
        plain, group = both(reduction(name, dims, outputs="%s, %a"))
        sizes = (30, 4, 40) if dims != [-1] else (3, 20_000)
        x, y = sample(sizes), sample(sizes, seed=1)
        assert bits(in_blocks(group, x, y)) == bits(plain(x, y))


def test_a_reduction_makes_no_tensor_for_what_it_reduces():
    codes = both(reduction("sum", [-1]))
    check_blocks_taken(codes, [opyard.ones(100, 1000), opyard.ones(100, 1000)], (3, 1))


def test_a_tail_ends_its_row():
    graph = jit.parse_ir("""graph(%x, %y):
  %none : NoneType = prim::Constant()
  %dims : int[] = prim::Constant[value=[-1]]()
  %keep : bool = prim::Constant[value=1]()
  %a : Tensor = aten::amax(%x, %dims, %keep)
  %b : Tensor = aten::sub(%x, %a)
  %c : Tensor = aten::exp(%b)
  %s : Tensor = aten::sum(%c, %dims, %keep, %none)
  %d : Tensor = aten::div(%c, %s)
  %e : Tensor = aten::mul(%d, %y)
  return (%e)
""")
    plain = jit.compile(jit.parse_ir(str(graph)))
    assert passes.fuse(graph) == 2
    assert str(jit.parse_ir(str(graph))) == str(graph)
    FileCheck().check("aten::amax(%x").check("prim::FusionGroup_0(%x, %").check_next(
        "prim::FusionGroup_1(%"
    ).check_next("return").check("with prim::FusionGroup_0").check("aten::exp").check(
        "aten::sum"
    ).check("with prim::FusionGroup_1").check("aten::div").run(str(graph))
    x, y = sample((40, 100)), sample(100, seed=1)
    assert bits(jit.compile(graph)(x, y)) == bits(plain(x, y))


def test_errors_and_unknown_arguments_are_those_of_the_operator():
    plain, group = both(reduction("sum", [2]))
    x, y = sample((4, 5)), sample((4, 5), seed=1)
    for run in (plain, group):
        with pytest.raises(IndexError, match=r"aten::sum.dim_IntList.*2"):
            run(x, y)
    text = reduction("sum", [1])
    graph = jit.parse_ir(
        text.replace("graph(%x, %y)", "graph(%x, %y, %keep : bool)").replace(
            "  %keep : bool = prim::Constant[value=0]()\n", ""
        )
    )
    assert passes.fuse(graph) == 1
    assert "aten::sum" in str(graph).split("with prim::FusionGroup")[0]


JOINED = """graph(%x, %y, %z):
  %dim : int = prim::Constant[value={dim}]()
  %two : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::tanh(%a)
  %c : Tensor = aten::mul(%z, %two)
  %d : Tensor = aten::neg(%c)
  %l : Tensor[] = prim::ListConstruct({items})
  %r : Tensor = aten::cat(%l, %dim)
  return ({outputs})
"""


def joined(dim, items="%b, %d", outputs="%r"):
    graph = jit.parse_ir(JOINED.format(dim=dim, items=items, outputs=outputs))
    passes.eliminate_dead_code(graph)
    plain = jit.compile(jit.parse_ir(str(graph)))
    assert passes.fuse(graph)  # what is not joined is a group of its own
    assert "aten::cat" not in str(graph).split("with prim::FusionGroup")[0]
    return plain, jit.compile(graph)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("items", ["%b, %d", "%b, %z, %d", "%d, %b, %b, %x", "%a, %b", "%c"])
def test_H43_joined_tensors_have_the_bits_of_cat(dim, items):
    for outputs, dtype in itertools.product(("%r", "%r, %b", "%a, %r, %d"), ("float32", "int64")):
        if dtype == "int64" and "%b" in items + outputs:
            continue
        plain, group = joined(dim, items, outputs)
        sizes = [40, 50, 60]
        other = list(sizes)
        other[dim] += 7
        x, y, z = sample(sizes), sample(sizes[1:], seed=1), sample(other, seed=2)
        x, y, z = (one.to(getattr(opyard, dtype)) for one in (x * 9, y * 9, z * 9))
        assert bits(in_blocks(group, x, y, z)) == bits(plain(x, y, z))


def test_joined_tensors_of_any_kind_give_what_cat_gives():
    cases = [
        ((4, 5), (4, 9), 1, "float32"),  # short lines
        ((4, 50), (4, 50), 1, "float64"),  # another dtype: promoted
        ((6, 3, 40, 50), (6, 2, 40, 50), 1, "float32"),
        ((6, 1, 1, 1), (6, 1, 1, 1), 0, "float32"),
        ((400,), (3,), 0, "float32"),
    ]
    for sizes, others, dim, dtype in cases:
        plain, group = joined(dim)
        for how in LAYOUTS[:3]:
            x = laid(np.asarray(sample(sizes)), how)
            z = laid(np.asarray(sample(others, dtype, 2)), how)
            assert bits(in_blocks(group, x, x, z)) == bits(plain(x, x, z))
    images = [sample((2, 8, 9, 64), seed=seed).permute(0, 3, 1, 2) for seed in (0, 2)]
    plain, group = joined(1)
    x, z = images
    assert bits(in_blocks(group, x, x, z)) == bits(plain(x, x, z))


def test_what_cannot_be_joined_is_refused_as_by_cat():
    plain, group = joined(0)
    x, z = sample((4, 50)), sample((4, 51), seed=1)
    for run in (plain, group):
        with pytest.raises(ValueError, match=r"aten::cat: tensors\[0\] is"):
            run(x, x, z)
    _, group = joined(2)
    with pytest.raises(IndexError, match="aten::cat"):
        group(x, x, x)


def test_a_list_that_is_used_elsewhere_is_not_joined_in_blocks():
    graph = jit.parse_ir(JOINED.format(dim=0, items="%b, %d", outputs="%r, %l"))
    assert passes.fuse(graph) == 2
    assert "aten::cat" in str(graph).split("with prim::FusionGroup")[0]
    apart = jit.parse_ir(
        JOINED.format(dim=0, items="%b, %d", outputs="%r").replace(
            "  %r :", "  %w : Tensor = aten::add_(%x, %two)\n  %r :"
        )
    )
    plain = jit.compile(jit.parse_ir(str(apart)))
    assert passes.fuse(apart) == 2
    x = sample((4, 50))
    assert bits(jit.compile(apart)(x.clone(), x, x)) == bits(plain(x.clone(), x, x))


def test_an_override_or_a_profile_of_a_tail_is_called():
    _, group = both(reduction("sum", [-1]))
    x, y = sample((20, 50)), sample((20, 50), seed=1)
    before = bits(group(x, y))
    with opyard.library.override(
        "aten::sum.dim_IntList", "CPU", lambda self, dim, keepdim=False, *, dtype=None: self
    ):
        assert bits(group(x, y)) != before
    assert bits(group(x, y)) == before
    with profile(with_stack=False) as prof:
        group(x, y)
    assert any("aten::sum" in event.name for event in prof.events())


def test_gradients_flow_through_a_tail():
    plain, group = both(reduction("mean", [-1]))
    gradients = []
    for run in (plain, group):
        x, y = sample((5, 50)).requires_grad_(), sample((5, 50), seed=1)
        run(x, y).sum().backward()
        gradients.append(x.grad)
    assert bits(gradients[0]) == bits(gradients[1])


def test_a_compiled_loss_is_one_group():
    def loss(x, y):
        return ((x - y) * (x - y)).mean()

    made = jit.compile(loss)
    x, y = sample((64, 10)), sample((64, 10), seed=1)
    before = _graphs.fusion_counts()[1]
    for _ in range(2):
        assert bits(made(x, y)) == bits(loss(x, y))
    assert _graphs.fusion_counts()[1] == before
    [graph] = made.graphs()
    assert [node.kind for node in graph.nodes() if node.kind != "prim::Constant"] == [
        "prim::FusionGroup"
    ]


@pytest.mark.parametrize("seed", range(100))
def test_H45_random_rows_and_joins(seed):
    choose = random.Random(seed)
    lines, values = [], ["%x", "%y"]
    for number in range(choose.randint(1, 8)):
        a, b = choose.choice(values), choose.choice(values)
        call = choose.choice((f"mul({a}, {b})", f"sub({a}, {b})", f"relu({a})", f"add({a}, %two)"))
        values.append(f"%v{number}")
        lines.append(f"  %v{number} : Tensor = aten::{call}\n")
    if choose.random() < 0.5:
        name = choose.choice(REDUCTIONS)
        lines.append(
            f"  %r : Tensor = aten::{name}({values[-1]}, %dims, %keep"
            f"{', %none' if name in ('sum', 'mean') else ''})\n"
        )
    else:
        items = choose.sample(values, choose.randint(1, len(values)))
        lines.append(f"  %l : Tensor[] = prim::ListConstruct({', '.join(items)})\n")
        lines.append("  %r : Tensor = aten::cat(%l, %dim)\n")
    outputs = ["%r", *choose.sample(values[2:], choose.randint(0, 2) % len(values[2:]))]
    dims = choose.choice(([-1], [1, 2], [0], []))
    graph, plain, group = plain_and_fused(
        f"""graph(%x, %y):
  %none : NoneType = prim::Constant()
  %two : int = prim::Constant[value=2]()
  %dim : int = prim::Constant[value={choose.randint(-3, 2)}]()
  %dims : int[] = prim::Constant[value={dims}]()
  %keep : bool = prim::Constant[value={choose.randint(0, 1)}]()
{"".join(lines)}  return ({", ".join(outputs)})
"""
    )
    for number in range(4):
        sizes = choose.choice([(4, 5, 64), (40, 2, 33), (3, 3, 3), (2, 700, 1)])
        x, y = (
            laid(np.asarray(sample(sizes, choose.choice(("float32", "float64")), number)), how)
            for how in choose.choices(LAYOUTS, k=2)
        )
        assert bits(group(x, y)) == bits(plain(x, y)), str(graph)
