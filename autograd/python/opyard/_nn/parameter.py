"""Parameter: a tensor that a Module finds among its attributes, and an optimizer changes.

A tensor of a subclass of Tensor stays of its class; it is marked, so that it is a Parameter for
isinstance().
"""

from .. import _C
from .._autograd.modes import no_grad
from .._core.keywords import names_keywords

_MARK = "_is_param"


def _has_handler(cls: type) -> bool:
    own = getattr(cls, "__opyard_dispatch__", None)
    return own is not getattr(_C.Tensor, "__opyard_dispatch__", None)


def _detached_as(cls: "type[_C.Tensor]", data: _C.Tensor) -> _C.Tensor:
    """A tensor without history on the memory of `data`, of its class. Raises RuntimeError."""
    made = data.detach()
    if type(made) is cls:
        return made
    if not _has_handler(cls):
        return _C.Tensor.make_subclass(cls, made)
    raise RuntimeError(
        f"Creating a Parameter from an instance of type {cls.__name__} requires that detach() "
        f"returns an instance of the same type, but return type {type(made).__name__} was found "
        f"instead. To use the type as a Parameter, let its __opyard_dispatch__ answer aten.detach "
        f"with a {cls.__name__}"
    )


class _ParameterMeta(type(_C.Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if cls is not Parameter or type(instance) is _C.Tensor:
            return False
        return isinstance(instance, _C.Tensor) and vars(instance).get(_MARK, False)


class Parameter(_C.Tensor, metaclass=_ParameterMeta):
    """A tensor with the memory of another one, which requires a gradient unless told otherwise.

        self.weight = Parameter(opyard.zeros(3, 4))

    What operators give for a Parameter is a Tensor. A tensor of another class stays of that class,
    and is a Parameter for isinstance(). Raises RuntimeError if its class does not answer
    aten.detach with a tensor of its own; TypeError for what is no Tensor, and for elements that
    have no gradients (integers, bool) unless `requires_grad` is False.
    """

    @names_keywords
    def __new__(cls, data: _C.Tensor, requires_grad: bool = True) -> "Parameter":
        if not isinstance(data, _C.Tensor):
            raise TypeError(
                f"Parameter: data must be a Tensor, not an object of {type(data).__name__}"
            )
        if requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
            raise TypeError(
                f"Parameter: only floating point and complex numbers have gradients, not "
                f"{data.dtype}; give requires_grad=False, or make it a buffer"
            )
        kind = type(data)
        is_plain = kind is _C.Tensor or issubclass(kind, Parameter)
        if not is_plain and cls is not Parameter:
            raise TypeError(
                f"{cls.__name__}: data is a {kind.__name__}, and a tensor is of one class; give a "
                "plain Tensor, or make it a Parameter"
            )
        with no_grad():
            if is_plain:
                made = _C.Tensor.make_subclass(cls, data.detach())
            else:
                made = _detached_as(kind, data)
                setattr(made, _MARK, True)
        return made.requires_grad_() if requires_grad else made  # type: ignore[return-value]
