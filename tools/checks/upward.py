"""tools/checks/upward.py: every door upward is in the list of doors."""

import re
from collections.abc import Iterator

import doors

from . import sources
from .exceptions import knowing_python
from .imports import in_package
from .orders import PLACES, is_private
from .sources import listed, text_of

# Structs of function pointers in headers that are no doors: formats of others, what is registered
# or called back, and parts of one layer.
NO_DOORS = {
    "Allocator",
    "BlockFunction",
    "BlockRows",
    "BlockTail",
    "Collector",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackExchangeAPI",
    "FusedProgram",
    "Hooks",
    "Kernel",
    "Mutex",
    "Operator",
    "PythonRun",
    "Record",
    "Returner",
    "Runtime",
    "opyard_block",
    "opyard_device_functions",
    "opyard_exception",
    "opyard_kernel",
    "opyard_task",
}


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
    for path in listed(*(f"{folder}/*.h" for folder in PLACES)):
        text = text_of(path)
        found = [name for name, body in struct.findall(text) if pointer.search(body)]
        if not is_private(path):
            found += listener.findall(text)
        for name in found:
            if name not in names | NO_DOORS:
                yield f"{path}: {name} is a door upward that is not in {doors.LIST}"
    for door in known:
        header = next((p for p in listed("*.h") if str(p).endswith(f"/{door.first}")), None)
        if header is None or door.name not in text_of(header):
            yield f"{doors.LIST}: {door.name} is not in {door.first}"
    asked = re.compile(r"""\bhooks\[["'](\w+)["']\]|(?:require|call|ask)_hook\([^";]*"(\w+)"\)""")
    for path in [*in_package(".py"), *knowing_python()]:
        for match in asked.finditer(text_of(path)):
            name = match[1] or match[2]
            if name not in {hook.name for hook in hooks}:
                yield f"{path}: asks for the hook {name!r}, which is not in {doors.LIST}"
