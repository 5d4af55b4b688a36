"""Frameworks for the tests of publishing: tests skip without one, unless all have to be there."""

import importlib
import os

import pytest


def require(name):
    """The module `name`; skips the file without it, or fails if OPYARD_FRAMEWORKS is set."""
    if os.environ.get("OPYARD_FRAMEWORKS"):
        return importlib.import_module(name)
    return pytest.importorskip(name)
