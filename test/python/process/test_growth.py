"""test_growth.py: memory that is never freed is bounded as docs/guides/reloading.md says.

Bytes are those that malloc() has given and not got back, in a process where Python's own objects
come from malloc() too. Each row does its thing often, once to warm up and twice to count, since a
table of Python's own may grow meanwhile: the lower counts. A limit is some ten per cent above what
was measured. Suspect registry/operator_entry.h for names, _ops.py for namespaces,
base/shared_library.cpp for plugins.
"""

import os
from pathlib import Path

import pytest
from processes import run

pytestmark = pytest.mark.once

PLUGINS = Path(os.environ["OPYARD_BUILD"]) / "test/cpp/plugins"

PROLOGUE = """
    import ctypes, os, shutil, sys
    import opyard

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in
                    ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")]

    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Info

    def in_use():
        import gc
        gc.collect()
        info = libc.mallinfo2()
        return info.uordblks + info.hblkhd

    def mappings():
        with open("/proc/self/maps") as maps:
            return sum(1 for _ in maps)
"""

# Bytes that stay for each, at most.
ROWS = {
    "a name that was defined": (
        """
    library = opyard.library.Library("grow", "DEF")
    def do(i):
        with opyard.library.scoped_library("grow", "FRAGMENT") as fragment:
            fragment.define(f"name{i:06}(Tensor x) -> Tensor")
        """,
        2700,
    ),
    "the same name again": (
        """
    library = opyard.library.Library("grow", "DEF")
    def do(i):
        with opyard.library.scoped_library("grow", "FRAGMENT") as fragment:
            fragment.define("name(Tensor x) -> Tensor")
        """,
        8,
    ),
    "a namespace that was asked for": (
        """
    def do(i):
        getattr(opyard.ops, f"space{i:06}")
        """,
        720,
    ),
    "an operator that is not there": (
        """
    def do(i):
        assert not hasattr(opyard.ops.nowhere, f"name{i:06}")
        """,
        8,
    ),
    "a failing look-up of an overload": (
        """
    library = opyard.library.Library("grow", "DEF")
    library.define("f(Tensor x) -> Tensor")
    def do(i):
        assert not hasattr(opyard.ops.grow.f, f"overload{i:06}")
        """,
        8,
    ),
}


@pytest.mark.skipif("OPYARD_SANITIZER" in os.environ, reason="malloc() is the sanitizer's")
@pytest.mark.parametrize("what", ROWS)
def test_each_keeps_no_more_than_is_documented(what, monkeypatch):
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    do, most = ROWS[what]
    ended = run(
        PROLOGUE
        + do
        + """
    for i in range(1024):
        do(i)
    kept = []
    for first in (1024, 3 * 1024):
        before = in_use()
        for i in range(first, first + 2048):
            do(i)
        kept.append((in_use() - before) / 2048)
    print(min(kept))
""",
        limit=60,
    )
    assert ended.code == 0, ended.stderr
    assert float(ended.stdout) <= most


@pytest.mark.skipif("OPYARD_SANITIZER" in os.environ, reason="malloc() is the sanitizer's")
def test_a_plugin_that_changed_keeps_its_code_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    ended = run(
        PROLOGUE
        + """
    files, place = sys.argv[1:3], sys.argv[3]
    def do(i):
        if os.path.exists(place):
            os.remove(place)
        shutil.copy(files[i % 2], place)
        os.utime(place, (i, i))
        opyard.load_library(place).unload()
    for i in range(8):
        do(i)
    before, mapped, descriptors = in_use(), mappings(), len(os.listdir("/proc/self/fd"))
    for i in range(8, 24):
        do(i)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert os.listdir(os.path.dirname(place)) == [os.path.basename(place)], "a copy is left"
    print((in_use() - before) / 16, (mappings() - mapped) / 16)
""",
        *(PLUGINS / f"libtest_plugin_changing_{i}.so" for i in (1, 2)),
        tmp_path / "changing.so",
        limit=60,
    )
    assert ended.code == 0, ended.stderr
    kept, mapped = map(float, ended.stdout.split())
    assert kept <= 3_000
    assert mapped <= 6
