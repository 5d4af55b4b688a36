"""Module: a function with parameters, buffers and parts, which may be modules again.

    class Net(opyard.nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = opyard.nn.Linear(64, 32)
            self.last = opyard.nn.Linear(32, 10)

        def forward(self, x):
            return self.last(self.hidden(x).relu())

What is set as an attribute is found by its type: a Parameter among the parameters, a Module among
the parts. A name with points, "hidden.weight", leads through the parts. A parameter or part that is
reached by two names is one; it is listed under the first of them.
"""

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from .. import _C
from .._autograd.modes import no_grad
from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.near_names import MissingName, hint, public
from .._core.ops import ops
from .calls import Takes, as_tensors, name_forward_of, note_layer, refused_arguments, tensors_taken
from .hooks import HasHooks
from .keywords import name_arguments_of, naming_arguments
from .parameter import Parameter
from .place import checked_place
from .sizes import truth
from .state import HasState

_M = TypeVar("_M", bound="Module")

if TYPE_CHECKING:
    _P = ParamSpec("_P")
    _R = TypeVar("_R", covariant=True)

    class _Forward(Protocol[_P, _R]):
        """What has a forward()."""

        def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...


class Module(HasHooks, HasState):
    """The base of modules: see the module's head. Subclasses define forward()."""

    training: bool
    _parameters: dict[str, "Parameter | None"]
    _buffers: dict[str, "_C.Tensor | None"]
    _modules: dict[str, "Module | None"]
    _forward_takes: Takes = ()  # what a forward() of this package takes

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_arguments_of(cls)
        name_forward_of(cls)
        cls._forward_takes = tensors_taken(cls.forward)

    @naming_arguments
    def __init__(self) -> None:
        vars(self).update(
            training=True,
            _parameters={},
            _buffers={},
            _modules={},
            _not_saved=set(),  # the buffers that are not part of the state
            _call_hooks={},  # of all kinds, so that a call asks once whether there is one
            _state_hooks={},
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; calling the module calls this, and its hooks."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(): define it")

    if TYPE_CHECKING:
        # By the first the arguments of forward() are shown; by the second a layer takes arrays for
        # tensors. Both give what forward() gives.
        @overload
        def __call__(self: "_Forward[_P, _R]", *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
        @overload
        def __call__(self: "_Forward[..., _R]", *args: Any, **kwargs: Any) -> _R: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            for each in args:
                if type(each) is Tensor:
                    continue
                if not self._forward_takes:
                    break
                if not isinstance(each, Tensor):
                    args, kwargs = as_tensors(self, args, kwargs)
                    break
            else:
                if kwargs and self._forward_takes:
                    args, kwargs = as_tensors(self, args, kwargs)
            if self._call_hooks:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            if self._forward_takes:
                if type(error) is TypeError and "forward" not in vars(self):
                    refused = refused_arguments(self, args, kwargs)
                    if refused is not None:
                        raise refused from None
                note_layer(self, error, args, kwargs)
            raise

    # Attributes. Parameters, buffers and parts are in dictionaries of their own, in order.

    def _require_init(self) -> None:
        if "_parameters" not in vars(self):
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before parameters, buffers and "
                "modules are set, and before it is called"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Parameter, Module)):
            self._require_init()
            self._keep("_parameters" if isinstance(value, Parameter) else "_modules", name, value)
            return
        own = self._dict_of(name)
        if own is None:
            object.__setattr__(self, name, value)
        elif value is None or (own is self._buffers and isinstance(value, _C.Tensor)):
            own[name] = value
        else:
            wanted = {id(self._parameters): "Parameter", id(self._buffers): "Tensor"}
            raise TypeError(
                f"{type(self).__name__}.{name} must be a {wanted.get(id(own), 'Module')} or None, "
                f"not an object of {type(value).__name__}; delete it first to set another"
            )

    def _dict_of(self, name: str) -> "dict[str, Any] | None":
        """The dictionary that has this name, if one has."""
        own = vars(self)
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in own.get(kind, ()):
                return own[kind]
        return None

    def _keep(self, kind: str, name: str, value: Any) -> None:
        """Keeps it under this name, at the place of what had the name if that was of its kind."""
        own = vars(self)[kind]
        if name not in own:
            self._forget(name)
        own[name] = value

    def _forget(self, name: str) -> None:
        own = self._dict_of(name)
        if own is not None:
            del own[name]
        vars(self).pop(name, None)
        self._not_saved.discard(name)

    def __getattr__(self, name: str) -> Any:
        if name == "_call_hooks":
            self._require_init()
        own = self._dict_of(name)
        if own is None:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise MissingName(text, name, lambda name: hint(name, public(dir(self))))
        return own[name]

    def __delattr__(self, name: str) -> None:
        if self._dict_of(name) is None:
            object.__delattr__(self, name)
        else:
            self._forget(name)

    def __dir__(self) -> list[str]:
        own = vars(self)
        kinds = ("_parameters", "_buffers", "_modules")
        return sorted({*object.__dir__(self), *(n for kind in kinds for n in own.get(kind, ()))})

    def _check_name(self, name: str, kind: str) -> None:
        self._require_init()
        if not isinstance(name, str):
            raise TypeError(f"the name of a {kind} must be a str, not {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"the name of a {kind} is not empty and has no point: {name!r}")
        if self._dict_of(name) is None and hasattr(self, name):
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already")

    @names_keywords
    def register_parameter(self, name: str, param: "Parameter | None") -> None:
        """As `module.name = param`; with None a parameter that is not there, as a bias."""
        self._check_name(name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"register_parameter: {name!r} must be a Parameter or None, not an object of "
                f"{type(param).__name__}"
            )
        self._keep("_parameters", name, param)

    @names_keywords
    def register_buffer(
        self, name: str, tensor: "_C.Tensor | None", persistent: bool = True
    ) -> None:
        """Keeps a tensor that is no parameter; part of the state unless `persistent` is False."""
        self._check_name(name, "buffer")
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise TypeError(
                f"register_buffer: {name!r} must be a Tensor or None, not an object of "
                f"{type(tensor).__name__}"
            )
        self._keep("_buffers", name, tensor)
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    @names_keywords
    def register_module(self, name: str, module: "Module | None") -> None:
        """As `module.name = module`, for names that are no identifiers."""
        self._check_name(name, "module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"register_module: {name!r} must be a Module or None, not an object of "
                f"{type(module).__name__}"
            )
        self._keep("_modules", name, module)

    add_module = register_module

    # What it is made of.

    @names_keywords
    def named_modules(
        self,
        memo: "set[Module] | None" = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> "Iterator[tuple[str, Module]]":
        """This module and all parts of it, with their names: each once, or with `remove_duplicate`
        False under each name that leads to it. What is in `memo` is left out."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if truth("named_modules", "remove_duplicate", remove_duplicate):
            memo.add(self)
        yield prefix, self
        for name, part in self._modules.items():
            if part is not None:
                full = f"{prefix}.{name}" if prefix else name
                yield from part.named_modules(memo, full, remove_duplicate)

    @names_keywords
    def modules(self, remove_duplicate: bool = True) -> "Iterator[Module]":
        """As named_modules(), without names."""
        return (module for _, module in self.named_modules(None, "", remove_duplicate))

    def named_children(self) -> "Iterator[tuple[str, Module]]":
        """The parts themselves, each once, without parts of theirs."""
        seen: set[Module] = set()
        for name, part in self._modules.items():
            if part is not None and part not in seen:
                seen.add(part)
                yield name, part

    def children(self) -> "Iterator[Module]":
        """As named_children(), without names."""
        return (module for _, module in self.named_children())

    def _named(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> "Iterator[tuple[str, Any]]":
        """The parameters or buffers with their full names."""
        seen: set[int] = set()
        own = [(prefix, self)]
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else own:
            for name, tensor in getattr(module, kind).items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    @names_keywords
    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names; without `recurse` those of this module alone, and with
        `remove_duplicate` False under each name that leads to one."""
        truth("named_parameters", "remove_duplicate", remove_duplicate)
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    @names_keywords
    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """As named_parameters(), without names: what an optimizer takes."""
        return (each for _, each in self._named("_parameters", "", recurse, True))

    @names_keywords
    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, _C.Tensor]]:
        """The buffers with their names, as named_parameters()."""
        truth("named_buffers", "remove_duplicate", remove_duplicate)
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    @names_keywords
    def buffers(self, recurse: bool = True) -> Iterator[_C.Tensor]:
        """As named_buffers(), without names."""
        return (each for _, each in self._named("_buffers", "", recurse, True))

    @names_keywords
    def get_submodule(self, target: str) -> "Module":
        """The part with this name, "encoder.0"; this module for "". Raises AttributeError."""
        found: Module = self
        for name in target.split(".") if target else ():
            part = found._modules.get(name)
            if part is None:
                raise AttributeError(f"{type(found).__name__} has no module {name!r} ({target!r})")
            found = part
        return found

    @names_keywords
    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Sets the part with this name, "encoder.0", in the part before its last point. Raises
        AttributeError if that is not there, or with `strict` if the name is new."""
        parent, _, name = target.rpartition(".")
        if not name:
            raise ValueError(f"set_submodule: target must be the name of a part, not {target!r}")
        if not isinstance(module, Module):
            raise TypeError(
                f"set_submodule: module must be a Module, not an object of {type(module).__name__}"
            )
        holder = self.get_submodule(parent)
        if truth("set_submodule", "strict", strict):
            self.get_submodule(target)
        setattr(holder, name, module)

    @names_keywords
    def get_parameter(self, target: str) -> Parameter:
        """The parameter with this name, "encoder.0.weight". Raises AttributeError."""
        return self._at(target, "_parameters", "parameter")

    @names_keywords
    def get_buffer(self, target: str) -> _C.Tensor:
        """The buffer with this name, "encoder.0.running_mean". Raises AttributeError."""
        return self._at(target, "_buffers", "buffer")

    def _at(self, target: str, kind: str, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = getattr(module, kind).get(name)
        if found is None:
            raise AttributeError(f"{type(module).__name__} has no {what} {name!r} ({target!r})")
        return found

    # Changes of all parts.

    @names_keywords
    def apply(self: _M, fn: "Callable[[Module], object]") -> _M:
        """Calls a function with each part, then with this module."""
        if not callable(fn):
            raise TypeError(
                f"{type(self).__name__}.apply: fn must be a function that takes a module, "
                f"not {fn!r}"
            )
        for part in self.children():
            part.apply(fn)
        fn(self)
        return self

    @names_keywords
    def train(self: _M, mode: bool = True) -> _M:
        """Sets `training` here and in all parts: dropout and batch norm look at it."""
        if not isinstance(mode, bool):
            raise TypeError(f"train: mode must be True or False, not {mode!r}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: _M) -> _M:
        """train(False)."""
        return self.train(False)

    @names_keywords
    def requires_grad_(self: _M, requires_grad: bool = True) -> _M:
        """Says of all parameters whether they get gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    @names_keywords
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or sets them to zero."""
        drop_gradients(self.parameters(), set_to_none)

    @names_keywords
    def to(
        self: _M,
        device: "_C.device | str | _C.dtype | None" = None,
        dtype: "_C.dtype | None" = None,
    ) -> _M:
        """Converts parameters and buffers: to(device), to(dtype) or both; returns the module.

        A dtype is given to those with floating point elements alone. If something changes, the
        module has new parameters then: make the optimizer afterwards.
        """
        if isinstance(device, _C.dtype):
            device, dtype = None, device
        device, dtype = checked_place(f"{type(self).__name__}.to", device, dtype)
        self._change(functools.partial(_converted, device=device, dtype=dtype))
        return self

    def _change(self, change: "Callable[[_C.Tensor], _C.Tensor]", recurse: bool = True) -> None:
        """Puts what a function makes of each parameter and buffer in its place: one tensor for one,
        however many names lead to it."""
        made: dict[int, Any] = {}
        for module in list(self.modules()) if recurse else [self]:
            for own in (module._parameters, module._buffers):
                for name, tensor in own.items():
                    if tensor is None:
                        continue
                    if id(tensor) not in made:
                        with no_grad():
                            changed = change(tensor)
                        if isinstance(tensor, Parameter) and changed is not tensor:
                            changed = _parameter_like(tensor, changed)
                        # With what it was made of, so that no other tensor gets this id meanwhile.
                        made[id(tensor)] = changed, tensor
                    own[name] = made[id(tensor)][0]

    @names_keywords
    def to_empty(self: _M, *, device: "_C.device | str", recurse: bool = True) -> _M:
        """Gives all parameters and buffers memory of that device, as it comes, without values;
        without `recurse` those of this module alone. For what was made on meta."""
        device, _ = checked_place(f"{type(self).__name__}.to_empty", device, None)
        empty = functools.partial(ops.aten.empty_like, device=device)
        self._change(lambda tensor: empty(tensor.detach()), recurse)
        return self

    def float(self: _M) -> _M:
        """to(opyard.float32)."""
        return self.to(_C.float32)

    def double(self: _M) -> _M:
        """to(opyard.float64)."""
        return self.to(_C.float64)

    def half(self: _M) -> _M:
        """to(opyard.float16)."""
        return self.to(_C.float16)

    def bfloat16(self: _M) -> _M:
        """to(opyard.bfloat16)."""
        return self.to(_C.bfloat16)

    def cpu(self: _M) -> _M:
        """to("cpu")."""
        return self.to("cpu")

    # As text.

    def extra_repr(self) -> str:
        """What repr() shows between the parentheses: the sizes of a layer, say."""
        return ""

    def __repr__(self) -> str:
        name, own = type(self).__name__, self.extra_repr()
        if not self._modules and "\n" not in own:
            return f"{name}({own})"
        lines = [own] if own else []
        lines += [f"({key}): {part!r}" for key, part in self._modules.items()]
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{name}(\n  {body}\n)"


def drop_gradients(parameters: "Iterator[Parameter]", set_to_none: bool) -> None:
    """Of zero_grad(): no gradients, or zeros in place of those that are there."""
    for parameter in parameters:
        if set_to_none or parameter.grad is None:
            parameter.grad = None
        else:
            with no_grad():
                parameter.grad.zero_()


def _converted(tensor: _C.Tensor, device: object, dtype: "_C.dtype | None") -> _C.Tensor:
    """The tensor with this device and dtype; itself if it has them."""
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        dtype = None
    options = {"device": device, "dtype": dtype}
    options = {name: value for name, value in options.items() if value is not None}
    if not options:
        return tensor
    changed = ops.aten._to_copy(tensor.detach(), **options)
    is_parameter = isinstance(tensor, Parameter)
    return tensor if is_parameter and _is_same(changed, tensor) else changed


def _parameter_like(parameter: Parameter, changed: _C.Tensor) -> Parameter:
    """Raises RuntimeError if a class did not answer with its own."""
    kind = type(parameter)
    if issubclass(kind, Parameter):
        return kind(changed, parameter.requires_grad)
    made = Parameter(changed, parameter.requires_grad)
    if type(made) is not kind:
        raise RuntimeError(
            f"a parameter of the class {kind.__name__} would become a plain one: aten._to_copy "
            f"gave a {type(changed).__name__}; let the class's __opyard_dispatch__ answer it with "
            f"a {kind.__name__}"
        )
    return made


def _is_same(changed: _C.Tensor, tensor: _C.Tensor) -> bool:
    return changed.dtype is tensor.dtype and changed.device == tensor.device
