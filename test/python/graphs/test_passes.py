"""H19: passes and FileCheck from Python. What each pass does is in test/graphs/passes/.

Suspect the pass, or jit/src/passes/alias_builder.cpp.
"""

import pytest
from built import TESTS

import opyard
from opyard import jit
from opyard.jit import passes
from opyard.testing import FileCheck

FOLDER = TESTS / "graphs/passes"
NAMES = sorted(name for name in vars(passes) if not name.startswith("_") and name.islower())
NAMES = [name for name in NAMES if (FOLDER / f"{name}.txt").exists()]


def cases():
    for file in sorted(FOLDER.glob("*.txt")):
        for number, part in enumerate(file.read_text().split("== ")[1:]):
            names, _, text = part.partition("\n")
            yield pytest.param(names.split(), text, id=f"{file.stem}-{number}")


def test_each_file_has_its_pass():
    assert NAMES == sorted(file.stem for file in FOLDER.glob("*.txt"))


@pytest.mark.parametrize("names, text", list(cases()))
def test_H18_each_pass_gives_the_expected_text_and_the_graph_keeps_its_rules(names, text):
    graph = jit.parse_ir(text)
    for name in names:
        before = str(graph)
        told = getattr(passes, name)(graph)
        assert told is None or bool(told) == (str(graph) != before)
        graph.lint()
    FileCheck(text).run(str(graph))


def test_a_pass_takes_a_graph():
    with pytest.raises(TypeError, match="eliminate_dead_code.* takes a Graph, not str"):
        passes.eliminate_dead_code("graph():\n  return ()")


def test_a_python_function_and_a_random_operator_stay():
    lib = opyard.library.Library("passes_test", "DEF")
    lib.define("noise(Tensor x) -> Tensor", tags=("nondeterministic_seeded",))
    lib.define("pure(Tensor x) -> Tensor")
    graph = jit.parse_ir(
        "graph(%x : Tensor):\n"
        "  %a : Tensor = passes_test::noise(%x)\n"
        "  %b : Tensor = passes_test::noise(%x)\n"
        "  %c : Tensor = passes_test::pure(%x)\n"
        "  return ()"
    )
    x = graph.inputs()[0]

    def keep(tensor):
        return tensor

    graph.append_node(jit.create_python_op(graph, keep, [x]))
    passes.eliminate_common_subexpressions(graph)
    passes.eliminate_dead_code(graph)
    FileCheck().check_count("passes_test::noise", 2).check_not("pure").check("^keep").run(
        str(graph)
    )


@pytest.mark.parametrize("trips", [-3, 0, 1, 7, 8, 9, 16, 23])
def test_H18_a_loop_in_rounds_makes_the_same_trips(trips):
    """What a trip sees of its number, and what it hands on, twice carried and swapped."""
    text = (
        "graph(%x : int, %y : int, %n : int):\n"
        "  %go : bool = prim::Constant[value=1]()\n"
        "  %three : int = prim::Constant[value=3]()\n"
        "  %a : int, %b : int = prim::Loop(%n, %go, %x, %y)\n"
        "    block0(%i : int, %u : int, %v : int):\n"
        "      %p : int = aten::mul(%u, %three)\n"
        "      %q : int = aten::add(%p, %i)\n"
        "      -> (%go, %v, %q)\n"
        "  return (%a, %b)"
    )
    plain, rounds = jit.parse_ir(text), jit.parse_ir(text)
    assert passes.unroll_loops(rounds) and not passes.unroll_loops(rounds)
    assert str(rounds).count("prim::Loop") == 2
    assert jit.compile(rounds)(2, 5, trips) == jit.compile(plain)(2, 5, trips)


def test_a_code_of_before_is_stale():
    graph = jit.parse_ir("graph(%x : Tensor):\n  %y : Tensor = aten::neg(%x)\n  return (%x)")
    code = jit.compile(graph)
    assert passes.eliminate_dead_code(graph)
    with pytest.raises(ValueError, match="the graph was changed"):
        code(opyard.tensor([1.0]))


def test_H19_mismatch_shows_the_text():
    check = FileCheck().check("one").check_next("three")
    check.run("one\nthree")
    with pytest.raises(
        AssertionError, match="CHECK-NEXT: three' is not in the next line\none\ntwo"
    ):
        check.run("one\ntwo\nthree")
    FileCheck().check_dag("b").check_dag("a").check_same("c").run("a b c")
    with pytest.raises(ValueError, match="no line with CHECK"):
        FileCheck("nothing").run("text")
    with pytest.raises(ValueError, match="one line"):
        FileCheck().check(" ")


LINEAR = """graph(%x, %w, %b, %one : int):
  %y : Tensor = aten::mm(%x, %w)
  %z : Tensor = aten::add(%y, %b, %one)
  return (%z)
"""


def matches(pattern, text):
    graph = jit.parse_ir(text)
    return [
        {name: value.debug_name for name, value in match.items()}
        for match in passes.find_matches(jit.parse_ir(pattern), graph)
    ]


def test_H18_a_small_graph_is_found_in_a_large_one():
    found = matches(
        LINEAR,
        """graph(%a, %v, %c, %n : int, %go : bool):
  %p : Tensor = aten::mm(%a, %v)
  %q : Tensor = aten::add(%p, %c, %n)
  %r : Tensor = aten::relu(%q)
  %l : Tensor = prim::Loop(%n, %go, %r)
    block0(%i : int, %u : Tensor):
      %s : Tensor = aten::mm(%u, %u)
      %t : Tensor = aten::add(%s, %s, %i)
      -> (%go, %t)
  return (%l)
""",
    )
    assert found == [
        {"x": "a", "w": "v", "b": "c", "one": "n", "y": "p", "z": "q"},
    ]


def test_H18_what_is_used_elsewhere_or_in_another_block_is_no_match():
    assert not matches(
        LINEAR,
        """graph(%a, %v, %c, %n : int):
  %p : Tensor = aten::mm(%a, %v)
  %q : Tensor = aten::add(%p, %c, %n)
  return (%q, %p)
""",
    )
    assert not matches(
        LINEAR,
        """graph(%a, %v, %c, %n : int, %go : bool):
  %p : Tensor = aten::mm(%a, %v)
  %o : Tensor = prim::If(%go)
    block0():
      %q : Tensor = aten::add(%p, %c, %n)
      -> (%q)
    block1():
      -> (%a)
  return (%o)
""",
    )


def test_H18_attributes_types_and_overloads_of_a_pattern_count():
    twice = "graph(%x):\n  %c : int = prim::Constant[value=2]()\n"
    twice += "  %y : Tensor = aten::mul.Scalar(%x, %c)\n  return (%y)"
    text = "graph(%a):\n  %two : int = prim::Constant[value={n}]()\n"
    text += "  %b : Tensor = aten::{op}(%a, %two)\n  return (%b)"
    assert len(matches(twice, text.format(n=2, op="mul.Scalar"))) == 1
    assert not matches(twice, text.format(n=3, op="mul.Scalar"))
    assert not matches(twice, text.format(n=2, op="mul"))
    wide = "graph(%x, %n : float):\n  %y : Tensor = aten::mul(%x, %n)\n  return (%y)"
    assert not matches(wide, text.format(n=2, op="mul"))


def test_H18_two_matches_share_no_node():
    twice = "graph(%x):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = aten::relu(%y)\n"
    found = matches(
        twice + "  return (%z)",
        """graph(%a):
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::relu(%b)
  %d : Tensor = aten::relu(%c)
  %e : Tensor = aten::relu(%d)
  return (%e)
""",
    )
    assert [match["z"] for match in found] == ["c", "e"]


@pytest.mark.parametrize(
    "pattern, message",
    [
        (
            "graph(%x, %y):\n  %z : Tensor = aten::relu(%x)\n  return (%z)",
            "input %y, which no node takes",
        ),
        ("graph():\n  return ()", "returns nothing"),
        ("graph(%x):\n  return (%x)", "returns one of its inputs first"),
        (
            "graph(%x):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = aten::neg(%x)\n"
            "  return (%z)",
            "'aten::relu' node that its first output does not need",
        ),
        (
            "graph(%x):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\nstage 1():\n  return ()",
            "several stages",
        ),
        (
            "graph(%x):\n" + "  %x : Tensor = aten::relu(%x)\n" * 257 + "  return (%x)",
            "257 nodes; at most 256",
        ),
    ],
)
def test_H18_a_pattern_that_cannot_be_found_says_why(pattern, message):
    graph = jit.parse_ir("graph(%a):\n  return (%a)")
    with pytest.raises(ValueError, match=message):
        passes.find_matches(jit.parse_ir(pattern), graph)
    with pytest.raises(TypeError, match="takes a Graph as pattern, not str"):
        passes.find_matches(pattern, graph)


def test_H18_shapes_are_those_of_a_run():
    graph = jit.parse_ir(
        """graph(%x : Float(2, 3, strides=[3, 1], device=cpu),
      %y : Double(3, strides=[1], device=cpu)):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %one)
  %b : Tensor = aten::t(%a)
  %c : Tensor = aten::ge(%b, %b)
  %d : Tensor = aten::unsqueeze(%c, %one)
  return (%a, %b, %c, %d)
"""
    )
    assert passes.propagate_shapes(graph)
    x = opyard.tensor([[1.0, 2.0, 3.0]] * 2)
    results = graph(x, opyard.tensor([1.0, 2.0, 3.0], dtype=opyard.float64))
    for value, result in zip(graph.outputs(), results, strict=True):
        sizes = ", ".join(map(str, result.shape))
        strides = ", ".join(map(str, result.stride()))
        assert f"({sizes}, strides=[{strides}], device=cpu)" in str(value.type)


def test_H18_shapes_are_not_asked_of_operators_that_a_stranger_may_not_call():
    lib = opyard.library.Library("shape_test", "DEF")
    lib.define("seen(Tensor x) -> Tensor")
    calls = []

    def kernel(x):
        calls.append(x.device)
        return x

    lib.impl("seen", kernel, "Meta")
    text = "graph(%x : Float(2, strides=[1], device=cpu)):\n"
    text += "  %y : Tensor = shape_test::seen(%x)\n  return (%y)"
    assert passes.propagate_shapes(jit.parse_ir(text))
    assert len(calls) == 1
    strange = jit.parse_ir(text, untrusted=True, allowed=["aten::relu"])
    assert not passes.propagate_shapes(strange)
    assert len(calls) == 1
