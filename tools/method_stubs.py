#!/usr/bin/env python3
"""tools/method_stubs.py: writes pyfallback/opyard/_core/_tensor_methods.pyi from the built package.

It says to type checkers what the operators of aten give as methods of Tensor. Run it with
tools/python; --check compares.

Exit code: 0, or 1 with --check if the file is another one.
"""

import keyword
import re
import sys
from pathlib import Path

from generated import main

PACKAGE = Path(__file__).resolve().parent.parent / "pyfallback" / "opyard"
FILE = PACKAGE / "_core" / "_tensor_methods.pyi"
HEAD = '''"""Methods of Tensor that are operators of aten: tools/method_stubs.py writes it.

It is for type checkers. A method whose overloads give different things is not here: what it gives
is Any.
"""

from typing import Any

from .._C import Tensor

class TensorMethods:
'''
LONGEST_LINE = 100
NAMES = {"Tensor": "Tensor", "Tensor[]": "list[Tensor]"}


def result_of(op: object) -> "str | None":
    """What an overload gives if it takes a Tensor first; "" if it does not."""
    schema = op._schema
    if not schema.arguments or str(schema.arguments[0].type) not in ("Tensor", "Tensor?"):
        return ""
    given = [NAMES.get(str(one.type)) for one in schema.returns]
    if not given or None in given:
        return None
    return given[0] if len(given) == 1 else f"tuple[{', '.join(given)}]"


def text() -> str:
    import opyard

    stub = (PACKAGE / "_C.pyi").read_text("utf-8")
    own = stub[stub.index("class Tensor(") : stub.index("\ndef tensor(")]
    listed = set(re.findall(r"^    (?:def )?(\w+)[(:]", own, re.MULTILINE))
    from opyard._tensor.methods import _DTYPES

    lines = [f"    def {name}(self) -> Tensor: ...\n" for name in sorted(_DTYPES)]
    for name in sorted(set(dir(opyard.ops.aten)) - set(_DTYPES)):
        if name.startswith("_") or keyword.iskeyword(name) or name in listed:
            continue
        packet = getattr(opyard.ops.aten, name)
        results = {result_of(getattr(packet, one)) for one in packet.overloads()} - {""}
        if len(results) == 1 and None not in results:
            (result,) = results
            line = f"    def {name}(self, *args: Any, **kwargs: Any) -> {result}: ...\n"
            if len(line) > LONGEST_LINE + 1:
                line = line.replace("(self, ", "(\n        self, ")
                line = line.replace("Any) ->", "Any\n    ) ->")
            lines.append(line)
    return HEAD + "".join(lines)


if __name__ == "__main__":
    sys.exit(main("tools/method_stubs.py", __doc__, FILE, text))
