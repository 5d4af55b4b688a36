"""test_without_torch.py: opyard.torch without PyTorch, with an old one, and import of the package.

Suspect publish/python/opyard/_torch/library.py.
"""

import subprocess
import sys
import types

import pytest

import opyard

pytestmark = pytest.mark.once


def test_the_package_does_not_import_pytorch():
    program = (
        "import sys, opyard, opyard.torch; names = [n for n in sys.modules if n.split('.')[0] == "
        "'torch']; assert not names, names; from opyard import *; assert 'torch' not in globals()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_pytorch_it_says_what_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"PyTorch, which cannot be imported here.*2\.6 or newer"):
        opyard.torch.publish("aten")


@pytest.mark.parametrize(
    ("version", "words"), [("2.5.1+cpu", "2.5.1"), (None, "is not PyTorch")], ids=["old", "other"]
)
def test_an_old_or_another_module_is_refused(monkeypatch, version, words):
    fake = types.ModuleType("torch")
    if version:
        fake.__version__ = version
    monkeypatch.setitem(sys.modules, "torch", fake)
    with pytest.raises(ImportError, match=words):
        opyard.torch.publish("aten")
