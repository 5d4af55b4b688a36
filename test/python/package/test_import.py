"""test_import.py: effects of `import opyard`: the modules that it loads, and no others.

Suspect opyard/__init__.py, and who imports a module while it is imported.
"""

import sys

import pytest

EXPORTS = [
    "Tensor", "tensor", "from_numpy", "from_dlpack", "dtype", "device", "Generator", "ops",
    "load_library", "unload_library", "loaded_libraries", "uint8", "int8", "int16", "int32",
    "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool",
]  # fmt: skip


@pytest.mark.parametrize("name", EXPORTS)
def test_the_package_exports(name):
    import opyard

    assert getattr(opyard, name) is not None
    assert name in dir(opyard)


def test_every_dtype_of_the_extension_is_exported():
    import opyard

    names = [name for name, value in vars(opyard._C).items() if isinstance(value, opyard.dtype)]
    assert len(names) == 15
    assert all(getattr(opyard, name) is getattr(opyard._C, name) for name in names)


def test_version_is_that_of_the_build():
    import opyard
    from opyard import _build_info

    assert opyard.__version__ == _build_info.version


def test_import_loads_little(run_program):
    done = run_program(
        """
        import sys
        before = set(sys.modules)
        import opyard
        print(*sorted(set(sys.modules) - before))
        with open("/proc/self/maps") as maps:
            print("kernels" if "opyard_kernels" in maps.read() else "no kernels")
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    modules, kernels = done.stdout.splitlines()
    ours = {name for name in modules.split() if name.startswith("opyard")}
    assert ours == {
        "opyard",
        "opyard._C",
        "opyard._build_info",
        "opyard._core",
        "opyard._core.forking",
        "opyard._core.ops",
        "opyard._hooks",
        "opyard._version",
    }
    # Bare Python has the rest already; a module of the standard library costs a millisecond.
    assert {*modules.split()} - ours <= {"atexit"}
    assert kernels == "no kernels"


@pytest.mark.parametrize("name", ["library", "dispatch", "schema"])
def test_submodules_are_attributes_that_load_when_named(run_program, name):
    done = run_program(
        f"""
        import sys
        import opyard
        assert "opyard.{name}" not in sys.modules
        assert "{name}" in dir(opyard)
        module = opyard.{name}
        assert module is sys.modules["opyard.{name}"], module
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_submodule_is_no_attribute():
    import opyard

    with pytest.raises(AttributeError, match=r"^module 'opyard' has no attribute 'nope'$"):
        opyard.nope  # noqa: B018


def test_tensors_work_without_numpy(run_program):
    done = run_program(
        """
        import sys
        sys.modules["numpy"] = None  # every import of it fails
        import opyard
        t = opyard.tensor([1.0, 2.0])
        print(t.shape, opyard.ops.aten.add(t, t).tolist())
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "(2,) [2.0, 4.0]\n"


PURGE = """
import gc, sys
def purge():
    for name in [name for name in sys.modules if name.partition(".")[0] == "opyard"]:
        del sys.modules[name]
"""


def test_importing_again_after_sys_modules_was_emptied(run_program):
    done = run_program(
        PURGE
        + """
import opyard as first
from opyard.dispatch import DispatchKey, explain
from opyard.library import Library, override
t = first.tensor([1.0, 2.0])
library = Library("again", "FRAGMENT")
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: x, "CPU")
handle = first.ops.again.f.default
view = memoryview(t)
for _ in range(3):
    purge()
    gc.collect()
    import opyard
    assert opyard is not first and opyard is sys.modules["opyard"]
    assert opyard.Tensor is first.Tensor and opyard.float32 is first.float32
    # What is new and what is old understand each other.
    assert opyard.ops.again.f(t) is t and handle(opyard.tensor([3.0])).item() == 3
    assert repr(opyard.tensor([1]) + t) == repr(first.tensor([1]) + t) == "tensor([2., 3.])"
    assert opyard.dispatch.DispatchKey.CPU == DispatchKey.CPU
    assert str(opyard.schema.parse("a(Tensor x) -> Tensor")) == "a(Tensor x) -> Tensor"
    assert opyard.dispatch.explain(handle, t).key == explain("again::f", t).key
    with opyard.library.override("again::f", "CPU", lambda x: x * 2):
        assert first.ops.again.f(t).tolist() == [2.0, 4.0]
    with override(opyard.ops.again.f, "CPU", lambda x: x * 3):
        assert opyard.ops.again.f(t).tolist() == [3.0, 6.0]
    assert first.schema is opyard.schema
    opyard.library.Library("again", "FRAGMENT").define("g(int n) -> int")
    gc.collect()
print("done")
"""
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "done\n")


def test_reloading_the_package(run_program):
    done = run_program(
        """
        import importlib, opyard
        t = opyard.tensor([1.0])
        assert importlib.reload(opyard) is opyard
        importlib.reload(opyard._core.ops)
        importlib.reload(opyard._hooks)
        assert importlib.reload(opyard).ops.aten.add(t, t).item() == 2
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["daemon", "atexit"])
def test_a_package_that_was_imported_again_ends_cleanly(run_program, kind):
    program = {
        "daemon": """
import threading, time
def work(op=opyard.ops.again.f, x=opyard.tensor([1.0])):
    while True:
        op(x)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.02)
""",
        # The first package has registered close(), so this still runs before it.
        "atexit": """
import atexit
atexit.register(lambda x=opyard.tensor([1.0]): print(opyard.ops.again.f(x).item()))
""",
    }[kind]
    if kind == "daemon" and sys.version_info[:2] == (3, 10):
        pytest.skip("CPython 3.10 itself crashes now and then when daemon threads are running")
    done = run_program(
        PURGE
        + """
import opyard
library = opyard.library.Library("again", "FRAGMENT")
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: x, "CPU")
purge()
import opyard
"""
        + program
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("1.0\n" if kind == "atexit" else "")


def test_importing_again_after_the_end_began_says_so(run_program):
    done = run_program(
        PURGE
        + """
import atexit
@atexit.register
def last():
    purge()
    try:
        import opyard
    except NotImplementedError as error:
        print(error)
import opyard
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "opyard was imported while the Python interpreter is ending, after it was closed; import "
        "it before, and keep it\n"
    )


def test_the_versions_that_are_built_for():
    assert (3, 10) <= sys.version_info[:2] <= (3, 15)
