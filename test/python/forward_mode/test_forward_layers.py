"""test_forward_layers.py: forward mode beside layers that a program has named above Autograd.

There are two, of which forward mode takes one with the first level of a process. Suspect
autograd/src/tape/forward_levels.cpp.
"""

import pytest
from processes import run

pytestmark = pytest.mark.once

# What comes to a layer of the program is noted, and goes on below; tangents are to be right.
PROGRAM = """
import sys
import opyard
from opyard import dispatch
from opyard.autograd import forward_ad
from opyard.library import Library

seen, kept = [], []

def name_layer(name):
    key = dispatch.register_layer(name, "AboveAutograd")

    def noted(keys, op, *args, **kwargs):
        seen.append((name, op.name()))
        with dispatch.ExcludeDispatchKeyGuard(dispatch.DispatchKeySet(key)):
            return op(*args, **kwargs)

    library = Library("_", "IMPL", name)
    library.fallback(noted, with_keyset=True)
    kept.append((library, dispatch.IncludeDispatchKeyGuard(dispatch.DispatchKeySet(key))))

def sine_has_its_tangent():
    seen.clear()
    with forward_ad.dual_level():
        x = forward_ad.make_dual(opyard.tensor([0.0]), opyard.tensor([2.0]))
        slope = forward_ad.unpack_dual(within(opyard.ops.aten.sin, x)).tangent
    assert slope.tolist() == [2.0], slope

def within(op, x):
    import contextlib
    with contextlib.ExitStack() as stack:
        for _, included in kept:
            stack.enter_context(included)
        return op(x)

for step in sys.argv[1:]:
    if step == "level":
        sine_has_its_tangent()
        names = {name for name, op in seen if op.startswith("aten::sin")}
        assert names == {"Mine"} if kept else not names, seen
    else:
        name_layer(step)
print("done")
"""


@pytest.mark.parametrize("steps", [["level", "Mine", "level"], ["Mine", "level", "level"]])
def test_a_layer_of_the_program_and_forward_mode_see_one_call(steps):
    ended = run(PROGRAM, *steps)
    assert (ended.stdout.strip(), ended.stderr) == ("done", "")


def test_forward_mode_says_that_a_program_has_named_both_layers():
    ended = run(PROGRAM, "Mine", "Other", "level")
    assert ended.stderr.strip().splitlines()[-1] == (
        "RuntimeError: forward mode takes one of the two layers above Autograd, and this program "
        "has named both: Mine, Other. A level that is opened before the second one is named takes "
        "the other for the whole process"
    )


def test_a_level_before_the_second_layer_keeps_one_for_forward_mode():
    ended = run(PROGRAM, "Mine", "level", "Other")
    assert (
        ended.stderr.strip()
        .splitlines()[-1]
        .endswith(
            'there is no layer left to call "Other" in this gap; both are taken: Mine, ForwardMode'
        )
    )
