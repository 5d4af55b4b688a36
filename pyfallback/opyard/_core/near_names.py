"""Suggestions for misspelt names, for error messages."""

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def near_name(name: str, known: "Iterable[str]") -> "str | None":
    """The name among the known ones that is most like this one; None if none is."""
    import difflib

    known = list(known)
    letters = sorted(name.lower())  # two that changed places are much of a short name
    for each in known:
        if len(each) == len(letters) and sorted(each.lower()) == letters:
            return each
    close = difflib.get_close_matches(name, known, 5, 0.7)
    matcher = difflib.SequenceMatcher(b=name)

    def likeness(each: str) -> "tuple[float, bool]":
        matcher.set_seq1(each)
        return matcher.ratio(), each[:1] == name[:1]

    return max(close, key=likeness, default=None)


def hint(name: str, known: "Iterable[str]") -> str:
    """`; 'relu' may be meant`, or ""."""
    meant = near_name(name, known)
    return f"; {meant!r} may be meant" if meant else ""


def near_module(name: str) -> str:
    """The hint for a module that is not there: the package, or what the package has."""
    import pkgutil
    import sys

    package, _, last = name.rpartition(".")
    where = getattr(sys.modules.get(package), "__path__", None) if package else None
    if package and where is None:
        return near_module(package)
    known = {module.name for module in pkgutil.iter_modules(where)}
    if not package:
        known |= sys.stdlib_module_names
    return hint(last, known - {last})


def public(names: "Iterable[str]") -> list[str]:
    """Those that do not begin with an underscore: no other is suggested."""
    return [name for name in names if not name.startswith("_")]


class MissingName(AttributeError):
    """A name that is not there; its text says which is likely meant.

    That is looked for when the text is read: most who ask only want to know if the name is there.
    """

    def __init__(self, text: str, name: str, find: "Callable[[str], str]") -> None:
        super().__init__(text, name=name)
        self._find = find

    def __reduce__(self) -> "tuple[type, tuple[str]]":
        return AttributeError, (str(self),)

    def __str__(self) -> str:
        text = super().__str__()
        name = self.name
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            return text
        try:
            return text + self._find(name)
        except Exception:  # the kernels cannot be loaded
            return text


# A traceback shows it as what it is for everyone.
MissingName.__name__ = MissingName.__qualname__ = "AttributeError"
MissingName.__module__ = "builtins"
