"""test_entry_points.py: installed packages bring their operators when these are first wanted.

Suspect _plugins/packages.py, and load_for() of _core/ops.py.
"""

import os
import sys
import textwrap
import threading
import time

import pytest

import opyard
from opyard import dispatch
from opyard._plugins import packages
from opyard.library import load_plugins

X = opyard.tensor([1.0])

BRINGS = """
    from opyard.library import Library
    lib = Library("NS", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
"""


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
    assert opyard._core.ops._notes == {}
    assert opyard._core.ops.notes() is None


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


def test_a_malformed_entry_point_of_another_group_hides_none(installed, ns, x):
    installed("", "[console_scripts]\nbad = not ! a name", name=f"malformed_{ns}")
    installed(BRINGS)
    assert want(ns)(x).tolist() == [2.0, 4.0, 6.0]


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
