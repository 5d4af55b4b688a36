"""opyard.jit.passes.differentiate(): a stage that runs the last one backward (H16).

Suspect jit/src/passes/differentiate.cpp. What it gives is compared with the backward engine, bit
for bit, over random programs.
"""

import random

import pytest
from leaves import leaf
from processes import volume

import opyard
from opyard import autograd, jit
from opyard.testing import FileCheck

pytestmark = pytest.mark.once

aten = opyard.ops.aten
PROGRAMS = volume(200, 50)


def staged(graph):
    return jit.InterpreterState(jit.compile(graph))


def as_tuple(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


def bits(tensor):
    return str(tensor.dtype), tuple(tensor.shape), tensor.contiguous().numpy().tobytes()


PRODUCT = """
graph(%x : Tensor, %w : Tensor):
  %p : Tensor = aten::mul(%x, %w)
  %q : Tensor = aten::mul(%p, %x)
  return (%q)
"""


def test_H16_the_next_stage_takes_gradients_of_outputs_and_gives_those_of_inputs():
    graph = jit.parse_ir(PRODUCT)
    jit.passes.differentiate(graph, ["x", "w"])
    checks = FileCheck().check("return (%q)").check_next("stage 1(%grad_q : Tensor):")
    checks.check("opyard::sum_to").check("return (%").run(str(graph))
    graph.lint()
    run = staged(graph)
    x, w = opyard.tensor([2.0, 3.0]), opyard.tensor([5.0, 7.0])
    assert run.run_one_stage(x, w).tolist() == [20, 63]
    gx, gw = run.run_one_stage(opyard.tensor([1.0, 10.0]))
    assert gx.tolist() == [2 * 2 * 5, 2 * 3 * 7 * 10]
    assert gw.tolist() == [4, 90]


@pytest.mark.parametrize(
    ("dtype", "alpha", "count"), [("Float", 1, 0), ("Float", 2, 1), ("ComplexFloat", 1, 1)]
)
def test_H16_a_gradient_of_real_numbers_is_not_multiplied_by_one(dtype, alpha, count):
    """Of complex ones it is: inf * 1 is no inf there."""
    of = f"{dtype}(2, strides=[1], requires_grad=0, device=cpu)"
    graph = jit.parse_ir(
        f"graph(%x : {of}, %y : {of}):\n"
        f"  %alpha : int = prim::Constant[value={alpha}]()\n"
        f"  %z : {of} = aten::add.Tensor(%x, %y, %alpha)\n"
        "  return (%z)"
    )
    jit.passes.differentiate(graph, ["x", "y"])
    assert str(graph).count("aten::mul") == count


def test_H16_what_a_stage_needs_of_an_earlier_one_is_all_that_is_kept():
    graph = jit.parse_ir(
        """
graph(%x : Tensor):
  %e : Tensor = aten::exp(%x)
  %t : Tensor = aten::tanh(%e)
  return (%t)
"""
    )
    jit.passes.differentiate(graph, ["x"])
    run = staged(graph)
    run.run_one_stage(opyard.tensor([1.0]))
    kept = {value.debug_name for value in run.live_values()}
    assert kept == {"e", "t"}  # results that formulas read; x is given back


def test_H16_applied_again_it_differentiates_the_backward():
    graph = jit.parse_ir(PRODUCT)
    jit.passes.differentiate(graph, ["x"])
    jit.passes.differentiate(graph, ["x", "w", "grad_q"])
    run = staged(graph)
    values = [[2.0, 3.0], [5.0, 7.0], [1.5, -1.0], [0.5, 0.25]]
    x, w, g, v = (opyard.tensor(one, dtype=opyard.float64) for one in values)
    run.run_one_stage(x, w)
    run.run_one_stage(g)
    ours = run.run_one_stage(v)
    x, w, g = leaf(values[0]), leaf(values[1]), leaf(values[2])
    (first,) = autograd.grad((x * w) * x, [x], grad_outputs=[g], create_graph=True)
    theirs = autograd.grad(first, [x, w, g], grad_outputs=[v])
    assert [bits(one) for one in ours] == [bits(one) for one in theirs]


# Random programs of functional operators over matrices of 3 by 3, as closures over earlier values.
UNARY = [
    lambda a: a * 1.5,
    lambda a: aten.exp(a * 0.1),
    lambda a: aten.tanh(a),
    lambda a: aten.sigmoid(a),
    lambda a: aten.relu(a),
    lambda a: aten.neg(a),
    lambda a: aten.transpose(a, 0, 1),
    lambda a: aten.softmax(a, 1),
    lambda a: aten.sqrt(a * a + 1.0),
    lambda a: aten.expand(aten.sum(a, [1], True), [3, 3]),
    lambda a: aten.where(aten.gt(a, 0.25), a, a * 0.5),
    lambda a: a * aten.gt(a, 0.0),
    lambda a: aten.reshape(aten.reshape(a, [9]), [3, 3]),
    lambda a: aten.cat([aten.slice(a, 0, 1, 3), aten.slice(a, 0, 0, 1)], 0),
    lambda a: aten.stack([a[0], a[2], a[1]], 0),
]
BINARY = [
    lambda a, b: a * b,
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a / (b * b + 1.0),
    lambda a, b: aten.mm(a, b) * 0.3,
    lambda a, b: a + b[0],
    lambda a, b: aten.maximum(a, b),
]


def invent(seed):
    dice = random.Random(seed)
    steps = []
    for _ in range(dice.randint(3, 12)):
        binary = dice.random() < 0.5
        step = dice.choice(BINARY if binary else UNARY)
        steps.append((step, [dice.random() for _ in range(1 + binary)]))

    def program(*inputs):
        values = list(inputs)
        for step, places in steps:
            values.append(step(*(values[int(place * len(values))] for place in places)))
        return sum(values[3:], values[0] + values[1]), values[-1]

    rows = [[[dice.gauss(0, 1) for _ in range(3)] for _ in range(3)] for _ in range(6)]
    return program, rows


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_H16_the_bits_of_a_stage_are_those_of_the_engine(seed):
    program, rows = invent(seed)
    inputs = [opyard.tensor(row, dtype=opyard.float64) for row in rows[:2]]
    seeds = [opyard.tensor(row, dtype=opyard.float64) for row in rows[2:4]]
    graph = jit.trace(program, tuple(inputs), stages=2).staged
    optimised = graph.copy()
    for one in (
        jit.passes.eliminate_common_subexpressions,
        jit.passes.peephole,
        jit.passes.eliminate_dead_code,
    ):
        one(optimised)
    leaves = [leaf(row) for row in rows[:2]]
    wanted = autograd.grad(list(program(*leaves)), leaves, grad_outputs=seeds)
    for each in (graph, optimised):
        run = staged(each)
        run.run_one_stage(*inputs)
        found = as_tuple(run.run_one_stage(*seeds))
        assert [bits(one) for one in found] == [bits(one) for one in wanted], str(graph)


def refused(text, wrt, kind, match, **sources):
    graph = jit.parse_ir(text)
    before = str(graph)
    with pytest.raises(kind, match=match):
        jit.passes.differentiate(graph, wrt)
    assert str(graph) == before
    return graph


def body(*lines, inputs="%x : Tensor, %w : Tensor, %n : int", output="%y"):
    return "\n".join(
        [f"graph({inputs}):", *(f"  {line}" for line in lines), f"  return ({output})"]
    )


def test_what_cannot_be_differentiated_is_named():
    exp = "%y : Tensor = aten::exp(%x)"
    refused(body(exp), ["w"], ValueError, "no output of stage 0 is computed from wrt")
    refused(body(exp), ["x", "w"], ValueError, "no gradient reaches %w")
    refused(body(exp), ["n"], ValueError, r"wrt\[0\] is no Tensor among the graph's inputs")
    refused(body(exp), ["y"], ValueError, r"wrt\[0\] is no Tensor among the graph's inputs")
    refused(body(exp), ["z"], ValueError, "'z' is no value of the graph")
    refused(body(exp), ["x", "x"], ValueError, r"wrt\[1\], %x, is given twice")
    refused(body(exp), [], ValueError, "wrt is empty")
    refused(
        body(exp, "%z : Tensor = aten::mul_(%w, %y)", output="%z"),
        ["x"],
        NotImplementedError,
        r"aten::mul_ .* writes its argument 'self' in place",
    )
    refused(
        body("%i : Tensor = aten::argmax(%x)", "%y : Tensor = aten::mul(%i, %x)"),
        ["x"],
        NotImplementedError,
        r"aten::argmax .* has no formula for 'self'; give it one with derivative",
    )
    refused(  # the way from w leads to an output; that from x is lost in two that have no formula
        body(
            "%i : int = prim::Constant[value=-1]()",
            "%s : int[] = prim::ListConstruct(%i)",
            "%a : Tensor = aten::reshape(%x, %s)",
            "%b : Tensor = aten::reshape(%a, %s)",
            "%y : Tensor = aten::mul(%b, %w)",
        ),
        ["w", "x"],
        NotImplementedError,
        "%b = aten::reshape .* has no formula for 'self'",
    )
    with pytest.raises(TypeError, match="takes a Graph, not str"):
        jit.passes.differentiate("graph")
    graph = jit.parse_ir(body(exp), untrusted=True)
    with pytest.raises(NotImplementedError, match="the graph is restricted"):
        jit.passes.differentiate(graph, ["x"])


def test_operators_of_users_bring_their_formulas(library):
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CPU")
    graph = jit.parse_ir(
        f"graph(%x : Tensor):\n  %y : Tensor = {library.ns}::cube(%x)\n  return (%y)"
    )
    with pytest.raises(NotImplementedError, match="::cube .* has no formula as text"):
        jit.passes.differentiate(graph, ["x"])
    library.derivative("cube", {"x": "grad * 3 * x * x"})
    jit.passes.differentiate(graph)
    run = staged(graph)
    assert run.run_one_stage(opyard.tensor([2.0])).tolist() == [8]
    assert run.run_one_stage(opyard.tensor([1.0])).tolist() == [12]


def test_H16_gradients_between_dtypes_are_converted_where_the_engine_converts():
    def program(x, w):
        narrow = aten.exp(x)  # float32 between float64 on both sides
        return (narrow * w).sum() + (x * w * narrow).sum()

    x = opyard.tensor([0.1, 1.7, -0.3])
    w = opyard.tensor([[1.1], [2.3]], dtype=opyard.float64)
    run = staged(jit.trace(program, (x, w), stages=3).staged)
    run.run_one_stage(x, w)
    ones = opyard.tensor(1.0, dtype=opyard.float64)
    found = as_tuple(run.run_one_stage(ones))
    leaves = [opyard.tensor(x.tolist()).requires_grad_(), leaf(w.tolist())]
    wanted = autograd.grad(program(*leaves), leaves, grad_outputs=[ones])
    assert [bits(one) for one in found] == [bits(one) for one in wanted]
    assert [one.dtype for one in found] == [opyard.float32, opyard.float64]


def test_H16_a_formula_that_leaves_the_sum_out_gives_the_sizes_of_the_tensor(library):
    library.define("times(Tensor x, Tensor y) -> Tensor")
    library.impl("times", lambda x, y: x * y, "CPU")
    library.derivative("times", {"x": "grad * y", "y": "grad * x"})
    times = getattr(opyard.ops, library.ns).times
    x, y = opyard.tensor([[2.0], [3.0]]), opyard.tensor([5.0, 7.0])
    run = staged(jit.trace(lambda x, y: times(aten.exp(x), y), (x, y), stages=2).staged)
    run.run_one_stage(x, y)
    ones = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = run.run_one_stage(ones)
    leaves = [opyard.tensor(one.tolist()).requires_grad_() for one in (x, y)]
    wanted = autograd.grad(times(leaves[0].exp(), leaves[1]), leaves, grad_outputs=[ones])
    assert [bits(one) for one in found] == [bits(one) for one in wanted]


def test_H16_trace_holds_the_parts_of_what_has_no_formula_and_appends_stages():
    x = opyard.tensor([[1.0, 2.0, 0.5]])
    traced = jit.trace(lambda x: aten.softmax(x * x, 1), x, stages=3)
    assert traced(x).tolist() == aten.softmax(x * x, 1).tolist()
    text = str(traced.staged)
    assert "aten::softmax" not in text and "aten::_softmax(" in text
    assert "stage 2(" in text and "stage 3(" not in text
    assert jit.trace(lambda x: aten.softmax(x, 0), x).staged is None
    with pytest.raises(ValueError, match="stages is 0; there is at least one"):
        jit.trace(lambda x: x, x, stages=0)


# formulas that may give None --------------------------------------------------------------

MAYBE = {
    "if": {"a": "if flip { grad * b } else { None }", "b": "grad * a"},
    "operator": {"a": "maybe(grad * b, flip)", "b": "grad * a"},
    "several": {"a, b": "(if flip { grad * b } else { None }), grad * a"},
}


@pytest.fixture
def mix_of(library):
    """Defines `maybe`, and `mix` with these formulas; gives the packet of `mix`."""

    def make(formulas):
        library.define("maybe(Tensor x, bool keep) -> Tensor?")
        library.impl("maybe", lambda x, keep: x if keep else None, "CPU")
        library.define("mix(Tensor a, Tensor b, bool flip) -> Tensor")
        library.impl("mix", lambda a, b, flip: a * b, "CPU")
        library.derivative("mix", formulas)
        return getattr(opyard.ops, library.ns).mix

    return make


@pytest.mark.parametrize("formulas", MAYBE.values(), ids=MAYBE)
@pytest.mark.parametrize("flip", [False, True])
def test_H16_none_of_an_optional_gradient_is_zeros_in_the_next_stage(mix_of, formulas, flip):
    mix = mix_of(formulas)
    values = [[1.0, 2.0], [3.0, 4.0]]
    graph = jit.parse_ir(
        f"graph(%a : Tensor, %b : Tensor, %flip : bool):\n  %s : Tensor = aten::sin(%a)\n"
        f"  %m : Tensor = {mix.default.name()}(%s, %b, %flip)\n  return (%m)"
    )
    jit.passes.differentiate(graph, ["a", "b"])
    run = staged(graph)
    run.run_one_stage(*map(opyard.tensor, values), flip)
    found = run.run_one_stage(opyard.ones(2))
    a, b = (opyard.tensor(one, requires_grad=True) for one in values)
    mix(aten.sin(a), b, flip).sum().backward()
    assert (a.grad is None) == (not flip)
    wanted = [[0, 0] if one.grad is None else one.grad.tolist() for one in (a, b)]
    assert [one.tolist() for one in found] == wanted

    made = jit.compile(lambda a, b: mix(aten.sin(a), b, flip).sum())
    for _ in range(3):
        a.grad = b.grad = None
        made(a, b).backward()
    assert len(made.graphs()) == 1  # it did not run as it is
    assert [one.grad.tolist() for one in (a, b)] == wanted


@pytest.mark.parametrize("text", ["grad * b, None", "grad * b, if flip { None } else { None }"])
def test_H16_an_argument_whose_formula_gives_none_each_time_has_no_gradient(mix_of, text):
    mix = mix_of({"a, b": text})
    graph = jit.parse_ir(
        f"graph(%a : Tensor, %b : Tensor, %flip : bool):\n"
        f"  %m : Tensor = {mix.default.name()}(%a, %b, %flip)\n  return (%m)"
    )
    with pytest.raises(ValueError, match="no gradient reaches %b"):
        jit.passes.differentiate(graph.copy(), ["a", "b"])
    with pytest.raises(ValueError, match="no output of stage 0 is computed from wrt"):
        jit.passes.differentiate(graph.copy(), ["b"])
    jit.passes.differentiate(graph, ["a"])
    run = staged(graph)
    run.run_one_stage(opyard.tensor([1.0]), opyard.tensor([3.0]), True)
    assert run.run_one_stage(opyard.ones(1)).tolist() == [3]


def test_H16_a_list_whose_gradient_may_be_none_is_refused_with_its_name(library):
    library.define("first(Tensor[] all, bool flip) -> Tensor")
    library.impl("first", lambda all, flip: all[0] * 1, "CPU")
    library.derivative("first", {"all": "if flip { [grad, grad] } else { None }"})
    graph = jit.parse_ir(
        f"graph(%a : Tensor, %b : Tensor, %flip : bool):\n"
        f"  %l : Tensor[] = prim::ListConstruct(%a, %b)\n"
        f"  %m : Tensor = {library.ns}::first(%l, %flip)\n  return (%m)"
    )
    with pytest.raises(NotImplementedError, match=r"takes %l of type Tensor\[\]"):
        jit.passes.differentiate(graph, ["a", "b"])
