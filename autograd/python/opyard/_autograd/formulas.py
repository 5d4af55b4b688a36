"""Derivatives as text, by operator, packet or name: autograd.check_formulas() and formulas()."""

from .. import _C, _gradients
from .._core import ops as _ops


def check_formulas(op: "str | _C.OpOverload | _C.OpOverloadPacket") -> None:
    """Reads the formulas of an operator now, or of all operators of a packet that have some.

    Raises ValueError for a fault in one, with its place, and LookupError if there are none.
    """
    _ops.load_aten()  # formulas name operators of aten
    if not isinstance(op, _C.OpOverloadPacket):
        return _gradients.check_formulas(_ops.operator_of(op))
    found, missing = False, None
    for overload in _ops.overload_names(op):
        try:
            _gradients.check_formulas(getattr(op, overload))
            found = True
        except LookupError as error:
            missing = error
    if missing is not None and not found:
        raise missing
    return None


def formulas(
    op: "str | _C.OpOverload | _C.OpOverloadPacket",
) -> "list[tuple[str, str]] | str | None":
    """The formulas that calls of an operator are taped by: (arguments, formula) in the order in
    which they were given. An operator in place without its own has those of its functional form.

    A text says which function of Python or C++ computes the derivative in their place; None means
    that there is no derivative. Raises LookupError for an operator that is not there, TypeError for
    a packet with several.
    """
    return _gradients.formulas(_ops.operator_of(op))
