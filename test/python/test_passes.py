"""H19: passes and FileCheck from Python. What each pass does is in test/graphs/passes/."""

from pathlib import Path

import pytest

import opyard
from opyard import jit
from opyard.jit import passes
from opyard.testing import FileCheck

FOLDER = Path(__file__).parent.parent / "graphs/passes"
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
def test_each_pass_gives_the_expected_text(names, text):
    graph = jit.parse_ir(text)
    for name in names:
        before = str(graph)
        assert getattr(passes, name)(graph) == (str(graph) != before)
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
