"""tools/sanitizers.py: environments of tests under a sanitizer, and its reports.

tools/run_tests.py uses the two at the end. The C++ programs are built for a sanitizer whole. Of
the Python tests only the package is; CPython stays as it is, and gets the sanitizer's runtime by
LD_PRELOAD.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from suites import ROOT

# Tests of Python ask for more memory than there can be, and are to get an error for it.
NO_MEMORY_IS_NULL = "allocator_may_return_null=1"
# The frames that exceptions leave are given back late, and are soon all there are in a process that
# runs all tests; then each call searches them. The C++ programs look for uses after a return.
FRAMES_ON_THE_STACK = "detect_stack_use_after_return=0"
SUPPRESSIONS = ROOT / "test/python/thread_sanitizer.supp"
INNERMOST_FRAMES = 12
# CPython leaves a few floats and tuples behind in every process. It hands their memory on from one
# to the next, and a report names who had it first: any line of ours that ever made one.
RECYCLED = ("PyFloat_FromDouble ", "_PyObject_GC_NewVar ")
FEW = 100  # objects of a block


def without_randomised_addresses() -> list[str]:
    """GCC 12's thread sanitizer does not know how newer kernels spread mappings: go without."""
    wrapper = ["setarch", "--addr-no-randomize"]
    allowed = (
        shutil.which("setarch")
        and subprocess.run([*wrapper, "true"], capture_output=True).returncode == 0
    )
    return wrapper if allowed else []


@cache
def is_of_ours(frame: str) -> bool:
    """Whether its source is one of this tree. Objects from a compiler's cache name the folder in
    which they were made, so only the end of a path says it."""
    parts = re.sub(r"[:(].*", "", frame.rpartition(" ")[2]).strip("/").split("/")
    ends = (parts[n:] for n in range(len(parts) - 1))
    return any(end[0] != "build" and (ROOT / Path(*end)).is_file() for end in ends)


def leaks_of_ours(logs: Path) -> dict[str, int]:
    """Where memory was asked for that nothing leads to at the end of a process, and how often, as
    far as a line of this project is among the innermost frames. CPython leaves much behind at its
    end, which says nothing; what objects of ours still had then hangs below that, indirectly. A
    few objects of RECYCLED say nothing either. pybind11 leaves what it keeps for each interpreter
    to that one, whose end no one tells it."""
    found: dict[str, int] = {}
    for log in logs.iterdir():
        for block in re.split(r"\n\n", log.read_text(errors="replace")):
            if not block.lstrip().startswith("Direct leak"):
                continue
            frames = re.findall(r"#\d+ 0x\w+ in (.+)", block)[:INNERMOST_FRAMES]
            if any("pybind11::detail::internals_pp_manager<" in frame for frame in frames):
                continue
            objects = int(re.search(r"in (\d+) object", block).group(1))
            if objects < FEW and any(frame.startswith(RECYCLED) for frame in frames):
                continue
            ours = [frame for frame in frames if is_of_ours(frame)]
            if ours:
                found[ours[0]] = found.get(ours[0], 0) + 1
    return found


@dataclass
class Sanitizer:
    """`name` is the folder of build/; the environment is the one of C++ programs."""

    name: str
    library: str
    environment: dict[str, str]
    wrapper: list[str]

    def runtime(self) -> str:
        """For LD_PRELOAD. libstdc++ has to be there when the address sanitizer looks for what it
        intercepts."""
        asked = [["g++", f"-print-file-name={name}"] for name in (self.library, "libstdc++.so")]
        found = [subprocess.run(one, capture_output=True, text=True, check=True) for one in asked]
        return " ".join(one.stdout.strip() for one in found)

    def python_environment(self, logs: Path) -> dict[str, str]:
        raise NotImplementedError

    def faults(self, logs: Path) -> list[str]:
        """What is wrong although no test failed."""
        return []


class AddressSanitizer(Sanitizer):
    def python_environment(self, logs: Path) -> dict[str, str]:
        options = [self.environment["ASAN_OPTIONS"], NO_MEMORY_IS_NULL, f"log_path={logs / 'log'}"]
        options.append(FRAMES_ON_THE_STACK)
        return self.environment | {
            "ASAN_OPTIONS": ":".join(options),
            "LSAN_OPTIONS": "exitcode=0",
            "OPYARD_SANITIZER": "address",
            "PYTHONMALLOC": "malloc",
        }

    def faults(self, logs: Path) -> list[str]:
        leaks = leaks_of_ours(logs)
        planted = [frame for frame in leaks if "border.cpp" in frame]
        faults = [] if planted else ["the planted leak was not found"]
        for frame, times in leaks.items():
            if frame not in planted:
                faults.append(f"leaked in {times} processes: {frame}")
        return faults


class ThreadSanitizer(Sanitizer):
    def python_environment(self, logs: Path) -> dict[str, str]:
        """CPython 3.13 leaves daemon threads that are over as they are, which is no leak of
        ours."""
        options = f"suppressions={SUPPRESSIONS}:report_thread_leaks=0:{NO_MEMORY_IS_NULL}"
        return {
            "TSAN_OPTIONS": f"{self.environment['TSAN_OPTIONS']}:{options}",
            "OPYARD_SANITIZER": "thread",
        }


# Every report ends the program, and leaks count.
ASAN = AddressSanitizer(
    "asan",
    "libasan.so",
    {
        "ASAN_OPTIONS": "halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1:"
        "strict_init_order=1:check_initialization_order=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "LSAN_OPTIONS": "report_objects=1",
    },
    [],
)
TSAN = ThreadSanitizer(
    "tsan",
    "libtsan.so",
    {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
    without_randomised_addresses(),
)
