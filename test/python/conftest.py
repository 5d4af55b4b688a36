"""Fixtures of the Python tests: the built package, namespaces of their own, plugins."""

import gc
import itertools
import os
import re
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from built import import_border, plugin_path
from parts import PARTS, is_left_out

# A wrong formula fails when it is registered.
os.environ.setdefault("OPYARD_CHECK_FORMULAS", "1")

_numbers = itertools.count()


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        choices=PARTS,
        default="all",
        help="which files: all; elsewhere: what may differ between CPythons, with a tenth of the "
        "volume; memory, threads: those of sanitizers (see parts.py)",
    )


def pytest_configure(config):
    part = config.getoption("--part")
    if part == "elsewhere":
        os.environ.setdefault("OPYARD_TEST_VOLUME", "0.1")


def pytest_ignore_collect(collection_path, config):
    registered = {re.split(r"[:(]", line)[0].strip() for line in config.getini("markers")}
    return is_left_out(collection_path, config.getoption("--part"), registered) or None


# They compare whole tables of keys, in which forward mode names a layer for good.
FIRST = {"test_registry_model.py"}


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in FIRST)


@pytest.fixture(scope="module", autouse=True)
def quick_collections():
    """Takes what is there before each module out of what the collector looks at.

    Thousands of collected tests are alive, and each `gc.collect()` of a test would walk through all
    of them (65 ms a call). Nothing else changes: what is frozen is still freed by its count.
    """
    gc.collect()
    gc.freeze()


# Threads that a library keeps for the process, by the beginning of their names.
KEPT = ("Dask-Offload", "ThreadPoolExecutor")


@pytest.fixture(scope="module", autouse=True)
def threads_end():
    """A module's threads end with it: profiles of later modules would show them."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 10

    def new_threads():
        now = set(threading.enumerate()) - before
        return {
            each
            for each in now
            # One that C++ began is there by a name for good, once it has run Python.
            if type(each) is not threading._DummyThread and not each.name.startswith(KEPT)
        }

    while (left := new_threads()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"threads that do not end: {sorted(each.name for each in left)}"


@pytest.fixture
def ns():
    """A namespace that no other test uses: operators are never freed, so names are not reused."""
    return f"t{next(_numbers)}"


@pytest.fixture
def library(ns):
    """A Library that may define operators in `ns`, unregistered at the end."""
    from opyard.library import Library

    made = Library(ns, "FRAGMENT")
    yield made
    made._undo()


@pytest.fixture
def define(library):
    """Defines an operator of `ns` with kernels by key, and gives its packet."""
    import opyard

    def define(schema, /, **kernels):
        name = library.define(schema).partition("::")[2].partition(".")[0]
        for key, kernel in kernels.items():
            library.impl(schema.partition("(")[0], kernel, key)
        return getattr(getattr(opyard.ops, library.ns), name)

    return define


@pytest.fixture
def x():
    """A small float32 tensor."""
    import opyard

    return opyard.tensor([1.0, 2.0, 3.0])


@pytest.fixture(scope="session")
def plugin():
    """The operators of plugin.cpp, below ops.test_plugin."""
    import opyard

    opyard.load_library(plugin_path("opyard_test_plugin"))
    return opyard.ops.test_plugin


@pytest.fixture(scope="session")
def border():
    return import_border()


@pytest.fixture
def throwing_plugin():
    """The path of a plugin that cannot be registered."""
    return plugin_path("opyard_throwing_plugin")


@pytest.fixture
def run_program(tmp_path):
    """Runs a program in a fresh interpreter and gives the finished process."""

    # It reads the volume, which is known behind pytest_configure().
    from processes import environment_of_a_user

    def run(program, *arguments, timeout=60):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program), "utf-8")
        return subprocess.run(
            [sys.executable, str(file), *map(str, arguments)],
            env=environment_of_a_user(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture
def collect():
    """Runs the collector until it finds nothing more."""

    def collect():
        while gc.collect():
            pass

    return collect


@pytest.fixture
def formulas_unread():
    """Formulas are read at their first use, as without OPYARD_CHECK_FORMULAS."""
    from opyard import autograd

    former = autograd.check_formulas_at_registration(False)
    yield
    autograd.check_formulas_at_registration(former)
