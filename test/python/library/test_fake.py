"""Protects fake kernels: the calls that they serve, their symbolic sizes, and refused ones.

Suspect opyard/_library/fake.py, vtable/fake.cpp, dispatcher/src/registry/built_in_records.cpp.
"""

import threading

import pytest
from built import plugin_path
from raised import message_of

import opyard
from opyard import SymInt
from opyard.dispatch import DispatchKeySet, ForceDispatchKeyGuard
from opyard.library import get_ctx, register_fake


@pytest.fixture
def meta():
    """A tensor without elements."""
    return opyard.ops.aten.empty([2, 3], device="meta")


def test_F22_a_fake_kernel_runs_for_meta_tensors_alone(define, library, ns, x, meta):
    op = define("f(Tensor x, int n=1) -> Tensor", CPU=lambda x, n=1: x)
    seen = []

    @register_fake(f"{ns}::f", lib=library)
    def fake(x, n=1):
        seen.append((x.shape, n))
        return x

    assert op(x) is x
    assert seen == []
    assert op(meta, 4) is meta
    assert seen == [((2, 3), 4)]


def test_F22_all_ways_to_name_an_operator(define, library, ns, meta):
    for name in ("a", "b", "c"):
        define(f"{name}(Tensor x) -> Tensor")
    space = getattr(opyard.ops, ns)
    register_fake(f"{ns}::a", lambda x: x, lib=library)
    register_fake(space.b, lambda x: x, lib=library)
    register_fake(space.c.default, lambda x: x, lib=library)
    assert all(op(meta) is meta for op in (space.a, space.b, space.c))
    assert "got unexpected type for op: <class 'int'>" in message_of(ValueError, register_fake, 3)
    message_of(LookupError, register_fake, f"{ns}::nope", lambda x: x)
    message_of(TypeError, register_fake, f"{ns}::a", 3, lib=library, allow_override=True)


def test_F22_without_a_library_it_stays(define, ns, meta):
    op = define("f(Tensor x) -> Tensor")
    register_fake(f"{ns}::f", lambda x: x)
    try:
        assert op(meta) is meta
    finally:
        opyard._library.shortcuts._libraries.pop(ns)._destroy()  # other tests look at all kernels


def test_F22_sizes_that_depend_on_elements(define, library, ns, meta):
    op = define("count(Tensor x) -> SymInt")
    kept = []

    @register_fake(f"{ns}::count", lib=library)
    def fake(x):
        kept.append(get_ctx())
        size = get_ctx().new_dynamic_size(min=1, max=9)
        message_of(ValueError, get_ctx().new_dynamic_size, min=3, max=2)
        message_of(ValueError, get_ctx().new_dynamic_size, min=-1)
        return size * 2 + 1

    size = op(meta)
    assert type(size) is SymInt
    assert repr(size).startswith("((u")
    text = message_of(RuntimeError, lambda: int(size))
    assert __file__ in text
    assert "depends on the elements of a tensor" in text
    assert op(meta).node is not size.node
    assert "has returned" in message_of(RuntimeError, kept[0].new_dynamic_size)
    assert "none runs on this thread" in message_of(RuntimeError, get_ctx)


def test_F22_the_context_is_that_of_the_innermost_kernel_of_the_thread(define, library, ns, meta):
    inner = define("inner(Tensor x) -> Tensor")
    outer = define("outer(Tensor x) -> Tensor")
    names = []

    @register_fake(f"{ns}::inner", lib=library)
    def _(x):
        names.append(get_ctx().op)
        raise KeyError("mine")

    @register_fake(f"{ns}::outer", lib=library)
    def _(x):
        names.append(get_ctx().op)
        message_of(KeyError, inner, x)
        names.append(get_ctx().op)
        thread = threading.Thread(target=lambda: names.append(message_of(RuntimeError, get_ctx)))
        thread.start()
        thread.join()
        return x

    outer(meta)
    assert names[:3] == [f"{ns}::outer", f"{ns}::inner", f"{ns}::outer"]
    assert "none runs" in names[3]


def test_F23_what_has_a_kernel_for_meta_tensors_is_refused(define, library, ns, meta):
    composite = define("composite(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x)
    has_meta = define("has_meta(Tensor x) -> Tensor", Meta=lambda x: x)
    text = message_of(RuntimeError, register_fake, has_meta, lambda x: None, lib=library)
    assert f"{ns}::has_meta already has a Meta implementation" in text
    text = message_of(RuntimeError, register_fake, composite, lambda x: None, lib=library)
    assert f"{ns}::composite has a kernel at CompositeImplicitAutograd" in text
    assert has_meta(meta) is meta
    assert not opyard.dispatch.has_kernel(composite, "Meta"), "nothing is left of a refused one"
    other = opyard.ops.aten.empty([1], device="meta")
    for op in (composite, has_meta):
        register_fake(op, lambda x: other, lib=library, allow_override=True)
        assert op(meta) is other


def test_F23_a_registration_says_where_it_was_made(define, library, ns):
    op = define("f(Tensor x) -> Tensor")
    register_fake(op, lambda x: x, lib=library)
    assert f"Meta: registered at {__file__}:" in opyard.dispatch.dump(f"{ns}::f")


def test_F24_the_module_that_the_operator_named_is_the_one(library, ns):
    library.set_python_module("demo.fakes")
    library.define("f(Tensor x) -> Tensor")
    op = getattr(opyard.ops, ns).f
    text = message_of(RuntimeError, register_fake, op, lambda x: x, lib=library)
    assert f"the fake kernel of {ns}::f is in the Python module {__name__}" in text
    assert "says with set_python_module() that it is in demo.fakes" in text
    assert f"registered at {__file__}:" in text
    other = opyard.library.Library(ns, "FRAGMENT")
    other.set_python_module(__name__)
    other.define("g(Tensor x) -> Tensor")
    register_fake(getattr(opyard.ops, ns).g, lambda x: x, lib=other)
    other._destroy()


def test_F24_the_file_of_a_definition_in_cpp_is_named(library):
    opyard.load_library(plugin_path("opyard_vtable_plugin"))
    op = opyard.ops.test_vtable_fakes.f
    text = message_of(RuntimeError, register_fake, op, lambda x: x, lib=library)
    assert f"the fake kernel of test_vtable_fakes::f is in the Python module {__name__}" in text
    assert "says with set_python_module() that it is in demo.fakes" in text
    assert "/vtable_plugin.cpp:" in text


def test_E7_who_misses_a_fake_kernel_learns_whether_its_module_is_imported(library, ns):
    library.set_python_module("demo.fakes", "pip install demo")
    library.define("absent() -> ()")
    other = opyard.library.Library(ns, "FRAGMENT")
    other.set_python_module("json")
    other.define("present() -> ()")
    space = getattr(opyard.ops, ns)
    with ForceDispatchKeyGuard(DispatchKeySet("Meta"), DispatchKeySet()):
        absent = message_of(NotImplementedError, space.absent)
        present = message_of(NotImplementedError, space.present)
    assert absent.startswith(
        f"{ns}::absent has no kernel at Meta, where this call goes. Its fake kernel is in the "
        "Python module demo.fakes, which has to be imported first: pip install demo.\n"
    )
    assert present.startswith(
        f"{ns}::present has no kernel at Meta, where this call goes. Its fake kernel was expected "
        "in the Python module json, which is imported and registered none; "
        "opyard.library.register_fake() does.\n"
    )
    assert "-> Meta" in absent
    other._destroy()
