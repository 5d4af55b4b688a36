"""tools/mutants.py: mutation testing: plants known defects, and names those that no test notices.

`tools/test --mutants` calls this after tools/setup; call that.

test/mutants.txt lists the defects, each one changed line of the sources. They are planted in a copy
of the sources, build/mutants/tree, which has a build of its own; so nothing of yours is changed,
and when a run is broken off the next one mends the copy.

First of all everything must build and pass without a defect, else nothing that fails later means
anything. Then for each mutant: plant it, build, run the tests that the list names for it; if they
pass, or none is named, the C++ programs up to the first that fails, those of the mutant's idea
first and quick ones before slow ones; if all pass, the Python tests. A mutant is killed when a test
fails, a program crashes, or one does not end in time.

A mutant that survives shows a gap: write the test that is missing. If no test could notice it,
because the program does the same with it, it is no defect: put another one in its place.
"""

import argparse
import fcntl
import random
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mutants_bench import Bench, say, tests_called

ROOT = Path(__file__).resolve().parent.parent
LIST = "test/mutants.txt"
LAYERS = ["dispatcher", "jit", "models", "autograd", "kernels", "pyfallback", "profiler"]
AT_LEAST = 90
# What the build and the tests read. All that the build writes is in the copy's own build/.
COPIED = ["meson.build", "meson_options.txt", "pyproject.toml"]
COPIED += [
    "autograd",
    "dispatcher",
    "examples",
    "jit",
    "kernels",
    "models",
    "profiler",
    "remote",
    "programs",
    "packaging",
    "publish",
    "pyfallback",
    "subprojects",
    "test",
]
IGNORED = {"__pycache__", ".hypothesis", ".pytest_cache"}


class ListError(Exception):
    """What is wrong with the list of mutants, for the person who can mend it."""


@dataclass(frozen=True)
class Mutant:
    """One line of one file and what replaces it; `context` are the lines before it, and
    `killers` the tests that are meant to notice: test_x for a C++ program, test_x.py for a file."""

    name: str
    defect: str
    file: str
    killers: tuple[str, ...]
    context: tuple[str, ...]
    before: str
    after: str | None

    @property
    def idea(self) -> str:
        """The folder that says whom to suspect: dispatcher/src/keys -> keys,
        pyfallback/objects/arrays -> objects, and any other layer as a whole."""
        layer, *inner = Path(self.file).parts[:-1]
        if layer in ("kernels", "jit", "models", "autograd", "profiler"):
            return layer
        inner = [part for part in inner if part not in ("src", "include", "detail")]
        if layer == "dispatcher":
            inner = [part for part in inner if part != "opyard"]
        return inner[0] if inner else layer

    def path_in(self, root: Path) -> str:
        """The file, which may have moved: then the one of its name, if there is no other."""
        if (root / self.file).is_file():
            return self.file
        layer, name = root / Path(self.file).parts[0], Path(self.file).name
        found = [path for path in layer.rglob(name) if path.is_file()]
        if len(found) != 1:
            raise ListError(f"{self.name} no longer applies: there is no {self.file}")
        return str(found[0].relative_to(root))

    def planted_in(self, text: str) -> str:
        lines, wanted = text.split("\n"), [*self.context, self.before]
        places = [
            at + len(self.context)
            for at in range(len(lines))
            if lines[at : at + len(wanted)] == wanted
        ]
        if len(places) != 1:
            advice = (
                "write there what the line is now, or plant the same defect elsewhere"
                if not places
                else "write the line before it in front of it, so that one place is meant"
            )
            raise ListError(
                f"{self.name} no longer applies: its line must be once in {self.file}, and "
                f"is there {len(places)} times; {advice}, in {LIST}:\n"
                + "\n".join(f"    {line}" for line in wanted)
            )
        lines[places[0] : places[0] + 1] = [] if self.after is None else [self.after]
        return "\n".join(lines)


def mutant_of(block: list[str]) -> Mutant:
    name, texts = block[0].removeprefix("== "), block[1:3]
    killers = tuple(line[2:] for line in block[3:] if line.startswith("! "))
    lines = [line for line in block[3:] if not line.startswith("! ")]
    marked = [(line[:2].strip(), line[2:]) for line in lines]
    signs = "".join(sign or " " for sign, _ in marked)
    if not re.fullmatch(r" *-\+?", signs) or not re.fullmatch(r"[a-z0-9-]+", name):
        raise ListError(
            f"{LIST}: {block[0]!r} should be '== a-name', a line that says what is wrong, the "
            "file, and then the changed line: '- ' and what it was, '+ ' and what it becomes; "
            "before that, '! ' and the name of a test that is meant to notice"
        )
    lines = [line for _, line in marked]
    at = signs.index("-")
    after = lines[at + 1] if signs.endswith("+") else None
    mutant = Mutant(name, texts[0], texts[1], killers, tuple(lines[:at]), lines[at], after)
    if Path(mutant.file).parts[0] not in LAYERS:
        raise ListError(f"{LIST}: {name} is in {mutant.file}, which is in none of {LAYERS}")
    if mutant.before == mutant.after:
        raise ListError(f"{LIST}: {name} changes nothing")
    return mutant


def read_list(root: Path) -> list[Mutant]:
    """All mutants, each of which applies to the sources as they are."""
    text = re.sub(r"^#.*\n", "", (root / LIST).read_text("utf-8"), flags=re.MULTILINE)
    blocks = [block.splitlines() for block in re.split(r"\n{2,}", text.strip("\n")) if block]
    mutants = [mutant_of(block) for block in blocks]
    names = [mutant.name for mutant in mutants]
    faults = [f"{LIST}: two are called {name}" for name in {n for n in names if names.count(n) > 1}]
    for mutant in mutants:
        try:
            mutant.planted_in((root / mutant.path_in(root)).read_text("utf-8"))
            for killer in mutant.killers:
                if not tests_called(root, killer):
                    faults.append(f"{mutant.name} names {killer}, which is no test")
        except ListError as fault:
            faults.append(str(fault))
    if faults or not mutants:
        raise ListError("\n".join(faults or [f"{LIST} holds no mutants"]))
    return mutants


class Tree:
    """The copy of the sources. Files that are right already are left alone, with their times."""

    def __init__(self, root: Path, folder: Path):
        self.root, self.folder = root, folder
        self.planted: str | None = None

    def copy_file(self, name: Path | str) -> None:
        text, target = (self.root / name).read_bytes(), self.folder / name
        if not target.is_file() or target.read_bytes() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)

    def copy_all(self) -> None:
        wanted = set()
        for top in COPIED:
            for path in [self.root / top, *(self.root / top).rglob("*")]:
                name = path.relative_to(self.root)
                if path.is_file() and not IGNORED.intersection(name.parts):
                    wanted.add(name)
                    self.copy_file(name)
        for top in COPIED:
            for path in sorted((self.folder / top).rglob("*")):
                name = path.relative_to(self.folder)
                if path.is_file() and name not in wanted and not IGNORED.intersection(name.parts):
                    path.unlink()

    def plant(self, mutant: Mutant) -> None:
        self.restore()
        self.planted = mutant.path_in(self.root)
        text = (self.root / self.planted).read_text("utf-8")
        (self.folder / self.planted).write_text(mutant.planted_in(text), "utf-8")

    def restore(self) -> None:
        if self.planted is not None:
            self.copy_file(self.planted)
        self.planted = None


@dataclass
class Outcome:
    mutant: Mutant
    state: str  # killed, SURVIVED or "no build"
    what: str  # what killed it; of one that does not build what the compiler said


def judge(mutant: Mutant, tree: Tree, bench: Bench) -> Outcome:
    tree.plant(mutant)
    if complaint := bench.build():
        return Outcome(mutant, "no build", complaint)
    killer = bench.run(mutant.idea, mutant.killers)
    return Outcome(mutant, "killed" if killer else "SURVIVED", killer or mutant.defect)


def hunt(mutants: list[Mutant], tree: Tree, bench: Bench) -> list[Outcome]:
    outcomes = []
    for number, mutant in enumerate(mutants, 1):
        started = time.monotonic()
        outcome = judge(mutant, tree, bench)
        outcomes.append(outcome)
        say(
            f"{number:3}/{len(mutants)}  {outcome.state:8}  {mutant.idea}/{mutant.name} "
            f"({time.monotonic() - started:.0f} s): {outcome.what}"
        )
    return outcomes


def report(outcomes: list[Outcome], at_least: int) -> bool:
    """Prints the table by idea and the verdict, and gives whether enough were killed."""
    say(f"\n{'':10}{'planted':>8}{'killed':>8}  survived")
    for idea in dict.fromkeys(outcome.mutant.idea for outcome in outcomes):
        ours = [outcome for outcome in outcomes if outcome.mutant.idea == idea]
        killed = sum(outcome.state == "killed" for outcome in ours)
        names = ", ".join(o.mutant.name for o in ours if o.state == "SURVIVED")
        say(f"{idea:10}{len(ours):8}{killed:8}  {names or '-'}")
    broken = [outcome.mutant.name for outcome in outcomes if outcome.state == "no build"]
    for name in broken:
        say(f"{name} does not compile, so it shows nothing: write it anew in {LIST}")
    killed = sum(outcome.state == "killed" for outcome in outcomes)
    enough = 100 * killed >= at_least * len(outcomes)
    say(
        f"mutants: {killed} of {len(outcomes)} killed, {100 * killed / len(outcomes):.0f} %; "
        f"{'' if enough else 'too few: '}at least {at_least} % are asked for"
    )
    return enough and not broken


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("tools/test --mutants", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mutants alone")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, drawn at random")
    parser.add_argument("--seed", type=int, help="draws the same ones again")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.add_argument(
        "--at-least", type=int, default=AT_LEAST, metavar="PERCENT", help="how many must be killed"
    )
    return parser.parse_args(arguments)


def sample(mutants: list[Mutant], size: int | None, seed: int | None) -> list[Mutant]:
    """Some of them, in the order of the list."""
    if size is None or size >= len(mutants):
        return mutants
    seed = random.randrange(10**6) if seed is None else seed
    say(f"== a sample of {size} mutants; --sample {size} --seed {seed} draws it again")
    drawn = random.Random(seed).sample(range(len(mutants)), size)
    return [mutants[at] for at in sorted(drawn)]


def chosen(mutants: list[Mutant], names: list[str] | None) -> list[Mutant]:
    known = {mutant.name for mutant in mutants}
    if strangers := [name for name in names or [] if name not in known]:
        raise ListError(f"no mutant is called {', '.join(strangers)}; --list says which there are")
    return [mutant for mutant in mutants if not names or mutant.name in names]


def main(arguments: list[str] | None = None, root: Path = ROOT, bench_of: Callable = Bench) -> int:
    options = options_of(arguments)
    try:
        mutants = sample(chosen(read_list(root), options.only), options.sample, options.seed)
    except ListError as fault:
        print(fault, file=sys.stderr)
        return 2
    if options.list:
        for mutant in mutants:
            say(f"{mutant.idea}/{mutant.name}: {mutant.defect}")
        return 0
    folder = root / "build/mutants"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits for the first
        started = time.monotonic()
        say("== the copy, without a mutant")
        tree = Tree(root, folder / "tree")
        tree.copy_all()
        bench = bench_of(tree.folder)
        if fault := bench.build(shown=True) or bench.measure():
            say(f"{fault}\nthis is without a mutant: mend it first, else nothing can be told")
            return 1
        say(f"== {len(mutants)} mutant{'' if len(mutants) == 1 else 's'}")
        outcomes = hunt(mutants, tree, bench)
        tree.restore()
        enough = report(outcomes, options.at_least)
        say(f"took {time.monotonic() - started:.0f} s")
        return 0 if enough else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("broken off; nothing of yours was changed")
