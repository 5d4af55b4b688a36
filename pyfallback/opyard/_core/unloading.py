"""opyard._core.unloading: results of load_library() and unload_library().

    plugin = opyard.load_library("libdemo.so")
    report = plugin.unload()
    print(report)                 # what is left of it, in words
    report.survivors              # the same as data

Imported when a plugin is first loaded or unloaded.
"""

import os

from .forking import while_loading

TYPE_CHECKING = False  # as in typing, which this file does not need
if TYPE_CHECKING:
    from collections.abc import Callable


class Survivor:
    """Something that is left of a plugin that was unloaded. Its code stays: all is safe to touch.

    `kind` is "call" (a kernel that calls still under way may be running), "handle" (typed handles
    in C++ may be left of an operator, and raise until it is defined again) or "registration"
    (another library's kernel for an operator that the plugin had defined). `name` is the operator,
    `key` of a registration, `provenance` where the kernel came from; "" if there is
    none.
    """

    __slots__ = ("key", "kind", "name", "provenance")

    def __init__(self, kind: str, name: str, key: str, provenance: str) -> None:
        self.kind = kind
        self.name = name
        self.key = key
        self.provenance = provenance

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in sorted(self.__slots__))
        return f"Survivor({shown})"


class UnloadReport(int):
    """The number of kernels that calls still under way keep alive, and what else is left.

    `path` is the plugin's, `survivors` a list of Survivor; str() says it in words.
    """

    path: str
    survivors: list[Survivor]

    def __new__(
        cls, in_use: int, path: str, survivors: list[Survivor], text: str
    ) -> "UnloadReport":
        report = super().__new__(cls, in_use)
        report.path = path
        report.survivors = survivors
        report._text = text
        return report

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<UnloadReport {int(self)}: {self._text}>"


class Plugin:
    """A plugin that is loaded. It stays so when this object ends."""

    __slots__ = ("_unload_library", "path")

    def __init__(self, path: bytes, unload_library: "Callable[[str], UnloadReport]") -> None:
        # As the loader knows it: a name that is no file here is looked for by the system.
        self.path = os.fsdecode(os.path.realpath(path) if os.path.exists(path) else path)
        self._unload_library = unload_library

    def unload(self) -> UnloadReport:
        """As unload_library(): unregisters what it registered. Raises LookupError after that."""
        return self._unload_library(self.path)

    def __repr__(self) -> str:
        return f"<Plugin {self.path!r}>"


def unload(path: bytes) -> UnloadReport:
    """Unloads, and makes the report. Raises what unload_library() raises."""
    from .. import _bind

    in_use, path_text, survivors, text = while_loading(lambda: _bind.unload_library(path))
    return UnloadReport(in_use, path_text, [Survivor(*each) for each in survivors], text)
