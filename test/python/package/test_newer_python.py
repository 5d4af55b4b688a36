"""Layout checks of a CPython that is newer than the tested ones.

Suspect pyfallback/runtime/newer_python.cpp.
"""

import platform

import pytest


def test_the_layout_of_this_cpython_is_the_expected_one(border):
    assert border.failed_layout_check() is None


def test_a_newer_cpython_is_warned_of_and_works(border):
    with pytest.warns(RuntimeWarning) as warned:
        border.meet_newer_python(None)
    assert [str(one.message) for one in warned] == [
        f"opyard is tested with CPython 3.10 to 3.15, and this is {platform.python_version()}: "
        "its layout is the expected one, and nothing else was tried"
    ]


def test_a_cpython_of_another_layout_is_refused(border):
    with pytest.raises(ImportError) as refused:
        border.meet_newer_python("the version of a type", KeyError)
    assert str(refused.value) == (
        "opyard is tested with CPython 3.10 to 3.15, and cannot work on this "
        f"{platform.python_version()}: the version of a type is not what it relies on. Use a "
        "tested version, or an Opyard that knows this one"
    )
    assert isinstance(refused.value.__cause__, KeyError)
