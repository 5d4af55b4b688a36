"""Fixtures of this room."""

import sys

import pytest


@pytest.fixture
def unraisable(monkeypatch):
    """What went to sys.unraisablehook."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda u: seen.append((u.object, u.exc_value)))
    return seen
