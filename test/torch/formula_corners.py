"""formula_corners.py: walks every formula at its corners, beside PyTorch and its own limits.

    python test/torch/formula_corners.py [--only NAME,...] [--samples N] [--write]

Needs PyTorch and pytest. The calls are the rows of `test/python/operators/test_formula_rows.py`,
and those that PyTorch's own samples come to. Gradients of first and second order are taken in
float64:

  - pointwise operators at pairs of all values of `corner_points.POINTS`: zeros of both signs,
    ones, ends of ranges, saturation, NaN, infinities; others at ties, at zeros, and with one value
    that is no number in them; all without elements;
  - a gradient that is finite in PyTorch is finite here, and the same;
  - one whose limits from both sides are the same is their limit;
  - in float32, one that is finite in PyTorch is near it;
  - incoming gradients of any layout give what the same elements in a row give.

What differs and stands in `deliberate_corners.txt` is deliberate; --write makes the page
`docs/dev/formula_corners.md` of it. Everything else is a fault.

Exit code: 0, or 1 if there is a fault.
"""

import argparse
import collections
import fnmatch
import sys
import warnings
from pathlib import Path

import corner_calls
import corner_points
import torch

HERE = Path(__file__).parent
DELIBERATE = HERE / "deliberate_corners.txt"
PAGE = HERE.parents[1] / "docs" / "dev" / "formula_corners.md"


class Deliberate:
    """Patterns of operators and kinds, each with its reason."""

    def __init__(self):
        self.rules = []
        reason = ""
        for line in DELIBERATE.read_text("utf-8").splitlines():
            if line.startswith("#"):
                reason = line.removeprefix("#").strip()
            elif line.strip():
                name, _, kind = line.strip().partition(" ")
                self.rules.append((name, kind.strip() or "*", reason))

    def reason(self, name, kind):
        for pattern, kinds, reason in self.rules:
            if fnmatch.fnmatchcase(name, pattern) and fnmatch.fnmatchcase(kind, kinds):
                return reason
        return None


class Findings:
    """The first difference of each operator and kind. One that is a fault is said at once."""

    def __init__(self, deliberate):
        self.deliberate, self.first, self.faults = deliberate, {}, 0

    def add(self, name, kind, text):
        if (name, kind) in self.first:
            return
        self.first[name, kind] = text
        if self.deliberate.reason(name, kind) is None:
            self.faults += 1
            print(f"{name}, {kind}: {text}", flush=True)


def walk(call, findings):
    """Notes what differs; True if PyTorch answered anywhere."""
    answered = False
    for leaves in corner_points.fillings(call):
        theirs = corner_points.gradients(corner_points.THEIRS, call, leaves)
        if theirs is None:
            continue
        answered = True
        ours = corner_points.gradients(corner_points.OURS, call, leaves)
        if isinstance(ours, str) or ours is None:
            findings.add(call.name, "refused", f"{corner_points.text(leaves)}: {ours}")
            return True
        for kind, where in corner_points.compare(ours, theirs, leaves):
            findings.add(call.name, kind, where)
        if call.is_pointwise:
            for where in corner_points.beside_limits(call, ours, leaves):
                findings.add(call.name, "no limit", where)
    if call.is_pointwise:
        for kind, where in corner_points.saturation(call):
            findings.add(call.name, kind, where)
    for where in corner_calls.layouts(call):
        findings.add(call.name, "layout", where)
    return answered


def page_of(findings):
    lines = [
        "# Where gradients differ from PyTorch's",
        "",
        "Made by `test/torch/formula_corners.py --write`, which walks every formula at its",
        "corners. Of each operator and kind the first difference is shown: the argument that the",
        "gradient is of, the values of all arguments there, ours, and PyTorch's.",
        "",
    ]
    by_reason = collections.defaultdict(list)
    for (name, kind), text in sorted(findings.first.items()):
        reason = findings.deliberate.reason(name, kind)
        if reason:
            by_reason[reason].append(f"| `{name}` | {kind} | {text.replace('|', ' ')} |")
    for reason, rows in by_reason.items():
        lines += [
            f"## {reason}",
            "",
            "| operator | what differs | first |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", help="names of operators, with commas between; * stands for any")
    parser.add_argument("--samples", type=int, default=4, help="at most so many of an operator")
    parser.add_argument("--write", action="store_true", help="make the page of what is deliberate")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    findings, walked = Findings(Deliberate()), set()
    for call in corner_calls.all_calls(options.samples, options.only):
        if walk(call, findings):
            walked.add(call.name)
    if options.write:
        PAGE.write_text(page_of(findings), "utf-8")
    print(f"operators: {len(walked)}; kinds of differences: {len(findings.first)}", end="; ")
    print(f"faults: {findings.faults}")
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
