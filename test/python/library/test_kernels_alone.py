"""test_kernels_alone.py: warnings of kernels whose operators are not defined, at exit.

Suspect _library/kernels_alone.py. Warnings of libraries that end are in test_library.py.
"""

import pytest
from processes import run

LIBRARY = """
from opyard.library import Library
library = Library({namespace!r}, {kind!r})
library.impl("never_defined", lambda x: x, "CPU")
{more}
"""
WARNS = "UserWarning: Library(kind={kind}, ns={namespace}, dispatch_key=) ends with the process"


@pytest.mark.parametrize(
    ("namespace", "kind", "more", "warns"),
    [
        ("alone", "FRAGMENT", "", True),
        ("alone", "DEF", "", True),
        ("aten", "IMPL", "", True),
        ("another_package", "IMPL", "", False),
        ("alone", "FRAGMENT", "library.define('never_defined(Tensor x) -> Tensor')", False),
        ("alone", "FRAGMENT", "del library", "since no one has it any more"),
    ],
)
def test_a_module_that_keeps_its_library_is_warned_at_exit(namespace, kind, more, warns):
    done = run(LIBRARY.format(namespace=namespace, kind=kind, more=more))
    assert done.code == 0, done.stderr
    if warns is True:
        assert WARNS.format(namespace=namespace, kind=kind) in done.stderr
        assert f"{namespace}::never_defined at CPU" in done.stderr
    elif warns:
        assert warns in done.stderr and done.stderr.count("UserWarning") == 1
    else:
        assert done.stderr == ""
