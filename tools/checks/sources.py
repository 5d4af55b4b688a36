"""tools/checks/sources.py: the files that the linter reads, and the tools that it asks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
LONGEST_FILE = 600
# What fuzzers found is kept byte by byte.
NOT_OURS = ":!test/fuzz/corpus"


def listed(*patterns: str) -> list[Path]:
    """The files that git knows or would add, as paths from the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    command.append(NOT_OURS)
    names = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [Path(name) for name in sorted(set(names)) if (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    return (ROOT / path).read_text("utf-8")


def is_text(path: Path) -> bool:
    return b"\0" not in (ROOT / path).read_bytes()[:4096]


def python_files() -> list[Path]:
    scripts = [
        path
        for path in listed("tools/*")
        if not path.suffix and text_of(path).startswith("#!/usr/bin/env python3")
    ]
    return listed("*.py", "*.pyi") + scripts


def run(*command: object) -> list[str]:
    """The lines that a tool prints when it is not content; no line when it is."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return (lines or [f"{command[0]} ended with code {done.returncode}"]) if done.returncode else []
