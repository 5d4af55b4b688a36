"""test_stubs.py: the .pyi files agree with the extension modules.

Suspect the .pyi file that the message names.
"""

import ast
from pathlib import Path

import pytest

import opyard
from opyard import _bind

pytestmark = pytest.mark.once

MODULES = {"_C": opyard._C, "_bind": _bind}
OBJECT = {*dir(object), "__module__", "__doc__", "__dict__", "__weakref__", "__slotnames__"}
# Parts of the protocols of Python that a type checker knows by other means.
UNLISTED = {
    "__getattribute__", "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__",
    "__array_ufunc__", "__vectorcalloffset__", "__weaklistoffset__", "__getstate__",
    "__setstate__", "__delitem__", "__rsub__", "__rand__", "__ror__", "__rxor__", "__buffer__",
    "__release_buffer__", "__annotations__",  # the last one where inspect looked for it
}  # fmt: skip


def stub_of(name):
    path = Path(opyard.__file__).with_name(f"{name}.pyi")
    if not path.exists():
        pytest.skip("the stubs are not beside the package")
    return ast.parse(path.read_text("utf-8"))


def names_in(body):
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


@pytest.mark.parametrize("name", MODULES)
def test_a_stub_lists_what_its_module_has(name):
    listed = names_in(stub_of(name).body)
    has = {n for n in vars(MODULES[name]) if not n.startswith("__")}
    assert listed == has - {"_pybind11_conduit_v1_"}


@pytest.mark.parametrize("name", MODULES)
def test_a_stub_lists_what_its_classes_have(name):
    classes = [node for node in stub_of(name).body if isinstance(node, ast.ClassDef)]
    assert classes
    for node in classes:
        kind = getattr(MODULES[name], node.name)
        has = {
            n for n in vars(kind) if not n.startswith("_pybind11") and not n.startswith("_edges")
        }
        listed = names_in(node.body)
        assert has - listed - UNLISTED - OBJECT == set(), f"{node.name} lacks"
        assert {n for n in listed - OBJECT if not hasattr(kind, n)} <= {"__getattr__"}, node.name
