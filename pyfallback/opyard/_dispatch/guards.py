"""Guards: keys that a thread includes and excludes, for a with block or for good."""

from .. import _C
from .._C import DispatchKeySet
from .._core.keys import DispatchKey
from .._core.keywords import names_keywords
from .thread_block import ThreadBlock


def _as_set(keys: object) -> DispatchKeySet:
    return keys if isinstance(keys, DispatchKeySet) else DispatchKeySet(keys)


def _joined(keys: DispatchKeySet, more: DispatchKeySet) -> DispatchKeySet:
    return DispatchKeySet.from_raw_repr(keys.raw_repr() | more.raw_repr())


def _without(keys: DispatchKeySet, fewer: DispatchKeySet) -> DispatchKeySet:
    # Not keys - fewer, which leaves backends in.
    return DispatchKeySet.from_raw_repr(keys.raw_repr() & ~fewer.raw_repr())


_NONE, _ALL = DispatchKeySet(), DispatchKeySet.from_raw_repr((1 << 64) - 1)
# What the end of a block gives to _C.put_back_keys(), which needs no memory.
_Former = tuple[DispatchKeySet, DispatchKeySet, DispatchKeySet, DispatchKeySet]


class _Guard(ThreadBlock):
    """Changes this thread's sets while a with block runs. May be entered again, also inside."""

    def _end(self, former: _Former) -> None:
        _C.put_back_keys(*former)


class IncludeDispatchKeyGuard(_Guard):
    """Adds keys to the include set of this thread; the end removes those that were not there."""

    def __init__(self, keys: object) -> None:
        super().__init__()
        self._keys = _as_set(keys)

    def _begin(self) -> _Former:
        include, exclude = _C.local_keys()
        former = _without(self._keys, include), _NONE, _NONE, _NONE
        _C.set_local_keys(_joined(include, self._keys), exclude)
        return former


class ExcludeDispatchKeyGuard(_Guard):
    """Adds keys to the exclude set of this thread; the end removes those that were not there."""

    def __init__(self, keys: object) -> None:
        super().__init__()
        self._keys = _as_set(keys)

    def _begin(self) -> _Former:
        include, exclude = _C.local_keys()
        former = _NONE, _NONE, _without(self._keys, exclude), _NONE
        _C.set_local_keys(include, _joined(exclude, self._keys))
        return former


_AUTOGRAD = (
    DispatchKey.AutogradFunctionality,
    DispatchKey.AutogradOther,
    DispatchKey.AutogradNestedTensor,
)


class AutoDispatchBelowAutograd(ExcludeDispatchKeyGuard):
    """Excludes the autograd keys of all backends."""

    def __init__(self) -> None:
        super().__init__(DispatchKeySet(list(_AUTOGRAD)))


class AutoDispatchBelowADInplaceOrView(ExcludeDispatchKeyGuard):
    """Excludes the autograd keys of all backends, and the layer of writes and views."""

    def __init__(self) -> None:
        super().__init__(DispatchKeySet([*_AUTOGRAD, DispatchKey.ADInplaceOrView]))


class no_dispatch(ExcludeDispatchKeyGuard):
    """Runs a with block without handlers of modes and of tensor classes: kernels take its calls."""

    def __init__(self) -> None:
        super().__init__(DispatchKeySet("Python"))


class skip(ExcludeDispatchKeyGuard):
    """Runs a with block without some layers: its calls pass their kernels by.

    Layers are named by their keys. A layer that has a key on each backend is named by any of them,
    or as a whole: skip("AutogradFunctionality").
    """

    def __init__(self, *layers: object) -> None:
        super().__init__(DispatchKeySet(list(layers)))


class PreserveDispatchKeyGuard(_Guard):
    """Puts both sets back to what they were at its beginning, whatever has changed them."""

    def _begin(self) -> _Former:
        include, exclude = _C.local_keys()
        return _ALL, include, _ALL, exclude


class ForceDispatchKeyGuard(PreserveDispatchKeyGuard):
    """Replaces both sets of this thread; the end puts the former ones back."""

    def __init__(self, include: object, exclude: object) -> None:
        super().__init__()
        self._keys = _as_set(include), _as_set(exclude)

    def _begin(self) -> _Former:
        former = super()._begin()
        _C.set_local_keys(*self._keys)
        return former


class SetExcludeDispatchKeyGuard(_Guard):
    """Puts one key into the exclude set of this thread, or takes it out; the end undoes that."""

    def __init__(self, key: object, desired: bool) -> None:
        super().__init__()
        self._key, self._desired = key, desired

    def _begin(self) -> _Former:
        _, exclude = _C.local_keys()
        former = _NONE, _NONE, DispatchKeySet(self._key), exclude
        tls_set_dispatch_key_excluded(self._key, self._desired)
        return former


def tls_local_include_set() -> DispatchKeySet:
    """The keys that this thread adds to every call."""
    return _C.local_keys()[0]


def tls_local_exclude_set() -> DispatchKeySet:
    """The keys that this thread takes out of every call; they win over those it adds."""
    return _C.local_keys()[1]


@names_keywords
def tls_is_dispatch_key_included(key: object) -> bool:
    """Whether this thread adds the key to its calls."""
    return tls_local_include_set().has(key)


@names_keywords
def tls_is_dispatch_key_excluded(key: object) -> bool:
    """Whether this thread takes the key out of its calls."""
    return tls_local_exclude_set().has(key)


def _changed(keys: DispatchKeySet, key: object, desired: bool) -> DispatchKeySet:
    # remove() leaves backends, which belong to other keys of the set as well.
    return keys.add(key) if desired else keys.remove(key)


@names_keywords
def tls_set_dispatch_key_included(key: object, desired: bool) -> None:
    """Puts the key into the include set of this thread, or takes it out, for good."""
    include, exclude = _C.local_keys()
    _C.set_local_keys(_changed(include, key, desired), exclude)


@names_keywords
def tls_set_dispatch_key_excluded(key: object, desired: bool) -> None:
    """Puts the key into the exclude set of this thread, or takes it out, for good."""
    include, exclude = _C.local_keys()
    _C.set_local_keys(include, _changed(exclude, key, desired))
