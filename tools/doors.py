"""tools/doors.py: generates tables and names from the list of doors, opyard/detail/doors.def.

    tools/python tools/doors.py            writes parts of docs/concepts/layers.md and _hooks.py
    tools/python tools/doors.py --check    compares, writes nothing, and says which file differs

tools/test --lint compares, too.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIST = "dispatcher/include/opyard/detail/doors.def"
PAGE = "docs/concepts/layers.md"
HOOKS = "pyfallback/opyard/_hooks.py"
ROW = re.compile(r'^OPYARD_(DOOR|HOOK)\((\w+), "([^"]*)", "([^"]*)", "([^"]*)", "([^"]*)"\)$', re.M)


class Row(NamedTuple):
    """Of a door: header, asks, answers, what. Of a hook: module, attribute, arguments, what."""

    name: str
    first: str
    second: str
    third: str
    what: str


def rows(root: Path = ROOT) -> tuple[list[Row], list[Row]]:
    """The doors, and the hooks. Raises ValueError for a line that is neither."""
    text = (root / LIST).read_text("utf-8")
    found = ROW.findall(text)
    lines = [line for line in text.splitlines() if re.match(r"OPYARD_(DOOR|HOOK)\(", line)]
    if len(found) != len(lines):
        unread = next(line for line in lines if not ROW.match(line))
        raise ValueError(f"{LIST}: no row that can be read: {unread}")
    doors = [Row(*row[1:]) for row in found if row[0] == "DOOR"]
    hooks = [Row(*row[1:]) for row in found if row[0] == "HOOK"]
    return doors, hooks


def page_part(doors: list[Row], hooks: list[Row]) -> str:
    lines = ["| functions | asked by | answered by | what |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{door.name}`, `{door.first}` | {door.second} | {door.third} | {door.what} |"
        for door in doors
    ]
    lines += ["", "| hook | answered by | what |", "| --- | --- | --- |"]
    lines += [
        f"| `{hook.name}({hook.third})` | `{hook.first}.{hook.second}` | {hook.what} |"
        for hook in hooks
    ]
    return "\n".join(lines) + "\n"


def hooks_part(hooks: list[Row]) -> str:
    lines = [f'    "{hook.name}": ("{hook.first}", "{hook.second}"),' for hook in hooks]
    return "\n".join(["_LATE = {", *lines, "}"]) + "\n"


def parts(root: Path = ROOT) -> Iterator[tuple[str, str, str]]:
    """(file, its text, the text it should have): each between a line that begins the part and one
    that ends it."""
    doors, hooks = rows(root)
    page, names = page_part(doors, hooks), hooks_part(hooks)
    made = {
        PAGE: ("<!-- made by tools/doors.py -->\n", "<!-- end of it -->\n", page),
        HOOKS: ("# Made by tools/doors.py.\n", "# End of it.\n", names),
    }
    for file, (begin, end, part) in made.items():
        text = (root / file).read_text("utf-8")
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        yield file, text, before + begin + part + end + after


def main() -> int:
    parser = argparse.ArgumentParser("tools/doors.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    differ = [(file, wanted) for file, text, wanted in parts() if text != wanted]
    for file, wanted in differ:
        if check:
            print(f"{file} is not what {LIST} says; run tools/python tools/doors.py")
        else:
            (ROOT / file).write_text(wanted, "utf-8")
    return 1 if check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
