"""custom_op(): an operator made of one Python function. opyard.library has the names.

[Parts] A definition and its kernels are two libraries, so that the kernels can be exchanged under a
definition that stays:

    _definition   the schema, with tags and the function's docstring
    _kernels      CompositeExplicitAutograd, or a key for each device type: the functions themselves
                  Meta: the fake kernel, one that can be told from the schema, or one that says what
                  is missing
                  BackendSelect: for operators without tensor arguments, finds the kernel by device
                  AutocastCPU, AutocastCUDA: what register_autocast() adds

[Made anew] Making an operator of the same name again, as running a cell of a notebook again
does, puts the new kernels on top of the old ones, exchanges the definition if it is another one,
and then takes the old kernels back. What fails before leaves the old operator as it was.
"""

import functools
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from .. import _C
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .annotations import adapted
from .contract import Contract, has_tensor, written_arguments
from .custom_schema import documentation, require_name, result_rule, schema_text
from .definitions import definition_named, definitions
from .kernel_signature import require_fit
from .library import Library, _provenance
from .shortcuts import device_key, namespace_of, require_callable, set_effect

if TYPE_CHECKING:
    from .._core._array_types import NDArray

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])


class CustomOpDef(_C.OpCaller, Generic[_P, _R]):
    """An operator that custom_op() made. Calling it is calling the operator, opyard.ops.ns.name.

    `op` is the operator, and __wrapped__ the function that it was made of.
    """

    if TYPE_CHECKING:
        # By the first its arguments are shown; by the others it takes arrays for tensors, as
        # every operator does, and gives their kind.
        @overload
        def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
        @overload
        def __call__(
            self: "CustomOpDef[_P, _C.Tensor]", first: NDArray, /, *args: Any, **kwargs: Any
        ) -> NDArray: ...
        @overload
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __init__(
        self,
        name: str,
        fn: Callable,
        schema: str,
        tags: tuple[str, ...],
        check_aliasing: bool,
        provenance: str,
    ) -> None:
        from .._bind import parse

        functools.update_wrapper(self, fn, updated=())
        self._name, self._schema_text, self._tags, self._provenance = name, schema, tags, provenance
        self._schema = parse(schema)
        self._rule = result_rule(self._schema, tags, check_aliasing)
        self._init_fn = fn
        self._doc = documentation(name, fn)
        self._fns: dict[str | None, Callable] = {}
        # Those in a with block of set_kernel_enabled(), by device type, the latest last: what
        # that one says holds. And what holds now; both of them with the lock held.
        self._switches: dict[str, list[_KernelEnabled]] = {}
        self._disabled: set[str] = set()
        self._switching = threading.RLock()
        self._fake: Callable | None = None
        self._replaced_at = ""  # where the definition is that replaced this one
        self._kernels = Library(name.partition("::")[0], "IMPL")
        self._definition: Library | None = None

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    def __reduce__(self) -> tuple:
        return definition_named, (self._name,)

    # Registering ---------------------------------------------------------------------------

    def _is_live(self) -> bool:
        """Not if someone else unregistered it, such as an entry point that failed."""
        return self._kernels._end.alive and (
            self._definition is None or self._definition._end.alive
        )

    def _require_live(self) -> None:
        if self._replaced_at:
            raise RuntimeError(
                f"{self._name} was made again by custom_op() at {self._replaced_at}, which "
                f"replaced this definition of {self._provenance}: register with the newer one"
            )
        if not self._is_live():
            raise RuntimeError(
                f"{self._name}: this definition of {self._provenance} was unregistered"
            )

    def _put(self, key: object, fn: Callable, *, keyset: bool = False, rule: str = "") -> None:
        name = getattr(key, "name", key)
        target = self._kernels._target()
        target.impl(self._name, fn, name, keyset, True, _provenance(), rule)

    def _put_kernel(self, device: "str | None", fn: Callable) -> None:
        key = "CompositeExplicitAutograd" if device is None else device_key(device)
        self._put(key, adapted(self._name, fn), rule=self._rule)

    def _device_argument(self) -> int:
        """The position of the argument that says the device. Raises ValueError if it is wanted
        and not there."""
        for position, argument in enumerate(self._schema.arguments):
            if argument.name == "device" and str(argument.type) in ("Device", "Device?"):
                return position
        raise ValueError(
            f"{self._name} takes no tensors, so only an argument `device: opyard.device` could "
            "tell which kernel of several device types is meant, and it has none. Add one, or "
            f"register for all device types, with None. Got {self._schema}"
        )

    def _devices(self, device_types: "str | Iterable[str] | None") -> "list[str | None]":
        """Device types as they are stored. Raises ValueError for what is none."""
        if device_types is None:
            return [None]
        given = [device_types] if isinstance(device_types, str) else list(device_types)
        if not given:
            raise ValueError(f"{self._name}: device_types is empty; None stands for all of them")
        for device in given:
            if device_key(device).name == "Meta":
                raise ValueError(
                    f"{self._name}: a kernel for 'meta' tensors, which have no elements, is a fake "
                    "kernel; register it with register_fake()"
                )
        if not any(has_tensor(argument.type) for argument in self._schema.arguments):
            self._device_argument()
        return given

    @overload
    def register_kernel(
        self, device_types: "str | Iterable[str] | None", fn: None = None, /
    ) -> "Callable[[_F], _F]": ...
    @overload
    def register_kernel(self, device_types: "str | Iterable[str] | None", fn: _F, /) -> _F: ...
    def register_kernel(
        self, device_types: "str | Iterable[str] | None", fn: "Callable | None" = None, /
    ) -> Any:
        """Registers a kernel for one device type or several; None is for all that have none.

        Also as a decorator. A second kernel for a device type replaces the first. Raises ValueError
        for unknown device types and if an operator without tensor arguments has no argument
        `device`, TypeError if `fn` is not callable, RuntimeError if this definition was
        replaced.
        """
        devices = self._devices(device_types)

        def register(fn: Callable) -> Callable:
            require_callable("register_kernel", self._name, fn)
            require_fit(self._name, fn, 0)
            self._require_live()
            _ops.note(functools.partial(self._put_back, dict(self._fns), self._fake))
            self._register(devices, fn)
            return fn

        return register if fn is None else register(fn)

    def _register(self, devices: "list[str | None]", fn: Callable) -> None:
        formers = []  # which end behind the locks: a kernel may have a __del__
        for device in devices:
            if device is not None:
                self._select_by_device()
            with self._switching:
                formers.append(self._fns.get(device))
                self._put_kernel(device, self._init_fn if device in self._disabled else fn)
                self._fns[device] = fn

    def _put_back(self, fns: "dict[str | None, Callable]", fake: "Callable | None") -> None:
        """What was registered since then was unregistered, by an entry point that failed."""
        formers = [self._fns, self._fake]
        with self._switching:
            self._fns, self._fake = fns, fake
        del formers  # behind the lock, see _register()

    def _select_by_device(self) -> None:
        """Has calls without tensors look at their argument `device`; once."""
        if any(has_tensor(argument.type) for argument in self._schema.arguments):
            return
        if any(device is not None for device in self._fns):
            return
        position = self._device_argument()
        default = self._schema.arguments[position].default_value
        by_name = self._schema.arguments[position].kwarg_only

        def select_by_device(keyset: Any, *args: Any, **kwargs: Any) -> Any:
            if by_name:
                device = kwargs.get("device", default)
            else:
                device = args[position] if position < len(args) else default
            kind = "cpu" if device is None else _C.device(device).type
            if kind not in self._fns and None not in self._fns and kind != "meta":
                known = ", ".join(sorted(self._fns))  # type: ignore[type-var]
                raise RuntimeError(
                    f"{self._name} has no kernel for the device type '{kind}', only for {known}; "
                    "add one with register_kernel()"
                )
            key = _C.DispatchKeySet(device_key(kind))
            return self.op.redispatch(key, *args, **kwargs)

        self._put("BackendSelect", select_by_device, keyset=True)

    @overload
    def register_fake(self, fn: None = None, /) -> "Callable[[_F], _F]": ...
    @overload
    def register_fake(self, fn: _F, /) -> _F: ...
    def register_fake(self, fn: "Callable | None" = None, /) -> Any:
        """Registers what the operator gives for tensors without elements; also as a decorator.

        See opyard.library.register_fake(). A second one replaces the first. Gives a UserWarning for
        an operator with the tag inplace or out, whose fake kernel is known. Raises TypeError if
        `fn` is not callable, RuntimeError if this definition was replaced.
        """

        def register(fn: Callable) -> Callable:
            from .fake import with_context

            require_callable("register_fake", self._name, fn)
            require_fit(self._name, fn, 0)
            self._require_live()
            known = {"inplace": "its first argument", "out": "what it writes to"}
            for tag in self._tags:
                if tag not in known:
                    continue
                warnings.warn(
                    f"{self._name} has the tag {tag}, so its fake kernel is known: it gives "
                    f"{known[tag]}. The one that is registered now replaces it",
                    UserWarning,
                    stacklevel=3 if direct else 2,
                )
            self._put("Meta", with_context(self._name, fn))
            _ops.note(functools.partial(self._put_back, dict(self._fns), self._fake))
            self._fake = fn
            return fn

        direct = fn is not None
        return register if fn is None else register(fn)

    @names_keywords
    def register_autograd(
        self, backward: Callable, /, *, setup_context: "Callable | None" = None
    ) -> None:
        """Gives it a backward in Python; see opyard.library.register_autograd(). Raises
        RuntimeError for one that writes to an argument, which can have no formula."""
        from .shortcuts import register_autograd

        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: "Callable | None" = None, /) -> Any:
        """Raises NotImplementedError: there is no batching layer yet."""
        from .shortcuts import register_vmap

        register_vmap(self, func)

    def register_autocast(self, device_type: str, cast_inputs: "_C.dtype", /) -> None:
        """Has calls below opyard.autocast(device_type) cast their tensors; see
        opyard.library.register_autocast()."""
        from .shortcuts import register_autocast

        self._require_live()
        register_autocast(self, device_type, cast_inputs)

    def register_opyard_dispatch(self, cls: type, fn: "Callable | None" = None, /) -> Any:
        """Has the operator ask a function before the handler of a class of modes or tensors; see
        opyard.library.register_opyard_dispatch()."""
        from .py_impl import register_opyard_dispatch

        self._require_live()
        return register_opyard_dispatch(self.op, cls, fn, lib=self._kernels)

    @names_keywords
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> "_KernelEnabled":
        """A with block in which the kernel of a device type is switched off, or on again: the
        function that the operator was made of is called in its place. For all threads.

        Gives a UserWarning if that changes nothing. Raises ValueError for what is no device
        type.
        """
        device_key(device_type)
        return _KernelEnabled(self, device_type, enabled)

    def _switch(self, device: str) -> None:
        """Has the kernel be as the latest with block says; on, when there is none."""
        switches = self._switches.get(device)
        enabled = not switches or switches[-1]._enabled
        if (device not in self._disabled) != enabled:
            if device in self._fns:
                self._put_kernel(device, self._fns[device] if enabled else self._init_fn)
            (self._disabled.discard if enabled else self._disabled.add)(device)

    # Defining ------------------------------------------------------------------------------

    def _put_default_fake(self) -> None:
        if "inplace" in self._tags:
            fake = _give_first
        elif "out" in self._tags:
            fake = _give_written(self._schema)
        elif self._schema.is_mutable and not self._schema.returns:
            fake = _give_nothing
        else:
            fake = _missing_fake(self)
        self._put("Meta", fake)

    def _define(self, devices: "list[str | None]") -> None:
        """See [Made anew]."""
        old = definitions.get(self._name)
        was_exchanged = False
        try:
            self._register(devices, self._init_fn)
            self._put_default_fake()
            if old is None or not old._definition._end.alive:
                self._definition = self._made_definition(self._provenance)
            elif old._described() == self._described():
                self._definition = old._definition
            else:
                self._definition = self._exchanged_definition(old)
                was_exchanged = True
            self._bind(_ops.overload_of(self._name))
        except BaseException:
            if was_exchanged:
                self._definition._destroy()
                old._restore_definition()
            self._kernels._destroy()
            raise
        _ops.note(functools.partial(self._give_way, old))
        definitions[self._name] = self
        set_effect(self.op, None)
        if old is not None:
            old._replaced_at = self._provenance
            # An entry point that fails takes the new ones back: then these are needed.
            _ops.when_committed(old._kernels._destroy)

    def _give_way(self, old: "CustomOpDef | None") -> None:
        """Has another one be the live one again."""
        if definitions.get(self._name) is self:
            del definitions[self._name]
            if old is not None:
                definitions[self._name] = old
        if old is not None and old._replaced_at == self._provenance:
            old._replaced_at = ""

    def _described(self) -> tuple:
        return self._schema_text, self._tags, self._doc

    def _definition_arguments(self) -> tuple:
        return self._schema_text, False, self._tags, self._doc

    def _made_definition(self, provenance: str) -> Library:
        made = Library(self._name.partition("::")[0], "FRAGMENT")
        try:
            made._define_at(provenance, *self._definition_arguments())
        except BaseException:
            made._destroy()
            raise
        return made

    def _exchanged_definition(self, old: "CustomOpDef") -> Library:
        old._definition._end()
        _ops.note(old._restore_definition)
        try:
            return self._made_definition(self._provenance)
        except BaseException:
            old._restore_definition()
            raise

    def _restore_definition(self) -> None:
        """With the library that it had: others may have notes of that. No listener can refuse it:
        what one raises goes to sys.unraisablehook."""
        if not self._definition._end.alive:
            self._definition._open(self._provenance)
            former = _C.put_definitions_back(True)
            try:
                self._definition._define_at(self._provenance, *self._definition_arguments())
            finally:
                _C.put_definitions_back(former)

    def _destroy(self) -> None:
        """Unregisters the operator."""
        if definitions.get(self._name) is self:
            del definitions[self._name]
            set_effect(self.op, None)
            self._definition._destroy()
            self._kernels._destroy()


class _KernelEnabled:
    def __init__(self, definition: CustomOpDef, device: str, enabled: bool) -> None:
        self._definition, self._device, self._enabled = definition, device, enabled

    def __enter__(self) -> None:
        definition, device = self._definition, self._device
        definition._require_live()
        verb = "enable" if self._enabled else "disable"
        if device not in definition._fns:
            self._warn(f"{definition._name} has no kernel for '{device}' that could be {verb}d")
        elif (device not in definition._disabled) == self._enabled:
            self._warn(f"the kernel of {definition._name} for '{device}' is {verb}d already")
        with definition._switching:
            switches = definition._switches.setdefault(device, [])
            switches.append(self)
            try:
                definition._switch(device)
            except BaseException:
                switches.pop()
                raise

    def __exit__(self, *exception: object) -> None:
        definition, device = self._definition, self._device
        with definition._switching:
            switches = definition._switches[device]
            # The latest of its own: other threads may have come after it, and stay.
            del switches[len(switches) - 1 - switches[::-1].index(self)]
            if not definition._replaced_at and definition._is_live():
                definition._switch(device)

    @staticmethod
    def _warn(text: str) -> None:
        warnings.warn(text, UserWarning, stacklevel=3)


# Fake kernels that the schema tells ----------------------------------------------------------


def _give_first(first: Any, *args: Any, **kwargs: Any) -> Any:
    return first


def _give_nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _give_written(schema: Any) -> Callable:
    names = [argument.name for argument in written_arguments(schema)]

    def give_written(*args: Any, **kwargs: Any) -> Any:
        results = tuple(kwargs[name] for name in names)
        return results if len(results) > 1 else results[0]

    return give_written


def _missing_fake(definition: CustomOpDef) -> Callable:
    # The text, and not the definition: this kernel is a part of it.
    text = (
        f"{definition._name} was called with tensors without elements, and has no fake kernel that "
        f"says what it gives for them; add one with register_fake() of {definition!r}"
    )

    def missing_fake(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError(text)

    return missing_fake


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: "str | Iterable[str]",
    device_types: "str | Iterable[str] | None" = None,
    schema: "str | None" = None,
    tags: "str | Iterable[str] | None" = None,
    check_aliasing: bool = True,
) -> "Callable[[Callable[_P, _R]], CustomOpDef[_P, _R]]": ...
@overload
def custom_op(
    name: str,
    fn: "Callable[_P, _R]",
    /,
    *,
    mutates_args: "str | Iterable[str]",
    device_types: "str | Iterable[str] | None" = None,
    schema: "str | None" = None,
    tags: "str | Iterable[str] | None" = None,
    check_aliasing: bool = True,
) -> "CustomOpDef[_P, _R]": ...
@names_keywords
def custom_op(
    name: str,
    fn: "Callable | None" = None,
    /,
    *,
    mutates_args: "str | Iterable[str]",
    device_types: "str | Iterable[str] | None" = None,
    schema: "str | None" = None,
    tags: "str | Iterable[str] | None" = None,
    check_aliasing: bool = True,
) -> Any:
    """Makes an operator of a Python function, and gives it as a CustomOpDef; also as a decorator.

        @custom_op("demo::scale", mutates_args=())
        def scale(x: opyard.Tensor, factor: float = 2.0) -> opyard.Tensor:
            return x * factor

        scale(x), opyard.ops.demo.scale(x)

    The schema comes from the annotations, as infer_schema() says it, or is given: "(Tensor x) ->
    Tensor". `mutates_args` names the arguments that the function writes to; "unknown" stands for
    all tensors, or with a schema for what that says. The function serves the device types of
    `device_types`, or all of them; more kernels come with register_kernel().

    Two tags are contracts. An operator with Tag.inplace writes to its first argument alone and
    returns it; one with Tag.out writes to tensors that are given by name, and returns them. Their
    results are declared for them, and looked at in each call. The results of others may not alias
    arguments or each other, unless the schema says so; `check_aliasing=False` leaves that
    unwatched.

    Making an operator of the same name again replaces the first; objects of it that are held
    somewhere are valid if the schema is the same, and raise RuntimeError otherwise.

    Raises ValueError for a name without a namespace, a schema that does not agree with
    `mutates_args`, what a schema cannot say, a broken contract of a tag, unknown tags and device
    types, and kernels by device type if the operator takes neither tensors nor a `device`;
    NotImplementedError for keyword-only tensors without Tag.out; TypeError if `fn` is not
    callable; RuntimeError if another library has defined the operator. Nothing is registered
    then, and an operator of this name is as it was.
    """
    from .._core.tags import names_of

    if not isinstance(name, str):
        raise TypeError(
            f"custom_op: the name must be a str such as 'ns::name', not {type(name).__name__}"
        )
    namespace_of("custom_op", name)
    require_name(name)
    tag_names = names_of(() if tags is None else tags)
    contract = Contract(name, tag_names)

    def make(fn: Callable) -> CustomOpDef:
        require_callable("custom_op", name, fn)
        text = schema_text(name, fn, mutates_args, schema, contract)
        made = CustomOpDef(name, fn, text, tag_names, check_aliasing, _provenance())
        try:
            require_fit(name, fn, 0, str(made._schema))
            devices = made._devices(device_types)
        except BaseException:
            made._kernels._destroy()
            raise
        made._define(devices)
        return made

    return make if fn is None else make(fn)
