#!/usr/bin/env python3
"""tools/tangents_page.py: writes docs/dev/tangents.md from the built package.

It has every operator of aten and opyard with a formula, and how its calls give tangents in forward
mode. Run it with tools/python; --check compares.

Exit code: 0, or 1 with --check if the page is another one.
"""

import sys
from pathlib import Path

from generated import main

PAGE = Path(__file__).resolve().parent.parent / "docs" / "dev" / "tangents.md"
HEAD = """# Tangents of operators

This page is written by `tools/tangents_page.py` from the built package. It has each operator with a
formula, and how its calls give tangents in [forward mode](../guides/gradients.md#forward-mode):

- *elementwise*: the formula with the tangent for the gradient;
- *written*: the adjoint of the formula, as code from the formulas of what it calls;
- *taped*: the formula run on the tape for a gradient of zeros, and differentiated; calls with
  complex numbers always are;
- *same call*: the view is taken of the tangent;
- *tangent line*: the text beside the formula;
- *no tangent flows*: the formula is None.

Operators that are not here are made of others, have no formula and raise, or give no floats.
"""


def rules(space: object) -> "dict[str, str]":
    from opyard import _gradients, autograd

    found = {}
    for name in sorted(dir(space)):
        packet = getattr(space, name)
        if not hasattr(packet, "overloads"):
            continue
        for overload in sorted(packet.overloads()):
            op = getattr(packet, overload)
            if autograd.formulas(op) and not is_out(op):
                found[op.name()] = _gradients.forward_rules(op)
    return found


def is_out(op: object) -> bool:
    return any(one.is_out for one in op._schema.arguments)


def page() -> str:
    import opyard

    lines = []
    for space in (opyard.ops.aten, opyard.ops.opyard):
        lines += [f"| `{name}` | {how} |" for name, how in rules(space).items()]
    counts = [
        f"{sum(how in line for line in lines)} *{how}*"
        for how in ("elementwise", "written", "taped", "same call", "tangent line")
    ]
    said = f"{len(lines)} operators; with an argument of each kind: {', '.join(counts)}.\n"
    return "\n".join([HEAD, said, "| operator | tangents |", "| --- | --- |", *lines]) + "\n"


if __name__ == "__main__":
    sys.exit(main("tools/tangents_page.py", __doc__, PAGE, page))
