"""test/bench/footprint.py: cost of importing opyard and its profiler: time, memory, disk.

Each import happens in a fresh interpreter, floor and ours in turn, and the median counts. The
memory is what the import adds to the resident set of that interpreter. The sources are compiled
before, as an installer does, whatever the environment says of writing bytecode; what the first
import costs if no one did that is measured apart.
"""

import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

IMPORT = """
import json, sys, time

def resident():
    for line in open("/proc/self/smaps_rollup"):
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024

sys.path.insert(0, {folder!r})
{prepare}
before = resident()
begin = time.perf_counter_ns()
import {module}
nanoseconds = time.perf_counter_ns() - begin
print(json.dumps([nanoseconds / 1e6, resident() - before]))
"""


def import_once(
    module: str, folder: Path, prepare: str = "", **settings: str
) -> tuple[float, float]:
    """Milliseconds and MiB of one import, after `prepare`."""
    code = IMPORT.format(folder=str(folder), module=module, prepare=prepare)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    }
    environment |= settings
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    milliseconds, mebibytes = json.loads(done.stdout)
    return milliseconds, mebibytes


def import_sources(module: str, folder: Path) -> float:
    """Milliseconds of one import that finds no bytecode. What the compiler took of memory for what
    was imported before is used again, which is why the memory would say nothing.
    """
    with tempfile.TemporaryDirectory() as empty:
        return import_once(module, folder, PYTHONPYCACHEPREFIX=empty)[0]


def size_on_disk(build: Path) -> float:
    """Megabytes of the package for one CPython, with the library and without the kernels."""
    folders = [build / "pyfallback/opyard", *build.glob("*/python/opyard")]
    suffix = f".{sys.implementation.cache_tag.replace('cpython-', 'cpython-')}-"
    files = [
        *(file for folder in folders for file in folder.glob("*.py")),
        *(file for folder in folders for file in folder.glob(f"*{suffix}*.so")),
        build / "dispatcher/libopyard.so",
    ]
    return sum(file.stat().st_size for file in files) / 1e6


def measure(build: Path, repetitions: int) -> dict[str, float]:
    """By "<row>/<side>"."""
    modules = {"floor": ("floors", build / "test/bench"), "ours": ("opyard", build / "pyfallback")}
    taken: dict[str, list[tuple[float, float]]] = {side: [] for side in modules}
    of_sources = []
    of_profiler = []
    profiler = ("opyard.profiler", build / "pyfallback", "import opyard")
    import_once(*profiler)
    for module, folder in modules.values():
        import_once(module, folder)  # compiles what is not compiled, warms the page cache
    for _ in range(repetitions):
        for side, (module, folder) in modules.items():
            taken[side].append(import_once(module, folder))
        of_sources.append(import_sources(*modules["ours"]))
        of_profiler.append(import_once(*profiler))
    figures = {
        "import_sources/ours": statistics.median(of_sources),
        "profiler_time/ours": statistics.median(time for time, _ in of_profiler),
        "profiler_memory/ours": statistics.median(memory for _, memory in of_profiler),
    }
    for side, pairs in taken.items():
        figures[f"import_time/{side}"] = statistics.median(pair[0] for pair in pairs)
        figures[f"import_memory/{side}"] = statistics.median(pair[1] for pair in pairs)
    floors = build / f"test/bench/floors{sysconfig.get_config_var('EXT_SUFFIX')}"
    figures["disk/floor"] = floors.stat().st_size / 1e6
    figures["disk/ours"] = size_on_disk(build)
    return figures
