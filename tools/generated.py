"""tools/generated.py: shared parts of tools that write a file of the tree from the package."""

import argparse
from collections.abc import Callable
from pathlib import Path


def main(tool: str, description: "str | None", file: Path, text: Callable[[], str]) -> int:
    """Writes the file; with --check compares, and gives 1 if it is another one."""
    parser = argparse.ArgumentParser(tool, description=description)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if parser.parse_args().check:
        return 0 if file.read_text("utf-8") == text() else 1
    file.write_text(text(), "utf-8")
    return 0
