"""Fixtures of this room."""

import gc
import importlib
import itertools
import sys
import textwrap
import types

import pytest

import opyard
from opyard import ops
from opyard.library import Library, custom_op

aten = ops.aten


@pytest.fixture
def make(ns):
    """custom_op() in a namespace of this test, unregistered at the end."""
    made = []

    def make(fn=None, /, name=None, *, mutates_args=(), **more):
        def decorate(fn):
            made.append(custom_op(f"{ns}::{name or fn.__name__}", fn, mutates_args=mutates_args,
                                  **more))  # fmt: skip
            return made[-1]

        return decorate if fn is None else decorate(fn)

    yield make
    for each in made:
        each._destroy()


@pytest.fixture
def meta():
    return aten.empty([3], device="meta")


_numbers = itertools.count()


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
    # They are gone: a session of a later test must not ask its workers for them.
    packages = sys.modules.get("opyard._plugins.packages")
    for key, point in list(packages._known.items() if packages is not None else ()):
        if point.distribution.partition(" ")[0] in made:
            del packages._known[key]


@pytest.fixture
def shared(monkeypatch):
    """Gives a module to be an object of the test, as opyard.testing._shared."""

    def share(*objects):
        monkeypatch.setattr(opyard.testing, "_shared", objects, raising=False)
        return objects

    return share


@pytest.fixture
def foo(library):
    """foo(Tensor x) -> str, with a Python kernel at CPU that answers "first"."""
    library.define("foo(Tensor x) -> str")
    library.impl("foo", lambda x: "first", "CPU")
    return getattr(opyard.ops, library.ns).foo


_numbers = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch, ns):
    """Writes a module and imports it, or reloads it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"reloaded_{ns}_{next(_numbers)}"

    class Module:
        def __call__(self, text):
            text = "from opyard.library import Library\nimport opyard\n" + textwrap.dedent(text)
            (tmp_path / f"{name}.py").write_text(text.replace("NS", ns))
            sys.dont_write_bytecode, former = True, sys.dont_write_bytecode
            importlib.invalidate_caches()
            try:
                if name in sys.modules:
                    return importlib.reload(sys.modules[name])
                return importlib.import_module(name)
            finally:
                sys.dont_write_bytecode = former

    made = Module()
    made.name = name
    yield made
    sys.modules.pop(name, None)
    gc.collect()


@pytest.fixture
def cell(ns):
    """Runs texts as the cells of one notebook, each with its file name."""
    name = f"notebook_{ns}"
    sys.modules[name] = types.ModuleType(name)

    def run(text, file):
        code = compile(textwrap.dedent(text).replace("NS", ns), file, "exec")
        exec(code, sys.modules[name].__dict__)
        return sys.modules[name]

    sys.modules[name].Library = Library
    sys.modules[name].opyard = opyard
    yield run
    del sys.modules[name]
    gc.collect()
