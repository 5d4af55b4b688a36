"""The page of the table of exported models: written from outcomes, and read again."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

# Those of a row: after a result other than the first the reason follows.
RESULTS = ("agrees", "differs", "raises", "refused", "no answer", "not saved", "not exported")
NOT_COUNTED = ("not saved", "not exported")
TITLES = "| model | source | needs | result | over PyTorch |"


@dataclass
class Outcome:
    """A row of the table. `ratio` is a run's time over that of PyTorch's eager mode."""

    source: str
    name: str
    needs: str = ""
    result: str = "agrees"
    reason: str = ""
    ratio: str = ""


def row_of(one: Outcome) -> str:
    result = f"{one.result}: {one.reason}" if one.reason else one.result
    return f"| {one.name} | {one.source} | {one.needs} | {result} | {one.ratio} |"


def read_rows(path: Path) -> list[Outcome]:
    """Of a page that page_of() wrote; none of a file that is not there."""
    found = []
    _, _, table = (path.read_text() if path.exists() else "").partition(TITLES)
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0] != "---":
            result, _, reason = cells[3].partition(": ")
            found.append(Outcome(cells[1], cells[0], cells[2], result, reason, cells[4]))
    return found


def read_facts(path: Path) -> tuple[dict[str, str], str]:
    """The versions and the day that a page says; nothing of a file that is not there."""
    text = path.read_text() if path.exists() else ""
    versions = re.findall(r"^\| ([\w.]+) \| ([\w.]+) \| \d+ \|", text.partition(TITLES)[0], re.M)
    timed_on = re.search(r"was measured, on ([\d-]+);", text)
    return dict(versions), timed_on.group(1) if timed_on else ""


def counts_of(rows: list[Outcome]) -> tuple[int, int]:
    """How many run and agree, and how many PyTorch exports."""
    counted = [one for one in rows if one.result not in NOT_COUNTED]
    return sum(one.result == "agrees" for one in counted), len(counted)


def page_of(rows: list[Outcome], versions: dict[str, str], timed_on: str) -> str:
    agree, counted = counts_of(rows)
    lines = [
        "# Exported models",
        "",
        "Made by `tools/models`: models with random weights are exported by `torch.export`, saved "
        "by `torch.export.save()` as it does by default, loaded by `opyard.jit.load()`, run, and "
        "compared with PyTorch's eager mode.",
        "",
        f"Of {counted} models that PyTorch exports, {agree} run and agree, "
        f"{100 * agree / max(counted, 1):.1f} %: outputs are within 1e-4 of the largest element, "
        "of halves and int8 within a step of theirs. Where sizes vary or state is written, several "
        "calls are compared.",
        "",
        "| source | version | models | agree | refused or wrong | PyTorch does not export |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for source in sorted({one.source for one in rows}):
        of_source = [one for one in rows if one.source == source]
        agree_of, counted_of = counts_of(of_source)
        lines.append(
            f"| {source} | {versions[source]} | {len(of_source)} | {agree_of} "
            f"| {counted_of - agree_of} | {len(of_source) - counted_of} |"
        )
    lines += [
        "",
        "*needs* counts the overloads that a program calls, and names what else is in it. The last "
        "column is the time of a run over that of PyTorch's eager mode, both on one thread, the "
        f"least of five in turns, where it was measured, on {timed_on}; below 1 is faster. It "
        "changes from run to run, and is not checked.",
        "",
        TITLES,
        "| --- | --- | --- | --- | --- |",
    ]
    order = [*(one for one in RESULTS if one != "agrees"), "agrees"]
    key = {one: at for at, one in enumerate(order)}
    rows = sorted(rows, key=lambda one: (key[one.result], one.source, one.name))
    return "\n".join([*lines, *map(row_of, rows), ""])


def reasons_of(rows: list[Outcome]) -> Counter:
    return Counter(f"{one.result}: {one.reason}" for one in rows if one.result != "agrees")
