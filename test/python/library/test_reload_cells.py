"""test_reload_cells.py: cells of a notebook that run again, lines at a prompt, IPython.

Suspect _library/reload.py.
"""

import sys
import textwrap
import types

import pytest
from test_reload import FIRST, ops

import opyard
from opyard import dispatch
from opyard.library import Library

CELL = "/tmp/ipykernel_7/11.py"


def test_X5_a_cell_with_an_override_that_is_run_again(cell, ns, x):
    cell(FIRST, CELL)
    text = """
        from opyard.library import override
        for n in (10, 20):
            made = override("NS::f", "CPU", lambda x: x * n, name=str(n))
    """
    for _ in range(2):
        cell(text, "/tmp/ipykernel_7/12.py")
        assert ops(ns).f(x).tolist() == [20.0, 40.0, 60.0]
    assert dispatch.dump(f"{ns}::f").count("CPU (inactive)") == 1
    cell("from opyard.library import override\nother = override('NS::g', 'CPU', lambda x: x)",
         "/tmp/ipykernel_7/12.py")  # fmt: skip
    assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]
    assert ops(ns).g(x).tolist() == x.tolist()


def test_X5_functions_make_new_libraries_each_time(module, ns):
    with pytest.raises(RuntimeError, match=f"can define the namespace {ns};"):
        module("""
            def make():
                return Library("NS", "DEF")
            libraries = [make(), make()]
        """)


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT"])
@pytest.mark.parametrize("file", [CELL, "<ipython-input-{}-0a1b>"])
def test_X5_a_cell_that_is_run_again_replaces_its_kernels(cell, ns, x, kind, file):
    cell(FIRST.replace("DEF", kind), file.format(3))
    handle = ops(ns).f.default
    cell(FIRST.replace("DEF", kind).replace("* 2", "* 3"), file.format(8))
    assert handle is ops(ns).f.default and handle(x).tolist() == [3.0, 6.0, 9.0]


def test_X5_an_edited_cell_takes_over_as_the_definer(cell, ns, x):
    cell(FIRST, "/tmp/ipykernel_7/11.py")
    handle = ops(ns).f.default
    cell(FIRST.replace("* 2", "* 3"), "/tmp/ipykernel_7/12.py")
    assert handle(x).tolist() == [3.0, 6.0, 9.0]


def test_X5_two_cells_do_not_take_over_from_each_other(cell, ns, x):
    cell(
        "a = Library('NS', 'FRAGMENT'); a.define('f(Tensor x) -> Tensor')", "/tmp/ipykernel_7/1.py"
    )
    cell(
        "b = Library('NS', 'FRAGMENT'); b.define('g(Tensor x) -> Tensor')", "/tmp/ipykernel_7/2.py"
    )
    assert dir(ops(ns)) == ["f", "g"]
    with pytest.raises(RuntimeError, match="multiple times"):
        cell("c = Library('NS', 'FRAGMENT'); c.define('g(Tensor x) -> Tensor')", "/tmp/3.py")


def test_X5_lines_at_a_prompt_do_not_take_over_from_each_other(cell, ns):
    cell("a = Library('NS', 'FRAGMENT')", "<stdin>")
    cell("a.define('f(Tensor x) -> Tensor')", "<stdin>")
    cell("b = Library('NS', 'FRAGMENT')", "<stdin>")
    cell("b.define('g(Tensor x) -> Tensor')", "<stdin>")
    assert dir(ops(ns)) == ["f", "g"]


def test_X5_a_definer_at_a_prompt_is_taken_over(cell, ns):
    cell("lib = Library('NS', 'DEF')", "<stdin>")
    cell("lib = Library('NS', 'DEF')", "<stdin>")
    cell("lib.define('f(Tensor x) -> Tensor')", "<stdin>")
    assert dir(ops(ns)) == ["f"]


class Shell:
    """What _library/reload.py asks of IPython."""

    def __init__(self, module, cell_ids):
        self.user_ns, self.execution_count, self.cell_ids = module.__dict__, 0, cell_ids
        self.callbacks = []
        self.events = self
        self.metadata = {}

    def register(self, event, callback):
        assert event == "post_run_cell"
        self.callbacks.append(callback)

    def unregister(self, event, callback):
        self.callbacks.remove(callback)

    def get_parent(self):
        return {"metadata": self.metadata} if self.cell_ids else {}

    def run(self, cell_id, *statements):
        """As IPython runs a cell: each statement is compiled by itself."""
        self.execution_count += 1
        self.metadata = {"cellId": cell_id}
        number = self.execution_count
        for statement in statements:
            code = compile(
                textwrap.dedent(statement), f"<ipython-input-{number}-{cell_id}>", "exec"
            )
            exec(code, self.user_ns)
        for callback in self.callbacks[:]:
            callback(None)


@pytest.mark.parametrize("cell_ids", [True, False])
def test_X5_in_ipython_a_run_is_the_cell_with_all_its_statements(monkeypatch, ns, x, cell_ids):
    name = f"ipython_{ns}"
    module = types.ModuleType(name)
    module.Library = Library
    monkeypatch.setitem(sys.modules, name, module)
    shell = Shell(module, cell_ids)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    seen = []
    module.look = lambda: seen.append(handle(x).tolist()[0])

    def statements(factor):
        return (f"lib = Library('{ns}', 'FRAGMENT')", "look()",
                f"other = Library('{ns}', 'FRAGMENT')", "look()",
                "lib.define('f(Tensor x) -> Tensor')", "look()",
                f"lib.impl('f', lambda x: x * {factor}, 'CPU')", "look()")  # fmt: skip

    module.look, look = lambda: None, module.look
    shell.run("aa", *statements(2), "other.define('g(Tensor x) -> Tensor')")
    handle = ops(ns).f.default
    module.look = look
    shell.run("aa", *statements(3))
    assert seen == [2.0, 2.0, 2.0, 3.0]
    assert not hasattr(ops(ns), "g"), "unregistered at the end of the cell"
    assert not shell.callbacks
    shell.run("bb", f"more = Library('{ns}', 'FRAGMENT')", "more.define('h(Tensor x) -> Tensor')")
    assert handle(x).tolist() == [3.0, 6.0, 9.0] and dir(ops(ns)) == ["f", "h"]


def test_X5_a_cell_that_defines_without_a_library_may_run_again(cell, ns):
    text = """
        from opyard.library import define, impl, register_fake
        define("NS::f", "(Tensor x) -> Tensor")
        impl("NS::f", "cpu", FN)
        register_fake("NS::f", lambda x: x)
        """
    x = opyard.tensor([1.0])
    cell(text.replace("FN", "lambda x: x"), CELL)
    f = ops(ns).f.default
    assert f(x) is x
    cell(text.replace("FN", "lambda x: x + 1"), CELL)
    assert ops(ns).f.default is f
    assert f(x).tolist() == [2.0]
    # Another schema replaces the operator; the kernels stay.
    cell(
        text.replace("FN", "lambda x, n=2: x + n").replace("Tensor x)", "Tensor x, int n=2)"), CELL
    )
    assert ops(ns).f(x, 3).tolist() == [4.0]
    with pytest.raises(RuntimeError, match="multiple times"):
        cell(text.replace("FN", "lambda x: x"), "/tmp/another.py")


def test_X5_a_cell_that_gives_a_function_by_py_impl_may_run_again(cell, ns):
    cell('opyard.library.define("NS::f", "(Tensor x) -> Tensor")', "/tmp/2.py")
    text = 'opyard.ops.NS.f.default.py_impl("CPU")(FN)'
    x = opyard.tensor([1.0])
    cell(text.replace("FN", "lambda x: x"), CELL)
    cell(text.replace("FN", "lambda x: x + 1"), CELL)
    assert ops(ns).f(x).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="has a function at CPU already, registered at"):
        cell(text.replace("FN", "lambda x: x"), "/tmp/3.py")
