"""test_entry_points_undone.py: a package that fails leaves the registry as it was before.

Suspect _plugins/packages.py, and what undoes a load in registering/ and dispatcher/src/registry/.
"""

import shutil
import sys
import textwrap

import pytest
from test_entry_points import BRINGS, end_what_stays, ops

import opyard
from opyard import dispatch
from opyard._plugins import packages
from opyard.library import load_plugins

# What was there before the load -------------------------------------------------------------------


def of_registry(ns):
    """What the registry says of a namespace: operators, kernels, which of them serves what."""
    from opyard import _bind

    names = [name for name in _bind.operator_names() if name.startswith(f"{ns}::")]
    return [(name, dispatch.dump(name), dispatch.dump_table(name)) for name in names]


@pytest.fixture
def former(ns, x):
    """What a user registered in the namespace: a library with f and a fake kernel of it, what
    stays, and the operator c of custom_op() with a kernel of its own for the cpu."""
    from opyard.library import EffectType, Library, custom_op, define, impl, register_effect

    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    lib.impl("f", lambda x: x, "Meta")
    define(f"{ns}::k", "(Tensor x) -> Tensor")
    impl(f"{ns}::k", "cpu", lambda x: x * 3)
    register_effect(f"{ns}::k", EffectType.ORDERED)

    @custom_op(f"{ns}::c", mutates_args=())
    def c(x: opyard.Tensor) -> opyard.Tensor:
        return x * 4

    c.register_kernel("cpu", lambda x: x * 5)
    yield lib, c
    c._destroy()
    lib._destroy()
    end_what_stays(ns)


# With `lib` and `c` of the user. Each of them is one that must not outlast the failure.
MEANWHILE = {
    "a kernel in place of one": "lib.impl('f', lambda x: x * 100, 'CPU')",
    "a kernel elsewhere": "lib.impl('f', lambda x: x, 'CUDA')",
    "a definition": "lib.define('g(Tensor x) -> Tensor')\nlib.impl('g', lambda x: x, 'CPU')",
    "a fake kernel": "library.register_fake('NS::k', lambda x: x)",
    "a C function": "lib.define('s(float x) -> float')\nlib.impl_c('s', 'libm.so.6', 'cos')",
    "impl()": "library.impl('NS::k', ['cpu', 'meta'], lambda x: x * 100)",
    "define()": "library.define('NS::g', '(Tensor x) -> Tensor')",
    "register_kernel() of what stays": "library.register_kernel('NS::k', 'cpu', lambda x: x * 100)",
    "register_kernel() of another's": "library.register_kernel('NS::f', 'cpu', lambda x: x * 100, "
    "lib=lib)",
    "register_kernel() of custom_op()": "c.register_kernel('cpu', lambda x: x * 100)",
    "register_kernel() for a device more": "c.register_kernel('cuda', lambda x: x * 100)",
    "register_fake() of custom_op()": "c.register_fake(lambda x: x)",
    "py_impl()": "opyard.ops.NS.k.default.py_impl('CPU')(lambda x: x * 100)",
    "custom_op() again": "remade = library.custom_op('NS::c', lambda x: x * 100, mutates_args=(), "
    "schema='(Tensor x) -> Tensor')",
    "custom_op() again, with another schema": "remade = library.custom_op('NS::c', "
    "lambda x, n=3: x * 100, mutates_args=(), schema='(Tensor x, int n=3) -> Tensor')",
    "custom_op() twice": "for n in (100, 200):\n"
    "    remade = library.custom_op('NS::c', lambda x, n=n: x * n, mutates_args=(), "
    "schema='(Tensor x) -> Tensor')\n"
    "    remade.register_kernel('cpu', lambda x, n=n: x * n)",
}
TEXT = """
import opyard
from opyard import library
lib, c = opyard.testing._shared
TEXT
"""
CALLS = [("f", [2.0, 4.0, 6.0]), ("k", [3.0, 6.0, 9.0]), ("c", [5.0, 10.0, 15.0])]


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_a_plugin_that_fails_registered_with_older_libraries_is_taken_back(
    installed, shared, former, ns, x, what
):
    shared(*former)
    installed(TEXT.replace("TEXT", MEANWHILE[what]) + "raise OSError")
    handles = {name: getattr(ops(ns), name).default for name, _ in CALLS}
    before = of_registry(ns)
    for _ in range(2):
        with pytest.raises(ImportError, match="OSError"):
            load_plugins(ns)
        assert of_registry(ns) == before
        for name, result in CALLS:
            assert getattr(ops(ns), name).default is handles[name]
            assert handles[name](x).tolist() == result
    c = former[1]
    assert c(x).tolist() == [5.0, 10.0, 15.0]
    with c.set_kernel_enabled("cpu", False):
        assert c(x).tolist() == [4.0, 8.0, 12.0]
    c.register_kernel("cpu", lambda x: x * 6)
    assert c(x).tolist() == [6.0, 12.0, 18.0]
    dispatch.check_invariants()


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_a_plugin_registered_with_older_libraries_stays_with_them(
    installed, shared, former, ns, x, what
):
    """As if it had been registered without a plugin: the library's end unregisters it."""
    lib, c = shared(*former)
    name = installed(TEXT.replace("TEXT", MEANWHILE[what]))
    load_plugins(ns)
    texts = str(of_registry(ns))
    assert name in texts
    changed = [n for n, result in CALLS if getattr(ops(ns), n)(x).tolist() != result]
    assert len(changed) == ("100" in MEANWHILE[what] and "cuda" not in MEANWHILE[what])
    lib._destroy()
    assert not hasattr(ops(ns), "f") and not hasattr(ops(ns), "s")
    if hasattr(sys.modules[name], "remade"):
        sys.modules[name].remade._destroy()
        assert not hasattr(ops(ns), "c")
    dispatch.check_invariants()


REMOVES = {
    "a library": "lib._destroy()",
    "the lower of two overrides": "lower.remove()",
    "an override by its block": "with lower:\n    pass",
    "both": "upper.remove()\nlower.remove()",
}


@pytest.mark.parametrize("what", REMOVES)
def test_what_a_plugin_that_fails_ended_of_others_is_there(installed, shared, former, ns, x, what):
    lib, c = former
    with (
        opyard.library.override(f"{ns}::k", "CPU", lambda x: x * 7) as lower,
        opyard.library.override(f"{ns}::k", "CPU", lambda x: x * 8) as upper,
    ):
        shared(lib, c, lower, upper)
        text = TEXT.replace("lib, c =", "lib, c, lower, upper =").replace("TEXT", REMOVES[what])
        installed(text + "raise OSError", "NS_fails = MODULE")
        before = of_registry(ns)
        with pytest.raises(ImportError, match="OSError"):
            load_plugins(f"{ns}_fails")
        assert of_registry(ns) == before
        assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]
        assert ops(ns).k(x).tolist() == [8.0, 16.0, 24.0]
        assert lower.__enter__() is lower, "it was not unregistered"
        shared(lib, c, lower, upper)
        installed(text, "NS_works = MODULE")
        load_plugins(f"{ns}_works")
        assert hasattr(ops(ns), "f") is ("lib" not in REMOVES[what])
        assert ops(ns).k(x)[0].item() == (3 if what == "both" else 8)
    dispatch.check_invariants()


def test_what_a_plugin_makes_and_ends_itself_ends_at_once(installed, ns, x):
    name = installed(BRINGS + """
    from opyard import library, ops, tensor
    def results():
        return ops.NS.f(tensor([1.0])).item()
    with library.override("NS::f", "CPU", lambda x: x * 9):
        seen = [results()]
    seen.append(results())
    more = Library("NS", "IMPL")
    more.impl("f", lambda x: x * 5, "CPU", allow_override=True)
    seen.append(results())
    more._destroy()
    seen.append(results())
    """)  # fmt: skip
    load_plugins(ns)
    assert sys.modules[name].seen == [9.0, 2.0, 5.0, 2.0]


def test_a_shared_library_that_a_plugin_that_fails_unloaded_is_loaded(
    installed, ns, tmp_path, run_program
):
    from built import plugin_path

    path = str(shutil.copy(plugin_path("opyard_test_plugin"), tmp_path / "unloaded.so"))
    fails = f"import opyard, os\nopyard.unload_library({path!r})\n"
    installed(fails + "raise OSError")
    installed(fails + f"os.unlink({path!r})\nraise OSError", "NS_gone = MODULE")
    done = run_program(
        f"""
        import opyard, opyard.library
        plugin = opyard.load_library({path!r})
        names = opyard._bind.operator_names()
        for ns in "{ns}", "{ns}_gone":
            try:
                opyard.library.load_plugins(ns)
            except ImportError as error:
                print(str(error).partition("unregistered")[2])
            print(plugin.path in opyard.loaded_libraries(), names == opyard._bind.operator_names())
        """
    )
    said = done.stdout.splitlines()
    assert done.stderr == "" and len(said) == 4
    assert said[0].startswith(". With") and said[1] == "True True"
    assert said[2].startswith(", but this failed: FileNotFoundError: [Errno 2]")
    assert said[3] == "False False"


def test_effects_are_those_from_before_a_plugin_that_failed(installed, shared, former, ns):
    from opyard.library import EffectType, effect_of

    shared(*former)
    registers = """library.register_effect('NS::k', None)
library.register_effect('NS::f', library.EffectType.ORDERED)
raise OSError"""
    installed(TEXT.replace("TEXT", registers))
    with pytest.raises(ImportError):
        load_plugins(ns)
    assert effect_of(f"{ns}::k") is EffectType.ORDERED and effect_of(f"{ns}::f") is None


def test_rules_are_those_from_before_a_plugin_that_failed(installed, shared, former, ns, x):
    class Mode(dispatch.DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            return NotImplemented

    lib, c = former
    opyard.library.register_opyard_dispatch(f"{ns}::f", Mode, lambda *_: x * 7, lib=lib)
    for op, where in (("f", ", lib=lib"), ("f", ""), ("k", "")):
        shared(lib, c, Mode)
        installed(f"""
            import opyard
            lib, c, Mode = opyard.testing._shared
            opyard.library.register_opyard_dispatch(
                "NS::{op}", Mode, lambda *_: opyard.tensor([0.0]){where})
            assert opyard.ops.NS.{op}.default
            raise OSError
        """, f"NS_{op}{len(where)} = MODULE")  # fmt: skip
        with pytest.raises(ImportError, match="OSError"):
            load_plugins(f"{ns}_{op}{len(where)}")
    with Mode():
        result = ops(ns).f(x)
        with pytest.raises(TypeError):
            ops(ns).k(x)
    assert result.tolist() == [7.0, 14.0, 21.0]
    lib._destroy()


def test_fallbacks_are_those_from_before_a_plugin_that_failed(installed, shared, ns, define, x):
    from opyard.library import Library

    [lib] = shared(Library("_", "IMPL", "OnTop1"))
    op = define("f(Tensor x) -> Any", CPU=lambda x: "kernel")
    text = """
        import opyard
        [lib] = opyard.testing._shared
        lib.fallback(lambda op, *args: 1)
        lib.fallback(lambda op, *args: 2, "OnTop2")
    """
    installed(textwrap.dedent(text) + "raise OSError", "NS_fails = MODULE")
    with pytest.raises(ImportError, match="OSError"):
        load_plugins(f"{ns}_fails")
    assert not dispatch.has_fallback("OnTop1") and not dispatch.has_fallback("OnTop2")
    installed(text, "NS_works = MODULE")
    load_plugins(f"{ns}_works")
    for number in (1, 2):
        with dispatch.IncludeDispatchKeyGuard(f"OnTop{number}"):
            assert op(x) == number
    lib._destroy()
    assert not dispatch.has_fallback("OnTop1") and not dispatch.has_fallback("OnTop2")


def test_the_module_of_fake_kernels_is_that_from_before_a_plugin_that_failed(
    installed, shared, former, ns, recwarn
):
    from opyard import _bind

    lib, c = shared(*former)
    lib.set_python_module("first")
    text = TEXT.replace("TEXT", "library.define('NS::h', '(Tensor x) -> Tensor', lib=lib)\n"
                        "lib.set_python_module('second', 'for NS')")  # fmt: skip
    installed(text + "raise OSError", "NS_fails = MODULE")
    with pytest.raises(ImportError, match="OSError"):
        load_plugins(f"{ns}_fails")
    lib.define("after(Tensor x) -> Tensor")
    assert _bind.python_module(f"{ns}::after") == ("first", "")
    del recwarn.list[:]
    installed(text, "NS_works = MODULE")
    load_plugins(f"{ns}_works")
    lib.define("later(Tensor x) -> Tensor")
    assert _bind.python_module(f"{ns}::h") == ("first", "")
    assert _bind.python_module(f"{ns}::later") == ("second", f"for {ns}")
    assert len(recwarn) == 1


# With `first` and `second`, libraries of the user with kernels of f, of which the second is on top.
IN_ORDER = {
    "an override on top": (
        "first.impl('f', lambda x: 'replaced', 'CPU', allow_override=True)\n"
        "over = library.override('NS::f', 'CPU', lambda n, x: 'over ' + n(x), with_next=True)\n"
        "ends = over.remove",
        "over replaced",
    ),
    "another library on top": (
        "first.impl('f', lambda x: 'replaced', 'CPU', allow_override=True)\n"
        "more = library.Library('NS', 'IMPL')\n"
        "more.impl('f', lambda x: 'more', 'CPU', allow_override=True)\n"
        "ends = more._destroy",
        "more",
    ),
    "an older library on top": (
        "second.impl('g', lambda x: '', 'CPU')\n"
        "first.impl('f', lambda x: 'from first', 'CPU', allow_override=True)\n"
        "second.impl('f', lambda x: 'from second', 'CPU', allow_override=True)",
        "from second",
    ),
    "the same library once more": (
        "first.impl('f', lambda x: 'once', 'CPU', allow_override=True)\n"
        "second.impl('f', lambda x: 'between', 'CPU', allow_override=True)\n"
        "first.impl('f', lambda x: 'twice', 'CPU', allow_override=True)",
        "twice",
    ),
    "another package on top": (
        "first.impl('f', lambda x: 'outer', 'CPU', allow_override=True)\n"
        "library.load_plugins('NS_inner')",
        "inner",
    ),
}


@pytest.fixture
def first_and_second(ns, shared):
    from opyard.library import Library

    first, second = shared(Library(ns, "DEF"), Library(ns, "IMPL"))
    for name in "fg":
        first.define(f"{name}(Tensor x) -> str")
    first.impl("f", lambda x: "first", "CPU")
    second.impl("f", lambda x: "second", "CPU", allow_override=True)
    yield first, second
    second._destroy()
    first._destroy()


@pytest.mark.parametrize("what", IN_ORDER)
def test_kernels_of_a_plugin_lie_in_the_order_of_its_calls(
    installed, first_and_second, ns, x, what
):
    first, second = first_and_second
    text, result = IN_ORDER[what]
    inner = "first.impl('f', lambda x: 'inner', 'CPU', allow_override=True)"
    head = "import opyard\nfrom opyard import library\nfirst, second = opyard.testing._shared\n"
    installed(head + inner, "NS_inner = MODULE")
    name = installed(f"{head}{text}\nmeanwhile = opyard.ops.NS.f(opyard.tensor([1.0]))")
    load_plugins(ns)
    assert sys.modules[name].meanwhile == result
    assert ops(ns).f(x) == result
    ends = getattr(sys.modules[name], "ends", None)
    if ends is not None:
        ends()
    second._destroy()
    first._destroy()
    assert not hasattr(ops(ns), "f")
    assert not [line for line in dispatch.dangling() if ns in line]
    dispatch.check_invariants()


def test_later_kernels_of_a_library_replace_those_of_a_plugin(
    installed, first_and_second, ns, x, recwarn
):
    first, _ = first_and_second
    installed("""
        import opyard
        first, _ = opyard.testing._shared
        first.impl("f", lambda x: "of the plugin", "CPU", allow_override=True)
    """)  # fmt: skip
    load_plugins(ns)
    over = opyard.library.override(f"{ns}::f", "CPU", lambda n, x: f"over {n(x)}", with_next=True)
    with over:
        assert ops(ns).f(x) == "over of the plugin"
    del recwarn.list[:]
    first.impl("f", lambda x: "later", "CPU")
    first.impl(f"{ns}::f", lambda x: "latest", dispatch.DispatchKey.CPU)
    assert not recwarn.list, "its own kernel is replaced, not another's"
    assert ops(ns).f(x) == "latest"


def test_a_plugin_whose_calls_succeeded_is_loaded_whatever_happens_to_its_files(
    installed, first_and_second, ns, x, tmp_path
):
    import ctypes

    ctypes.CDLL("libm.so.6")
    with open("/proc/self/maps") as maps:
        [libm] = {line.split()[-1] for line in maps if "/libm.so.6" in line or "/libm-" in line}
    first, _ = first_and_second
    first.define("s(float x) -> float")
    copy = tmp_path / "copy.so"
    installed(f"""
        import opyard, os, shutil
        first, _ = opyard.testing._shared
        first.impl("f", lambda x: "of the plugin", "CPU", allow_override=True)
        shutil.copy({libm!r}, {str(copy)!r})
        first.impl_c("s", {str(copy)!r}, "cos")
        os.remove({str(copy)!r})
    """)  # fmt: skip
    assert load_plugins(ns) == [ns]
    assert ops(ns).s(0.0) == 1.0 and ops(ns).f(x) == "of the plugin"


def test_listing_and_overriding_what_there_is_goes_on_without_a_package_that_fails(
    installed, ns, library, x
):
    library.define("g(Tensor x) -> Tensor")
    installed("raise OSError('no such device')")
    with pytest.warns(RuntimeWarning, match=rf"operators of {ns} cannot be loaded.*no such device"):
        assert "g" in dir(ops(ns))
    with pytest.warns(RuntimeWarning), opyard.library.override(f"{ns}::*", "CPU", lambda x: x):
        assert ops(ns).g(x) is x


def test_threads_that_look_for_packages_at_once_do_not_see_each_other(monkeypatch):
    """importlib.invalidate_caches() raises KeyError if another thread takes an entry away."""

    asked = []

    def invalidate_caches():
        asked.append(1)
        if len(asked) < 3:
            raise KeyError("/a/folder")

    monkeypatch.setattr("importlib.invalidate_caches", invalidate_caches)
    packages._invalidate_caches()
    assert len(asked) == 3
