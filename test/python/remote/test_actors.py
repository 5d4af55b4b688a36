"""test_actors.py: frames as arguments of an engine's call, and back, without an engine.

Suspect remote/python/opyard/_remote/actors.py.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opyard._remote.actors import carried, separated

pytestmark = pytest.mark.once


@given(st.lists(st.sampled_from([0, 1, 15, 16, 17, 200, 4095, 4096, 5000]), max_size=9))
def test_small_frames_travel_as_one_argument_and_large_ones_uncopied(sizes):
    frames = [bytes([n + 1]) * size for n, size in enumerate(sizes)]
    large = [each for each in frames if len(each) >= 4096]
    arguments = carried(frames, lambda each: each)
    assert all(a is b for a, b in zip(arguments[1:], large, strict=True))
    read = separated(arguments)
    assert [bytes(each) for each in read] == frames
    assert read == [memoryview(each) for each in frames]
