"""Sessions that tests of a file share: starting one takes as long as hundreds of calls."""

import pytest

import opyard.remote


@pytest.fixture(scope="module")
def pipes():
    with opyard.remote.session("pipes", workers=2, timeout=60.0) as made:
        yield made
