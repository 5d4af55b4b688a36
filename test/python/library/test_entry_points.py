"""test_entry_points.py: installed packages bring their operators when these are first wanted.

Suspect _plugins/packages.py, and load_for() of _core/ops.py.
"""

import itertools
import os
import shutil
import sys
import textwrap
import threading
import time

import pytest

import opyard
from opyard import dispatch
from opyard._plugins import packages
from opyard.library import load_plugins

_numbers = itertools.count()
X = opyard.tensor([1.0])

BRINGS = """
    from opyard.library import Library
    lib = Library("NS", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
"""


@pytest.fixture
def installed(tmp_path, monkeypatch, ns):
    """Installs a distribution: a module with this text and its entry points."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delenv("OPYARD_PLUGINS", raising=False)
    made = []

    def install(text, points="NS = MODULE", name=None):
        number = next(_numbers)
        name = name or f"brings_{ns}_{number}"
        (site / f"{name}.py").write_text(textwrap.dedent(text).replace("NS", ns))
        info = site / f"{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        points = points.replace("NS", ns).replace("MODULE", name)
        (info / "entry_points.txt").write_text(f"[opyard.plugins]\n{points}\n")
        made.append(name)
        return name

    yield install
    for name in made:
        sys.modules.pop(name, None)


@pytest.fixture
def fails_once(installed):
    """Installs a distribution whose text fails the first time that FAIL is in it."""

    def install(text, points="NS = MODULE"):
        fail = """if not hasattr(opyard.testing, "_failed_once"):
            opyard.testing._failed_once = True
            raise OSError("first time")"""
        return installed("import opyard\n" + textwrap.dedent(text).replace("FAIL", fail), points)

    yield install
    del opyard.testing._failed_once


@pytest.fixture
def shared(monkeypatch):
    """Gives a module to be an object of the test, as opyard.testing._shared."""

    def share(*objects):
        monkeypatch.setattr(opyard.testing, "_shared", objects, raising=False)
        return objects

    return share


def ops(ns):
    return getattr(opyard.ops, ns)


def end_what_stays(ns):
    """Other tests look at all kernels."""
    from opyard._library import py_impl as _py_impl
    from opyard._library import shortcuts as _register

    _register._libraries.pop(ns)._destroy()
    for op in [op for op in _py_impl._own_libraries if op.namespace == ns]:
        _py_impl._own_libraries.pop(op)._destroy()


def want(ns):
    return ops(ns).f


def test_a_module_is_imported_when_an_operator_is_first_wanted(installed, ns, x):
    name = installed(BRINGS)
    space = ops(ns)
    assert name not in sys.modules, "the namespace alone loads nothing"
    assert space.f(x).tolist() == [2.0, 4.0, 6.0]
    assert name in sys.modules


def test_what_its_thread_registers_after_a_load_is_not_noted(installed, ns, x):
    installed(BRINGS)
    assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]
    assert opyard._core.ops._recording == {}
    assert opyard._core.ops.recording() is None


def test_a_function_is_called_once(installed, ns, x):
    name = installed("""
        calls = []
        def register():
            from opyard.library import Library
            calls.append(Library("NS", "DEF"))
            calls[-1].define("f(Tensor x) -> Tensor")
    """, "NS = MODULE:register\nother_NS = MODULE:register")  # fmt: skip
    want(ns)
    assert not hasattr(ops(ns), "g")
    load_plugins(ns)
    assert len(sys.modules[name].calls) == 1


@pytest.mark.parametrize("ask", [
    lambda ns: opyard.library.override(f"{ns}::f", "CPU", lambda x: x),
    lambda ns: dispatch.explain(f"{ns}::f", opyard.tensor([1.0])),
    lambda ns: dispatch.dump(f"{ns}::f"),
    lambda ns: dir(ops(ns)),
    lambda ns: opyard.library.opcheck(f"{ns}::f", (X,), test_utils="test_schema"),
])  # fmt: skip
def test_names_in_texts_bring_them_too(installed, ns, ask):
    name = installed(BRINGS)
    assert ask(ns)
    assert name in sys.modules


def test_only_the_namespace_that_is_asked_for_is_loaded(installed, ns):
    installed("raise RuntimeError('not asked for')", "another_NS = MODULE")
    name = installed("pass")
    assert not hasattr(ops(ns), "f")
    assert name in sys.modules


def test_several_packages_may_bring_parts_of_a_namespace(installed, ns):
    for letter in "ab":
        installed(BRINGS.replace("f(", f"{letter}(").replace('"f"', f'"{letter}"').replace(
            "DEF", "FRAGMENT"))  # fmt: skip
    assert dir(ops(ns)) == ["a", "b"]


def test_importing_opyard_loads_none(installed, ns, run_program):
    installed("print('loaded')\n" + textwrap.dedent(BRINGS))
    done = run_program(
        f"""
        import sys, opyard, opyard.library
        assert "importlib.metadata" not in sys.modules
        print("imported")
        opyard.ops.{ns}.f
        """
    )
    assert (done.stdout, done.stderr) == ("imported\nloaded\n", "")


def test_looking_for_packages_imports_no_datetime(installed, ns, run_program):
    """Which crashes CPython 3.13.0 as it ends, if several interpreters did so."""
    installed(BRINGS)
    done = run_program(
        f"""
        import sys, importlib.metadata, opyard
        before = "datetime" in sys.modules  # up to CPython 3.12 importlib.metadata does it
        opyard.ops.{ns}.f
        print("datetime" in sys.modules and not before)
        """
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_package_is_named_by_its_first_lines(installed, ns, tmp_path):
    name = installed("raise OSError")
    (tmp_path / "site" / f"{name}-1.5.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nVersion: 1.5 \nName:n\n\nName: no\n"
    )
    with pytest.raises(ImportError, match=r"\(distribution n 1\.5\) failed: OSError"):
        want(ns)


def test_the_environment_switches_it_off(installed, ns, monkeypatch):
    name = installed(BRINGS)
    monkeypatch.setenv("OPYARD_PLUGINS", "0")
    assert not hasattr(ops(ns), "f") and load_plugins() == []
    assert name not in sys.modules
    monkeypatch.setenv("OPYARD_PLUGINS", "perhaps")
    with pytest.warns(UserWarning) as caught:
        want(ns)
    assert str(caught[0].message) == (
        "ignoring invalid value for OPYARD_PLUGINS: perhaps; valid values are 0 or 1"
    )


FAILS = """
    import opyard
    from opyard.library import Library, override, define, impl, register_kernel
    lib = Library("NS", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    define("NS::g", "(Tensor x) -> Tensor")
    impl("NS::g", "cpu", lambda x: x)
    opyard.ops.NS.f.default.py_impl("Meta")(lambda x: x)
    ov = override("aten::neg", "CPU", lambda x: "overridden")
    import no_such_module_at_all
"""


def test_a_plugin_that_fails_leaves_nothing_registered(installed, ns, x):
    name = installed(FAILS)
    with pytest.raises(ImportError) as caught:
        want(ns)
    assert str(caught.value) == (
        f"the entry point {ns} = {name} of the group opyard.plugins (distribution {name} 1.5) "
        "failed: ModuleNotFoundError: No module named 'no_such_module_at_all'. What it "
        "had registered was unregistered. With OPYARD_PLUGINS=0 in the environment no plugin is "
        "loaded"
    )
    assert isinstance(caught.value.__cause__, ModuleNotFoundError) and caught.value.name == name
    assert not [line for line in dispatch.dangling() if ns in line]
    for operator in ("f", "g"):
        assert not opyard._C.overloads(f"{ns}::{operator}")
    assert (-x).tolist() == [-1.0, -2.0, -3.0]
    assert name not in sys.modules
    dispatch.check_invariants()


def test_who_asks_next_tries_again(installed, ns, x, tmp_path):
    name = installed(FAILS)
    for _ in range(2):
        with pytest.raises(ImportError, match="no_such_module_at_all"):
            want(ns)
    (tmp_path / "site" / "no_such_module_at_all.py").write_text("")
    try:
        assert ops(ns).f(x).tolist() == [1.0, 2.0, 3.0]
        assert ops(ns).g(x).tolist() == [1.0, 2.0, 3.0]
    finally:
        sys.modules[name].ov.remove()
        sys.modules[name].lib._destroy()
        sys.modules.pop("no_such_module_at_all", None)
        end_what_stays(ns)


@pytest.mark.parametrize(
    ("text", "points", "cause"),
    [
        ("", "NS = MODULE:register", "AttributeError: module 'MODULE' has no attribute 'register'"),
        ("register = 3", "NS = MODULE:register",
         "TypeError: MODULE:register is a int, no function"),
        ("", "NS = no_module_of_this_name",
         "ModuleNotFoundError: No module named 'no_module_of_this_name'"),
        ("def register(): 1 / 0", "NS = MODULE:register", "ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_entry_points_that_cannot_be_used(installed, ns, text, points, cause):
    name = installed(text, points)
    with pytest.raises(ImportError) as caught:
        want(ns)
    assert f" failed: {cause.replace('MODULE', name)}. What it had registered" in str(caught.value)


def test_interruptions_come_out_as_they_are_and_leave_nothing(installed, ns):
    installed(BRINGS + "    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        want(ns)
    assert not opyard._C.overloads(f"{ns}::f")


def test_a_shared_library_is_unloaded_when_the_package_fails(installed, ns):
    from built import plugin_path

    path = plugin_path("opyard_throwing_plugin").with_name("opyard_vtable_plugin.so")
    if not path.exists():
        pytest.skip("opyard_vtable_plugin.so is not built here")
    if str(path) in opyard.loaded_libraries():
        opyard.unload_library(path)
    installed(f"import opyard\nopyard.load_library({str(path)!r})\nraise ValueError('later')")
    with pytest.raises(ImportError, match="ValueError: later"):
        want(ns)
    assert str(path) not in opyard.loaded_libraries()


def test_the_package_may_ask_for_its_own_operators_while_it_is_loaded(installed, ns, x):
    asks = "    {} = hasattr(__import__('opyard').ops.NS, 'f')\n"
    name = installed(asks.format("before") + BRINGS + asks.format("after"))
    want(ns)
    assert (sys.modules[name].before, sys.modules[name].after) == (False, True)


def test_a_package_that_is_being_imported_is_not_loaded_again(installed, ns):
    name = installed("""
        import opyard
        before = hasattr(opyard.ops.NS, "f")
        def register():
            from opyard.library import Library
            global lib
            lib = Library("NS", "DEF")
            lib.define("f(Tensor x) -> Tensor")
    """, "NS = MODULE:register")  # fmt: skip
    module = __import__(name)
    assert module.before is False and not hasattr(module, "lib")
    assert hasattr(ops(ns), "f") and hasattr(module, "lib")


def test_threads_wait_for_the_one_that_loads(installed, ns, x):
    name = installed("""
        import time
        calls = []
        def register():
            calls.append(1)
            time.sleep(0.2)
            from opyard.library import Library
            global lib
            lib = Library("NS", "DEF")
            lib.define("f(Tensor x) -> Tensor")
            time.sleep(0.1)
            lib.impl("f", lambda x: x, "CPU")
    """, "NS = MODULE:register")  # fmt: skip
    found = []
    together = threading.Barrier(4)

    def ask():
        together.wait()  # they look for entry points at the same time as well
        found.append(ops(ns).f)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(sys.modules[name].calls) == 1


def test_what_others_register_meanwhile_stays(installed, shared, ns, define, x):
    """Taking back concerns the thread that loads."""
    started, go_on = shared(threading.Event(), threading.Event())
    installed("""
        import opyard
        started, go_on = opyard.testing._shared
        started.set()
        go_on.wait(20)
        raise ValueError
    """, "other_NS = MODULE")  # fmt: skip
    failed = []

    def load():
        try:
            load_plugins(f"other_{ns}")
        except ImportError as error:
            failed.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        assert started.wait(20)
        ov = opyard.library.override(define("f(Tensor x) -> Tensor"), "CPU", lambda x: x * 9)
    finally:
        go_on.set()
        thread.join()
    assert failed and ops(ns).f(x).tolist() == [9.0, 18.0, 27.0]
    ov.remove()


def test_packages_that_are_installed_later_are_found(installed, ns, tmp_path):
    os.utime(tmp_path / "site", (1e9, 1e9))
    assert not hasattr(ops(ns), "f")
    for _ in range(50):  # until what was found is relied on
        if packages._state:
            break
        time.sleep(0.1)
        assert not hasattr(ops(ns), "f")
    assert packages._state
    time.sleep(2 * packages._FRESH)
    installed(BRINGS)
    assert hasattr(ops(ns), "f")


def test_packages_that_come_in_the_tick_of_a_look_are_found(installed, ns, tmp_path, monkeypatch):
    """The time of the folder is the same before and after."""
    monkeypatch.setattr(packages, "_TICK", 10**12)
    tick = time.time_ns()
    for name in (f"other_{ns}", ns):
        installed("pass", f"{name} = MODULE")
        os.utime(tmp_path / "site", ns=(tick, tick))
        assert load_plugins(name) == [name]


def test_load_plugins_by_name_and_all(installed, ns):
    name = installed(BRINGS)
    with pytest.raises(LookupError) as caught:
        load_plugins("nobody_brings_this")
    message = str(caught.value.args[0])
    assert message.startswith(
        "no installed package has an entry point 'nobody_brings_this' in the group opyard.plugins; "
        "there are: "
    )
    assert ns in message
    assert load_plugins(ns) == [ns] and name in sys.modules


def test_a_plugin_that_was_loaded_by_one_that_fails_stays(installed, ns, x):
    inner = installed(BRINGS.replace("NS", f"{ns}_inner"), "NS_inner = MODULE")
    installed("""
        import opyard
        opyard.ops.NS_inner.f
        raise OSError("outer")
    """)
    with pytest.raises(ImportError, match="OSError: outer"):
        want(ns)
    assert inner in sys.modules
    assert ops(f"{ns}_inner").f(x).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("how", ["import PART", "import PART.part", "from PART import part"])
def test_a_part_that_stayed_behind_registers_again(fails_once, ns, x, tmp_path, how):
    """The package fails once, when its part has registered."""
    part = f"part_{ns}_{how[:4]}{'.' in how}"
    if how == "import PART":
        (tmp_path / "site" / f"{part}.py").write_text(textwrap.dedent(BRINGS.replace("NS", ns)))
    else:
        (tmp_path / "site" / part).mkdir()
        (tmp_path / "site" / part / "__init__.py").write_text("")
        __import__(part)  # stays, and must not keep the attribute `part`
        (tmp_path / "site" / part / "part.py").write_text(textwrap.dedent(BRINGS.replace("NS", ns)))
    fails_once(f"{how.replace('PART', part)}\nFAIL")
    try:
        with pytest.raises(ImportError, match="first time"):
            want(ns)
        assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]
    finally:
        for each in (part, f"{part}.part"):
            sys.modules.pop(each, None)


def test_a_function_that_fails_once_finds_its_module_imported_again(fails_once, ns, x):
    fails_once(BRINGS + "    def register():\n        FAIL\n", "NS = MODULE:register")
    with pytest.raises(ImportError, match="first time"):
        want(ns)
    assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]


def test_modules_that_registered_nothing_stay_when_a_plugin_fails(installed, ns, tmp_path):
    other = f"other_{ns}"
    (tmp_path / "site" / f"{other}.py").write_text("")
    installed(f"import {other}\nraise OSError")
    with pytest.raises(ImportError, match="OSError"):
        want(ns)
    assert sys.modules.pop(other)


def test_a_thread_waits_for_another_that_imports_the_package(installed, shared, ns, x):
    [started] = shared(threading.Event())
    name = installed("""
        import opyard, time
        opyard.testing._shared[0].set()
        time.sleep(0.3)
    """ + BRINGS.replace("    ", "        "))  # fmt: skip
    thread = threading.Thread(target=lambda: __import__(name))
    thread.start()
    try:
        assert started.wait(20)
        assert ops(ns).f(x).tolist() == [2.0, 4.0, 6.0]
    finally:
        thread.join()


@pytest.mark.parametrize("value", ["bad value ! here", ":function", "module:"])
def test_an_entry_point_that_names_no_module_is_named(installed, ns, value):
    name = installed("", f"NS = {value}", name=f"malformed_{ns}")
    for ask in (want, load_plugins):
        with pytest.raises(ImportError) as caught:
            ask(ns)
        assert str(caught.value) == (
            f"the entry point {ns} = {value} of the group opyard.plugins (distribution {name} 1.5) "
            "names no module: accepted are 'module' and 'module:function'"
        )


def test_an_exception_without_a_text_is_named_by_its_type(installed, ns):
    installed("""
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError
        raise Mute
    """)
    with pytest.raises(ImportError, match=r"failed: Mute: \(its __str__ raised RuntimeError\)\. "):
        want(ns)


def test_the_wait_for_another_thread_ends(installed, ns, monkeypatch):
    from opyard._plugins import packages as _entry_points

    monkeypatch.setattr(_entry_points, "_LONGEST_WAIT", 0.05)
    name = installed(BRINGS)
    [point] = _entry_points._entry_points()[ns]
    with point.lock:
        with pytest.raises(ImportError) as caught:
            want(ns)
    assert str(caught.value) == (
        f"the entry point {ns} = {name} of the group opyard.plugins (distribution {name} 1.5): "
        "another thread has been loading it for 0 seconds; it may be waiting for a "
        "module that this thread imports"
    )


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
    from opyard._plugins import packages

    asked = []

    def invalidate_caches():
        asked.append(1)
        if len(asked) < 3:
            raise KeyError("/a/folder")

    monkeypatch.setattr("importlib.invalidate_caches", invalidate_caches)
    packages._invalidate_caches()
    assert len(asked) == 3
