"""repr of tensors: the values, in columns, shortened if there are many.

    tensor([[1.0000, 2.5000],
            [0.3333, 4.0000]])
    tensor([0, 1, 2, ..., 997, 998, 999])
    tensor([], shape=(0, 3), dtype=opyard.float64)

All numbers of a tensor are written alike: floats with as many decimals as the longest needs, four
at most, or all with an exponent. The dtype is named if opyard.tensor() would choose another
one, the device if it is not the cpu, and `requires_grad=True` or the function that gave it if a
gradient is taped. An instance of a subclass begins with its class's name.
"""

import math
from collections.abc import Callable, Iterator

from .. import _C

PRECISION = 4  # decimals
THRESHOLD = 1000  # more elements than this are shortened
EDGE = 3  # elements that are shown at each end of a shortened dimension
WIDTH = 80  # characters in a line

_SELF_EVIDENT = (_C.float32, _C.int64, _C.bool)


def format_tensor(tensor: "_C.Tensor") -> str:
    """The text of a tensor, as repr() gives it."""
    head = ("tensor" if type(tensor) is _C.Tensor else type(tensor).__name__) + "("
    notes = [] if tensor.dtype in _SELF_EVIDENT else [f"dtype={tensor.dtype!r}"]
    wraps = _is_wrapper(tensor)
    if wraps or tensor.device.type != "cpu" or (tensor.data_ptr() == 0 and tensor.numel() != 0):
        if tensor.device.type != "cpu" or not wraps:
            notes.append(f"device='{tensor.device}'")
        notes += _gradient_note(tensor)
        return head + ", ".join(["...", f"shape={tensor.shape}", *notes]) + ")"
    if tensor.numel() == 0:
        shown = "[]"
        if tensor.shape != (0,):
            notes.insert(0, f"shape={tensor.shape}")
        if tensor.dtype is not _C.float32 and tensor.dtype in _SELF_EVIDENT:
            notes.append(f"dtype={tensor.dtype!r}")
    else:
        edge = EDGE if tensor.numel() > THRESHOLD else max(tensor.shape, default=0)
        values = tensor._edges(edge)
        shown = _write(values, _chooser(tensor.dtype)(list(_leaves(values))), len(head))
    return _with_notes(head, shown, notes + _gradient_note(tensor)) + ")"


def _gradient_note(tensor: "_C.Tensor") -> list[str]:
    if not tensor.requires_grad:
        return []
    try:
        function = tensor.grad_fn
    except ValueError:  # a view that may not be used any more
        return ["grad_fn=<Invalid>"]
    return ["requires_grad=True" if function is None else f"grad_fn=<{function.name()}>"]


def _is_wrapper(tensor: "_C.Tensor") -> bool:
    """Whether it has no memory, and its class answers; its values are not asked for."""
    try:
        _C.Tensor.data_ptr(tensor)
    except ValueError:
        return True
    return False


def _with_notes(head: str, shown: str, notes: list[str]) -> str:
    """`head shown, note, note`, with the notes on a line of their own if they do not fit."""
    text = head + shown
    if not notes:
        return text
    line = ", ".join(notes)
    if len(text) - text.rfind("\n") + len(line) + 2 > WIDTH:
        return f"{text},\n{' ' * len(head)}{line}"
    return f"{text}, {line}"


def _leaves(values: object) -> Iterator[object]:
    if isinstance(values, list):
        for value in values:
            yield from _leaves(value)
    elif values is not Ellipsis:
        yield values


def _write(values: object, write: Callable[[object], str], indent: int) -> str:
    """Nested brackets; the innermost lists run over as many lines as they need."""
    if not isinstance(values, list):
        return write(values)
    if values and isinstance(next(v for v in values if v is not Ellipsis), list):
        depth = _depth(values)
        gap = "," + "\n" * (depth - 1) + " " * (indent + 1)
        rows = ["..." if v is Ellipsis else _write(v, write, indent + 1) for v in values]
        return f"[{gap.join(rows)}]"
    return f"[{_fill(values, write, indent + 1)}]"


def _depth(values: object) -> int:
    depth = 0
    while isinstance(values, list):
        depth += 1
        values = next(v for v in values if v is not Ellipsis)
    return depth


def _fill(values: list, write: Callable[[object], str], indent: int) -> str:
    words = ["..." if value is Ellipsis else write(value) for value in values]
    lines, line = [], ""
    for word in words:
        if line and indent + len(line) + len(word) + 3 > WIDTH:
            lines.append(line + ",")
            line = word
        else:
            line = f"{line}, {word}" if line else word
    return ("\n" + " " * indent).join([*lines, line])


def _chooser(dtype: "_C.dtype") -> Callable[[list], Callable[[object], str]]:
    if dtype.is_floating_point:
        return _choose_float
    return _choose_complex if dtype.is_complex else _choose_plain


def _choose_plain(values: list) -> Callable[[object], str]:
    width = max(len(str(value)) for value in values)
    return lambda value: str(value).rjust(width)


def _choose_float(values: list) -> Callable[[object], str]:
    texts = _float_texts(values)
    width = max(map(len, texts.values()))
    return lambda value: texts[_name(value)].rjust(width)


def _choose_complex(values: list) -> Callable[[object], str]:
    reals = _float_texts([value.real for value in values])
    imags = _float_texts([value.imag for value in values])
    width = max(map(len, reals.values()))

    def write(value: complex) -> str:
        imag = imags[_name(value.imag)]
        sign = "" if imag.startswith("-") else "+"
        return f"{reals[_name(value.real)].rjust(width)}{sign}{imag}j"

    return write


def _name(value: float) -> object:
    """What tells floats apart in a dictionary: 0.0 and -0.0 are equal, NaN is not even itself."""
    return (value, math.copysign(1.0, value)) if value == value else "nan"


def _float_texts(values: list) -> dict:
    """The text of each float, all in one form, which is the shortest that serves them all."""
    finite = [value for value in values if math.isfinite(value)]
    code = "e" if _needs_exponent([abs(value) for value in finite if value != 0]) else "f"
    parts = {_name(value): _split(format(value, f".{PRECISION}{code}")) for value in values}
    decimals = max((len(parts[_name(value)][1].rstrip("0")) for value in finite), default=0)
    return {
        name: f"{whole}.{fraction[:decimals]}{exponent}" if fraction else whole
        for name, (whole, fraction, exponent) in parts.items()
    }


def _needs_exponent(sizes: list[float]) -> bool:
    """Whether decimals would make the numbers long, or hide the small ones."""
    return bool(sizes) and (max(sizes) >= 1e8 or min(sizes) < 1e-4 or max(sizes) / min(sizes) > 1e5)


def _split(text: str) -> tuple[str, str, str]:
    """'-1.2500e+05' as '-1', '2500', 'e+05'; a text without a point is all whole."""
    whole, _, rest = text.partition(".")
    fraction, mark, exponent = rest.partition("e")
    return whole, fraction, mark + exponent
