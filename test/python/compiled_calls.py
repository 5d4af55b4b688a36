"""compiled_calls.py: calls between the C++ sources of a layer, read from what was built of them.

If each source has an object of its own, by its symbols. If ten are compiled as one, by the line
tables of the library: which source an instruction is of, and which one the function that it calls.
Of the calls that symbols tell, that finds 88 to 96 % with -O1: no addresses in tables, and no
functions that are shorter than a call. A tree without line tables tells the calls between those
sources of libopyard.so alone that are never compiled as one.
"""

import bisect
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from built import ROOT, build_folder

sys.path.insert(0, str(ROOT / "tools"))
from checks.sources import listed

# Of each source, the other sources that define what it calls, each with the name of a function.
Calls = dict[Path, dict[Path, str]]

# What the sources of a layer are linked into, below its folder of the build.
LIBRARIES = {
    "dispatcher": "libopyard.so",
    "jit": "libopyard_jit.so",
    "models": "libopyard_models.so",
    "autograd": "libopyard_autograd.so",
    "profiler": "libopyard_profiler.so",
    "remote": "libopyard_remote.so",
    "kernels": "opyard_kernels.so",
    "pyfallback": f"opyard/_C{sysconfig.get_config_var('EXT_SUFFIX')}",
}


# What is loaded into this process for a sanitizer is not for the tools.
CLEAN = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def lines_of(*command: object) -> Iterator[str]:
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=CLEAN) as process:
        yield from (line.rstrip("\n") for line in process.stdout)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)


def symbols(path: Path) -> tuple[set[str], set[str]]:
    """(defined, undefined) of an object file."""
    defined, undefined = set(), set()
    for line in lines_of("nm", "--format=posix", path):
        name, kind = line.split(" ")[:2]
        if kind == "U":
            undefined.add(name)
        elif kind in "TBDR":
            defined.add(name)
    return defined, undefined


def objects_of(layer: str) -> dict[Path, Path]:
    """The objects of a layer's sources in the build folder, by source."""
    version = re.escape(f"cpython-{sys.version_info[0]}{sys.version_info[1]}")
    wanted = rf"_C(_cold)?\.{version}" if layer == "pyfallback" else r"^lib|^opyard_"
    inside = Path("opyard") if layer == "pyfallback" else Path()
    found = {}
    for folder in (build_folder() / layer / inside).glob("*.p"):
        for path in listed(f"{layer}/*.cpp") if re.search(wanted, folder.name) else ():
            source = str(path.relative_to(layer) if not inside.parts else path)
            source = source.replace("pyfallback/", "../", 1)
            made = folder / (source.replace("/", "_") + ".o")
            if made.exists():
                found[path] = made
    return found


def calls_by_symbols(layer: str) -> Calls:
    objects = {path: symbols(made) for path, made in objects_of(layer).items()}
    home = {name: path for path, (defined, _) in objects.items() for name in defined}
    return {
        path: {home[name]: name for name in undefined if home.get(name, path) != path}
        for path, (_, undefined) in objects.items()
    }


class LineTable:
    """Which source of a layer an address of a library is of."""

    def __init__(self, library: Path, layer: str) -> None:
        listed_ones = listed(f"{layer}/*.cpp")
        by_path = {str(path): path for path in listed_ones}
        by_name = {path.name: path for path in listed_ones}
        self.rows: list[tuple[int, Path | None]] = []
        # A row of the table has the name of a file; a line before it the whole path, if that is
        # not the path of the row before. A sequence may begin with a file that came earlier, and
        # the path of the first file of all is not printed.
        paths: dict[str, Path | None] = {}
        last = None
        for line in lines_of("readelf", "--debug-dump=decodedline", "-W", library):
            if line.startswith("CU: "):
                paths, last = {}, None
            if line.endswith(":"):
                whole = line[:-1]
                _, found, rest = f"/{whole}".rpartition(f"/{layer}/")
                path = by_path.get(f"{layer}/{rest}") if found else None
                paths[whole.rpartition("/")[2]] = path
                last = None
                continue
            name = line.partition(" ")[0]
            if name == last:
                if " - " not in line:
                    continue
            words = line.split()
            if len(words) < 3 or not words[2].startswith("0x"):
                continue
            is_end = words[1] == "-"
            self.rows.append(
                (int(words[2], 16), None if is_end else paths.get(name, by_name.get(name)))
            )
            last = None if is_end else name
        self.rows.sort(key=lambda row: row[0])

    def find(self, address: int) -> Path | None:
        at = bisect.bisect_right(self.rows, address, key=lambda row: row[0]) - 1
        return self.rows[at][1] if at >= 0 else None


# "  1f2e3:	call   1f000 <name>", also a jump, or an address that is taken.
REFERENCE = re.compile(r" *([0-9a-f]+):\t.*<([^+>]+?)(?:@plt)?>$")
FUNCTION = re.compile(r"([0-9a-f]+) <.*>:$")


def calls_by_lines(layer: str, library: Path) -> Calls:
    """A call in an inlined function of a header is of the source that the caller is of."""
    objects = sorted(library.parent.glob("*.p/*.o"))
    # In the library a hidden function is as local as a static one.
    external = {
        line.split(" ")[0]
        for line in lines_of("nm", "--format=posix", "--defined-only", *objects)
        if " T " in line
    }
    table = LineTable(library, layer)

    def home_of(address: str) -> Path | None:
        return table.find(int(address, 16))

    homes = {}
    for line in lines_of("nm", "--format=posix", "--defined-only", library):
        name, _, address = line.split(" ")[:3]
        if name in external and (home := home_of(address)):
            homes[name] = home
    calls: Calls = {home: {} for home in homes.values()}
    caller, is_of_many = None, False
    for line in lines_of("objdump", "-d", "--no-show-raw-insn", library):
        if not line.endswith((">", ">:")):
            continue
        if match := REFERENCE.match(line):
            target = homes.get(match[2])
            if is_of_many:
                caller = home_of(match[1])
            if target is not None and caller not in (None, target):
                calls.setdefault(caller, {})[target] = match[2]
        elif match := FUNCTION.match(line):
            # Static functions of several objects may have one name.
            caller = home_of(match[1])
            # What initialises the variables of a unit has a part of each source.
            is_of_many = "<_GLOBAL__sub_I" in line
    return calls


def calls_of(layer: str) -> Calls | None:
    """None if this tree does not say."""
    library = build_folder() / layer / LIBRARIES[layer]
    parts = (f"{library.name}.p", "lib*_cold*.a.p")
    if not any(any(library.parent.glob(f"{part}/*-unity0.cpp.o")) for part in parts):
        return calls_by_symbols(layer)
    if " .debug_line " in "\n".join(lines_of("readelf", "-SW", library)):
        return calls_by_lines(layer, library)
    return calls_by_symbols(layer) if layer == "dispatcher" else None
