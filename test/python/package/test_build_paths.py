"""test_build_paths.py: no library holds the path of the machine that it was built on.

Suspect -fmacro-prefix-map in the meson.build of the root.
"""

import re

import pytest
from built import ROOT, build_folder, plain_build

pytestmark = pytest.mark.once


@plain_build
def test_registrations_are_placed_by_the_path_in_the_project():
    folder = build_folder()
    libraries = [
        path
        for path in folder.rglob("*.so")
        if path.relative_to(folder).parts[0] not in ("test", "examples") and path.is_file()
    ]
    assert len(libraries) > 10, libraries
    kernels = (folder / "kernels/opyard_kernels.so").read_bytes()
    assert b"\0kernels/src/library.cpp\0" in kernels
    assert b"../kernels/src/" not in kernels
    # A library in a build folder finds the others there.
    here = re.compile(re.escape(f"{ROOT}/".encode()) + rb"(?!build/)")
    assert [path.name for path in libraries if here.search(path.read_bytes())] == []
