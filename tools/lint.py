"""tools/lint.py: checks of the sources without building them.

`tools/test --lint` calls this in a virtual environment that has the pinned formatters; call that.
A check is a function of tools/checks/ that yields one sentence a fault, beginning with the place.
With --fix the formatters write first.
"""

import argparse
import sys

from checks.exceptions import check_cleared, check_looked_up
from checks.formats import (
    check_comments,
    check_cpp_format,
    check_machine_paths,
    check_python,
    check_scripts,
    check_shape,
    check_spelling,
    check_version,
    check_whitespace,
    fix,
)
from checks.imports import check_package
from checks.includes import check_inner_headers, check_layers
from checks.names import check_file_scope_names, check_names
from checks.rooms import check_listed, check_rooms, check_tests
from checks.upward import check_doors

CHECKS = {
    "C++ formatting": check_cpp_format,
    "Python formatting and faults": check_python,
    "spelling": check_spelling,
    "whitespace": check_whitespace,
    "one version": check_version,
    "no place of this machine": check_machine_paths,
    "layers": check_layers,
    "rooms": check_rooms,
    "rooms of tests": check_tests,
    "rooms of the package": check_package,
    "inner headers": check_inner_headers,
    "file names": check_names,
    "names of file scope": check_file_scope_names,
    "heads and lengths": check_shape,
    "width of comments": check_comments,
    "every source is built": check_listed,
    "exceptions given up": check_cleared,
    "exceptions lost in look-ups": check_looked_up,
    "doors upward": check_doors,
    "scripts": check_scripts,
}


def main() -> int:
    parser = argparse.ArgumentParser("tools/test --lint", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--fix", action="store_true", help="let the formatters write")
    if parser.parse_args().fix:
        fix()
    failed = 0
    for name, check in CHECKS.items():
        faults = list(check())
        failed += bool(faults)
        print(f"{'failed' if faults else 'ok':6}  {name}", flush=True)
        for fault in faults:
            print(f"        {fault}")
    print(f"lint: {len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
