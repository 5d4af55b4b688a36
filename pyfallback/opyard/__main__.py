"""`opyard-config`, `python -m opyard`: where the parts of Opyard are, one answer a line.

c++ -std=c++20 $(opyard-config --cflags) demo.cpp $(opyard-config --libs) …
c++ -std=c++20 $(opyard-config --cflags) demo.cpp $(opyard-config --libs models profiler) …
PKG_CONFIG_PATH=$(python -m opyard --pkgconfigdir) pkg-config --cflags --libs opyard
cmake -Dopyard_DIR=$(python -m opyard --cmakedir) …

`python -m opyard stubs` writes operators as .pyi files, see opyard/_core/stub_files.py,
`python -m opyard operators` checks files of operators, see opyard/_library/operator_command.py, and
`python -m opyard run` runs a model on arrays in files, see opyard/_run_command.py.
"""

import os
import sys
from typing import NoReturn

from opyard import _build_info

_COMMANDS = ("operators", "stubs", "run")


def _loops() -> str:
    """Which build of the operators' loops this processor gets, of those that it runs."""
    from opyard import ops

    try:
        ops.aten.ones([])  # brings the plugin
        here = ops.opyard_kernels
        return f"loops: {here.cpu_build()} (OPYARD_CPU takes {here.cpu_builds()})"
    except (AttributeError, OSError, RuntimeError, ValueError) as error:
        return f"loops: none, {error}"


def _names() -> list[str]:
    """The libraries, without what their names have in common."""
    return [name.removeprefix("opyard_") for name in _build_info.libraries]


def _linked(names: list[str]) -> list[str]:
    """The files of these libraries and of those that they need, and where programs find them."""
    known = {name.removeprefix("opyard_"): files for name, files in _build_info.libraries.items()}
    files = list(dict.fromkeys(file for name in names for file in known[name]))
    folders = dict.fromkeys(os.path.dirname(file) for file in files)
    return [*files, *(f"-Wl,-rpath,{folder}" for folder in folders)]


def main() -> None:
    """Prints the answer to each option that was given, in the order of this list."""
    if sys.argv[1:2] == ["stubs"]:
        from opyard._core import stub_files as _stubs
        from opyard.library import load_plugins

        return _stubs.main(sys.argv[2:], load_plugins)
    if sys.argv[1:2] == ["operators"]:
        from opyard._library import operator_command

        return operator_command.main(sys.argv[2:])
    if sys.argv[1:2] == ["run"]:
        from opyard import _run_command as run_command

        return run_command.main(sys.argv[2:])
    from opyard._core.options import OptionParser

    parser = OptionParser(
        prog="opyard-config" if "config" in sys.argv[0] else "python -m opyard",
        description="Where Opyard's parts are.",
        epilog="python -m opyard stubs --help: the operators as .pyi files for type checkers; "
        "python -m opyard operators --help: files of operators; "
        "python -m opyard run --help: models on arrays in files",
    )
    parser.add_argument("--version", action="store_true", help="the version of the package")
    parser.add_argument("--pkgconfigdir", action="store_true", help="the folder of opyard.pc")
    parser.add_argument("--cmakedir", action="store_true", help="the folder of opyardConfig.cmake")
    parser.add_argument("--includedir", action="store_true", help="the folders of the C++ headers")
    parser.add_argument("--cflags", action="store_true", help="what a compiler is given")
    parser.add_argument(
        "--libs",
        nargs="*",
        action="extend",
        type=lambda name: name.removeprefix("opyard_"),
        choices=_names(),
        metavar="NAME",
        help="what a linker is given for these libraries, with a run path: "
        f"{', '.join(_names())}; without a name, the file of the first alone",
    )
    parser.add_argument("--library", action="store_true", help="the file of libopyard.so")
    parser.add_argument(
        "--kernels", action="store_true", help="the file of the CPU operator plugin"
    )
    parser.add_argument(
        "--build-info", action="store_true", help="compiler, build type and options"
    )
    command = sys.argv[1:2]
    if command and not command[0].startswith("-"):
        from opyard._core.near_names import hint

        parser.error(
            f"there is no command {command[0]!r}{hint(command[0], _COMMANDS)}; the commands are "
            f"{', '.join(_COMMANDS[:-1])} and {_COMMANDS[-1]}, and all else is an option"
        )
    asked = parser.parse_args()
    if not any(vars(asked).values()) and asked.libs is None:
        parser.print_help()
    if asked.version:
        print(_build_info.version)
    if asked.pkgconfigdir:
        print(_build_info.pkgconfig_dir)
    if asked.cmakedir:
        print(_build_info.cmake_dir)
    if asked.includedir:
        print(*_build_info.include_dirs, sep="\n")
    if asked.cflags:
        print(*(f"-I{folder}" for folder in _build_info.include_dirs))
    if asked.libs is not None:
        print(*_linked(asked.libs) if asked.libs else [_build_info.library])
    if asked.library:
        print(_build_info.library)
    if asked.kernels:
        print(_build_info.kernels)
    if asked.build_info:
        print(f"opyard {_build_info.version}, {_build_info.build_type}, {_build_info.layout}")
        print(f"compiler: {_build_info.compiler}")
        for name, value in _build_info.options.items():
            print(f"{name}: {value}")
        print(_loops())
    return None


def become_program() -> NoReturn:
    """`opyard-run` of a wheel: the program that needs no Python, in place of this process."""
    import signal

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program inherits that
    os.execv(_build_info.program, ["opyard-run", *sys.argv[1:]])


if __name__ == "__main__":
    main()
