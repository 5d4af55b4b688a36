"""test_folder_calls.py: calls between folders of a layer point downward, as their includes do.

Suspect the source that a fault names; the orders are in tools/checks/orders.py. compiled_calls.py
reads the calls from what was built. Where it cannot, in a tree that compiles 25 sources as one and
has no line tables, a row says so: the suite python-asan runs them all.
"""

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT, build_folder
from compiled_calls import CLEAN, LIBRARIES, Calls, calls_by_lines, calls_of

sys.path.insert(0, str(ROOT / "tools"))
from checks import sources
from checks.orders import idea_of

pytestmark = [pytest.mark.once, pytest.mark.memory]


@functools.cache
def required_calls(layer) -> Calls:
    calls = calls_of(layer)
    if calls is None:
        pytest.skip(
            f"{build_folder().name} has many sources of {layer}/ in an object, and no line tables; "
            "tools/test --suite python-asan reads these calls"
        )
    assert sum(map(len, calls.values())) > 5
    return calls


@pytest.mark.parametrize("layer", LIBRARIES)
def test_no_folder_calls_what_a_folder_above_it_defines(layer):
    """The includes of a declaration may point downward while the call points upward."""
    upward = {
        (str(path), str(other), name)
        for path, calls in required_calls(layer).items()
        for other, name in calls.items()
        if idea_of(other)[0] > idea_of(path)[0]
    }
    assert upward == set()


# Folders with sources that call each other: one structure, whose sources each have a part of it.
ONE_PIECE = {
    "dispatcher/base",
    "dispatcher/tensor",
    "dispatcher/value",
    "dispatcher/schema",
    "jit/ir",
    "jit/text",
    "jit/code",
    "jit/trace",
    "models/exported",
    "autograd/tape",
    "profiler/capture",
    "remote/",
    "pyfallback/runtime",
    "pyfallback/objects/arrays",
    "pyfallback/objects/tensor",
    "pyfallback/objects/convert",
}


def circles(calls):
    """The sets of sources that reach each other."""
    reached = {path: set(others) for path, others in calls.items()}
    for through in reached:
        for others in reached.values():
            if through in others:
                others |= reached[through]
    return {
        frozenset({other for other in others if path in reached[other]})
        for path, others in reached.items()
        if path in others
    }


def test_sources_that_reach_each_other_are_found():
    calls = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d"}, "e": set()}
    assert circles(calls) == {frozenset("bc"), frozenset("d")}


@pytest.mark.parametrize("layer", LIBRARIES)
def test_no_sources_of_a_folder_call_each_other_in_a_circle(layer):
    found = {
        f"{layer}/{idea_of(path)[1]}": sorted(str(one) for one in circle)
        for circle in circles(required_calls(layer))
        for path in circle
    }
    assert {folder: circle for folder, circle in found.items() if folder not in ONE_PIECE} == {}


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_a_call_within_one_object_is_read_from_its_lines(tmp_path, monkeypatch):
    low, high = Path("jit/src/ir/low.cpp"), Path("jit/src/passes/high.cpp")
    texts = {
        low: "int high(int);\nint low(int x) { return high(x) + 1; }\n",
        high: "int more(int);\nint high(int x) { return more(x) + more(x + 1) + more(x + 2); }\n",
        Path("unity0.cpp"): f'#include "{low}"\n#include "{high}"\n',
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    library = tmp_path / "build" / "libopyard_jit.so"
    (made := library.parent / "libopyard_jit.so.p").mkdir(parents=True)
    unit = f"{made}/jit-unity0.cpp.o"
    for command in (
        ["git", "init", "--quiet"],
        ["c++", "-O1", "-g1", "-fPIC", "-fvisibility=hidden", "-o", unit, "-c", "unity0.cpp"],
        ["c++", "-shared", unit, "-o", str(library)],
    ):
        subprocess.run(command, cwd=tmp_path, env=CLEAN, check=True)
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    assert calls_by_lines("jit", library) == {low: {high: "_Z4highi"}, high: {}}
