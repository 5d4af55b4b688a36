"""test_library_reentry.py: a library that ends while it registers. Suspect library.cpp."""

import copy
import pickle
import warnings

import pytest

import opyard
from opyard.dispatch import check_invariants, dump, on_registration, operator_names
from opyard.library import Library


@pytest.fixture
def under(library):
    """f(int x) -> str with a kernel at CPU that another library may cover."""
    library.define("f(int x) -> str")
    library.impl("f", lambda x: "first", "CPU")
    return library


def test_B10_a_warning_filter_takes_the_library_back(under, ns, monkeypatch):
    lib = Library(ns, "IMPL", "CPU")
    before = dump(f"{ns}::f")
    shown = []

    def show(*args, **kwargs):
        shown.append(args)
        lib._destroy()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        lib.impl("f", lambda x: "second")
    assert len(shown) == 1
    assert dump(f"{ns}::f") == before
    with pytest.raises(RuntimeError, match="ended already"):
        lib.impl("f", lambda x: "third")
    check_invariants()


def test_B33_a_listener_takes_the_library_back(ns):
    lib = Library(ns, "FRAGMENT")
    lib.define("earlier(int x) -> int")

    def told(op):
        if op.namespace == ns and op.name().endswith("later"):
            lib._destroy()

    with on_registration(told):
        assert lib.define("later(int x) -> int") == f"{ns}::later"
    assert dump(f"{ns}::earlier") == dump(f"{ns}::later") == ""
    assert dir(getattr(opyard.ops, ns)) == []
    check_invariants()


def test_B33_a_listener_defines_in_the_library_that_is_defining(ns):
    lib = Library(ns, "FRAGMENT")
    left = list(range(20))

    def told(op):
        if op.namespace == ns and left:
            lib.define(f"g{left.pop()}(int x) -> int")

    with on_registration(told):
        lib.define("g(int x) -> int")
    assert len(dir(getattr(opyard.ops, ns))) == 21
    lib._destroy()
    assert dir(getattr(opyard.ops, ns)) == []


@pytest.mark.parametrize("again", [False, True], ids=["gone", "registers"])
def test_B10_the_end_of_a_replaced_kernel_takes_the_library_back(ns, again):
    lib = Library(ns, "FRAGMENT")
    lib.define("f(int x) -> str")
    raised = []

    class Kernel:
        def __call__(self, x):
            return "first"

        def __del__(self):
            lib._destroy()
            if again:
                try:
                    lib.define("g(int x) -> int")
                except RuntimeError as error:
                    raised.append(str(error))

    lib.impl("f", Kernel(), "CPU")
    lib.impl("f", lambda x: "second", "CPU")
    assert dump(f"{ns}::f") == "" and f"{ns}::g" not in operator_names()
    assert len(raised) == int(again)
    check_invariants()


def test_B33_what_is_defined_while_a_library_ends_is_refused(ns):
    lib = Library(ns, "FRAGMENT")
    lib.define("f(int x) -> int")
    raised = []

    def ends(op):
        if op.namespace == ns:
            with pytest.raises(RuntimeError, match="ended already") as caught:
                lib.define("g(int x) -> int")
            raised.append(caught.value)

    with on_registration(None, ends):
        lib._destroy()
    assert len(raised) == 1
    assert f"{ns}::g" not in operator_names()


@pytest.mark.parametrize("schema", [5, None, b"f(int x) -> int", object()], ids=repr)
def test_a_schema_is_a_text(library, schema):
    with pytest.raises(TypeError, match="a schema must be a str, not"):
        library.define(schema)


def test_F33_namespaces_are_copied_and_pickled_by_name(ns):
    for each in (opyard.ops, getattr(opyard.ops, ns), opyard.ops.aten):
        assert pickle.loads(pickle.dumps(each)) is each
        assert copy.copy(each) is copy.deepcopy(each) is each
