"""`python -m opyard run`: a model in a file runs on arrays in files; opyard-run without Python.

python -m opyard run model.pt2 --input x.npy --output y.npy --time
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence

from . import _models
from ._core import ops as _ops
from ._files.onnx_files import looks_like_onnx


class _Formatter(argparse.HelpFormatter):
    """Keeps the lines of the examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return text
        return super()._fill_text(text, width, indent)


def _parser() -> argparse.ArgumentParser:
    from ._core.options import OptionParser

    prog = "python -m opyard run"
    examples = [f"  {prog} {given}\n      {what}" for given, what in _models.run_examples()]
    parser = OptionParser(
        prog=prog,
        description="Runs a model of torch.export.save(), opyard.jit.save() or ONNX.",
        epilog="\n".join(["examples:", *examples]),
        formatter_class=_Formatter,
    )
    parser.add_argument("model", help="a .pt2 or .onnx file, or one of opyard.jit.save()")
    for name, value, repeats, what in _models.run_options():
        if repeats:
            parser.add_argument(f"--{name}", action="append", default=[], metavar=value, help=what)
        elif value:
            parser.add_argument(f"--{name}", metavar=value, help=what)
        else:
            parser.add_argument(f"--{name}", action="store_true", help=what)
    return parser


def _given(asked: argparse.Namespace) -> list[tuple[str, bytes]]:
    """The options with their values, each as often as it was given."""
    given = []
    for name, value, repeats, _ in _models.run_options():
        found = getattr(asked, name)
        if not repeats:
            found = [] if found is None or found is False else [found if value else ""]
        given += [(name, os.fsencode(each)) for each in found]
    return given


@contextlib.contextmanager
def _in_our_form(path: str, allowed: list[str]) -> Iterator[str]:
    """The path of a file that the library reads: an ONNX file is converted to one of our own."""
    if not looks_like_onnx(path):
        yield path
        return
    from ._files.model import load, save

    with tempfile.TemporaryDirectory() as folder:
        converted = os.path.join(folder, "model.safetensors")
        save(load(path, allowed=allowed), converted)
        yield converted


def _tell(step: str) -> None:
    if sys.stderr.isatty():
        print(step, file=sys.stderr)


def main(arguments: Sequence[str]) -> None:
    """Prints the report. Ends with status 1 if an output differs, and 2 for an error."""
    asked = _parser().parse_args(arguments)
    try:
        _ops.load_aten()
        for path in asked.plugin:
            _ops.load_library(path)
        for name in asked.allow:
            _ops.load_for(name)
        with contextlib.ExitStack() as stack:
            if asked.profile is not None:
                from . import profiler

                profile = stack.enter_context(profiler.profile())
            path = stack.enter_context(_in_our_form(asked.model, asked.allow))
            given = _given(asked)
            if path != asked.model:
                given.append(("allow", b"prim::dtype"))  # what converted files may call, too
            text, times, as_expected = _models.run_files(os.fsencode(path), given, _tell)
        if asked.profile is not None:
            profile.export_chrome_trace(asked.profile)
    except (LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        print(f"python -m opyard run: {error}", file=sys.stderr)
        sys.exit(2)
    sys.stdout.write(text + times)
    sys.exit(0 if as_expected else 1)
