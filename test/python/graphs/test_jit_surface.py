"""Graphs in Python beyond structure and text: calls, lifetimes, times, budgets, pictures, builder.

Suspect jit/python/graphs/{runs,codes,states}.cpp and opyard/_jit/builder.py.
"""

import gc
import pickle
import subprocess
import sys
import weakref
import xml.etree.ElementTree

import pytest
from built import ROOT

import opyard
from opyard import _gradients, jit

SQUARES = """graph(%x : Tensor, %n : int):
  %y : Tensor = aten::mul(%x, %x)
  %z : Tensor = aten::mul(%y, %n)
  return (%z)
"""
TWO_STAGES = """graph(%x : Tensor, %w : Tensor):
  %y : Tensor = aten::mul(%x, %w)
  return (%y)
stage 1(%g : Tensor):
  %d : Tensor = aten::mul(%g, %w)
  return (%d)
"""


def t(*items):
    return opyard.tensor([float(item) for item in items])


# entering a run --------------------------------------------------------------------------


def test_a_graph_is_called_and_follows_its_changes():
    graph = jit.parse_ir(SQUARES)
    assert graph(t(2), 3).tolist() == [12.0]
    assert graph(t(3), 1).tolist() == [9.0]
    graph.register_output(graph.find_value("y"))
    z, y = graph(t(2), 3)
    assert (z.tolist(), y.tolist()) == ([12.0], [4.0])


@pytest.mark.parametrize("make", [jit.parse_ir, lambda text: jit.compile(jit.parse_ir(text))])
def test_H27_wrong_arguments_name_the_input_and_leave_all_usable(make):
    callee = make(SQUARES)
    with pytest.raises(TypeError, match="1 inputs? |2 inputs"):
        callee(t(1))
    with pytest.raises(TypeError, match="input|takes"):
        callee(t(1), 2, 3)
    with pytest.raises(TypeError, match="input %n must be of type int, not str"):
        callee(t(1), "2")
    with pytest.raises(TypeError, match="input %x must be of type Tensor, not int"):
        callee(1, 2)
    assert callee(t(2), 3).tolist() == [12.0]


@pytest.mark.parametrize("make", [jit.parse_ir, lambda text: jit.compile(jit.parse_ir(text))])
def test_H47_inputs_may_be_given_by_name(make):
    callee = make(SQUARES)
    for result in (callee(t(2), n=3), callee(x=t(2), n=3), callee(n=3, x=t(2))):
        assert result.tolist() == [12.0]
    for args, names, text in (
        ((t(1),), {"x": t(1), "n": 2}, "got input %x by position and by name"),
        ((), {"n": 2}, "got no input %x"),
        (
            (t(1), 2),
            {"bogus": 2},
            r"\['bogus'\]\) by name and 2 by position; .* input %x, input %n",
        ),
        ((t(1), 2, 3), {"bogus": 2}, "by name and 3 by position"),
    ):
        with pytest.raises(TypeError, match=text):
            callee(*args, **names)
    with pytest.raises(TypeError, match="input %n must be of type int, not str"):
        callee(t(1), n="2")
    assert callee(x=t(2), n=3).tolist() == [12.0]


def test_more_outputs_and_inputs_than_few_are_all_there():
    names = [f"%v{i}" for i in range(20)]
    given = ", ".join(names)
    text = f"graph({given}):\n  return ({given})\n"
    tensors = [t(i) for i in range(20)]
    for mine, its in zip(jit.parse_ir(text)(*tensors), tensors, strict=True):
        assert mine is its


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda code: jit.Code(3), r"Code\(\) takes a Graph, not int"),
        (
            lambda code: jit.InterpreterState(None),
            r"InterpreterState\(\) takes a Code, not NoneType",
        ),
        (lambda code: code.register_of("x"), r"register_of\(\) takes a Value, not str"),
        (lambda code: jit.InterpreterState(code).run_to(1), r"run_to\(\) takes a Node, not int"),
        (lambda code: jit.InterpreterState(code).read(1), r"read\(\) takes a Value, not int"),
        (lambda code: jit.lifetimes(1), r"lifetimes\(\) takes a Code, not int"),
        (lambda code: jit.times(1), r"times\(\) takes an InterpreterState, not int"),
        (lambda code: jit.Code.__new__(jit.Code), r"it takes opyard\._graphs\.Code\(graph"),
        (lambda code: jit.Code.__new__(int), r"Code.__new__\(\) takes a class that is a Code"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call(jit.compile(jit.parse_ir(SQUARES)))


def test_an_object_is_never_without_a_value():
    graph = jit.Graph.__new__(jit.Graph)
    assert str(graph) == str(jit.Graph())
    code = jit.Code.__new__(jit.Code, graph=jit.parse_ir(SQUARES))
    assert code(t(2), 3).tolist() == [12.0]

    class Own(jit.Graph):
        pass

    assert type(Own()) is type(Own.__new__(Own)) is Own
    assert str(Own()) == str(graph)
    node = jit.parse_ir(SQUARES).return_node()
    for made in (node, node.inputs()[0], node.graph().block()):
        with pytest.raises(TypeError, match="cannot create .* a Graph makes them"):
            type(made).__new__(type(made))
        with pytest.raises(TypeError, match="cannot create"):
            type(made)()
    with pytest.raises(TypeError, match="cannot create"):
        _gradients.SavedTensor.__new__(_gradients.SavedTensor)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_cannot_be_pickled_says_so(protocol):
    graph = jit.parse_ir(SQUARES)
    code = jit.compile(graph)
    state, node = jit.InterpreterState(code), graph.return_node()
    function = (opyard.tensor([1.0]).requires_grad_() * 2).grad_fn
    saved = _gradients.save(opyard.tensor([1.0]))
    for each in (graph, code, state, node, node.inputs()[0], graph.block(), function, saved):
        with pytest.raises(TypeError, match="cannot (be )?pickle"):
            pickle.dumps(each, protocol)


def test_H27_one_is_not_said_as_several():
    state = jit.InterpreterState(jit.compile(jit.parse_ir("graph(%x):\n  return (%x)\n")))
    with pytest.raises(TypeError, match=r"^stage 0 takes 1 input \(%x\), but 0 were given$"):
        state.run_one_stage()
    state.run_one_stage(t(1))
    with pytest.raises(ValueError, match="^the only stage of this state has run$"):
        state.run_one_stage(t(1))
    none = jit.compile(jit.parse_ir("graph():\n  return ()\n"))
    with pytest.raises(TypeError, match="^stage 0 takes 0 inputs, but 1 was given$"):
        none(t(1))


def test_H5_a_node_that_was_destroyed_says_so_if_asked_for_its_output():
    graph = jit.parse_ir("graph(%x):\n  %y = aten::neg(%x)\n  return (%x)\n")
    node = next(iter(graph.nodes()))
    node.destroy()
    with pytest.raises(ValueError, match="^the 'aten::neg' node was destroyed, and has no output$"):
        node.output()


def test_H27_a_state_past_its_end_and_inside_a_stage_says_so():
    state = jit.InterpreterState(jit.compile(jit.parse_ir(TWO_STAGES)))
    state.run_one_stage(t(2), t(3))
    with pytest.raises(TypeError, match="stage 1"):
        state.run_one_stage()
    state.begin_stage(t(1))
    with pytest.raises(ValueError, match="was begun and has not ended"):
        state.run_one_stage(t(1))
    assert state.resume().tolist() == [3.0]
    with pytest.raises(ValueError, match="all 2 stages of this state have run"):
        state.run_one_stage(t(1))
    with pytest.raises(ValueError, match="no stage is begun"):
        state.resume()


# seeing ----------------------------------------------------------------------------------


def test_X24_lifetimes_say_the_peak_and_what_is_kept_for_whom():
    graph = jit.parse_ir(TWO_STAGES)
    code = jit.compile(graph)
    first, second = jit.lifetimes(code)
    ((value, node),) = first.live_after
    assert value.debug_name == "w" and node.kind == "aten::mul" and node.stage == 1
    assert first.peak == len(first.peak_values) >= 2
    assert second.live_after == [] and second.unused_inputs == []
    assert "w" in code.report()


def test_X24_a_run_that_checks_its_frees_gives_the_same():
    state = jit.InterpreterState(jit.compile(jit.parse_ir(TWO_STAGES)))
    state.check_frees()
    assert state.run_one_stage(t(2), t(3)).tolist() == [6.0]
    assert state.run_one_stage(t(1)).tolist() == [3.0]


def test_X23_times_are_by_instruction():
    state = jit.InterpreterState(jit.compile(jit.parse_ir(SQUARES)))
    state.measure()
    state.run_one_stage(t(2), 3)
    found = jit.times(state)
    assert {each.instruction for each in found} >= {0, 1}
    assert all(each.count == 1 for each in found)
    assert found == sorted(found, key=lambda each: -each.nanoseconds)


def test_X23_a_drawing_is_svg_with_each_stage_and_escapes_names():
    graph = jit.parse_ir(TWO_STAGES)
    picture = graph.draw()
    assert xml.etree.ElementTree.fromstring(picture).tag.endswith("svg")
    assert "stage 1" in picture and "aten::mul" in picture
    traced = jit.trace(lambda x: x * x, t(1, 2)).graph.draw()
    assert "%1 : Float(2) = aten::mul.Tensor(%x, %x)" in traced, "not cut short by its type"
    assert graph._repr_html_() == picture
    evil = jit.Graph()
    node = evil.append_node(evil.create_constant("</svg><script>alert(1)</script>"))
    evil.register_output(node.output())
    assert "<script>" not in evil.draw()


def test_X23_a_state_is_saved_inside_a_stage_and_loaded():
    code = jit.compile(jit.parse_ir(SQUARES))
    state = jit.InterpreterState(code)
    state.begin_stage(t(2), 3)
    state.step()
    saved = state.save()
    again = jit.InterpreterState.load(jit.compile(jit.parse_ir(SQUARES)), saved)
    assert again.instruction == state.instruction
    assert again.resume().tolist() == state.resume().tolist() == [12.0]
    for cut in range(0, len(saved), 7):
        with pytest.raises(ValueError):
            jit.InterpreterState.load(code, saved[:cut])
    with pytest.raises(ValueError):
        jit.InterpreterState.load(jit.compile(jit.parse_ir(TWO_STAGES)), saved)
    with pytest.raises(TypeError, match=r"load\(\) takes the bytes that save\(\) gave, not str"):
        jit.InterpreterState.load(code, "text")
    with pytest.raises(TypeError, match="takes the Code of the saved state first, not int"):
        jit.InterpreterState.load(3, saved)


def test_X23_a_state_with_a_taped_tensor_is_not_saved():
    state = jit.InterpreterState(jit.compile(jit.parse_ir(SQUARES)))
    leaf = t(2).requires_grad_()
    state.begin_stage(leaf, 3)
    with pytest.raises(NotImplementedError, match="that is on the tape; detach it first"):
        state.save()
    assert (state.resume() * 1).requires_grad, "it goes on as if nothing had been asked"
    state = jit.InterpreterState(jit.compile(jit.parse_ir(SQUARES)))
    state.begin_stage(leaf.detach(), 3)
    assert jit.InterpreterState.load(state.code, state.save()).resume().tolist() == [12.0]


# strangers -------------------------------------------------------------------------------


def test_a_strangers_graph_calls_what_is_allowed_within_a_budget():
    graph = jit.parse_ir(SQUARES, untrusted=True, allowed=["aten::mul"])
    assert graph.is_restricted
    code = jit.compile(graph)
    with pytest.raises(
        ValueError, match="a restricted graph is run by an InterpreterState with a budget"
    ):
        code(t(2), 3)
    state = jit.InterpreterState(code)
    state.set_budget(steps=100, bytes=1 << 20, seconds=10)
    assert state.run_one_stage(t(2), 3).tolist() == [12.0]


@pytest.mark.parametrize("allowed", [[], ["aten::add"], ["aten::mul.out"]])
def test_a_strangers_graph_calls_nothing_else(allowed):
    with pytest.raises(ValueError, match="aten::mul") as caught:
        jit.compile(jit.parse_ir(SQUARES, untrusted=True, allowed=allowed))
    assert 'allowed=["aten::mul.Tensor"], or with "aten::mul" for' in str(caught.value)


ENDLESS = """graph(%x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %many : int = prim::Constant[value=9223372036854775807]()
  %y : Tensor = prim::Loop(%many, %true, %x)
    block0(%i : int, %a : Tensor):
      %b : Tensor = aten::mul(%a, %a)
      -> (%true, %b)
  return (%y)
"""


@pytest.mark.parametrize(
    ("budget", "error"),
    [
        ({"steps": 1000}, ValueError),
        ({"bytes": 4000}, ValueError),
        ({"seconds": 0.05}, TimeoutError),
    ],
)
def test_an_endless_loop_ends_by_its_budget(budget, error):
    graph = jit.parse_ir(ENDLESS, untrusted=True, allowed=["aten::mul"])
    state = jit.InterpreterState(jit.compile(graph))
    state.set_budget(**budget)
    with pytest.raises(error):
        state.run_one_stage(t(1))
    assert state.is_inside_stage


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_budget_of_no_time_is_refused(seconds):
    state = jit.InterpreterState(jit.compile(jit.parse_ir(SQUARES)))
    with pytest.raises(ValueError, match="seconds is below zero, or no number"):
        state.set_budget(seconds=seconds)


# stages and None ------------------------------------------------------------------------


def test_H2_stages_are_set_from_python_without_a_text():
    graph = jit.parse_ir(
        "graph(%x : Tensor):\n  %y : Tensor = aten::neg(%x)\n  %z : Tensor = aten::neg(%y)\n"
        "  return (%y, %z)\n"
    )
    graph.stage = 1
    graph.nodes()[1].stage = 1
    assert (graph.stage, graph.output_stage(1)) == (1, 0)
    graph.set_output_stage(1, 1)
    assert "stage 1():\n  %z" in str(graph)
    state = jit.InterpreterState(jit.compile(graph))
    assert state.run_one_stage(t(2)).tolist() == [-2.0]
    assert state.run_one_stage().tolist() == [2.0]
    with pytest.raises(ValueError, match="the last stage cannot be 0: stage 1 is in use"):
        graph.stage = 0


def test_none_for_a_tensor_is_the_undefined_tensor_as_in_a_call():
    assert jit.parse_ir("graph(%x : Tensor):\n  return (%x)\n")(None) is None
    graph = jit.parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n")
    with pytest.raises(NotImplementedError, match="without a tensor.*\n(.*\n)*.*%x is undefined"):
        graph(None)


# building --------------------------------------------------------------------------------


def test_a_builder_writes_a_graph_as_a_program():
    b = jit.GraphBuilder()
    x, w = b.input("x"), b.input("w")
    y = (x * w).relu() + 1
    b.output(y, 2 - x)
    assert b.next_stage() == 1
    b.output(b.call("aten::mul", b.input("grad"), w))
    b.graph.lint()
    state = jit.InterpreterState(jit.compile(b.graph))
    first, second = state.run_one_stage(t(2, -1), t(3, 3))
    assert (first.tolist(), second.tolist()) == ([7.0, 1.0], [0.0, 3.0])
    assert state.run_one_stage(t(1, 2)).tolist() == [3.0, 6.0]


def test_a_builder_takes_lists_python_functions_and_pools_constants():
    b = jit.GraphBuilder()
    x = b.input("x")
    joined = b.call("aten::cat", [x, x], 0)
    b.output(b.python(lambda tensor, factor: tensor * factor, joined, 3.0) + 0, joined + 0)
    assert b.graph(t(1, 2))[0].tolist() == [3.0, 6.0, 3.0, 6.0]
    constants = [node for node in b.graph.nodes() if node.kind == "prim::Constant"]
    assert len(constants) == len({(node["value"], node.output().type) for node in constants})


def test_a_builder_refuses_what_no_operator_takes_and_adds_nothing():
    b = jit.GraphBuilder()
    x = b.input("x")
    with pytest.raises(ValueError, match="aten::mul"):
        b.call("aten::mul", x, "text")
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x)
    b.output(x)
    assert b.graph(t(1)).tolist() == [1.0]


# the garbage collector -------------------------------------------------------------------


class Canary:
    pass


@pytest.mark.parametrize("hold", ["graph", "called graph", "code"])
def test_a_function_that_refers_to_its_graph_is_collected(hold):
    def make():
        canary = Canary()
        b = jit.GraphBuilder()
        x = b.input("x")
        holder = []

        def function(tensor):
            return tensor if holder and canary else tensor + 1

        b.output(b.python(function, x))
        graph = b.graph
        del b, x
        gc.collect()
        if hold == "called graph":
            graph(t(1))
        holder.append(jit.compile(graph) if hold == "code" else graph)
        return weakref.ref(canary)

    seen = make()
    gc.collect()
    assert seen() is None


def test_a_graph_in_use_keeps_its_functions_through_a_collection():
    b = jit.GraphBuilder()
    b.output(b.python(lambda tensor: tensor * 2, b.input("x")))
    graph = b.graph
    code = jit.compile(graph)
    del b, graph
    for _ in range(3):
        gc.collect()
    assert code(t(2)).tolist() == [4.0]


# the example -----------------------------------------------------------------------------


def test_the_example_gives_what_eager_gives_in_every_way(tmp_path):
    pytest.importorskip("numpy")
    program = ROOT / "examples" / "graph" / "digits_graph.py"
    picture = tmp_path / "digits.svg"
    ended = subprocess.run(
        [sys.executable, str(program), "--picture", str(picture)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("the same bits") == 3
    assert xml.etree.ElementTree.fromstring(picture.read_text()).tag.endswith("svg")
