"""test/bench/run.py: measures every row of rows.py that exists, and prints the table.

    tools/bench                     builds build/main, then runs this on it
    tools/bench --rows boxed,call   only the rows with these keys (their programs run as a whole)
    tools/bench --repetitions 3     fewer repetitions: quicker, and less to be trusted
    tools/bench --json FILE         writes the figures too
    tools/bench --python 3.13       the Python rows on that CPython of the build
    tools/bench --torch             installs PyTorch, JAX and tvm-ffi into build/venv-torch first;
                                    where they are installed their figures are beside ours, also
                                    without this

Ends with how many rows keep their budget; the exit code is 1 where one is worse than five times
its budget. A row whose machinery does not exist yet says so, and is not counted.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import cpp_rows
import footprint
from rows import (
    ABSOLUTE,
    ALL,
    DIFFERENCE,
    INFORMATION,
    MODELS,
    OPERATORS,
    PROFILE_PYTHONS,
    PUBLISH,
    PUBLISH_JAX,
    RATIO,
    Measured,
    Row,
    compared,
    is_far_over,
    is_met,
)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def measure_python(
    build: Path, rounds: int, python: str | Path = sys.executable, *options: str
) -> tuple[dict[str, float], dict[str, str]]:
    """Nanoseconds by "<row>/<side>", and the rows that do not exist with the reason."""
    environment = {**os.environ, "PYTHONPATH": str(build / "pyfallback")}
    done = subprocess.run(
        [
            python,
            HERE / "python_rows.py",
            f"--folder={build / 'test/bench'}",
            f"--rounds={rounds}",
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    if done.returncode != 0:
        raise SystemExit(f"python_rows.py ended with code {done.returncode}")
    answer = json.loads(done.stdout)
    return answer["nanoseconds"], answer["missing"]


def measure_alone(
    script: str, build: Path, rounds: int, python: str | Path = sys.executable, *options: str
) -> dict[str, float]:
    """What a program measures that has a process of its own."""
    done = subprocess.run(
        [
            python,
            HERE / script,
            f"--folder={build / 'test/bench'}",
            f"--rounds={rounds}",
            *options,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(build / "pyfallback")},
    )
    if done.returncode != 0:
        raise SystemExit(f"{script} ended with code {done.returncode}")
    return json.loads(done.stdout)


def measure_profiles(build: Path, rounds: int) -> tuple[dict[str, float], dict[str, str]]:
    """As measure_python(), of each CPython that the build has, but of the one that runs this."""
    own = "{}.{}".format(*sys.version_info[:2])
    figures: dict[str, float] = {}
    missing: dict[str, str] = {}
    for version in PROFILE_PYTHONS:
        if version == own:
            continue
        python = build.parent / f"venv-{version}/bin/python"
        tag = version.replace(".", "")
        floors = list((build / "test/bench").glob(f"floors.cpython-{tag}-*"))
        if not python.exists() or not floors:
            for row in (f"profile_python_{version}", f"profile_c_{version}"):
                missing[row] = f"this build is not for CPython {version}"
            continue
        alone = measure_alone("profile_rows.py", build, rounds, python, "--no-peers")
        for row in ("profile_python", "profile_c"):
            for side in ("floor", "ours"):
                figures[f"{row}_{version}/{side}"] = alone[f"{row}/{side}"]
    return figures, missing


def python_with(module: str, build: Path) -> Path | None:
    """An interpreter that has a peer: this one, else build/venv-torch; None where neither has."""
    if importlib.util.find_spec(module) is not None:
        return Path(sys.executable)
    python = build.parent / "venv-torch/bin/python"
    if not python.exists():
        return None
    asked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return python if subprocess.run([python, "-c", asked]).returncode == 0 else None


def install_peers(build: Path) -> None:
    folder = build.parent / "venv-torch"
    if any(python_with(module, build) is None for module in ("torch", "tvm_ffi", "jax")):
        print(f"installing PyTorch, JAX and tvm-ffi into {folder.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "-q"]
        packages = ["torch==2.13.0", "apache-tvm-ffi", "jax==0.10.2", "numpy"]
        subprocess.run([*pip, *packages], check=True)


@dataclass(frozen=True)
class Peer:
    """What a user would pick instead: a program that measures it by row."""

    name: str
    module: str
    script: str
    folder: str  # that the program is given, from the build's


PEERS = [
    Peer("PyTorch", "torch", "torch_rows.py", "../bench-torch"),
    Peer("tvm-ffi", "tvm_ffi", "tvm_rows.py", "test/bench"),
]


def measure_peer(peer: Peer, build: Path, rounds: int) -> dict[str, dict[str, float]]:
    """By name and version its nanoseconds by row; nothing where it is not installed."""
    python = python_with(peer.module, build)
    if python is None:
        return {}
    folder = (build / peer.folder).resolve()
    done = subprocess.run(
        [python, HERE / peer.script, f"--folder={folder}", f"--rounds={rounds}"],
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"{peer.script} ended with code {done.returncode}")
    answer = json.loads(done.stdout.splitlines()[-1])
    return {f"{peer.name} {answer['version'].partition('+')[0]}": answer["nanoseconds"]}


def measure_over(
    module: str, script: str, rows: list[Row], build: Path, rounds: int
) -> tuple[dict[str, float], dict[str, str], dict[str, dict[str, float]]]:
    """As measure_python(), over what a framework takes, such as PyTorch in its eager mode, and by
    name what its other modes take."""
    python = python_with(module, build)
    if python is None:
        why = f"it needs the package {module}, which --torch installs"
        return {}, {row.key: why for row in rows}, {}
    done = subprocess.run(
        [python, HERE / script, f"--rounds={rounds}"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(build / "pyfallback")},
    )
    if done.returncode != 0:
        raise SystemExit(f"{script} ended with code {done.returncode}")
    figures = json.loads(done.stdout.splitlines()[-1])
    peers: dict[str, dict[str, float]] = {}
    for name, value in figures.items():
        row, _, side = name.partition("/")
        if side not in ("ours", "floor"):
            peers.setdefault(side, {})[row] = value
    return figures, {}, peers


def measure_interpreters(build: Path, rounds: int) -> tuple[dict[str, float], dict[str, str]]:
    """As measure_python(), of isolated interpreters, which the newest CPython of the build has."""
    built = build / "pyfallback/opyard"
    for version in ("3.13", "3.12"):
        python = build.parent / f"venv-{version}/bin/python"
        if python.exists() and list(built.glob(f"_C.cpython-{version.replace('.', '')}-*.so")):
            break
    else:
        return {}, {"interpreters": "it needs CPython 3.12, and this build has no such one"}
    if len(os.sched_getaffinity(0)) < 2:
        return {}, {"interpreters": "it needs two processors"}
    done = subprocess.run(
        [python, HERE / "interpreter_rows.py", f"--rounds={rounds}"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(build / "pyfallback")},
    )
    if done.returncode != 0:
        raise SystemExit(f"interpreter_rows.py ended with code {done.returncode}")
    return {f"interpreters/{side}": value for side, value in json.loads(done.stdout).items()}, {}


def pair_up(
    figures: dict[str, float], of_peers: dict[str, dict[str, float]]
) -> dict[str, Measured]:
    """By row. A row without a floor, which has no budget either, is compared with nothing."""
    measured = {}
    for row in ALL:
        if f"{row.key}/ours" in figures:
            floor = figures.get(f"{row.key}/floor", 0.0)
            peers = {peer: rows[row.key] for peer, rows in of_peers.items() if row.key in rows}
            if f"{row.key}/processes" in figures:
                peers["processes"] = figures[f"{row.key}/processes"]
            measured[row.key] = Measured(floor, figures[f"{row.key}/ours"], peers)
    return measured


def number(value: float) -> str:
    """Three digits that count, and no exponent."""
    if value == 0:
        return "-"
    return (
        f"{value:.2f}"
        if abs(value) < 10
        else f"{value:.1f}"
        if abs(value) < 1000
        else f"{value:.0f}"
    )


def comparison(row: Row, value: float) -> str:
    if row.kind == RATIO:
        return f"{value:.2f} x"
    sign = "+" if row.kind in (DIFFERENCE, INFORMATION) else ""
    return f"{sign}{number(value)} {row.unit}"


def cells(row: Row, measured: Measured | None, peers: list[str]) -> list[str]:
    budget = "" if row.kind == INFORMATION else comparison(row, row.budget)
    if measured is None:
        return [row.journey, row.path, "", "", *["" for _ in peers], "", budget, "does not exist"]
    floor, ours = (f"{number(value)} {row.unit}" for value in (measured.floor, measured.ours))
    if measured.floor == 0:
        floor = ""
    others = [number(measured.peers[peer]) if peer in measured.peers else "" for peer in peers]
    has_figure = row.kind != ABSOLUTE and measured.floor != 0
    figure = comparison(row, compared(row, measured)) if has_figure else ""
    verdict = "" if row.kind == INFORMATION else "met" if is_met(row, measured) else "not met"
    if is_far_over(row, measured):
        verdict = "FAR OVER"
    return [row.journey, row.path, floor, ours, *others, figure, budget, verdict]


def print_table(measured: dict[str, Measured], missing: dict[str, str], rows: list[Row]) -> None:
    peers = sorted({peer for one in measured.values() for peer in one.peers})
    lines = [["#", "path", "floor", "ours", *peers, "over floor", "budget", ""]]
    for row in rows:
        if row.key in measured or row.key in missing:
            lines.append(cells(row, measured.get(row.key), peers))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]) - 1)]
    for line in lines:
        padded = [
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=False))
        ]
        print("  ".join([*padded, line[-1]]).rstrip())
    for row in rows:
        if row.key in missing:
            print(f"does not exist: {row.path.strip()}: {missing[row.key]}")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def conclude(measured: dict[str, Measured], rows: list[Row]) -> int:
    judged = [row for row in rows if row.kind != INFORMATION and row.key in measured]
    met = sum(is_met(row, measured[row.key]) for row in judged)
    far = [row for row in judged if is_far_over(row, measured[row.key])]
    for row in far:
        print(f"worse than five times its budget: {row.path.strip()} ({row.key})")
    print(f"{met} of {len(judged)} rows within budget, {len(far)} worse than five times budget")
    return 1 if far else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build/main", help="default: build/main"
    )
    parser.add_argument("--rows", default="", help="only these keys, with commas between them")
    parser.add_argument("--repetitions", type=int, default=7, help="of each benchmark; default 7")
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    parser.add_argument("--python", metavar="VERSION", help="the CPython of the Python rows")
    parser.add_argument(
        "--torch", action="store_true", help="install PyTorch, JAX and tvm-ffi where they are not"
    )
    options = parser.parse_args()
    build = options.build.resolve()
    if options.python not in (None, f"{sys.version_info.major}.{sys.version_info.minor}"):
        python = build.parent / f"venv-{options.python}/bin/python"
        if not python.exists():
            parser.error(f"the build has no CPython {options.python}: there is no {python}")
        os.execv(python, [python, *sys.argv])
    known = {row.key for row in ALL}
    wanted = {key for key in options.rows.split(",") if key} or known
    if wanted - known:
        parser.error(f"no such row: {', '.join(sorted(wanted - known))}; rows.py lists them")
    rows = [row for row in ALL if row.key in wanted]

    allowed = os.sched_getaffinity(0)
    cpu = max(allowed)  # the lowest ones serve the machine's interrupts
    print(f"{processor()}, processor {cpu} of {len(allowed)}; CPython {platform.python_version()}")
    figures = cpp_rows.measure(build / "test/bench", cpu, options.repetitions)
    of_interpreters, without_interpreters = measure_interpreters(build, 2 * options.repetitions + 1)
    figures |= of_interpreters
    if options.torch:
        install_peers(build)
    of_operators, without_operators, _ = measure_over(
        "torch", "operator_rows.py", OPERATORS, build, 5 * options.repetitions
    )
    figures |= of_operators
    os.sched_setaffinity(0, {cpu})
    nanoseconds, missing = measure_python(build, rounds=40 * options.repetitions)
    torch = python_with("torch", build)
    if "foreign_torch" in missing and torch is not None:
        del missing["foreign_torch"]
        beside, without = measure_python(
            build, 40 * options.repetitions, torch, "--row=foreign_torch"
        )
        nanoseconds |= beside
        missing |= without
    missing |= without_interpreters | without_operators
    figures |= measure_alone("profile_rows.py", build, 5 * options.repetitions)
    of_profiles, without = measure_profiles(build, 5 * options.repetitions)
    figures |= of_profiles
    missing |= without
    figures |= measure_alone("gradient_rows.py", build, 10 * options.repetitions)
    figures |= nanoseconds | footprint.measure(build, 2 * options.repetitions + 1)

    of_models, without, of_peers = measure_over(
        "torch", "model_rows.py", MODELS, build, 3 * options.repetitions
    )
    figures |= of_models
    missing |= without
    of_publishing, without, _ = measure_over(
        "torch", "publish_rows.py", PUBLISH, build, 5 * options.repetitions
    )
    figures |= of_publishing
    missing |= without
    of_publishing, without, _ = measure_over(
        "jax", "jax_rows.py", PUBLISH_JAX, build, 12 * options.repetitions
    )
    figures |= of_publishing
    missing |= without
    for peer in PEERS:
        of_peers |= measure_peer(peer, build, 40 * options.repetitions)
    paired = pair_up(figures, of_peers)
    measured = {key: one for key, one in paired.items() if key in wanted}
    print_table(measured, missing, rows)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return conclude(measured, rows)


if __name__ == "__main__":
    sys.exit(main())
