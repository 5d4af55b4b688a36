"""Table of models that torch.export writes: which load here, run, and agree, and how fast.

    tools/models                                      all models, into docs/models.md
    tools/models --only llama                         these rows anew
    tools/models --short                              a few, compared with the page

Each model is exported, loaded and run in a process of its own, for as long as --limit says. The
weights are random, since none are downloaded. test/python/models/test_exported_models.py runs
the short form.
"""

import argparse
import contextlib
import datetime
import importlib
import json
import logging
import multiprocessing
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from exported.outcome import outcome_of
from exported.page import Outcome, counts_of, page_of, read_facts, read_rows, reasons_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "models.md"
SOURCES = (
    "features",
    "database",
    "quantised",
    "torchvision",
    "timm",
    "transformers",
    "diffusers",
    "segmentation",
)


def answer(source, name: str, folder: Path, timed: bool, end) -> None:
    """Runs in a child: nothing of what a model prints is shown."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end.send_bytes(json.dumps(vars(outcome_of(source, name, folder, timed))).encode())


def in_child(source, name: str, folder: Path, timed: bool, limit: float) -> Outcome:
    """The outcome; of a child that ends or takes too long, why there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=answer, args=(source, name, folder, timed, theirs))
    child.start()
    theirs.close()
    outcome = Outcome(source.SOURCE, name, result="no answer")
    try:
        if ours.poll(limit):
            return Outcome(**json.loads(ours.recv_bytes()))
        outcome.reason = f"within {limit:.0f} s"
    except EOFError:
        child.join()
        outcome.reason = f"its process ended with status {child.exitcode}"
    finally:
        child.kill()
        child.join()
    with contextlib.suppress(OSError, ValueError):
        outcome.needs = json.loads((folder / "outcome.json").read_text())["needs"]
    return outcome


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/models", description=__doc__.split("\n\n")[0])
    parser.add_argument("--short", action="store_true", help="a few, compared with the page")
    parser.add_argument("--only", nargs="*", default=[""], help="models with this in their name")
    parser.add_argument("--source", nargs="*", default=SOURCES, choices=SOURCES)
    parser.add_argument("--times", action="store_true", help="time those that agree")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one model")
    parser.add_argument("--keep", type=Path, help="folder in which exports are kept and looked for")
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser.parse_args()


def facts(sources: list, options: argparse.Namespace) -> tuple[dict[str, str], str]:
    """The versions of the packages, and the day of the times; what the page says of the others."""
    versions, timed_on = read_facts(options.page)
    today = datetime.date.today().isoformat()
    versions |= {source.SOURCE: source.VERSION.split("+")[0] for source in sources}
    return versions, today if options.times or not timed_on else timed_on


def merged(old: list[Outcome], new: list[Outcome], timed: bool) -> list[Outcome]:
    """The rows of a page with the new ones in the place of theirs; times stay if none are new."""
    rows = {(one.source, one.name): one for one in old}
    for one in new:
        known = rows.get((one.source, one.name))
        if known and not timed and one.result == "agrees":
            one.ratio = known.ratio
        rows[one.source, one.name] = one
    return list(rows.values())


def outcomes(sources: list, options: argparse.Namespace) -> Iterator[Outcome]:
    with contextlib.ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for source in sources:
            for name in source.SHORT if options.short else source.names():
                if not any(text in name for text in options.only):
                    continue
                folder = keep / source.SOURCE / name
                yield in_child(source, name, folder, options.times, options.limit)
                if not options.keep:
                    for file in folder.iterdir():
                        file.unlink()


def main() -> None:
    options = arguments()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if not {*options.source} <= {"features", "database", "quantised"}:
        importlib.import_module("exported.torchvision_cases")  # mends what the others import
    sources = [importlib.import_module(f"exported.{name}_cases") for name in options.source]
    found, other = [], 0
    known = {(one.source, one.name): one.result for one in read_rows(options.page)}
    for one in outcomes(sources, options):
        found.append(one)
        said = f"{one.source} {one.name}: {one.result} {one.reason} {one.ratio}".rstrip()
        if options.short and one.result != (expected := known.get((one.source, one.name))):
            other += 1
            said += f"; the page says {expected}"
        elif not options.short:
            rows = merged(read_rows(options.page), [one], options.times)
            options.page.write_text(page_of(rows, *facts(sources, options)))
        print(said, file=sys.stderr, flush=True)
    agree, counted = counts_of(found)
    print(f"{agree} of {counted} agree", file=sys.stderr)
    for reason, times in reasons_of(found).most_common():
        print(f"{times:4} {reason}", file=sys.stderr)
    raise SystemExit(bool(other))


if __name__ == "__main__":
    main()
