"""Library: a batch of registrations with one lifetime, and the functions that register by it."""

import functools
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _C
from .._core import ops as _ops
from .._core.keywords import methods_name_keywords
from .._core.paths import encoded_path
from . import kernels_alone, refusals
from .kernel_signature import require_fit

if TYPE_CHECKING:
    from types import FrameType

_RESERVED_NAMESPACES = ("prim",)
_KINDS = ("DEF", "FRAGMENT", "IMPL")
# The names of code at the outermost level of a module, and of a cell in IPython.
_OUTERMOST = ("<module>", "<cell line")


def fallthrough_kernel(*args: object, **kwargs: object) -> None:
    """Registered in place of a kernel: the key is not handled here, dispatch goes on below it."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _outer_frame() -> "FrameType":
    """That of the nearest caller outside this package."""
    frame = sys._getframe(1)
    while _is_ours(frame.f_globals.get("__name__")):
        caller = _C.caller_of(frame)
        if caller is None:
            break
        frame = caller
    return frame


def _provenance() -> str:
    """'file:line' of the nearest caller outside this package."""
    frame = _outer_frame()
    provenance = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    if provenance.isascii():
        return provenance
    # The name of a file need not be UTF-8: so that it can be printed, as tracebacks show it.
    return provenance.encode("utf-8", "backslashreplace").decode()


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "opyard"


def _key_name(key: "str | int") -> str:
    """The name of a key; a device type, such as "cpu", stands for the key of its kernels."""
    from .._core.keys import DispatchKey, key_of, key_of_device

    if not isinstance(key, str):
        return key_of(key).name
    if key in DispatchKey.__members__:
        return key
    by_device = key_of_device(key)
    return key if by_device is None else by_device.name


def _function(fn: object) -> object:
    """The kernel as `_C` takes it: None for the one that falls through."""
    if not callable(fn):
        raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
    return None if fn is fallthrough_kernel else fn


def _wants(with_keyset: bool, with_next: bool) -> int:
    """What a kernel gets before its arguments, as `_C` takes it."""
    return bool(with_keyset) | bool(with_next) << 1


def _refuse_meta_kernel(name: str) -> None:
    """Raises if an operator is made of others, which have meta kernels of their own."""
    from .. import _bind
    from .._core.keys import DispatchKey

    if _bind.has_kernel_at(name, int(DispatchKey.CompositeImplicitAutograd)):
        raise RuntimeError(
            f"We should not register a meta kernel directly to the operator '{name}', because it "
            "has a CompositeImplicitAutograd kernel. That one serves Meta as well, since it is "
            "made of other operators: register meta kernels for those, or this one with "
            "allow_override=True"
        )


# What impl() of `_C` does if another library's kernel would be covered.
# The last one registers nothing, and raises what _REFUSED would.
_WARNS, _MEANT, _REFUSED, _ONLY_ASKED = range(4)


def _name_in(ns: str, schema: str) -> str:
    """The full name of the operator of a schema or a name; of what does not parse, any."""
    name = schema.partition("(")[0].strip()
    return name if "::" in name else f"{ns}::{name}"


def _forget(defined: "Iterable[str]") -> None:
    for name in defined:
        _ops.forget(name.partition(".")[0])


def _take_back(
    parts: "list[_C.Library]", defined: list[str], alone: "set[tuple[str, str]]", label: str
) -> None:
    """Ends the registrations of a Library. Not a method: it must not keep the Library alive."""
    text = ""
    try:
        if alone:
            text = kernels_alone.said(label, ", since no one has it any more", alone)
            alone.clear()
    finally:
        for part in reversed(parts):
            part.reset()
        _forget(defined)
    if text:
        import warnings

        warnings.warn(text, UserWarning, stacklevel=2)


def defined_in_python(op: "_C.OpOverload") -> bool:
    """Whether a Library of Python defines the operator: it is in no shared library."""
    from .. import _bind

    definition, _, _ = _bind.registered(op.name())
    return ".py:" in definition or "<" in definition


@methods_name_keywords
class Library:
    """A batch of registrations with one lifetime.

    kind "DEF" is the only definer of a namespace, "FRAGMENT" adds definitions to it, "IMPL"
    registers kernels only, by default at `dispatch_key` (a name or a DispatchKey).

    If a module is reloaded, or a cell is run again, the library that its code makes replaces the
    one that the same code made before: a registration replaces the earlier one, and what the code
    no longer registers is unregistered when it has run. See docs/guides/reloading.md.

    In a with block it ends with the block, else with close() or when no one has it any more. If
    operators that it has kernels of were not defined by then, so that no call could reach them, a
    UserWarning names them. The end of the program warns of none: a definition may be in a package
    that this program had no use for. `operators` and `kernels` list what it holds.

    Raises ValueError for an unknown kind and for reserved namespaces, RuntimeError for a namespace
    that is no identifier, if another library is the definer of this namespace, for a key with a
    kind that defines, and for the namespace "_" with such a kind; LookupError for a key that does
    not exist.
    """

    __module__ = "opyard.library"

    def __init__(self, ns: str, kind: str, dispatch_key: "str | int" = "") -> None:
        if ns in _RESERVED_NAMESPACES and kind in ("DEF", "FRAGMENT"):
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if ns == "aten":
            # Loaded later, its kernels would cover those of this library.
            _ops.load_aten()
        self.ns = ns
        self.kind = kind
        self.dispatch_key = _key_name(dispatch_key)
        refusals.require_kind(ns, kind, self.dispatch_key)
        # Only if users make one directly: custom_op() and others of this package keep their own.
        frame = sys._getframe(2)
        former = None
        if kind in _KINDS and frame.f_code.co_name.startswith(_OUTERMOST):
            from .reload import take_over

            former = take_over(self, frame)
        # What ends with this library, in order; the names of its operators; its fallbacks by key.
        self._parts: list[Any] = []
        self._defined: list[str] = []
        self._implemented: set[tuple[str, str]] = set()  # what has a kernel of it, at which key
        # Those of them that were not defined then, unless this package made the library.
        self._alone: set[tuple[str, str]] = set()
        self._warns = not _is_ours(frame.f_globals.get("__name__"))
        self._fallbacks: dict[str, _C.Library] = {}
        self._former_rules: list[Any] = []
        self._python_module = ("", "")
        self._is_reloading = False  # and what it had registered before may be replaced
        self._implemented_in_reload: set[tuple[str, str]] = set()
        if former is None or not former._hand_over(self, _provenance()):
            self._open(_provenance())
        else:
            self._end_with_this()
        _ops.note(self._undo)

    def _open(self, provenance: str) -> None:
        """Makes the library ready, when it is new and when it had ended."""
        self._library = _C.Library(self.ns, self.kind, self.dispatch_key, provenance)
        self._parts[:] = [self._library]
        self._end_with_this()

    def _end_with_this(self) -> None:
        self._end = weakref.finalize(
            self, _take_back, self._parts, self._defined, self._alone, repr(self)
        )
        # At exit operators stay: a daemon thread may still be calling them.
        self._end.atexit = False

    def _hand_over(self, to: "Library", provenance: str) -> bool:
        """Gives all that is registered to a library that is made again, which then replaces it."""
        if not self._end.alive:
            return False  # it has ended
        self._end_reload()
        to._library, to._fallbacks = self._library, self._fallbacks
        to._defined.extend(self._defined)
        to._implemented |= self._implemented
        to._alone |= self._alone
        to._is_reloading = True
        parts = list(self._parts)
        self._parts.clear()
        self._end.detach()
        from .reload import TakenOver

        self._library = TakenOver(provenance)
        self._fallbacks = {}
        for part in parts:
            if isinstance(part, _C.Library):
                to._parts.append(part)
                part.begin_reload()
            else:
                to._former_rules.append(part)
        return True

    def _target(self) -> Any:
        """What registers for this library: its own `_C.Library`, or what has it on trial."""
        made = _ops.notes()
        return self._library if made is None else made.target_of(self)

    def _end_reload(self) -> None:
        """Unregisters what was not registered again; see _library/reload.py."""
        if self._is_reloading:
            self._is_reloading = False
            self._implemented = self._implemented_in_reload
        while self._former_rules:
            self._former_rules.pop().reset()
        if not self._end.alive:
            return
        for part in self._parts:
            if isinstance(part, _C.Library):
                part.end_reload()
        _forget(self._defined)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(
        self,
        schema: "str | Callable[..., Any]",
        alias_analysis: str = "",
        *,
        tags: "str | Sequence[str]" = (),
        doc: str = "",
        mutates_args: "str | Sequence[str]" = (),
    ) -> str:
        """Defines an operator and gives its name, "ns::name" or "ns::name.overload".

        In place of the schema it takes a function with annotations, for which infer_schema() writes
        one: the operator has its name and, without `doc`, its documentation, `mutates_args` says
        what it writes to. The function is not registered as a kernel.

        `alias_analysis` is "FROM_SCHEMA" (as is "") or "CONSERVATIVE"; `tags` is one opyard.Tag or
        several, or their names; `doc` is a text for people, see opyard.dispatch.metadata(). Raises
        ValueError for a schema that does not parse and for an unknown tag, RuntimeError if the
        operator is defined already, if its kernels contradict the schema, and for an unknown
        alias analysis.
        """
        text = schema if isinstance(schema, str) else getattr(schema, "__name__", "...")
        refusals.require_may_define("def", self.ns, self.kind, text)
        refusals.require_alias_analysis(alias_analysis)
        if tags:
            from .._core.tags import names_of

            tags = names_of(tags)
        if callable(schema):
            import inspect

            from .infer_schema import infer_schema

            doc = doc or inspect.getdoc(schema) or ""
            name = getattr(schema, "__name__", type(schema).__name__)
            schema = infer_schema(schema, mutates_args=mutates_args, op_name=name)
        elif mutates_args:
            raise TypeError(
                "mutates_args goes with a function; a schema says itself what is written to, as in "
                "Tensor(a!) x"
            )
        return self._define_at(_provenance(), schema, alias_analysis == "CONSERVATIVE", tags, doc)

    def _define_at(
        self,
        provenance: str,
        schema: str,
        conservative: bool,
        tags: "str | Sequence[str]",
        doc: str,
    ) -> str:
        name = _name_in(self.ns, schema) if isinstance(schema, str) else ""
        made = functools.partial(self._target().define, schema, conservative, tags, provenance)
        return self._noted("define", name, functools.partial(made, doc))

    def _noted(self, function: str, name: str, define: "Callable[[], str]") -> str:
        # Noted before: behind a definition that succeeded nothing may fail, not even for memory.
        refusals.require_own_name(function, self.ns, self.kind, name)
        self._defined.append(name)
        try:
            return define()
        except BaseException:
            self._defined.remove(name)
            raise

    def composite(
        self,
        schema: str,
        body: str,
        *,
        tags: "str | Sequence[str]" = (),
        doc: str = "",
    ) -> str:
        """Defines an operator that is the text of calls of others, and gives its full name.

            lib.composite("lerp_to(Tensor x, Tensor to, float by=0.5) -> Tensor",
                          "let way = to - x; x + way * by")

        The body takes the arguments by their names; docs/reference/formulas.md says what it may
        contain. It is the kernel at CompositeImplicitAutograd, so calls on Meta and gradients see
        the calls inside. `tags` and `doc` are those of define(). Raises ValueError, with line and
        column, for a body that does not parse, that calls what is not there or, by others, itself,
        and whose results do not fit the schema; and what define() raises. Nothing is registered
        then.
        """
        refusals.require_texts(schema, body)
        refusals.require_may_define("composite", self.ns, self.kind, schema)
        if tags:
            from .._core.tags import names_of

            tags = names_of(tags)
        return self._composite_at(_provenance(), schema, body, tags, doc)

    def _composite_at(
        self, provenance: str, schema: str, body: str, tags: "str | Sequence[str]", doc: str
    ) -> str:
        target = self._target()
        name = self._noted(
            "composite",
            _name_in(self.ns, schema),
            lambda: target.composite(schema, body, tags, provenance, doc),
        )
        self._note_kernel(name, "CompositeImplicitAutograd", target)
        return name

    def impl(
        self,
        op_name: "str | _C.OpOverload",
        fn: Callable[..., Any],
        dispatch_key: "str | int" = "",
        *,
        with_keyset: bool = False,
        with_next: bool = False,
        allow_override: bool = False,
        exclusive: bool = False,
    ) -> None:
        """Registers a kernel for an operator at a key, or fallthrough_kernel.

        A key may be given as a device type, such as "cpu". Without a key it is the library's;
        without that, CompositeImplicitAutograd. With
        `with_keyset` the kernel gets the key set of the call first, with `with_next` a callable
        before its arguments that calls the kernel which it covers; see override. A second kernel
        of this library for the same operator and key replaces the first. One that covers another
        library's kernel goes on top of it, and the kernel below is back when this one is taken
        back. Such a kernel gives a UserWarning, which names both, unless as many have covered each
        other there before; `allow_override` says that it is meant, and gives none, like
        override(); with `exclusive` it is refused.

        Raises TypeError if `fn` is not callable, and if it is a Python function to whose parameters
        no call of the operator fits, as far as that is defined; RuntimeError for what cannot be
        registered, and for a kernel at Meta of an operator with one at CompositeImplicitAutograd,
        unless `allow_override`; and with `exclusive` if another library has a kernel there.
        """
        if exclusive and allow_override:
            raise TypeError("impl: exclusive=True and allow_override=True exclude each other")
        function = _function(fn)
        if isinstance(op_name, _C.OpOverload):
            op_name = op_name.name()
        elif not isinstance(op_name, str):
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the first argument"
            )
        if dispatch_key == "":
            dispatch_key = self.dispatch_key
        key = _key_name(dispatch_key) or "CompositeImplicitAutograd"
        refusals.require_own_name("impl", self.ns, self.kind, op_name)
        refusals.require_own_key(self.ns, self.dispatch_key, key, op_name)
        name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        if self.ns == "aten":
            _ops.load_for(name)  # for the same reason
        if key == "Meta" and not allow_override:
            _refuse_meta_kernel(name)
        wants = _wants(with_keyset, with_next)
        if not self._is_reloading:  # the definition may be one that is about to be replaced
            require_fit(name, function, bool(with_keyset) + bool(with_next))
        target = self._target()
        covering = _REFUSED if exclusive else _MEANT if allow_override else _WARNS
        if target is not self._library and (name, key) in self._implemented:
            covering = _MEANT  # it replaces its own kernel, without a warning
        target.impl(op_name, function, key, wants, covering, _provenance())
        self._note_kernel(name, key, target)

    def _require_on_top(self, name: str, fn: Callable[..., Any], key: str) -> None:
        """Raises RuntimeError if another library's kernel covers this library's own."""
        target = self._target()
        if target is self._library:
            target.impl(name, _function(fn), key, 0, _ONLY_ASKED, _provenance())

    def _note_kernel(self, name: str, key: str, target: Any) -> None:
        if self._is_reloading:
            self._implemented_in_reload.add((name, key))
        if (name, key) not in self._implemented:
            self._implemented.add((name, key))
            if self._warns and name != "*":
                kernels_alone.note(self, name, key)
            if target is not self._library:
                _ops.note(functools.partial(self._implemented.discard, (name, key)))

    def impl_c(
        self,
        op_name: "str | _C.OpOverload",
        path: "str | bytes | os.PathLike",
        symbol: str,
        dispatch_key: "str | int" = "",
        *,
        form: str = "Standard",
        allow_override: bool = False,
        releases_gil: bool = False,
    ) -> None:
        """Registers a C function of a shared library as a kernel of an operator, which is defined.

            lib.define("cosine(float x) -> float")
            lib.impl_c("cosine", "libm.so.6", "cos")

        The schema says how it is called; c_prototype() gives the C declaration. A name without a
        slash that is no file here is looked for where the system looks for libraries. The library
        stays open for ever. `form` is that of CFunction; keys and `allow_override` are those of
        impl(). With `releases_gil` other threads may run Python code while the function runs; it
        then calls nothing of Python's C API.

        Raises LookupError if the operator is not defined or the library has no such function,
        OSError if it cannot be opened, NotImplementedError if the schema has no C signature,
        ValueError for an unknown form, RuntimeError for what cannot be registered. Nothing is
        registered then.
        """
        if isinstance(op_name, _C.OpOverload):
            op_name = op_name.name()
        dispatch_key = self.dispatch_key if dispatch_key == "" else _key_name(dispatch_key)
        refusals.require_own_name("impl_c", self.ns, self.kind, op_name)
        refusals.require_own_key(
            self.ns, self.dispatch_key, dispatch_key or "CompositeImplicitAutograd", op_name
        )
        file = encoded_path("impl_c", path)
        target = self._target()
        target.impl_c(
            op_name, file, symbol, dispatch_key, form, allow_override, _provenance(), releases_gil
        )
        name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        self._note_kernel(name, dispatch_key or "CompositeImplicitAutograd", target)

    def fallback(
        self, fn: Callable[..., Any], dispatch_key: "str | int" = "", *, with_keyset: bool = False
    ) -> None:
        """Registers a kernel for every operator at one key, the library's or `dispatch_key`.

        The function is called as fn(op, *args, **kwargs), with the key set of the call before
        them if `with_keyset` says so. Only for libraries of the namespace "_". Raises TypeError
        if `fn` is not callable, RuntimeError for another namespace, without a key, and where
        the key has a fallback.
        """
        function = _function(fn)
        key = _key_name(dispatch_key) or self.dispatch_key
        if self.ns != refusals.EVERY:
            raise RuntimeError(
                "a fallback serves all operators, so it is registered in the global namespace "
                f'"_", not in {self.ns}: use Library("_", "IMPL", key).fallback(fn)'
            )
        if not key:
            raise RuntimeError(
                'a fallback is for one key: use Library("_", "IMPL", key).fallback(fn), or give '
                "the key to fallback(fn, key)"
            )
        library = self._target()
        if library is not self._library:
            library.fallback_at(key, function, with_keyset, _provenance())
            self._note_kernel("*", key, library)
            return
        if key != self.dispatch_key:
            if key not in self._fallbacks:
                self._fallbacks[key] = _C.Library("_", "IMPL", key, _provenance())
                self._parts.append(self._fallbacks[key])
            library = self._fallbacks[key]
        library.fallback(function, with_keyset, _provenance())
        self._note_kernel("*", key, self._library)

    def derivative(self, op_name: "str | _C.OpOverload", formulas: "Mapping[str, str]") -> None:
        """Gives an operator of this namespace its derivative: for each argument a formula.

            lib.derivative("scaled_add", {"x": "sum_to(grad, x)", "y": "sum_to(grad * alpha, y)"})

        A formula is an expression of arguments, `result` and `grad`, whose functions are
        operators of the namespace, then of aten; see the guide on gradients. Raises RuntimeError
        for a name that is no argument, TypeError for what is no text.
        """
        name = op_name.name() if isinstance(op_name, _C.OpOverload) else op_name
        rules = refusals.require_formulas(name, formulas)
        refusals.require_own_name("derivative", self.ns, self.kind, name)
        self._target().derivative(name, rules, _provenance())
        if self._warns:
            kernels_alone.note(self, _name_in(self.ns, name), kernels_alone.DERIVATIVE)

    def set_python_module(self, module: str, context: str = "") -> None:
        """Names the Python module with the fake kernels of the operators that are defined after
        this. Who calls one of them without data, and finds no kernel, is told to import it, and
        `context` besides. Gives a UserWarning if one was named already.
        """
        self._target().set_python_module(module, context)
        _ops.note(functools.partial(setattr, self, "_python_module", self._python_module))
        self._python_module = module, context

    @property
    def operators(self) -> list[str]:
        """The full names of the operators that it defines, in order."""
        from .. import _bind

        known = set(_bind.operator_names()) if self._end.alive else set()
        return [name for name in dict.fromkeys(self._defined) if name in known]

    @property
    def kernels(self) -> list[tuple[str, str]]:
        """The (operator, key) of each kernel that it has registered, sorted; a fallback's operator
        is "*"."""
        return sorted(self._implemented) if self._end.alive else []

    def close(self) -> None:
        """Unregisters all that it has registered; once is enough.

        A plugin package that closes an older one while it is loaded does so once it has been.
        """
        self._destroy()

    def __enter__(self) -> "Library":
        if not self._end.alive:
            raise RuntimeError(f"{self!r} was closed already; make a new one")
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            self._alone.clear()
        self.close()

    def _warn_of_kernels_alone(self) -> None:
        """Kernels and derivatives that no call could reach, since no operator is defined."""
        text = kernels_alone.said(repr(self), "", kernels_alone.noted(self))
        self._alone.clear()
        if text:
            import warnings

            frame, level = sys._getframe(1), 2
            while _is_ours(frame.f_globals.get("__name__")) and frame.f_back is not None:
                frame, level = frame.f_back, level + 1
            warnings.warn(text, UserWarning, stacklevel=level)

    def _undo(self) -> None:
        """As _destroy(), of a library that need not have been complete."""
        self._alone.clear()
        self._destroy()

    def _destroy(self) -> None:
        """As close(), which subclasses may define otherwise."""
        try:
            if self._alone and self._end.alive:
                self._warn_of_kernels_alone()
        finally:
            _ops.end(self, self._end_now)

    def _end_now(self) -> None:
        try:
            self._end()
        except BaseException:
            # Interrupted, or without memory: the rest ends when it is closed again, or dropped.
            self._end_with_this()
            raise
