"""test_c_exports.py: libopyard offers C exactly what its headers declare.

Suspect export.h, and what was declared in one place and not in the other.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from built import plain_build

from opyard import _build_info

pytestmark = pytest.mark.once


def header(name):
    for folder in _build_info.include_dirs:
        path = Path(folder) / "opyard" / name
        if path.is_file():
            return re.sub(r"//.*", "", path.read_text("utf-8"))
    raise AssertionError(f"no header {name} in {_build_info.include_dirs}")


@plain_build
def test_every_function_of_the_c_headers_is_exported_and_nothing_else():
    if shutil.which("nm") is None:
        pytest.skip("there is no nm here")
    declared = set()
    for name in ("c_api.h", "ffi/c_error.h"):
        declared |= set(re.findall(r"OPYARD_API [^;(]*?\b(opyard_\w+)\(", header(name)))
    assert len(declared) > 60, "the headers were read"
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", _build_info.library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    symbols = {line.split()[-1] for line in listed.splitlines()}
    assert {name for name in symbols if not name.startswith("_Z")} == declared
    internal = [name for name in symbols if "5c_api" in name]
    assert internal == [], "what the functions are made of stays inside"
