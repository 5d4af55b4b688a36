"""The built package under test, the plugins beside it, and the sources that it was built from."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "test"

# For tests of what a sanitizer changes: symbols, stacks, the memory allocator, the environment.
plain_build = pytest.mark.skipif("OPYARD_SANITIZER" in os.environ, reason="a sanitizer changes it")


def build_folder():
    """The build directory that the package under test is in."""
    import opyard

    return Path(opyard.__file__).resolve().parents[2]


def plugin_path(name):
    path = build_folder() / "test" / "python" / f"{name}.so"
    if not path.exists():
        pytest.skip(f"{path.name} is not built here: the tests of this build are off")
    return path


def import_border():
    """The extension module of border.cpp, of this CPython."""
    return import_extension("opyard_test_border")


def import_arrays():
    """The library of arrays in arrays.c, of this CPython."""
    return import_extension("opyard_test_arrays")


def import_extension(name):
    import importlib.machinery
    import importlib.util

    if name not in sys.modules:
        suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
        path = plugin_path(name + suffix.removesuffix(".so"))
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def libpython():
    """The shared library of this CPython, for C++ programs with Python inside."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    path = Path(sysconfig.get_config_var("LIBDIR") or "") / name
    # One that was unpacked aside (tools/newer_pythons) names the folder that it was built for.
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    aside = Path(sys.base_prefix) / "lib" / multiarch / name
    path = aside if aside.exists() else path
    if ".so" not in name or not path.exists():
        pytest.skip(
            f"this CPython has no shared libpython ({path}), which a C++ program could open"
        )
    return path


def beside_this_python(program):
    """The command that starts a C++ program with the C library that this CPython was built for: the
    system's is older, if the CPython was unpacked aside."""
    libraries = Path(sys.base_prefix) / "lib" / (sysconfig.get_config_var("MULTIARCH") or "")
    loader = Path(sys.base_prefix) / "lib64" / "ld-linux-x86-64.so.2"
    if sys.base_prefix == "/usr" or not loader.exists():
        return [str(program)]
    return [str(loader), "--library-path", str(libraries), str(program)]
