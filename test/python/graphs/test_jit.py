"""Graphs in Python: text, building, running stage by stage, Python functions as nodes.

Suspect jit/python/graphs/ and opyard/jit.py; what a graph computes is tested in test/cpp.
"""

import gc
import sys
import threading

import pytest

import opyard
from opyard import jit

THREE_NODES = """graph(%x : Tensor,
      %w : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::mul(%x, %w)
  %4 : Tensor = aten::add(%3, %x, %2)
  return (%4)
"""
TWO_STAGES = """graph(%x : Tensor,
      %w : Tensor):
  %3 : Tensor = aten::mul(%x, %w)
  return (%3)
stage 1(%g : Tensor):
  %5 : Tensor = aten::mul(%g, %w)
  return (%5)
"""


def t(*items):
    return opyard.tensor([float(item) for item in items])


def test_H13_a_graph_of_three_nodes_is_read_printed_and_run():
    graph = jit.parse_ir(THREE_NODES)
    assert str(graph) == THREE_NODES
    assert str(jit.parse_ir(str(graph))) == THREE_NODES
    assert jit.compile(graph)(t(1, 2), t(3, 4)).tolist() == [4.0, 10.0]


def test_H14_a_text_that_is_no_graph_shows_where():
    with pytest.raises(ValueError, match=r"%nothing") as caught:
        jit.parse_ir("graph(%x : Tensor):\n  %1 : Tensor = aten::neg(%nothing)\n  return (%1)\n")
    assert "^" in str(caught.value) or "~" in str(caught.value)


def test_H13_names_of_a_text_are_told():
    graph, names = jit.parse_ir_with_names(THREE_NODES)
    assert names["x"] == graph.inputs()[0]
    assert names["4"] == graph.outputs()[0]


def test_importing_opyard_loads_no_graph(tmp_path):
    code = "import opyard, sys; assert 'opyard.jit' not in sys.modules, 'jit'; opyard.jit"
    code += "; assert 'opyard._graphs' in sys.modules"
    import subprocess

    subprocess.run([sys.executable, "-c", code], check=True)


class TestStructure:
    def test_H1_nodes_values_and_uses(self):
        graph = jit.parse_ir(THREE_NODES)
        constant, mul, add = graph.nodes()
        assert [node.kind for node in graph.nodes()] == [
            "prim::Constant",
            "aten::mul",
            "aten::add",
        ]
        x = graph.inputs()[0]
        assert x.uses() == [(mul, 0), (add, 1)]
        assert add.inputs()[0] == mul.output()
        assert mul.output().node() == mul
        assert constant["value"] == 1
        assert constant.kind_of("value") == "i"
        assert hash(x) == hash(mul.inputs()[0])
        assert x != mul.output()
        assert x != 3

    def test_a_value_keeps_its_graph(self):
        value = jit.parse_ir(THREE_NODES).outputs()[0]
        gc.collect()
        assert value.node().kind == "aten::add"
        assert str(value.graph()) == THREE_NODES

    def test_H5_building_and_changing(self):
        graph = jit.Graph()
        x = graph.add_input("x")
        node = graph.append_node(graph.create("aten::mul.Tensor", [x, x]))
        graph.register_output(node.output())
        assert node.overload == "Tensor"
        graph.lint()
        assert jit.compile(graph)(t(3)).tolist() == [9.0]
        with pytest.raises(ValueError):
            node.destroy()  # its output is used
        other = graph.insert_node(graph.create("aten::neg", [x]))
        output = node.output()
        output.replace_all_uses_with(other.output())
        node.destroy()
        assert node.is_destroyed
        with pytest.raises(ValueError, match=r"value %\d+ was erased, and no node gives it"):
            output.node()
        assert jit.compile(graph)(t(3)).tolist() == [-3.0]

    def test_a_constant_is_made_of_a_python_object(self):
        graph = jit.Graph()
        x = graph.add_input("x")
        two = graph.append_node(graph.create_constant(2.0)).output()
        assert two.type == "float"
        product = graph.append_node(graph.create("aten::mul", [x, two])).output()
        graph.register_output(product)
        assert jit.compile(graph)(t(4)).tolist() == [8.0]

    def test_H6_attributes_of_every_kind(self):
        node = jit.Graph().create("prim::Constant")
        tensor = t(1)
        inner = jit.Graph()
        given = {
            "f": 1.5,
            "fs": [1.0, 2.0],
            "c": 1 + 2j,
            "cs": [1j],
            "i": 3,
            "is": [1, 2],
            "s": "a",
            "ss": ["a", "b"],
            "t": tensor,
            "ts": [tensor],
            "g": inner,
            "gs": [inner],
            "ty": "Tensor[]",
            "tys": ["int", "float"],
            "ival": 4,
        }
        for kind, value in given.items():
            assert getattr(node, f"{kind}_")(f"a_{kind}", value) == node
        assert node.attribute_names() == [f"a_{kind}" for kind in given]
        for kind, value in given.items():
            assert node.kind_of(f"a_{kind}") == kind
            got = getattr(node, kind)(f"a_{kind}")
            if kind in ("t", "ts"):
                got = got if kind == "t" else got[0]
                assert got.tolist() == [1.0]
            else:
                assert got == value
        with pytest.raises(KeyError):
            node["nothing"]
        with pytest.raises(TypeError):
            node.i("a_s")
        with pytest.raises(TypeError):
            node.t_("a", "no tensor")

    def test_what_is_no_graph_and_too_many_outputs_are_refused(self):
        with pytest.raises(TypeError, match="not bytes"):
            jit.parse_ir(b"graph():\n  return ()\n")
        with pytest.raises(TypeError, match="takes a Graph, a function or a Module, not int"):
            jit.compile(3)
        with pytest.raises(ValueError, match="at most 65536"):
            jit.Graph().create("aten::neg", [], 10**9)

    def test_H4_order_and_places(self):
        graph = jit.parse_ir(THREE_NODES)
        constant, mul, _ = graph.nodes()
        assert constant.is_before(mul)
        mul.move_before(constant)
        assert mul.is_before(constant)
        assert graph.nodes()[0] == mul

    def test_a_change_after_compile_is_refused_by_the_code(self):
        graph = jit.parse_ir(THREE_NODES)
        code = jit.compile(graph)
        graph.add_input("late")
        with pytest.raises(ValueError, match="changed"):
            code(t(1), t(2))


class TestRuns:
    def test_H27_wrong_counts_say_what_is_taken(self):
        code = jit.compile(jit.parse_ir(THREE_NODES))
        with pytest.raises(TypeError, match="2"):
            code(t(1))
        with pytest.raises(TypeError, match="2"):
            code(t(1), t(2), t(3))

    def test_an_argument_of_another_kind_names_the_input(self):
        code = jit.compile(jit.parse_ir(THREE_NODES))
        with pytest.raises(TypeError, match="%w"):
            code(t(1), "text")

    def test_several_outputs_are_a_tuple_and_none_is_none(self):
        two = jit.parse_ir("graph(%x : int):\n  return (%x, %x)\n")
        assert jit.compile(two)(3) == (3, 3)
        assert jit.compile(jit.parse_ir("graph(%x : int):\n  return ()\n"))(3) is None

    def test_H23_an_unused_input_is_not_held(self):
        code = jit.compile(jit.parse_ir("graph(%x : Tensor, %y : Tensor):\n  return (%x)\n"))
        assert code.register_of(code.graph.inputs()[1]) == -1

    def test_H30_a_clone_runs_the_next_stage_again(self):
        state = jit.InterpreterState(jit.compile(jit.parse_ir(TWO_STAGES)))
        assert state.run_one_stage(t(2), t(3)).tolist() == [6.0]
        again = state.clone()
        assert state.run_one_stage(t(5)).tolist() == [15.0]
        assert again.run_one_stage(t(7)).tolist() == [21.0]
        assert state.is_finished
        with pytest.raises(ValueError):
            state.run_one_stage(t(1))

    def test_X23_stepping_reading_and_resuming(self):
        graph = jit.parse_ir(THREE_NODES)
        state = jit.InterpreterState(jit.compile(graph))
        state.begin_stage(t(1, 2), t(3, 4))
        mul = graph.nodes()[1]
        add = graph.nodes()[2]
        assert state.run_to(add)
        assert state.node() == add
        assert state.read(mul.output()).tolist() == [3.0, 8.0]
        assert graph.inputs()[1] not in state.live_values()
        with pytest.raises(LookupError):
            state.read(graph.outputs()[0])
        assert state.resume().tolist() == [4.0, 10.0]

    def test_H32_an_exception_of_a_kernel_comes_out_and_the_state_goes_on(self, define, ns):
        class Wrong(Exception):
            pass

        wrong = Wrong("no")
        calls = []

        def kernel(x):
            calls.append(1)
            if len(calls) == 1:
                raise wrong
            return x * 2

        define("risky(Tensor x) -> Tensor", CPU=kernel)
        text = f"graph(%x : Tensor):\n  %1 : Tensor = {ns}::risky(%x)\n  return (%1)\n"
        state = jit.InterpreterState(jit.compile(jit.parse_ir(text)))
        with pytest.raises(Wrong) as caught:
            state.run_one_stage(t(1))
        assert caught.value is wrong
        assert state.is_inside_stage
        assert state.resume().tolist() == [2.0]

    def test_an_override_is_seen_by_a_code_that_is_there(self, define, library, ns):
        define("plus(Tensor x) -> Tensor", CPU=lambda x: x + 1)
        text = f"graph(%x : Tensor):\n  %1 : Tensor = {ns}::plus(%x)\n  return (%1)\n"
        code = jit.compile(jit.parse_ir(text))
        assert code(t(1)).tolist() == [2.0]
        with opyard.library.override(f"{ns}::plus", "CPU", lambda x: x + 10):
            assert code(t(1)).tolist() == [11.0]
        assert code(t(1)).tolist() == [2.0]

    def test_H34_one_code_on_several_threads(self):
        code = jit.compile(jit.parse_ir(THREE_NODES))
        results = []

        def run():
            for number in range(50):
                results.append((number, code(t(number), t(2)).tolist()))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 200
        assert all(result == [3.0 * number] for number, result in results)

    def test_arrays_of_others_are_tensors(self):
        numpy = pytest.importorskip("numpy")
        code = jit.compile(jit.parse_ir(THREE_NODES))
        assert code(numpy.float32([1, 2]), t(3, 4)).tolist() == [4.0, 10.0]

    def test_an_expression_is_a_graph(self):
        graph = jit.parse_expression("x * 2 + y", ["x", "y"])
        assert jit.compile(graph)(t(3), t(1)).tolist() == [7.0]
        with pytest.raises(ValueError, match="nothing"):
            jit.parse_expression("nothing(x)", ["x"])


class TestPythonOps:
    def graph_of(self, function, **options):
        graph = jit.Graph()
        inputs = [graph.add_input("x"), graph.add_input("y")]
        node = graph.append_node(jit.create_python_op(graph, function, inputs, **options))
        for output in node.outputs():
            graph.register_output(output)
        return graph

    def test_H36_arguments_follow_the_calling_string(self):
        seen = []

        def f(*args):
            seen.append(args)
            return args[0] - args[2]

        graph = self.graph_of(f, calling="tst", scalars=["scalar"])
        assert jit.compile(graph)(t(5), t(2)).tolist() == [3.0]
        ((x, scalar, y),) = seen
        assert (x.tolist(), scalar, y.tolist()) == ([5.0], "scalar", [2.0])
        assert "^f('scalar')" in str(graph) or "^f" in str(graph)

    def test_H36_a_tuple_is_one_output_for_each_element(self):
        graph = self.graph_of(lambda x, y: (y, x), outputs=2)
        first, second = jit.compile(graph)(t(1), t(2))
        assert (first.tolist(), second.tolist()) == ([2.0], [1.0])

    def test_H36_a_function_with_apply_is_called_by_it(self):
        class F:
            @staticmethod
            def apply(x, y):
                return x + y

        assert jit.compile(self.graph_of(F))(t(1), t(2)).tolist() == [3.0]

    def test_H36_what_is_no_tensor_is_refused(self):
        code = jit.compile(self.graph_of(lambda x, y: "text"))
        with pytest.raises(RuntimeError, match="gives Tensors.*type str"):
            code(t(1), t(2))

    def test_H33_another_number_of_outputs_is_refused(self):
        code = jit.compile(self.graph_of(lambda x, y: (x, y)))
        with pytest.raises(RuntimeError, match="gave 2 values"):
            code(t(1), t(2))

    def test_H36_its_exception_is_the_one_that_comes_out(self):
        wrong = ZeroDivisionError("here")

        def f(x, y):
            raise wrong

        with pytest.raises(ZeroDivisionError) as caught:
            jit.compile(self.graph_of(f))(t(1), t(2))
        assert caught.value is wrong

    @pytest.mark.parametrize("calling", ["t", "tts", "tx", "ttt"])
    def test_a_calling_string_of_other_numbers_is_refused(self, calling):
        with pytest.raises(ValueError, match="calling string"):
            self.graph_of(lambda x, y: x, calling=calling)

    def test_what_cannot_be_called_is_refused(self):
        with pytest.raises(TypeError, match="not an object of int"):
            self.graph_of(3)

    def test_the_function_dies_with_its_graph(self):
        import weakref

        def f(x, y):
            return x

        gone = weakref.ref(f)
        graph = self.graph_of(f)
        code = jit.compile(graph)
        code(t(1), t(2))
        del f, graph, code
        gc.collect()
        assert gone() is None
