"""Dispatch keys as members of an enum, and giving them names.

A key keeps its number. One that gets a name keeps the name that it had before as another one.
"""

import sys
from enum import Enum, EnumMeta, IntEnum

from .. import _C
from . import hooks
from .keywords import names_keywords


class _KeyMeta(EnumMeta):
    """Names the key that may be meant by an attribute that is not there."""

    if sys.version_info >= (3, 11):  # before, each member is found by a function of this name

        def __getattr__(cls, name: str) -> object:
            from .near_names import MissingName

            raise MissingName(f"DispatchKey has no key {name!r}", name, cls._hint)

    def _hint(cls, name: str) -> str:
        from .near_names import hint

        return hint(name, cls.__members__)


class _Key(IntEnum, metaclass=_KeyMeta):
    """What a DispatchKey has beside its name and number: printing, and being found by name."""

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __str__(self) -> str:
        return self.name

    # The same in all versions of Python, which differ here.
    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    @classmethod
    def _missing_(cls, value: object) -> "_Key | None":
        # DispatchKey("CPU"), also by a name that C++ code gave meanwhile.
        if not isinstance(value, str):
            return None
        if value not in cls.__members__:
            refresh_names()
        return cls.__members__.get(value)


TYPE_CHECKING = False  # as in typing, which importing this does not need
if TYPE_CHECKING:
    from ._key_names import DispatchKey
else:
    DispatchKey = _Key("DispatchKey", _C.dispatch_keys(), module="opyard.dispatch")
    DispatchKey.__doc__ = "Every dispatch key, with aliases such as Autograd last."
hooks["DispatchKey"] = DispatchKey


# Whose attributes no member may hide.
_TAKEN = (*DispatchKey.__mro__, *type(DispatchKey).__mro__)


def refresh_names() -> None:
    """Gives members the names that their keys have by now. An enum is made to be closed, so this
    writes to what Enum keeps by name and by attribute."""
    for name, number in _C.dispatch_keys():
        key = DispatchKey(number)
        if key.name == name:
            continue
        if not any(name in vars(kind) for kind in _TAKEN):
            type.__setattr__(DispatchKey, name, key)  # "name", say, is an attribute of members
        DispatchKey._member_map_[name] = key
        key._name_ = name


class LayerGap(str, Enum):
    """Between which layers a named one may be. Each gap has room for two, the first below."""

    AboveBackendSelect = "AboveBackendSelect"
    AboveADInplaceOrView = "AboveADInplaceOrView"
    AboveAutograd = "AboveAutograd"
    OnTop = "OnTop"


def key_of(key: "str | int") -> DispatchKey:
    """The member for a key, a number or a name. Raises LookupError if there is none, TypeError
    for what is none of these.
    """
    number = key
    if isinstance(key, str):
        from .. import _bind

        number = _bind.parse_key(key)
    elif not isinstance(key, int):
        raise TypeError(
            "a dispatch key must be a DispatchKey, its number or its name, not "
            f"{type(key).__name__}"
        )
    try:
        return DispatchKey(number)
    except ValueError:
        if isinstance(key, str):
            raise LookupError(f"the key {key} belongs to the dispatcher") from None
        raise LookupError(f"no dispatch key has the number {key}") from None


def key_set_of(bits: int) -> "_C.DispatchKeySet":
    """The set of these bits, as pickle makes it again."""
    return _C.DispatchKeySet.from_raw_repr(bits)


def key_of_device(device: str) -> "DispatchKey | None":
    """The key of the kernels of a device type such as "cpu"; None for what is no device type."""
    first = int(DispatchKey.CPU)
    backends = map(DispatchKey, range(first, first + 16))
    return next((key for key in backends if key.name.lower() == device), None)


@names_keywords
def register_backend(name: str) -> DispatchKey:
    """Takes a free backend and names it; gives its dense key.

    `register_backend("npu")` makes the keys npu, Quantizednpu, Sparsenpu, NestedTensornpu and
    Autogradnpu, and the devices "npu:0", ... There are eight. A name stays as long as the process
    lives. Raises ValueError for a name that is no identifier or that would make two keys or
    devices share one, RuntimeError if all eight are taken.
    """
    from .. import _bind

    number = _bind.register_backend(name)
    refresh_names()
    return DispatchKey(number)


@names_keywords
def rename_backend(key: "str | int", name: str) -> DispatchKey:
    """Renames PrivateUse1, 2 or 3, given by its dense key or that one's name; gives the key.

    Once: doing it again with the same name changes nothing. Raises RuntimeError for another
    backend and for a second name, LookupError for no key, else what register_backend() raises.
    """
    from .. import _bind

    member = key_of(key)
    _bind.rename_backend(int(member), name)
    refresh_names()
    return member


@names_keywords
def register_layer(name: str, gap: "str | LayerGap") -> DispatchKey:
    """Takes a free layer of a gap and names it; gives its key.

    `gap` says which layers it is above: "AboveBackendSelect", "AboveADInplaceOrView",
    "AboveAutograd" or "OnTop". A layer without a kernel for an operator falls through. Raises
    ValueError for another gap and as register_backend(), RuntimeError if both layers of the gap
    are taken.
    """
    from .. import _bind

    gaps = list(LayerGap)
    if gap not in gaps:
        known = ", ".join(one.value for one in gaps)
        raise ValueError(f"{gap!r} is no gap between layers; the gaps are {known}")
    number = _bind.register_layer(name, gaps.index(gap))
    refresh_names()
    return DispatchKey(number)
