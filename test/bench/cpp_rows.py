"""test/bench/cpp_rows.py: journeys 1 and 2, measured by the program opyard_bench; and gradients, by
opyard_gradients_bench.

Google Benchmark runs each side of each row several times, in random order, and the median of the
runs counts. What is read is the processor's time of the thread, which a neighbour that takes the
processor away does not lengthen.
"""

import json
import os
import subprocess
from pathlib import Path

# The rows that need a processor for each of their threads; the program pins those itself.
THREADED = "_two_threads/"
# Nanoseconds to the unit of the row, where that is another.
SCALES = {"register_5000": 1e-6, "graph_compile": 1e-6, "graph_million": 1e-6}


def run(program: Path, rows: str, cpus: set[int], repetitions: int) -> dict[str, float]:
    """Nanoseconds by "<row>/<side>", of the benchmarks that the pattern selects ("-…": all but)."""
    command = [
        program,
        f"--benchmark_filter={rows}",
        f"--benchmark_repetitions={repetitions}",
        "--benchmark_enable_random_interleaving=true",
        "--benchmark_report_aggregates_only=true",
        "--benchmark_min_time=0.05",
        "--benchmark_format=json",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus),
    )
    if done.returncode != 0:
        raise SystemExit(f"{program} ended with code {done.returncode}:\n{done.stderr}")
    nanoseconds = {}
    for entry in json.loads(done.stdout)["benchmarks"]:
        if entry.get("aggregate_name") == "median":
            assert entry["time_unit"] == "ns"
            row, side = entry["run_name"].split("/")[:2]
            measured = "real_time" if entry["run_name"].endswith("/manual_time") else "cpu_time"
            nanoseconds[f"{row}/{side}"] = entry[measured] * SCALES.get(row, 1.0)
    return nanoseconds


def measure(folder: Path, cpu: int, repetitions: int) -> dict[str, float]:
    program = folder / "opyard_bench"
    if not program.exists():
        raise SystemExit(f"{program} is not there; build with -Dbenchmarks=true first")
    nanoseconds = run(program, f"-{THREADED}", {cpu}, repetitions)
    if (gradients := folder / "opyard_gradients_bench").exists():
        nanoseconds |= run(gradients, ".", {cpu}, repetitions)
    allowed = os.sched_getaffinity(0)
    if len(allowed) >= 2:
        nanoseconds |= run(program, THREADED, allowed, repetitions)
    return nanoseconds
