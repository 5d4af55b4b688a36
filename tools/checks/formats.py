"""tools/checks/formats.py: formatting, spelling, heads, lengths and widths."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from . import sources
from .sources import LONGEST_FILE, TOOLS, is_text, listed, python_files, run, text_of

LONGEST_LINE = 100


def check_cpp_format() -> Iterator[str]:
    for path in listed("*.h", "*.cpp"):
        complaints = run(TOOLS / "clang-format", "--dry-run", "--Werror", "--ferror-limit=1", path)
        if complaints:
            place = ":".join(complaints[0].split(":")[:2])
            yield f"{place}: clang-format would change this; tools/test --lint --fix does"


def check_python() -> Iterator[str]:
    yield from run(
        TOOLS / "ruff", "check", "--quiet", "--output-format=concise", "--no-cache", *python_files()
    )
    yield from run(TOOLS / "ruff", "format", "--check", "--quiet", "--no-cache", *python_files())


def check_spelling() -> Iterator[str]:
    yield from run(TOOLS / "codespell", *[path for path in listed() if is_text(path)])


def check_whitespace() -> Iterator[str]:
    for path in listed():
        if not is_text(path) or path.suffix in (".csv", ".patch"):
            continue
        text = text_of(path)
        if text and not text.endswith("\n"):
            yield f"{path}: the last line has no end"
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                yield f"{path}:{number}: blanks at the end of the line"
            if line.startswith("\t"):
                yield f"{path}:{number}: indented with a tab"


def check_version() -> Iterator[str]:
    version = re.search(r"version: '([^']+)'", text_of(Path("meson.build")))[1]
    major, minor, patch = version.split(".")
    wanted = {
        "pyfallback/opyard/_version.py": [f'__version__ = "{version}"'],
        "dispatcher/include/opyard/version.h": [
            f"#define OPYARD_VERSION_MAJOR {major}\n",
            f"#define OPYARD_VERSION_MINOR {minor}\n",
            f"#define OPYARD_VERSION_PATCH {patch}\n",
        ],
        "CHANGELOG.md": [f"## {version}"],
    }
    for name, phrases in wanted.items():
        for phrase in phrases:
            if phrase not in text_of(Path(name)):
                yield f"{name}: does not say {phrase.strip()!r}; meson.build says {version}"


def check_machine_paths() -> Iterator[str]:
    """Nothing that is committed may name a place of the machine it was written on."""
    places = [f"{sources.ROOT}/", f"{Path.home()}/", f"{sources.ROOT.parent}/"]
    places = [place for place in places if len(place) > 3]
    for path in listed():
        if is_text(path):
            for number, line in enumerate(text_of(path).splitlines(), 1):
                for place in places:
                    if re.search(rf"(?<![\w.}}]){re.escape(place)}", line):
                        yield f"{path}:{number}: names the place {place} of this machine"


def check_shape() -> Iterator[str]:
    for path in listed("*.h", "*.cpp", "*.def"):
        text = text_of(path)
        head = text.split("\n", 1)[0]
        if not re.match(rf"// (\S*/)?{re.escape(path.name)}: \S", head):
            yield f"{path}:1: begins with '// <path>/{path.name}: <its purpose>'"
        if path.suffix == ".h" and "pch" not in path.parts and "#pragma once" not in text:
            yield f"{path}: has no #pragma once"
        length = text.count("\n")
        if length > LONGEST_FILE and "one piece" not in text[:3000]:
            yield f"{path}: {length} lines, and its head does not say why the file is one piece"
    for path in listed("*.h", "*.cpp", "*.py", "*.build", "tools/*"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if re.search(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b", line):
                yield f"{path}:{number}: a note to do something later; do it, or drop it"


def check_comments() -> Iterator[str]:
    """Comments keep to the columns of the code, which no formatter breaks for them."""
    for path in listed("*.h", "*.cpp", "*.def"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if len(line) <= LONGEST_LINE or number == 1:
                continue
            comment = line.strip()
            is_table_or_code = "   " in comment
            if comment.startswith("//") and not is_table_or_code and "://" not in comment:
                yield f"{path}:{number}: a comment of {len(line)} columns, of {LONGEST_LINE}"


def check_scripts() -> Iterator[str]:
    for path in [*listed("tools/*"), *listed(".ci/*")]:
        if text_of(path).startswith("#!") and not (sources.ROOT / path).stat().st_mode & 0o100:
            yield f"{path}: begins with #! and is not executable"
        if text_of(path).startswith("#!/usr/bin/env bash"):
            yield from run("bash", "-n", path)


def fix() -> None:
    subprocess.run(
        [TOOLS / "clang-format", "-i", *listed("*.h", "*.cpp")], cwd=sources.ROOT, check=True
    )
    subprocess.run(
        [TOOLS / "ruff", "check", "--quiet", "--fix", "--exit-zero", "--no-cache", *python_files()],
        cwd=sources.ROOT,
    )
    subprocess.run(
        [TOOLS / "ruff", "format", "--quiet", "--no-cache", *python_files()],
        cwd=sources.ROOT,
        check=True,
    )
