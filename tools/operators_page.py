#!/usr/bin/env python3
"""tools/operators_page.py: writes docs/guides/operators.md from the built package.

It has the operators of aten and the methods of Tensor. Run it with tools/python; --check compares.

Exit code: 0, or 1 with --check where the page is another one.
"""

import argparse
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "operators.md"
HEAD = """# Operators and methods of Tensor

This page is written by `tools/operators_page.py` from the built package. `help(opyard.Tensor.sum)`
and `opyard.ops.aten.sum.__doc__` say the same at a prompt. An operator that is missing here is one
that `opyard.ops.aten` does not have; see [coming from PyTorch](from_pytorch.md).
"""


def operators() -> list[str]:
    import opyard

    lines = []
    for name in dir(opyard.ops.aten):
        packet = getattr(opyard.ops.aten, name)
        overloads = [getattr(packet, overload) for overload in sorted(packet.overloads())]
        lines += [str(each._schema).removeprefix("aten::") for each in overloads]
    return lines


def methods() -> list[str]:
    """The public methods and properties of Tensor, each with what it is."""
    import opyard

    aten = set(dir(opyard.ops.aten))
    lines = []
    for name in sorted(name for name in dir(opyard.tensor(1.0)) if not name.startswith("_")):
        if name in aten:
            what = f"`aten.{name}`"
        else:
            text = getattr(opyard.Tensor, name).__doc__ or ""
            what = text.strip().split("\n")[0].replace("|", "\\|")
        lines.append(f"| `{name}` | {what} |")
    return lines


def page() -> str:
    parts = [HEAD, "## Methods and properties of Tensor\n", "| name | what it is |\n| --- | --- |"]
    parts[-1] += "".join("\n" + line for line in methods()) + "\n"
    parts += ["## Operators of `opyard.ops.aten`\n", "```"]
    return "\n".join(parts) + "\n" + "\n".join(operators()) + "\n```\n"


def main() -> int:
    parser = argparse.ArgumentParser("tools/operators_page.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if parser.parse_args().check:
        return 0 if PAGE.read_text("utf-8") == page() else 1
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
