"""The result of opyard.dispatch.what_if(): changes of a table, as data and as text."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from .. import _bind
from .._core import queries
from .._core.keys import DispatchKey, key_of
from .._core.keywords import names_keywords

# Of the enumeration WhatIf in C++. What Python registers is a kernel of another language there.
_FALLTHROUGH, _REMOVAL, _KERNEL = range(1, 4)


@dataclass(frozen=True)
class TableChange:
    """One key that would lead to another kernel, or to the same by another rule."""

    key: DispatchKey
    before: str
    """As in dump_table(), "registered at a.py:3 [math kernel]", or "missing"."""
    after: str
    """The same; what would be registered is "the new kernel"."""


@dataclass(frozen=True)
class WhatIf:
    """The keys of an operator that a registration would change; a sequence of TableChange."""

    op: str
    question: str
    """"with a kernel at Autograd"."""
    changes: tuple[TableChange, ...]

    def __iter__(self) -> Iterator[TableChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, index: int) -> TableChange:
        return self.changes[index]

    def __str__(self) -> str:
        count = {0: "nothing would change", 1: "1 key would change"}.get(
            len(self), f"{len(self)} keys would change"
        )
        lines = [f"{self.op} {self.question}: {count}."]
        for (before, after), group in groupby(self.changes, lambda c: (c.before, c.after)):
            keys = [str(change.key) for change in group]
            shown = keys if len(keys) <= 4 else [*keys[:3], f"… {keys[-1]} ({len(keys)} keys)"]
            lines += ["  " + ", ".join(shown), f"    now   {before}", f"    then  {after}"]
        return "\n".join(lines) + "\n"


@names_keywords
def what_if(
    op: object,
    key: "str | int" = "CompositeImplicitAutograd",
    *,
    fallthrough: bool = False,
    remove: bool = False,
) -> WhatIf:
    """What would change in the operator's table if a kernel were registered at `key`.

    The key may be an alias. With `fallthrough` the kernel would be fallthrough_kernel, with
    `remove` the key's active kernel would be unregistered instead. Nothing is registered, and calls
    notice nothing. Raises LookupError for an operator that has neither definition nor kernels and
    for a key that does not exist, RuntimeError for a key that can hold no kernel, and ValueError
    for a removal if nothing is registered at the key, or together with `fallthrough`.
    """
    if fallthrough and remove:
        raise ValueError("what_if() takes fallthrough or remove, not both")
    key = key_of(key)
    change = _REMOVAL if remove else _FALLTHROUGH if fallthrough else _KERNEL
    name = queries.known_name_of(op)
    rows = _bind.what_if(name, int(key), change)
    what = {
        _KERNEL: "with a kernel",
        _FALLTHROUGH: "with a fallthrough",
        _REMOVAL: "without the active kernel",
    }[change]
    changes = tuple(TableChange(key_of(at), before, after) for at, before, after in rows)
    return WhatIf(name, f"{what} at {key}", changes)
