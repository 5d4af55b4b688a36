"""Containers of parameters: ParameterList and ParameterDict."""

from collections.abc import Iterable, Iterator
from typing import Any

from .. import _C
from .._core.keywords import names_keywords
from .containers import pairs_of, place_in
from .module import Module
from .parameter import Parameter


def _kept(layer: str, name: object, value: Any) -> Any:
    """A Parameter of a Tensor; anything else as it is."""
    if isinstance(value, _C.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _shown(value: Any) -> str:
    if not isinstance(value, _C.Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}]"


class _Attributes(Module):
    """Values that are attributes, too, so that parameters and modules among them are found."""

    def _lines(self) -> list[tuple[str, Any]]:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return "\n".join(f"  ({name}): {_shown(value)}" for name, value in self._lines())

    def __repr__(self) -> str:
        own = self.extra_repr()
        return f"{type(self).__name__}({own})"


class ParameterList(_Attributes):
    """A list of parameters by number; a Tensor becomes a Parameter, anything else stays."""

    def __init__(self, values: "Iterable[Any] | None" = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _lines(self) -> list[tuple[str, Any]]:
        return [(str(number), value) for number, value in enumerate(self)]

    def __getitem__(self, index: "int | slice") -> Any:
        if isinstance(index, slice):
            return ParameterList(list(self)[index])
        return getattr(self, str(self._place(index)))

    def _place(self, index: int) -> int:
        return place_in("ParameterList", index, self._size, "values")

    def __setitem__(self, index: int, value: Any) -> None:
        place = self._place(index)
        setattr(self, str(place), _kept("ParameterList", place, value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(number)) for number in range(self._size)])

    def __iadd__(self, values: "Iterable[Any]") -> "ParameterList":
        return self.extend(values)

    @names_keywords
    def append(self, value: Any) -> "ParameterList":
        """Adds one at the end."""
        setattr(self, str(self._size), _kept("ParameterList", self._size, value))
        self._size += 1
        return self

    @names_keywords
    def extend(self, values: "Iterable[Any]") -> "ParameterList":
        """Adds several at the end."""
        if not isinstance(values, Iterable) or isinstance(values, _C.Tensor):
            raise TypeError(
                "ParameterList: values must be a list of parameters, not an object of "
                f"{type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self


class ParameterDict(_Attributes):
    """A dictionary of parameters by name; a Tensor becomes a Parameter, anything else stays."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _lines(self) -> list[tuple[str, Any]]:
        return self.items()

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: a name must be a str, not {type(key).__name__}")
        if key not in self._keys:
            self._check_name(key, "parameter")
        self._keys[key] = None
        setattr(self, key, _kept("ParameterDict", key, value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> list[str]:
        """The names."""
        return list(self._keys)

    def values(self) -> list[Any]:
        """The values."""
        return [self[key] for key in self._keys]

    def items(self) -> list[tuple[str, Any]]:
        """The names with the values."""
        return [(key, self[key]) for key in self._keys]

    @names_keywords
    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return self[key] if key in self._keys else default

    @names_keywords
    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which is set to the default if it is missing."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    @names_keywords
    def update(self, parameters: Any) -> None:
        """Sets several: those of a dictionary, or pairs."""
        for name, value in pairs_of("ParameterDict", parameters):
            self[name] = value

    @names_keywords
    def pop(self, key: str) -> Any:
        """Takes one out."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes out the last one, with its name."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Takes all out."""
        for key in list(self._keys):
            del self[key]
