"""test_chains.py: long chains of arrays and tensors on one memory are dropped without the C stack.

Suspect [Chains] in runtime/drop_list.h. Each chain is in a process of its own, on a small stack.
"""

import pytest
from processes import run

LINKS = {
    "numpy": "x = opyard.from_numpy(x.numpy())",
    "memoryview": "x = opyard.from_numpy(memoryview(x))",
    "dlpack": "x = opyard.from_dlpack(x)",
    "numpy by dlpack": "x = opyard.from_dlpack(np.from_dlpack(x))",
    "operator": "x = opyard.from_numpy(np.asarray(opyard.ops.aten.alias(x)))",
}

PROGRAM = """
import gc, resource, sys, threading
import numpy as np
import opyard
link, count = sys.argv[1], int(sys.argv[2])
gc.disable()

def chain():
    x = opyard.tensor([1.0, 2.0])
    scope = {"x": x, "opyard": opyard, "np": np}
    del x
    exec(f"for _ in range({count}): {link}", scope)
    assert scope["x"].tolist() == [1.0, 2.0]
    print("made", flush=True)
    scope.clear()
    print("dropped", flush=True)

opyard.ops.aten.alias
threading.stack_size(512 * 1024)
thread = threading.Thread(target=chain)
thread.start()
thread.join()
x = opyard.tensor([3.0])
assert opyard.from_numpy(x.numpy()).tolist() == [3.0]
"""


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_P7_a_chain_is_dropped_without_the_c_stack(link):
    ended = run(PROGRAM, link, "30000", limit=60)
    assert (ended.code, ended.stdout.split()) == (0, ["made", "dropped"]), ended.stderr


def test_P7_a_million_links_of_the_commonest_kind():
    ended = run(PROGRAM, LINKS["numpy"], "1000000", limit=120)
    assert (ended.code, ended.stdout.split()) == (0, ["made", "dropped"]), ended.stderr
