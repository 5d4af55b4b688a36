"""The register functions of opyard.library: one registration by one call.

They name an operator as "ns::name" or "ns::name.overload", by an object of opyard.ops, or by what
custom_op() gave, and are decorators if they are called without a function. A registration ends
with the Library that is given; without one it stays. For an operator of custom_op() it then belongs
to that, and a second one replaces the first.
"""

import functools
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeVar, overload

from .. import _C
from .._core import hooks
from .._core import ops as _ops
from .._core.arity import require_count
from .._core.keys import DispatchKey, key_of, key_of_device
from .._core.keywords import names_keywords
from .definitions import definition_of
from .library import Library, _outer_frame, _refuse_meta_kernel
from .reload import site_in_run

_F = TypeVar("_F", bound=Callable[..., Any])
_Named = str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller

# Whose registrations stay: one library for each namespace.
_libraries: dict[str, Library] = {}


def library_of(ns: str) -> Library:
    """The library of a namespace whose registrations no one ends."""
    known = _libraries.get(ns)
    if known is None:
        made = Library(ns, "FRAGMENT")
        known = _libraries.setdefault(ns, made)
        if known is not made:  # another thread was faster
            made._destroy()
    return known


def operator_for(function: str, op: object) -> "_C.OpOverload":
    """The operator that is meant. Raises ValueError for what names none, naming `function`;
    LookupError for one that is not defined.
    """
    if isinstance(op, _C.OpCaller):
        return op.op
    if not isinstance(op, (str, _C.OpOverload, _C.OpOverloadPacket)):
        raise ValueError(
            f"{function}(op): got unexpected type for op: {type(op)}; an operator is named by a "
            "str such as 'ns::name', by an object of opyard.ops, or by what custom_op() gave"
        )
    return _ops.operator_of(op)


def require_callable(function: str, name: str, fn: object) -> None:
    if not callable(fn):
        raise TypeError(
            f"{function}: what is registered for {name} must be callable, not {type(fn).__name__}"
        )


def device_key(device: str) -> DispatchKey:
    """The key of the kernels of a device type. Raises ValueError if there is no such type,
    TypeError for what is no str.
    """
    if not isinstance(device, str):
        raise TypeError(f"a device type must be a str, such as 'cpu', not {type(device).__name__}")
    if _C.device(device).index is not None:
        raise ValueError(f"{device!r} is one device; a kernel is for all devices of a type")
    key = key_of_device(device.lower())
    assert key is not None, f"the device type {device} has no key"
    return key


def _keys_for(types: "str | int | Iterable[str | int]") -> list[str]:
    """The names of the keys that `types` stands for, each once."""
    given = [types] if isinstance(types, (str, int)) else list(types)
    if not given:
        raise ValueError("impl: types is empty; give a device type, a dispatch key or 'default'")
    keys: list[str] = []
    for one in given:
        if one == "default":
            name = "CompositeExplicitAutograd"
        else:
            try:
                name = key_of(one).name
            except LookupError:
                try:
                    name = device_key(one).name
                except (TypeError, ValueError):
                    raise ValueError(
                        f"impl: {one!r} is neither a device type, such as 'cpu', nor a dispatch "
                        "key, such as 'AutogradCPU', nor 'default'"
                    ) from None
        if name not in keys:
            keys.append(name)
    return keys


@names_keywords
def define(
    qualname: str,
    schema: str,
    *,
    lib: "Library | None" = None,
    tags: "str | Iterable[str]" = (),
) -> str:
    """Defines an operator, define("demo::f", "(Tensor x) -> Tensor"), and gives its name.

    Without a library it stays. The cell of a notebook, or a module that is reloaded, may run again:
    it then replaces what it has defined before.

    Raises ValueError for a name without a namespace, for a schema with a name of its own or that
    does not parse, for unknown tags, and for a library of another namespace; RuntimeError if the
    operator is defined already.
    """
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): the name must be a str such as 'ns::name', not "
            f"{type(qualname)}"
        )
    ns = namespace_of("define(qualname, schema)", qualname)
    require_bare_schema("define(qualname, schema)", qualname, schema)
    _require_namespace("define(qualname, schema)", lib, ns, qualname)
    return _define(lib, ns, qualname, qualname + schema.strip(), None, tags, "")


@names_keywords
def composite(
    schema: str,
    body: str,
    *,
    lib: "Library | None" = None,
    tags: "str | Iterable[str]" = (),
    doc: str = "",
) -> str:
    """Defines an operator that is the text of calls of others, and gives its full name.

        composite("demo::lerp_to(Tensor x, Tensor to, float by=0.5) -> Tensor",
                  "let way = to - x; x + way * by")

    See Library.composite(). Without a library it stays. The cell of a notebook, or a module that is
    reloaded, may run again: it then replaces what it has defined before.

    Raises ValueError for a name without a namespace and for a library of another namespace, and
    what Library.composite() raises.
    """
    if not isinstance(schema, str):
        raise TypeError(f"composite(schema, body): the schema must be a str, not {type(schema)}")
    qualname = schema.partition("(")[0].strip()
    ns = namespace_of("composite(schema, body)", qualname)
    _require_namespace("composite(schema, body)", lib, ns, qualname)
    return _define(lib, ns, qualname, schema, body, tags, doc)


def _require_namespace(call: str, lib: "Library | None", ns: str, qualname: str) -> None:
    if lib is not None and lib.ns != ns:
        raise ValueError(
            f"{call}: {qualname} is of another namespace than its library, which is for {lib.ns}"
        )


def _define(
    lib: "Library | None",
    ns: str,
    qualname: str,
    schema: str,
    body: "str | None",
    tags: "str | Iterable[str]",
    doc: str,
) -> str:
    site = None if lib is not None else site_in_run(_outer_frame(), ("definition", qualname))
    if site is not None:
        return _define_at_site(site, ns, qualname, schema, body, tags, doc)
    return _define_in(lib or library_of(ns), schema, body, tags, doc)


def _define_in(
    library: Library, schema: str, body: "str | None", tags: "str | Iterable[str]", doc: str
) -> str:
    if body is None:
        return library.define(schema, tags=tags, doc=doc)
    return library.composite(schema, body, tags=tags, doc=doc)


# What define() and composite() have defined without a library, in code that may run again: the
# cell of a notebook or the outermost code of a module. Each has a library of its own, which the
# code then replaces.
_defined: "dict[str, tuple[object, object, Library]]" = {}


def _define_at_site(
    site: object,
    ns: str,
    qualname: str,
    schema: str,
    body: "str | None",
    tags: "str | Iterable[str]",
    doc: str,
) -> str:
    from .._bind import parse
    from .._core.tags import names_of

    names = names_of(tags)
    same = (str(parse(schema)), body, names, doc)
    former_site, former, library = _defined.get(qualname, (None, None, None))
    if library is not None and former_site == site and library.operators:
        if former == same:
            return qualname
        library._destroy()
    made = Library(ns, "FRAGMENT")
    name = _define_in(made, schema, body, names, doc)
    _defined[qualname] = site, same, made
    _ops.note(functools.partial(_defined.pop, qualname, None))
    return name


def namespace_of(function: str, name: str) -> str:
    """The namespace of "ns::name". Raises ValueError, naming `function`, if there is none."""
    ns, separator, base = name.partition("::")
    if not (separator and ns and base):
        raise ValueError(f"{function}: {name!r} has no namespace; say 'ns::name'")
    return ns


def require_bare_schema(function: str, name: str, schema: object) -> None:
    """Raises ValueError for a schema text that has a name of its own."""
    if not isinstance(schema, str) or not schema.lstrip().startswith("("):
        raise ValueError(
            f"{function}: the schema of {name} begins with its arguments, as in "
            f"'(Tensor x) -> Tensor', since the name is given besides; got {schema!r}"
        )


def _implement(
    function: str,
    op: "_C.OpOverload",
    keys: list[str],
    fn: Callable,
    lib: "Library | None",
    exclusive: bool = False,
) -> None:
    require_callable(function, op.name(), fn)
    if lib is None:
        lib = library_of(op.namespace)
    if len(keys) == 1:
        return lib.impl(op, fn, keys[0], exclusive=exclusive)
    # All or nothing: refusals and warnings come here, while everything can still be undone. While
    # the trial has its kernels, no exclusive one of another library comes in between.
    if "Meta" in keys:
        _refuse_meta_kernel(op.name())
    trial = Library(lib.ns, "IMPL" if lib.kind == "IMPL" else "FRAGMENT", lib.dispatch_key)
    try:
        for key in keys:
            # The library's own kernels are replaced, of which no one is warned.
            own = (op.name(), key) in lib._implemented
            if own and exclusive:
                lib._require_on_top(op.name(), fn, key)
            else:
                trial.impl(op, fn, key, allow_override=own, exclusive=exclusive)
        if exclusive:
            for key in keys:
                lib.impl(op, fn, key, allow_override=True)
    finally:
        trial._destroy()
    if not exclusive:
        for key in keys:
            lib.impl(op, fn, key, allow_override=True)


@overload
def impl(
    qualname: _Named,
    types: "str | int | Iterable[str | int]",
    func: None = None,
    *,
    lib: "Library | None" = None,
    exclusive: bool = False,
) -> "Callable[[_F], _F]": ...
@overload
def impl(
    qualname: _Named,
    types: "str | int | Iterable[str | int]",
    func: _F,
    *,
    lib: "Library | None" = None,
    exclusive: bool = False,
) -> _F: ...
@names_keywords
def impl(
    qualname: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    types: "str | int | Iterable[str | int]",
    func: "Callable | None" = None,
    *,
    lib: "Library | None" = None,
    exclusive: bool = False,
) -> Any:
    """Registers a kernel of an operator at one key or several; also as a decorator.

        @impl("demo::f", "cpu")
        def f_cpu(x): ...

    `types` is a device type such as "cpu", a dispatch key or its name, "default" for all devices
    (CompositeExplicitAutograd), or a list of these. Either all of them get the kernel, or none.
    With `exclusive` it is refused if another library has a kernel at one of them. A kernel that
    another thread registers there in the same moment, and not as exclusive, may be covered.

    Raises ValueError for other types and for what names no operator, LookupError for one that is
    not defined, TypeError if `func` is not callable, RuntimeError for what cannot be registered.
    """
    op = operator_for("impl", qualname)
    keys = _keys_for(types)

    def register(fn: Callable) -> Callable:
        _implement("impl", op, keys, fn, lib, exclusive)
        return fn

    return register if func is None else register(func)


@overload
def register_kernel(
    op: _Named,
    device_types: "str | Iterable[str] | None",
    func: None = None,
    *,
    lib: "Library | None" = None,
) -> "Callable[[_F], _F]": ...
@overload
def register_kernel(
    op: _Named,
    device_types: "str | Iterable[str] | None",
    func: _F,
    *,
    lib: "Library | None" = None,
) -> _F: ...
@names_keywords
def register_kernel(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    device_types: "str | Iterable[str] | None",
    func: "Callable | None" = None,
    *,
    lib: "Library | None" = None,
) -> Any:
    """Registers a kernel of an operator for one device type or several; also as a decorator.

    None stands for all devices that have none of their own. Raises as impl(), and for an operator
    of custom_op() as CustomOpDef.register_kernel().
    """
    operator = operator_for("register_kernel", op)
    definition = definition_of(operator) if lib is None else None
    if definition is not None:
        return definition.register_kernel(device_types, func)
    types = "default" if device_types is None else device_types
    keys = _keys_for(types)

    def register(fn: Callable) -> Callable:
        _implement("register_kernel", operator, keys, fn, lib)
        return fn

    return register if func is None else register(func)


@names_keywords
def register_autograd(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    backward: Callable,
    *,
    setup_context: "Callable | None" = None,
    lib: "Library | None" = None,
) -> None:
    """Gives an operator a backward in Python: backward(ctx, *gradients).

    It gives a gradient, or None, for each argument, keyword-only ones left out.
    `setup_context(ctx, inputs, output)` is called when a call is taped, with
    `keyword_only_inputs` between the two if the operator has such; ctx has save_for_backward(),
    saved_tensors and needs_input_grad, and takes attributes. A list of tensors gets its gradients,
    and gives them, as a list.

    A second one takes the place of the first. Raises RuntimeError for an operator that can have no
    formula, since it writes to an argument or gives a view; ValueError and LookupError as
    register_kernel(). A formula as text is one line: Library.derivative().
    """
    operator = operator_for("register_autograd", op)
    name = operator.name()
    schema = operator._schema
    if "out" in operator.tags:
        raise RuntimeError(
            f"register_autograd: {name} has the tag out, so its results are the caller's tensors "
            "and no formula can be for them; register one for the operator that makes new tensors"
        )
    if schema.is_mutable or any(each.alias_info is not None for each in schema.returns):
        raise RuntimeError(
            f"register_autograd: {name} is not functional, so it can have no formula: its schema "
            f"says that it writes to an argument or returns a view of one. Got {schema}"
        )
    if not callable(backward) or not (setup_context is None or callable(setup_context)):
        wrong = setup_context if callable(backward) else backward
        which = "setup_context" if callable(backward) else "backward"
        raise TypeError(
            f"register_autograd: {name}: {which} must be a function, not an object of "
            f"{type(wrong).__name__}"
        )
    _require_backward_fits(operator, backward, setup_context)
    definition = definition_of(operator) if lib is None else None
    owner = lib if definition is None else definition._kernels
    parts = None if owner is None else owner._parts
    origin = f"registered by {backward!r}"
    hooks["register_formula"](operator, backward, setup_context, origin, parts)


def _require_backward_fits(
    operator: "_C.OpOverload", backward: Callable, setup_context: "Callable | None"
) -> None:
    name, schema = operator.name(), operator._schema
    if not schema.is_varret:
        results = [f"gradient {number}" for number, _ in enumerate(schema.returns)]
        gradients = results if len(results) > 1 else ["the gradient"] * len(results)
        require_count(f"register_autograd: {name}: backward", backward, ["ctx", *gradients])
    if setup_context is not None:
        by_name = any(each.kwarg_only for each in schema.arguments)
        gets = ["ctx", "inputs", *["keyword_only_inputs"] * by_name, "output"]
        require_count(f"register_autograd: {name}: setup_context", setup_context, gets)


@names_keywords
def register_vmap(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    func: "Callable | None" = None,
    *,
    lib: "Library | None" = None,
) -> None:
    """Raises NotImplementedError, since there is no batching layer yet; ValueError and LookupError
    as register_kernel().
    """
    name = operator_for("register_vmap", op).name()
    raise NotImplementedError(
        f"register_vmap: {name} can have no batching rule yet, since Opyard has no batching layer; "
        "a kernel at the key Batched, by impl(), sees every call of tensors with that key"
    )


@names_keywords
def register_autocast(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
    device_type: str,
    cast_inputs: "_C.dtype",
    *,
    lib: "Library | None" = None,
) -> None:
    """Has calls of an operator below opyard.autocast(device_type) cast their tensors to a dtype.

    Floating tensors of the device type, also those in lists, are cast before the operator is called
    without autocast; tensors of float64 are left alone. A second one for the same device type
    replaces the first.

    Raises ValueError for a device type that has no autocast, and for what names no operator;
    TypeError for what is no dtype; LookupError for an operator that is not defined;
    NotImplementedError for one that writes to an argument: it would write to a copy.
    """
    from .._dispatch.autocast import autocast_key, casting_kernel

    operator = operator_for("register_autocast", op)
    if not isinstance(device_type, str):
        raise ValueError(
            f"register_autocast: the device type of {operator.name()} is a str, such as 'cpu', "
            f"not {type(device_type)}"
        )
    try:
        key = autocast_key(device_type)
    except ValueError as error:
        raise ValueError(f"register_autocast: {operator.name()}: {error}") from None
    kernel = casting_kernel(operator, device_type, cast_inputs)
    definition = definition_of(operator) if lib is None else None
    if definition is not None:
        definition._put(key, kernel)
    else:
        (lib or library_of(operator.namespace)).impl(operator, kernel, key)


class EffectType(Enum):
    """What calls of an operator do besides giving results."""

    # Must happen as often as they are written, and in the order in which they are written.
    ORDERED = "Ordered"


_effects: dict["_C.OpOverload", EffectType] = {}


@names_keywords
def register_effect(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller", effect: "EffectType | None"
) -> None:
    """Says what calls of an operator do besides giving results, for programs that reorder or drop
    calls; None for nothing. effect_of() tells them. A second one replaces the first.

    Raises ValueError for what is no effect and for what names no operator, LookupError for one that
    is not defined.
    """
    operator = operator_for("register_effect", op)
    if effect is not None and not isinstance(effect, EffectType):
        known = ", ".join(map(str, EffectType))
        raise ValueError(
            f"register_effect: {effect!r} is no effect for {operator.name()}; there are {known}, "
            "and None for no effect"
        )
    set_effect(operator, effect)


def set_effect(op: "_C.OpOverload", effect: "EffectType | None") -> None:
    former = _effects.pop(op, None)
    if effect is not None:
        _effects[op] = effect
    if former is not effect:
        _ops.note(functools.partial(set_effect, op, former))


def effect_of(
    op: "str | _C.OpOverload | _C.OpOverloadPacket | _C.OpCaller",
) -> "EffectType | None":
    """The effect that register_effect() gave an operator, or None. Raises as that does."""
    return _effects.get(operator_for("effect_of", op))


class scoped_library:
    """A Library for the length of a with block, which gives it; the end of the block ends it.

        with scoped_library("demo", "FRAGMENT") as lib:
            lib.define("f(Tensor x) -> Tensor")

    Raises what Library raises.
    """

    @names_keywords
    def __init__(self, ns: str, kind: str, dispatch_key: "str | int" = "") -> None:
        self._arguments = ns, kind, dispatch_key
        self._libraries: list[Library] = []

    def __enter__(self) -> Library:
        made = Library(*self._arguments)
        self._libraries.append(made)
        return made

    def __exit__(self, *exception: object) -> None:
        self._libraries.pop()._destroy()
