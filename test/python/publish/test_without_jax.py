"""test_without_jax.py: opyard.jax without JAX, with an old one, without its library, and import.

Suspect publish/python/opyard/_jax/library.py.
"""

import subprocess
import sys
import types

import pytest

import opyard
from opyard import _build_info
from opyard._jax import library

pytestmark = pytest.mark.once


def test_the_package_does_not_import_JAX():
    program = (
        "import sys, opyard, opyard.jax; names = [n for n in sys.modules if n.split('.')[0] in "
        "('jax', 'jaxlib')]; assert not names, names; from opyard import *; "
        "assert 'jax' not in globals()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_JAX_it_says_what_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"JAX, which cannot be imported here.*0\.10 or newer"):
        opyard.jax.publish("aten")


@pytest.mark.parametrize(
    ("version", "words"), [("0.4.35", r"0\.4\.35"), (None, "is not JAX")], ids=["old", "other"]
)
def test_an_old_or_another_module_is_refused(monkeypatch, version, words):
    fake = types.ModuleType("jax")
    if version:
        fake.__version__ = version
    monkeypatch.setitem(sys.modules, "jax", fake)
    with pytest.raises(ImportError, match=words):
        opyard.jax.publish("aten")


def test_without_its_library_it_says_which_file(monkeypatch):
    fake = types.ModuleType("jax")
    fake.__version__ = "1.0"
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.setattr(_build_info, "xla", "/nowhere/libopyard_xla.so")
    monkeypatch.setattr(
        library, "_handlers", library._handlers.__wrapped__
    )  # loaded before, perhaps
    with pytest.raises(ImportError, match="needs the library /nowhere/libopyard_xla.so, which is"):
        opyard.jax.publish("aten")
