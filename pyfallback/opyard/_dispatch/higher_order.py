"""Operators that take functions: dispatched in Python, without a schema."""

from collections.abc import Callable, Iterator
from typing import Any

from .. import _C
from .._core.keys import DispatchKey, key_of
from .._core.keywords import names_keywords
from .modes import DispatchMode

# The keys at which a rule for an alias serves, best first.
_BACKENDS = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
_AUTOGRAD = ("CompositeImplicitAutograd", "Autograd")


def _tensors_in(value: Any) -> "Iterator[_C.Tensor]":
    if isinstance(value, _C.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors_in(item)


def _handler_of(cls: type) -> Any:
    """The class's handler, or None if it has none or switched it off."""
    handler = getattr(cls, "__opyard_dispatch__", None)
    return None if handler is _C.disabled_dispatch else handler


def _asked_classes(tensors: "list[_C.Tensor]") -> list[type]:
    """Classes with handlers, in the order in which operators ask them."""
    classes: list[type] = []
    for tensor in tensors:
        cls = type(tensor)
        if cls in classes or _handler_of(cls) is None:
            continue
        at = next((i for i, known in enumerate(classes) if issubclass(cls, known)), len(classes))
        classes.insert(at, cls)
    return classes


class HigherOrderOperator:
    """An operator without a schema, for calls that take functions and structures of tensors.

        cond = HigherOrderOperator("cond")

        @cond.py_impl("CompositeExplicitAutograd")
        def run(condition, f, g, *operands):
            return (f if condition else g)(*operands)

    A call's keys are those of all tensors in its arguments, also inside lists, tuples and
    dictionaries, and what the thread adds to its calls. Layers for which nothing is registered are
    passed by; there is no such rule for backends, modes and classes with handlers.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._kernels: dict[DispatchKey, Callable] = {}
        self._rules: dict[type, Callable] = {}
        self._passed_by: set[DispatchKey] = set()

    def __repr__(self) -> str:
        return f"<HigherOrderOperator({self.__name__!r})>"

    def name(self) -> str:
        """The operator's name."""
        return self.__name__

    @names_keywords
    def py_impl(self, where: "str | int | type") -> Callable[[Callable], Callable]:
        """A decorator that registers a function at a key, at an alias key, for a class of modes,
        which it gets an instance of first, or for a subclass of Tensor. A second one for the same
        place replaces the first.
        """

        def register(fn: Callable) -> Callable:
            if isinstance(where, type):
                if not issubclass(where, (DispatchMode, _C.Tensor)):
                    raise TypeError(
                        "a rule must be for a class of modes or a subclass of Tensor, not "
                        f"{where!r}"
                    )
                self._rules[where] = fn
            else:
                self._kernels[key_of(where)] = fn
                self._passed_by.discard(key_of(where))
            return fn

        return register

    @names_keywords
    def fallthrough(self, key: "str | int") -> None:
        """Has calls pass a key by, as if its layer were not there."""
        self._passed_by.add(key_of(key))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Calls what serves the highest key of the call.

        Raises NotImplementedError if nothing does, and if a mode or a class with a handler
        has no rule here; TypeError if all that were asked returned NotImplemented.
        """
        return self._call(self._keys_of(args, kwargs), args, kwargs)

    def redispatch(self, keyset: "_C.DispatchKeySet", /, *args: Any, **kwargs: Any) -> Any:
        """Calls what serves the highest key of this set, whatever the arguments carry."""
        return self._call(keyset, args, kwargs)

    def _keys_of(self, args: tuple, kwargs: dict) -> "_C.DispatchKeySet":
        include, exclude = _C.local_keys()
        bits = include.raw_repr()
        for tensor in _tensors_in((args, kwargs)):
            bits |= _C.tensor_keys(tensor).raw_repr()
        backends = (1 << 16) - 1
        return _C.DispatchKeySet.from_raw_repr(bits & (~exclude.raw_repr() | backends))

    def _call(self, keys: "_C.DispatchKeySet", args: tuple, kwargs: dict) -> Any:
        while True:
            key = keys.highest()
            if key == DispatchKey.Python:
                return self._ask(keys, args, kwargs)
            function = None if key in self._passed_by else self._serving(key)
            if function is not None:
                return function(*args, **kwargs)
            if key == DispatchKey.Undefined or not self._is_passed_by(key):
                raise NotImplementedError(
                    f"could not find kernel for {self.__name__} at dispatch key {key}: register a "
                    "function there, or at CompositeExplicitAutograd for all backends"
                )
            keys = keys.remove(key)

    def _serving(self, key: DispatchKey) -> "Callable | None":
        if key in self._kernels:
            return self._kernels[key]
        aliases = _AUTOGRAD if "Autograd" in key.name else _BACKENDS if self._is_last(key) else ()
        return next((self._kernels[a] for a in map(key_of, aliases) if a in self._kernels), None)

    @staticmethod
    def _is_last(key: DispatchKey) -> bool:
        """Whether the key is that of a backend, or of no backend at all."""
        from .. import _bind

        alias = key_of("CompositeExplicitAutograd")
        return key == DispatchKey.Undefined or _bind.alias_includes(int(alias), int(key))

    def _is_passed_by(self, key: DispatchKey) -> bool:
        return key in self._passed_by or not self._is_last(key)

    # Modes and classes ----------------------------------------------------------------------

    def _ask(self, keys: "_C.DispatchKeySet", args: tuple, kwargs: dict) -> Any:
        tensors = list(_tensors_in((args, kwargs)))
        classes = _asked_classes(tensors)
        modes = _C.modes()
        if not modes and not classes:
            return self._call(keys.remove(DispatchKey.Python), args, kwargs)
        for i in reversed(range(len(modes))):
            mode = modes[i][0]
            aside, _ = _C.set_modes_aside(i)
            try:
                result = self._ask_one(type(mode), mode, tuple(classes), args, kwargs)
            finally:
                _C.give_modes_back(aside)
            if result is not NotImplemented:
                return result
        for cls in classes:
            result = self._ask_one(cls, cls, tuple(classes), args, kwargs)
            if result is not NotImplemented:
                return result
        asked = ", ".join(type(mode).__name__ for mode, _ in modes)
        given = ", ".join(type(tensor).__name__ for tensor in tensors)
        raise TypeError(
            f"no implementation found for {self.__name__}: modes [{asked}] and inputs of types "
            f"[{given}] were asked, and each of them returned NotImplemented"
        )

    def _ask_one(self, cls: type, receiver: Any, types: tuple, args: tuple, kwargs: dict) -> Any:
        rule = self._rules.get(cls)
        is_mode = receiver is not cls
        if rule is not None:
            return rule(receiver, *args, **kwargs) if is_mode else rule(*args, **kwargs)
        if getattr(cls, "supports_higher_order_operators", False):
            return receiver.__opyard_dispatch__(self, types, args, kwargs)
        kind = "mode" if is_mode else "tensor class"
        raise NotImplementedError(
            f"{self.__name__} has no rule for the {kind} {cls.__name__}. Register one with "
            f"{self.__name__}.py_impl({cls.__name__}), or set supports_higher_order_operators = "
            f"True in {cls.__name__} where its __opyard_dispatch__ takes this operator like any "
            "other"
        )
