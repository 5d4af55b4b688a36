"""test_python_dispatcher.py: py_impl, which kernel serves a key, and the Python dispatcher.

Suspect opyard/_library/py_impl.py, kernels/python_dispatcher.cpp.
"""

import sys
import threading

import pytest

import opyard
from opyard import _C, Tensor
from opyard.dispatch import (
    DispatchKey,
    DispatchMode,
    disabled_dispatch,
    dump_table,
    enable_python_dispatcher,
    no_python_dispatcher,
    resolve_key,
    tls_is_dispatch_key_included,
)
from opyard.library import Library, fallthrough_kernel, register_opyard_dispatch


class Mode(DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        seen.append("mode")
        return op(*args, **kwargs or {})


class SubMode(Mode):
    pass


class Class(Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        seen.append("class")
        return args[0]


seen = []


@pytest.fixture(autouse=True)
def clean():
    seen.clear()
    yield
    assert not tls_is_dispatch_key_included("PythonDispatcher")


@pytest.fixture
def f(define):
    return define("f(Tensor x, *, int n=1) -> Tensor").default


# F38: py_impl -------------------------------------------------------------------------------


def test_F38_a_function_at_a_key_stands_in_the_table_of_the_operator(f, x):
    @f.py_impl("CPU")
    def kernel(x, *, n=1):
        seen.append(n)
        return x

    assert f(x, n=3) is x
    assert seen == [3]
    assert f"CPU: registered at {__file__}:" in dump_table(f)
    assert kernel.__name__ == "kernel"


@pytest.mark.parametrize("key", ["CPU", DispatchKey.CPU, int(DispatchKey.CPU)])
def test_F38_keys_are_named_as_elsewhere(f, x, key):
    f.py_impl(key)(lambda x: x)
    assert f(x) is x
    f.py_impl("AutogradCPU", with_keyset=True)(lambda keys, x: seen.append(keys) or x)
    f(x)
    assert seen[0].has("AutogradCPU")


def test_F38_a_second_one_for_the_same_key_is_refused(f, x):
    first = sys._getframe().f_lineno + 1
    f.py_impl("CPU")(lambda x: x)
    with pytest.raises(RuntimeError) as refused:
        f.py_impl("CPU")(lambda x: x + x)
    assert str(refused.value) == (
        f"py_impl: {f.name()} has a function at CPU already, registered at {__file__}:{first}; "
        "override() puts another on top of it, and a library, as lib=, too"
    )
    assert f(x) is x


def test_F38_the_same_code_may_give_its_function_again(f, x):
    for y in [opyard.tensor([2.0]), opyard.tensor([3.0])]:
        f.py_impl("CPU")(lambda x, y=y: y)
        assert f(x) is y


def test_F38_one_of_another_library_goes_on_top_and_its_end_uncovers_what_is_below(f, ns, x):
    y = opyard.tensor([2.0])
    f.py_impl("CPU")(lambda x: x)
    lib = Library(ns, "IMPL")
    f.py_impl("CPU", lib=lib)(lambda x: y)
    assert f(x) is y
    lib._destroy()
    assert f(x) is x


def test_F38_a_rule_for_a_class_of_modes_gets_the_mode(f, x):
    f.py_impl("CPU")(lambda x, *, n=1: x)

    @f.py_impl(Mode)
    def rule(mode, x, *, n=1):
        seen.append((type(mode), n))
        return f(x)

    with Mode():
        assert f(x, n=2) is x
    with SubMode():  # only for exactly this class
        f(x)
    assert seen == [(Mode, 2), "mode"]


def test_F38_a_rule_for_a_subclass_goes_before_its_own_handler(f, x):
    a = Tensor.make_subclass(Class, x)

    class Sub(Class):
        pass

    @f.py_impl(Class)
    def rule(x, *, n=1):
        seen.append(("rule", n))
        return x

    assert f(a, n=5) is a
    f(Tensor.make_subclass(Sub, x))
    assert seen == [("rule", 5), "class"]


def test_F38_a_rule_that_declines_leaves_the_call_to_the_class(f, x):
    f.py_impl(Class)(lambda x: NotImplemented)
    f(Tensor.make_subclass(Class, x))
    assert seen == ["class"]


def test_F38_rules_are_replaced_stacked_and_taken_back(f, ns, x):
    a = Tensor.make_subclass(Class, x)

    def rule(name):
        return lambda x: seen.append(name) or x

    f.py_impl(Class)(rule("first"))
    f.py_impl(Class)(rule("second"))
    one, other = Library(ns, "IMPL"), Library(ns, "IMPL")
    f.py_impl(Class, lib=one)(rule("one"))
    f(a)
    f.py_impl(Class, lib=other)(rule("other"))
    f(a)
    other._destroy()
    f(a)
    one._destroy()
    f(a)
    assert seen == ["one", "other", "one", "second"]


# F25 ----------------------------------------------------------------------------------------


def test_F25_a_rule_gets_what_a_handler_gets(f, ns, x):
    a = Tensor.make_subclass(Class, x)
    lib = Library(ns, "IMPL")

    @register_opyard_dispatch(f, Class, lib=lib)
    def rule(cls, op, types, args=(), kwargs=None):
        seen.append((cls, op, types, args, kwargs))
        return args[0]

    register_opyard_dispatch(f.name(), Mode, lambda *args: seen.append(args) or x, lib=lib)
    f(a, n=2)
    with Mode() as mode:
        f(a)
    lib._destroy()
    f(a)
    assert seen == [
        (Class, f, (Class,), (a,), {"n": 2}),
        (mode, f, (Class,), (a,), {}),
        "class",
    ]


def test_F25_only_for_exactly_this_class(f, x):
    class Sub(Class):
        pass

    register_opyard_dispatch(f, Class, lambda *args: seen.append("rule"))
    f(Tensor.make_subclass(Sub, x))
    assert seen == ["class"]


def test_F25_what_is_refused(f):
    with pytest.raises(TypeError, match="registers a function, not a int"):
        register_opyard_dispatch(f, Class, 3)
    with pytest.raises(TypeError, match="not for <class 'int'>"):
        register_opyard_dispatch(f, int, print)
    with pytest.raises(LookupError):
        register_opyard_dispatch("nope::nope", Class, print)


REFUSED = {
    "no function": (("CPU",), 3, TypeError, "py_impl() registers a function, not a int"),
    "no key": (("Nowhere",), print, LookupError, "Nowhere"),
    "another class": ((int,), print, TypeError, "not for <class 'int'>"),
    "Tensor itself": ((Tensor,), print, TypeError, "Tensor has no __opyard_dispatch__"),
    "a layer": (("Dense",), print, RuntimeError, "a kernel cannot be registered at Dense"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_F38_what_py_impl_refuses(f, name):
    where, fn, kind, text = REFUSED[name]
    with pytest.raises(kind) as caught:
        f.py_impl(*where)(fn)
    assert text in str(caught.value)


def test_F38_a_class_without_handler_has_no_rules(f, x):
    class Off(Class):
        __opyard_dispatch__ = disabled_dispatch

    with pytest.raises(TypeError, match="Off has no __opyard_dispatch__"):
        f.py_impl(Off)(lambda x: x)


# F39: resolve_key ---------------------------------------------------------------------------

# What is registered, the key that is asked for, and the key that serves it.
RESOLUTIONS = [
    (["CPU"], "CPU", "CPU"),
    (["CompositeExplicitAutograd"], "CPU", "CompositeExplicitAutograd"),
    (["CompositeExplicitAutogradNonFunctional"], "CPU", "CompositeExplicitAutogradNonFunctional"),
    (
        ["CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"],
        "CPU",
        "CompositeExplicitAutogradNonFunctional",
    ),
    (
        ["CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"],
        "XLA",
        "CompositeExplicitAutograd",
    ),
    (["CompositeImplicitAutograd"], "CPU", "CompositeImplicitAutograd"),
    (["CompositeImplicitAutograd"], "AutogradCPU", "CompositeImplicitAutograd"),
    (["CompositeImplicitAutograd", "CPU", "Autograd"], "AutogradCPU", "Autograd"),
    (["CompositeImplicitAutograd", "CPU"], "CPU", "CPU"),
    (
        ["CompositeImplicitAutogradNestedTensor"],
        "NestedTensorCPU",
        "CompositeImplicitAutogradNestedTensor",
    ),
    (["BatchedDecomposition"], "Batched", "BatchedDecomposition"),
    (["CPU"], "Python", "Python"),  # what is built in there
    (["CPU"], "AutogradCPU", "AutogradCPU"),
]


@pytest.mark.parametrize(("keys", "asked", "found"), RESOLUTIONS)
@pytest.mark.parametrize("how", ["impl", "py_impl"])
def test_F39_resolve_key_follows_the_order_of_the_registry(library, f, how, keys, asked, found):
    for key in keys:
        if how == "impl":
            library.impl(f, lambda x: x, key)
        else:
            f.py_impl(key)(lambda x: x)
    assert resolve_key(f, asked) is DispatchKey[found]
    assert resolve_key(f.name(), DispatchKey[asked]) is DispatchKey[found]


def test_F39_nothing_and_too_much(library, f):
    name = f.name()
    with pytest.raises(NotImplementedError) as missing:
        resolve_key(f, "CPU")
    assert str(missing.value) == f"could not find kernel for {name} at dispatch key CPU"
    f.py_impl("CompositeImplicitAutograd")(lambda x: x)
    library.impl(f, lambda x: x, "SparseCPU")
    with pytest.raises(RuntimeError, match="cannot tell which to take"):
        resolve_key(f, "AutogradOther")
    with pytest.raises(ValueError):
        resolve_key(f, "Autograd")
    with pytest.raises(LookupError):
        resolve_key("nope::nope", "CPU")


# F40, E8: the Python dispatcher -------------------------------------------------------------


def test_F40_it_calls_what_stands_in_the_table(f, x):
    f.py_impl("CPU")(lambda x, *, n=1: seen.append(n) or x)
    with enable_python_dispatcher():
        assert f(x) is x
        assert f(x, n=4) is x
    assert seen == [1, 4]


def test_F40_the_cache_has_functions_and_keys(plugin, f, x):
    def kernel(x):
        return x

    f.py_impl("CPU")(kernel)
    with enable_python_dispatcher():
        f(x)
        plugin.same(x)
    assert _C.dispatch_cache(f) == {int(DispatchKey.CPU): kernel}
    assert _C.dispatch_cache(plugin.same.default) == {int(DispatchKey.CPU): int(DispatchKey.CPU)}


def test_F40_E8_calls_from_inside_go_there_too(plugin, define, x):
    g = define("g(Tensor x) -> Tensor").default
    g.py_impl("CPU")(lambda x: seen.append(_C.set_python_dispatcher(True)) or x)
    with enable_python_dispatcher():
        plugin.call(g.name(), x)  # a kernel in C++ that calls
    assert seen == [True]
    assert list(_C.dispatch_cache(plugin.call.default)) == [int(DispatchKey.AutogradCPU)]
    assert int(DispatchKey.CPU) in _C.dispatch_cache(g)


def test_F40_registrations_invalidate_the_cache(library, ns, f, x):
    y, z = opyard.tensor([2.0]), opyard.tensor([3.0])
    with enable_python_dispatcher():
        f.py_impl("CPU")(lambda x: x)
        assert f(x) is x
        library.impl(f, lambda x: y, "CPU", allow_override=True)
        assert f(x) is y
        lib = Library(ns, "IMPL")
        lib.impl(f, lambda x: z, "CPU", allow_override=True)
        assert f(x) is z
        lib._destroy()
        assert f(x) is y
        library.impl(f, fallthrough_kernel, "AutogradCPU")
        assert f(x) is y
        library.impl(f, lambda x: x, "AutogradCPU")
        assert f(x) is x


def test_F40_it_goes_through_layers_as_the_table_says(f, x):
    cpu = opyard.dispatch.DispatchKeySet("CPU")

    @f.py_impl("AutogradCPU", with_keyset=True)
    def autograd(keys, x):
        seen.append("AutogradCPU")
        return f.redispatch(keys & cpu, x)

    f.py_impl("CPU")(lambda x: seen.append("CPU") or x)
    with enable_python_dispatcher(), Mode():
        f(x)
    assert seen == ["AutogradCPU", "CPU"]
    assert _C.dispatch_cache(f) == {int(DispatchKey.AutogradCPU): int(DispatchKey.AutogradCPU)}


def test_F40_modes_and_classes_are_asked(f, x):
    f.py_impl("CPU")(lambda x: x)
    with enable_python_dispatcher(), Mode():
        f(x)
    with enable_python_dispatcher():
        f(Tensor.make_subclass(Class, x))
    assert seen == ["mode", "class"]


def test_F40_guards_nest(f, x):
    f.py_impl("CPU")(lambda x: seen.append(tls_is_dispatch_key_included("PythonDispatcher")) or x)
    again = enable_python_dispatcher()
    with again:
        f(x)
        with no_python_dispatcher():
            f(x)
            with again:
                f(x)
            f(x)
        f(x)
    f(x)
    assert seen == [True, False, True, False, True, False]


def test_F40_it_is_off_while_an_answer_is_found(monkeypatch, f, x):
    def get_dispatch(op, key):
        seen.append((op, DispatchKey(key), tls_is_dispatch_key_included("PythonDispatcher")))
        return lambda x: x

    monkeypatch.setitem(opyard._hooks.hooks, "get_dispatch", get_dispatch)
    with enable_python_dispatcher():
        assert f(x) is x
        assert f(x) is x
    assert seen == [(f, DispatchKey.AutogradCPU, False)] or seen == [(f, DispatchKey.CPU, False)]


def test_F40_a_key_in_the_cache_runs_the_kernel_of_that_key(monkeypatch, f, x):
    f.py_impl("Meta")(lambda x: seen.append("Meta") or x)
    f.py_impl("CPU")(lambda x: seen.append("CPU") or x)
    monkeypatch.setitem(opyard._hooks.hooks, "get_dispatch", lambda op, key: DispatchKey.Meta)
    with enable_python_dispatcher():
        f(x)
    assert seen == ["Meta"]


def test_F40_errors(monkeypatch, f, x):
    with enable_python_dispatcher():
        with pytest.raises(NotImplementedError, match="has no kernel at CPU"):
            f(x)
        monkeypatch.setitem(opyard._hooks.hooks, "get_dispatch", lambda op, key: "text")
        f.py_impl("CPU")(lambda x: x)
        with pytest.raises(RuntimeError) as caught:
            f(x)
        monkeypatch.setitem(
            opyard._hooks.hooks, "get_dispatch", lambda op, key: lambda *args: "text"
        )
        with pytest.raises(RuntimeError) as wrong:
            f(x)
    assert str(caught.value) == (
        f"{f.name()}: the Python dispatcher was given a 'str' for CPU, which is neither a key nor "
        "a function"
    )
    assert str(wrong.value).startswith(
        f"{f.name()}: the Python dispatcher's function for CPU returned a value of type 'str'"
    )


def test_F40_threads_have_their_own(f, x):
    f.py_impl("CPU")(lambda x: seen.append(tls_is_dispatch_key_included("PythonDispatcher")) or x)
    with enable_python_dispatcher():
        thread = threading.Thread(target=f, args=(x,))
        thread.start()
        thread.join()
        context = opyard.capture_context()
    thread = threading.Thread(target=context.run, args=(f, x))
    thread.start()
    thread.join()
    assert seen == [False, True]
