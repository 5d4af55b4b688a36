"""Suggestions for misspelt names, for error messages."""

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Iterable


def near_name(name: str, known: "Iterable[str]") -> "str | None":
    """The name among the known ones that is most like this one; None if none is."""
    import difflib

    known = list(known)
    letters = sorted(name.lower())  # two that changed places are much of a short name
    for each in known:
        if len(each) == len(letters) and sorted(each.lower()) == letters:
            return each
    return next(iter(difflib.get_close_matches(name, known, 1, 0.7)), None)


def hint(name: str, known: "Iterable[str]") -> str:
    """`; 'relu' may be meant`, or ""."""
    meant = near_name(name, known)
    return f"; {meant!r} may be meant" if meant else ""
