"""`python -m opyard run`: a model in a file runs on arrays in files; opyard-run without Python.

python -m opyard run model.pt2 --input x.npy --output y.npy --time
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from . import _models
from ._core import ops as _ops


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m opyard run",
        description="Runs a model that torch.export.save() or opyard.jit.save() wrote.",
    )
    parser.add_argument("model", help="a .pt2 file, or one of opyard.jit.save()")
    for name, what in (
        (
            "input",
            "an input, in the model's order; give it once for each; without any, those that it was "
            "exported with are taken",
        ),
        ("output", "where an output goes, in the model's order"),
        ("check", "compare an output with this file; the status is 1 if one differs"),
    ):
        parser.add_argument(f"--{name}", action="append", default=[], metavar="FILE.npy", help=what)
    parser.add_argument(
        "--tolerance", type=float, default=1e-5, help="how far an element may be off (1e-5)"
    )
    parser.add_argument("--time", action="store_true", help="print where the time went")
    parser.add_argument("--profile", metavar="FILE.json", help="write a timeline for Perfetto")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="an operator that may be called",
    )
    return parser


def _tell(step: str) -> None:
    if sys.stderr.isatty():
        print(step, file=sys.stderr)


def main(arguments: Sequence[str]) -> None:
    """Prints the report. Ends with status 1 if an output differs, and 2 for an error."""
    asked = _parser().parse_args(arguments)
    try:
        _ops.load_aten()
        for name in asked.allow:
            _ops.load_for(name)
        with contextlib.ExitStack() as stack:
            if asked.profile is not None:
                from . import profiler

                profile = stack.enter_context(profiler.profile())
            text, times, as_expected = _models.run_files(
                os.fsencode(asked.model),
                [os.fsencode(path) for path in asked.input],
                [os.fsencode(path) for path in asked.output],
                [os.fsencode(path) for path in asked.check],
                asked.tolerance,
                asked.time,
                asked.allow,
                _tell,
            )
        if asked.profile is not None:
            profile.export_chrome_trace(asked.profile)
    except (LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"python -m opyard run: {error}", file=sys.stderr)
        sys.exit(2)
    sys.stdout.write(text + times)
    sys.exit(0 if as_expected else 1)
