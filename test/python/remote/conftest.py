"""Sessions that tests of a file share: starting one takes as long as hundreds of calls."""

import importlib
import os

import pytest

import opyard.remote


@pytest.fixture(scope="module")
def pipes():
    with opyard.remote.session("pipes", workers=2, timeout=60.0) as made:
        yield made


@pytest.fixture(scope="module", params=["ray", "dask"])
def engine(request):
    """The name of an engine; skips without it, or fails if OPYARD_ENGINES is set."""
    module = {"ray": "ray", "dask": "distributed"}[request.param]
    if os.environ.get("OPYARD_ENGINES"):
        importlib.import_module(module)
    pytest.importorskip(module)
    return request.param
