"""tools/checks/upward.py: every door upward is in the list of doors."""

import re
from collections.abc import Iterator
from pathlib import Path

import doors

from . import sources
from .exceptions import knowing_python
from .imports import in_package
from .orders import PACKAGE_ROOMS, PLACES, is_private, is_roomless
from .sources import listed, text_of

# Structs of function pointers in headers that are no doors: formats of others, what is registered
# or called back, and parts of one layer.
NO_DOORS = {
    "Allocator",
    "BlockFunction",
    "BlockRows",
    "BlockTail",
    "Collector",
    "CppCallSite",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackExchangeAPI",
    "ForeignKind",
    "FusedProgram",
    "GilWait",
    "Hooks",
    "Instruction",
    "Kernel",
    "Mutex",
    "Operator",
    "PythonRun",
    "Record",
    "Returner",
    "Rows",
    "Runtime",
    "opyard_block",
    "opyard_device_functions",
    "opyard_exception",
    "opyard_kernel",
    "opyard_task",
}


# Classes in public headers with virtual functions that are defined on the same floor.
NO_INTERFACES = {"FutureElement", "Function", "Operation", "SavedVisitor"}
INTERFACE = re.compile(r"\)(?: const)?(?: noexcept)? = 0;")
STD_FUNCTION = re.compile(r"^\s+std::function<", re.M)
# Classes in public headers with functions that are called back by who was given them.
NO_FUNCTIONS = {"FutureObject", "Graph", "Hooks", "ReportOptions", "Run", "RunRequest", "Trace"}
# What takes a function that no higher floor hands down for good: tests replace the clock, and a
# run of gradients calls once, at its end, what was queued inside of it.
NO_SETTERS = {"at_end_of_run", "set_test_clock"}
FUNCTION_ALIAS = re.compile(r"^\s*(?:using (\w+) = |typedef )[^;]*?\(\*\s*(\w*)\)\s*\(", re.M)
SETTER = re.compile(r"\b(set_\w+)\(\s*(?=\w)")
# Functions of namespaces, which begin a line: (result, name, parameters).
FREE_FUNCTION = re.compile(
    r"^(?!//|#|using |typedef |template|static )(?:OPYARD_\w+ |inline |\[\[\w+\]\] )*"
    r"([\w:]+) (\w+)\(\s*([^;{}]*?)\s*\)(?: noexcept)?\s*[;{]",
    re.M,
)
FUNCTION_PARAMETER = re.compile(
    r"(?:const )?std::function<[^;{}]*>(?: const)?&{0,2} \w+|[^(),]*\(\*\s*\w*\)\s*\([^()]*\)[\w ]*"
)
PARAMETER = re.compile(r"(?:const )?(?:\w+::)*(\w+)(?: const)? \w+(?: = \w+)?")
# The module whose function makes a schema again: pickle names the function itself, no hook.
PICKLED = "schema"
VARIABLE = re.compile(r"^extern [^;]*atomic<(?:\w+::)*(\w+)> (\w+)[^;]*;", re.M)


def function_setters(text: str, aliases: set[str]) -> Iterator[tuple[str, str]]:
    """What a header declares through which a function is handed down: (name, alias or "").
    A setter with such a parameter, a free function with no other one that gives nothing or the
    former function, or an atomic variable that others may see."""
    for result, name, parameter in FREE_FUNCTION.findall(text):
        if name.startswith("set_"):
            continue
        one = PARAMETER.fullmatch(parameter)
        alias = one[1] if one and one[1] in aliases else ""
        if (alias or FUNCTION_PARAMETER.fullmatch(parameter)) and result in ("void", alias):
            yield name, alias
    for match in SETTER.finditer(text):
        end, depth = match.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        parameter = text[match.end() : end - 1]
        if re.search(r"\(\*\s*\w*\)\s*\(", parameter):
            yield match[1], ""
        elif (one := PARAMETER.fullmatch(parameter)) and one[1] in aliases:
            yield match[1], one[1]
    for alias, name in VARIABLE.findall(text):
        if alias in aliases:
            yield name, alias


def is_importable_by_cpp(module: str) -> bool:
    """Extension modules, the lowest room, which knows the hooks, and what pickle has to name."""
    first = module.split(".")[1]
    return first in (PACKAGE_ROOMS[0], PICKLED) or is_roomless(Path(first))


def all_in(members: list[str], aliases: set[str]) -> bool:
    """Whether a struct has members, and each is a function by an alias."""
    return bool(members) and aliases.issuperset(members)


def is_interface(name: str, body: str) -> bool:
    """Whether a class calls what another one defines, or a function that it is given."""
    if INTERFACE.search(body):
        return name not in NO_INTERFACES
    return bool(STD_FUNCTION.search(body)) and name not in NO_FUNCTIONS


def function_aliases(headers: list[Path]) -> set[str]:
    return {
        using or typedef
        for path in headers
        for using, typedef in FUNCTION_ALIAS.findall(text_of(path))
    }


def check_setters(known: list[doors.Row], headers: list[Path]) -> Iterator[str]:
    """A function alone is a door as well as a struct of them."""
    aliases = function_aliases(headers)
    for path in headers:
        names = {door.name for door in known if str(path).endswith(f"/{door.first}")}
        for name, alias in function_setters(text_of(path), aliases):
            if not {name, alias} & names and name not in NO_SETTERS:
                yield f"{path}: {name} is a door upward that is not in {doors.LIST}"


def check_doors() -> Iterator[str]:
    """What lets a lower floor call a higher one is in the list of doors, and what is made of that
    list is as it says."""
    known, hooks = doors.rows(sources.ROOT)
    for file, text, wanted in doors.parts(sources.ROOT):
        if text != wanted:
            yield f"{file}: is not what {doors.LIST} says; run tools/python tools/doors.py"
    names = {door.name for door in known}
    struct = re.compile(
        r"^(?:typedef )?(?:struct|class)(?: OPYARD_API)? (\w+)[^;{]*\{(.*?)^\}", re.M | re.S
    )
    pointer = re.compile(r"\(\*\w+\)\s*\(")
    listener = re.compile(r"^using (\w+(?:Listener|Handler)) = \w+ \(\*\)", re.M)
    headers = listed(*(f"{folder}/*.h" for folder in PLACES))
    yield from check_setters(known, headers)
    aliases = function_aliases(headers)
    member = re.compile(r"^\s+(?:const )?(?:\w+::)*(\w+)(?: const)? \w+(?: = [^;]*|\{\})?;", re.M)
    for path in headers:
        text = text_of(path)
        found = [
            name
            for name, body in struct.findall(text)
            if pointer.search(body)
            or all_in(member.findall(body), aliases)
            or (not is_private(path) and is_interface(name, body))
        ]
        if not is_private(path):
            found += listener.findall(text)
        for name in found:
            if name not in names | NO_DOORS:
                yield f"{path}: {name} is a door upward that is not in {doors.LIST}"
    for door in known:
        header = next((p for p in listed("*.h") if str(p).endswith(f"/{door.first}")), None)
        if header is None or door.name not in text_of(header):
            yield f"{doors.LIST}: {door.name} is not in {door.first}"
    imported = re.compile(r'\b(?:import|PyImport_ImportModule)\("(opyard\.[\w.]+)"\)')
    for path in knowing_python():
        for name in imported.findall(text_of(path)):
            if not is_importable_by_cpp(name):
                yield f"{path}: imports {name}, which is above it; ask by name, see {doors.LIST}"
    asked = re.compile(r"""\bhooks\[["'](\w+)["']\]|(?:require|call|ask)_hook\([^";]*"(\w+)"\)""")
    for path in [*in_package(".py"), *knowing_python()]:
        for match in asked.finditer(text_of(path)):
            name = match[1] or match[2]
            if name not in {hook.name for hook in hooks}:
                yield f"{path}: asks for the hook {name!r}, which is not in {doors.LIST}"
