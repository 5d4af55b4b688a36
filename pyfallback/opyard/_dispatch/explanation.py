"""The result of opyard.dispatch.explain(): the route of one call, as data and as text."""

from dataclasses import dataclass, field

from .._C import DispatchKeySet
from .._core.keys import DispatchKey


@dataclass(frozen=True)
class ArgumentKeys:
    """The keys of one argument that can carry some."""

    position: int
    name: str
    keys: DispatchKeySet


@dataclass(frozen=True)
class ConsideredKey:
    """One key on the way down, and what was found there."""

    key: DispatchKey
    taken: bool
    """The route stops here."""
    reason: str
    """"falls through", "kernel", "backend fallback", "no kernel", …"""
    provenance: str
    """Where that was registered; empty if nothing was."""


@dataclass(frozen=True)
class Explanation:
    """The route of one call. str() gives the text that people read."""

    op: str
    """"ns::name" or "ns::name.overload"."""
    declaration: str
    """The schema."""
    arguments: tuple[ArgumentKeys, ...]
    include: DispatchKeySet
    """What the thread adds to every call."""
    exclude: DispatchKeySet
    """What the thread takes out of every call."""
    mask: DispatchKeySet
    """The layers that do not fall through for this operator."""
    keys: DispatchKeySet
    """The keys of the call: those of the arguments, with what the thread adds and takes out."""
    considered: tuple[ConsideredKey, ...]
    """Highest first."""
    key: DispatchKey
    """Where the call goes."""
    has_kernel: bool
    """Whether it finds a kernel there."""
    kernel: str
    """Where that kernel was registered, or why there is none."""
    chain: tuple[ConsideredKey, ...]
    """Below that kernel, should it redispatch with what is left of its keys; highest first."""
    text: str = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, parts: dict) -> "Explanation":
        """From the dictionary that an operator's _explain() gives."""
        parts["arguments"] = tuple(ArgumentKeys(*row) for row in parts["arguments"])
        for rows in ("considered", "chain"):
            parts[rows] = tuple(ConsideredKey(*row) for row in parts[rows])
        return cls(**parts)
