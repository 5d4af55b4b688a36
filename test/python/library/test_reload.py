"""test_reload.py: modules that are reloaded and cells that are run again keep their operators.

Suspect _library/reload.py, library.py, and begin_reload() of registry/library.cpp.
"""

import gc
import sys
import textwrap
import threading

import pytest
from processes import volume

import opyard
from opyard import dispatch
from opyard.library import Library


def ops(ns):
    return getattr(opyard.ops, ns)


FIRST = """
    lib = Library("NS", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    lib.impl("g", lambda x: x * 2, "CPU")
    lib.impl("g", lambda x: x * 5, "Meta")
"""


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT"])
def test_X5_a_module_that_is_reloaded_replaces_its_kernels_and_keeps_handles(module, ns, x, kind):
    module(FIRST.replace("DEF", kind))
    packet, handle = ops(ns).f, ops(ns).f.default
    assert handle(x).tolist() == [2.0, 4.0, 6.0]
    module(FIRST.replace("DEF", kind).replace("x * 2", "x * 3"))
    assert handle(x).tolist() == packet(x).tolist() == [3.0, 6.0, 9.0]
    assert ops(ns).f is packet and packet.default is handle
    assert dispatch.dump(f"{ns}::f").count("CPU:") == 1
    dispatch.check_invariants()


def test_X5_what_the_new_text_does_not_register_is_taken_back(module, ns, x):
    module(FIRST)
    f, g = ops(ns).f.default, ops(ns).g.default
    assert dispatch.has_kernel(g, "Meta")
    module("""
        lib = Library("NS", "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
    """)
    assert f(x).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="^" + f"{ns}::g"):
        g(x)
    assert not hasattr(ops(ns), "g")
    assert not dispatch.has_kernel(f"{ns}::g")


def test_X5_another_schema_is_another_operator_and_old_handles_say_so(module, ns, x):
    module(FIRST)
    old = ops(ns).f.default
    module(FIRST.replace("f(Tensor x)", "f(Tensor x, int n=4)").replace("lambda x: x * 2",
           "lambda x, n=4: x * n"))  # fmt: skip
    assert ops(ns).f.default is not old
    assert ops(ns).f(x).tolist() == [4.0, 8.0, 12.0]
    with pytest.raises(RuntimeError) as caught:
        old(x)
    assert str(caught.value) == (
        f"{ns}::f(Tensor x) -> Tensor is gone: the library that defined it has ended. Load "
        "the library again, or look the operator up anew."
    )
    module(FIRST)  # and the first schema again is the first operator again
    assert ops(ns).f.default is old and old(x).tolist() == [2.0, 4.0, 6.0]


def test_X5_listeners_hear_of_another_schema_only(module, ns):
    module(FIRST)
    heard = []
    with dispatch.on_registration(
        lambda op: heard.append("+" + op.name()), lambda op: heard.append("-" + op.name())
    ):
        heard.clear()
        module(FIRST)
        assert heard == []
        module(FIRST.replace("f(Tensor x)", "f(Tensor y)"))
    assert heard == [f"-{ns}::f", f"+{ns}::f"]


def test_X5_a_reload_that_fails_leaves_what_it_had_registered_and_nothing_else(module, ns, x):
    module(FIRST)
    f, g = ops(ns).f.default, ops(ns).g.default
    try:
        module("""
            lib = Library("NS", "DEF")
            lib.define("f(Tensor x) -> Tensor")
            lib.impl("f", lambda x: x * 7, "CPU")
            raise KeyError("half-way")
        """)
    except KeyError:
        assert g(x).tolist() == [2.0, 4.0, 6.0]  # the traceback keeps the run
    gc.collect()
    assert f(x).tolist() == [7.0, 14.0, 21.0]
    with pytest.raises(RuntimeError, match="is gone"):
        g(x)
    module(FIRST)
    assert g(x).tolist() == [2.0, 4.0, 6.0]


def test_X5_a_reload_that_fails_before_its_library_changes_nothing(module, ns, x):
    module(FIRST)
    with pytest.raises(ZeroDivisionError):
        module("1 / 0\n" + textwrap.dedent(FIRST))
    gc.collect()
    assert ops(ns).g(x).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(SyntaxError):
        module("lib = = 3")
    assert ops(ns).g(x).tolist() == [2.0, 4.0, 6.0]


def test_X5_definitions_that_fail_leave_the_former_ones_until_the_run_ends(module, ns, x):
    module(FIRST)
    module("""
        lib = Library("NS", "DEF")
        try:
            lib.define("f(Tensor x -> Tensor")
        except ValueError:
            pass
        lib.define("g(Tensor x) -> Tensor")
        before = opyard.ops.NS.f(opyard.tensor([1.0])).tolist()
    """)
    assert sys.modules[module.name].before == [2.0]
    assert not hasattr(ops(ns), "f")


def test_X5_defining_twice_in_one_run_stays_an_error(module, ns):
    text = FIRST + '    lib.define("f(Tensor x) -> Tensor")\n'
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        module(text)


def test_X5_kernels_keep_their_place_below_overrides(module, ns, x):
    module(FIRST)
    with opyard.library.override(
        f"{ns}::f", "CPU", lambda call_next, x: call_next(x) + 1, with_next=True
    ):
        module(FIRST.replace("x * 2", "x * 3"))
        assert ops(ns).f(x).tolist() == [4.0, 7.0, 10.0]
    assert ops(ns).f(x).tolist() == [3.0, 6.0, 9.0]
    dispatch.check_invariants()


def test_X5_several_libraries_of_a_module_are_told_apart_by_their_order(module, ns, x):
    text = (
        FIRST
        + """
    impls = []
    for key in ("Meta", "CUDA", "Meta"):
        impls.append(Library("NS", "IMPL", key))
        impls[-1].impl("f", lambda x, n=len(impls): x, allow_override=True)
    """
    )
    module(text)
    module(text)
    module(text)
    lines = dispatch.dump(f"{ns}::f").splitlines()
    assert [line.partition(":")[0] for line in lines[4:]] == [
        "CPU", "CUDA", "Meta", "Meta (inactive)",
    ]  # fmt: skip


def test_X5_fallbacks_and_rules_are_replaced(module, ns, x):
    text = """
        from opyard.dispatch import DispatchMode
        base = Library("NS", "DEF")
        base.define("f(Tensor x) -> Any")
        base.impl("f", lambda x: "kernel", "CPU")
        lib = Library("_", "IMPL", "OnTop1")
        lib.fallback(lambda op, *args: 1)
        lib2 = Library("_", "IMPL")
        lib2.fallback(lambda op, *args: 1, "OnTop2")
        class Mode(DispatchMode):
            def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
                return NotImplemented
        rules = Library("NS", "IMPL")
        opyard.ops.NS.f.default.py_impl(Mode, lib=rules)(lambda mode, x: "rule 1")
    """
    module(text)
    loaded = module(text.replace("args: 1", "args: 2").replace("rule 1", "rule 2"))
    for key in ("OnTop1", "OnTop2"):
        with dispatch.IncludeDispatchKeyGuard(key):
            assert ops(ns).f(x) == 2
    with loaded.Mode():
        assert ops(ns).f(x) == "rule 2"
    loaded = module("pass")
    del loaded.lib, loaded.lib2, loaded.rules
    gc.collect()
    assert not dispatch.has_fallback("OnTop1") and not dispatch.has_fallback("OnTop2")


def test_X5_fake_kernels_of_a_library_are_replaced(module, ns):
    text = (
        FIRST
        + """
    from opyard.library import register_fake
    register_fake("NS::f", lambda x: x, lib=lib)
    """
    )
    module(text)
    loaded = module(text)
    assert dispatch.dump(f"{ns}::f").count("Meta:") == 1
    with pytest.raises(RuntimeError, match="already has a Meta implementation"):
        loaded.register_fake(f"{ns}::f", lambda x: x, lib=loaded.lib)
    module(FIRST)
    assert not dispatch.has_kernel(f"{ns}::f", "Meta")


@pytest.mark.parametrize("how", ["register_fake('NS::f', FN)", "register_fake('NS::f')(FN)"])
def test_X5_fake_kernels_without_a_library_are_replaced(module, ns, how):
    text = FIRST + "    from opyard.library import register_fake\n    " + how + "\n"
    meta = opyard.ops.aten.empty([2], device="meta")
    try:
        for size in (3, 4):
            loaded = module(text.replace("FN", f"lambda x: opyard.ops.aten.empty([{size}],"
                                         " device='meta')"))  # fmt: skip
            assert ops(ns).f(meta).shape == (size,)
            assert dispatch.dump(f"{ns}::f").count("Meta:") == 1
        with pytest.raises(RuntimeError, match="already has a Meta implementation"):
            loaded.register_fake(f"{ns}::f", lambda x: x)
        with pytest.raises(RuntimeError, match="already has a Meta implementation"):
            module(text.replace("FN", "lambda x: x") + "    " + how.replace("FN", "lambda x: x"))
    finally:
        opyard._library.shortcuts._libraries.pop(ns)._destroy()  # other tests look at all kernels


OVERRIDES = """
    from opyard.library import override
    first = override("NS::f", "CPU", lambda x: x * 10, name="first")

    @override("NS::g", "CPU", with_next=True)
    def second(call_next, x):
        return call_next(x) + 1
"""


def test_X5_overrides_are_replaced_where_they_lie(module, ns, x):
    module(FIRST + OVERRIDES)
    with opyard.library.override(f"{ns}::f", "CPU", lambda call_next, x: call_next(x) + 1,
                                 with_next=True):  # fmt: skip
        assert ops(ns).f(x).tolist() == [11.0, 21.0, 31.0]
        former = sys.modules[module.name].first
        module(FIRST + OVERRIDES.replace("* 10", "* 20"))
        assert ops(ns).f(x).tolist() == [21.0, 41.0, 61.0], "below the other one"
        former.remove()
        assert ops(ns).f(x).tolist() == [21.0, 41.0, 61.0]
        with pytest.raises(RuntimeError, match="was removed already"):
            former.__enter__()
    assert ops(ns).g(x).tolist() == [3.0, 5.0, 7.0], "called once"
    sys.modules[module.name].first.remove()
    assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]
    dispatch.check_invariants()


@pytest.mark.parametrize("rest", [FIRST, OVERRIDES[: OVERRIDES.index("@") - 1]])
def test_X5_overrides_whose_lines_are_gone_are_removed(module, ns, x, rest):
    base = Library(ns, "FRAGMENT")
    if rest != FIRST:  # the module is left with one of its overrides
        for name in ("f", "g"):
            base.define(f"{name}(Tensor x) -> Tensor")
            base.impl(name, lambda x: x * 2, "CPU")
    module((FIRST if rest == FIRST else "") + OVERRIDES)
    assert ops(ns).g(x).tolist() == [3.0, 5.0, 7.0]
    loaded = module(rest)
    assert ops(ns).g(x).tolist() == [2.0, 4.0, 6.0]
    assert ops(ns).f(x).tolist() == ([2.0, 4.0, 6.0] if rest == FIRST else [10.0, 20.0, 30.0])
    assert "CPU (inactive)" not in dispatch.dump(f"{ns}::g")
    loaded.first.remove()
    base._destroy()


def test_X5_an_override_that_a_reload_cannot_make_again_goes_with_it(module, ns, x):
    module(FIRST + OVERRIDES)
    try:
        module(FIRST + OVERRIDES.replace("lambda x: x * 10", "3"))
    except TypeError:
        assert ops(ns).f(x).tolist() == [10.0, 20.0, 30.0]  # the traceback keeps the run
    gc.collect()
    assert ops(ns).f(x).tolist() == ops(ns).g(x).tolist() == [2.0, 4.0, 6.0]


def test_X5_overrides_of_functions_and_other_modules_stay(module, ns, x):
    text = (
        FIRST
        + """
    from opyard.library import override
    def make(factor):
        return override("NS::f", "CPU", lambda x: x * factor)
    """
    )
    loaded = module(text.rstrip() + "\n    kept = make(30)\n")
    loaded.kept_too = opyard.library.override(f"{ns}::g", "CPU", lambda x: x * 40)
    loaded = module(text)
    gc.collect()
    assert ops(ns).f(x).tolist() == [30.0, 60.0, 90.0]
    assert ops(ns).g(x).tolist() == [40.0, 80.0, 120.0]
    loaded.kept.remove()
    loaded.kept_too.remove()


def test_X5_the_former_library_refuses_and_ends_nothing(module, ns, x):
    old = module(FIRST).lib
    new = module(FIRST).lib
    with pytest.raises(RuntimeError) as caught:
        old.impl("f", lambda x: x, "CPU")
    place = f"{sys.modules[module.name].__file__}:4"
    assert str(caught.value) == (
        f"this library was taken over by the one that the same code made again at {place}; "
        "register there"
    )
    old._destroy()
    del old
    gc.collect()
    assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]
    new._destroy()
    assert not hasattr(ops(ns), "f")


def test_X5_a_library_that_was_taken_back_is_not_taken_over(module, ns, x):
    module(FIRST).lib._destroy()
    module(FIRST)
    assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]


def test_X5_another_module_takes_nothing_over(module, ns):
    module(FIRST)
    with pytest.raises(RuntimeError, match=f"can define the namespace {ns};"):
        Library(ns, "DEF")
    with pytest.raises(RuntimeError, match=f"can define the namespace {ns};"):
        exec(f"Library({ns!r}, 'DEF')", {"Library": Library, "__name__": module.name})


def test_X5_threads_find_the_old_kernel_or_the_new_one(module, ns, x):
    module(FIRST)
    handle, packet = ops(ns).f.default, ops(ns).f
    stop = threading.Event()
    wrong = []

    def caller():
        while not stop.is_set():
            try:
                for call in (handle, packet):
                    if call(x).tolist()[0] not in (2.0, 3.0):
                        wrong.append("value")
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=caller) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for n in range(volume(60)):
            module(FIRST.replace("x * 2", f"x * {2 + n % 2}"))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_X5_reloading_again_and_again_leaves_nothing_behind(module, ns, x):
    from opyard import _bind
    from opyard._library import reload

    def count():
        gc.collect()
        _bind.reclaim()
        again = len(reload._sites), len(reload._runs), list(map(len, reload._overrides.values()))
        return again, _bind.retired_count(), len(gc.get_objects())

    for _ in range(5):
        module(FIRST + OVERRIDES)
    before = count()
    for _ in range(20):
        module(FIRST + OVERRIDES)
    after = count()
    assert after[:2] == before[:2] and after[2] <= before[2] + 5
