"""PythonDispatcher: a small table to learn from, which keys a set of kernels serves.

d = PythonDispatcher()
d.register(["CPU", "XLA", "CompositeImplicitAutograd"])
print(d.registrations())
print(d.dispatch_table())
"""

import itertools
from collections.abc import Iterable

from .. import _C, _bind
from .._core.keys import DispatchKey
from .._core.keywords import names_keywords

_numbers = itertools.count()


class PythonDispatcher:
    """One operator with kernels at keys of one's choice, called fn_<key>, and its tables.

    It knows a few keys, enough to see every rule: `supported_keys`.
    """

    runtime_keys = (
        "CPU", "AutogradCPU", "QuantizedCPU", "AutogradOther", "XLA", "AutogradXLA", "Lazy",
        "AutogradLazy",
    )  # fmt: skip
    alias_keys = ("CompositeExplicitAutograd", "Autograd", "CompositeImplicitAutograd")
    supported_keys = runtime_keys + alias_keys

    def __init__(self) -> None:
        space = f"python_dispatcher_{next(_numbers)}"
        self.name = f"{space}::foo"
        self._library = _C.Library(space, "FRAGMENT", "", "")
        self._library.define("foo(Tensor x) -> Tensor", False, (), "", "")

    def keys(self) -> tuple[str, ...]:
        """The keys that register() takes."""
        return self.supported_keys

    @names_keywords
    def register(self, keys: Iterable[str]) -> None:
        """Registers a kernel at each of these keys.

        Raises RuntimeError for a key twice, now or before, for both composites together, and for
        keys that are not supported; nothing is registered then.
        """
        keys = [str(key) for key in keys]
        for key in keys:
            if key not in self.supported_keys:
                raise RuntimeError(
                    f"{key} is not supported, please select a dispatch key in "
                    f"{list(self.supported_keys)}."
                )
        all_keys = [*self._registered(), *keys]
        if len(set(all_keys)) != len(all_keys):
            raise RuntimeError(
                "Overriden is not allowed but found "  # codespell:ignore (people match on it)
                f"duplicates in {all_keys}."
            )
        if {"CompositeImplicitAutograd", "CompositeExplicitAutograd"} <= set(all_keys):
            raise RuntimeError(
                "Registration to both CompositeImplicitAutograd and CompositeExplicitAutograd is "
                "not allowed."
            )
        for key in keys:
            self._library.impl("foo", _no_kernel, key, False, False, f"fn_{key}")

    def raw_registrations(self) -> str:
        """What opyard.dispatch.dump() says."""
        return _bind.dump(self.name)

    def raw_dispatch_table(self) -> str:
        """What opyard.dispatch.dump_table() says, of all keys."""
        return _bind.dump_table(self.name)

    def registrations(self) -> str:
        """The kernels that were registered, as a table."""
        rows = [
            (key + "[alias]" * (key in self.alias_keys), f"fn_{key}") for key in self._registered()
        ]
        return _table("Registered Kernels", rows)

    def dispatch_table(self) -> str:
        """The kernel that serves each runtime key, and by which rule, as a table."""
        serving = ((key, self._serving(key)) for key in self.runtime_keys)
        return _table("Computed Dispatch Table", [(key, text) for key, text in serving if text])

    def _serving(self, key: str) -> str:
        number = int(DispatchKey[key])
        provenance, rule = _bind.resolve(self.name, number)
        if rule == "missing":
            return ""
        passes = "fallthrough " if _bind.is_fallthrough(self.name, number) else ""
        return f"{passes}{provenance.removeprefix('registered at ')} [{rule}]"

    def _registered(self) -> list[str]:
        _, _, kernels = _bind.registered(self.name)
        listed = {DispatchKey(number).name for number, _ in kernels}
        return [key for key in self.supported_keys if key in listed]


def _no_kernel(*args: object) -> None:
    raise NotImplementedError("the kernels of a PythonDispatcher are names in a table")


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    lines = ["", title, f"{'key':<32} kernel", "-" * 60]
    lines += [f"{key:<32} {kernel}" for key, kernel in rows]
    return "\n".join(lines) + "\n"
