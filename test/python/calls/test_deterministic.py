"""test_deterministic.py: the same text in every process, whatever the hash seed and the addresses.

Suspect what walks a hash table to print something.
"""

import os
import subprocess
import sys

# Prints all that is made of sets and tables, and in the end the sets of Python in their own order.
PROGRAM = """
import opyard
from opyard.dispatch import DispatchKeySet, dump, dump_table, explain
from opyard.library import Library
from opyard.schema import parse

names = ["f", "g.out", "h", "zeta", "alpha.a", "alpha.b", "k1", "k2", "k10"]
if "reversed" in sys.argv:
    names.reverse()
library = Library("same", "FRAGMENT")
for name in names:
    library.define(f"{name}(Tensor(c|a|b) x, Union(str, int, Tensor) n=1) -> Tensor(b|a)")
for name in names:
    for key in ("CPU", "AutogradCPU", "CompositeExplicitAutograd"):
        library.impl(name, lambda x, n=1: x, key)

for op in sorted(name for name in opyard._bind.operator_names() if name.startswith("same::")):
    print(dump(op), dump_table(op), sep="")
print(list(name for name in opyard._bind.operator_names() if name.startswith("same::")))
defined = [name[6:] for name in names if "alpha." in name]
print(dir(opyard.ops.same), opyard.ops.same.alpha.overloads() == defined)
print(explain(opyard.ops.same.h, opyard.tensor([1.0])))
print(DispatchKeySet(["CUDA", "CPU", "AutogradCPU", "BackendSelect"]))
schema = parse("f(Tensor(e|d|c|b|a) x, Dict(str, Union(bool, int, str))[] y) -> (Tensor(a|e), int)")
print(schema, hash(schema), schema.arguments[0].alias_info.before)
try:
    parse("f(Foo x, Foo y, Tensor(b!|a) x, Tensor(a!) z, Tensor(a) w) -> Tensor(q!)")
except ValueError as error:
    print(error)
print("sets:", {"a", "b", "c", "d", "e", "f", "g"}, id(schema))
"""


def run(seed, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", "import sys\n" + PROGRAM, *arguments],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text, _, sets = done.stdout.partition("sets:")
    return text, sets


def test_X29_the_same_text_in_every_process():
    runs = [run(seed) for seed in (1, 2, 3)]
    assert len({sets for _, sets in runs}) == 3, "the seeds and addresses did differ"
    assert len({text for text, _ in runs}) == 1
    assert "0x" not in runs[0][0], "an address is in the text"


def test_X29_the_order_of_registration_shows_only_where_it_is_meant():
    assert run(1)[0] == run(1, "reversed")[0]
