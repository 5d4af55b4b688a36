"""publish(): operators of Opyard as functions of JAX."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from .. import _C
from .._core import ops as _ops
from .._library.library import Library
from .._publish.gradients import Backward, why_no_gradient
from .._publish.operators import operators_of
from .._publish.publication import Publication
from .._publish.schemas import gives_tensors, has_tensors
from .calls import Operator, Site
from .gradients import BackwardCall, differentiable
from .library import allow, implement_backward, register_target, require_jax
from .schemas import check_schema

# A rule for jax.vmap: (size, batched, *arguments) -> results.
Rule = Callable[..., Any]

_WRITES = "it writes to its arguments"
_RANDOM = "it draws random numbers, and JAX has no gradient of calls that may not be left out"
_SITES = 256  # calls with other constants that an operator remembers for jax.vmap


class Function:
    """An operator as a function of JAX: of arrays, what jnp.asarray() takes, and constants."""

    def __init__(self, operator: Operator, backward: "BackwardCall | None", why: str) -> None:
        self._operator = operator
        self._rule: Rule | None = None
        self._is_undone = False
        op = operator.op
        self.__name__ = self.__qualname__ = op.name().partition("::")[2]
        self.__doc__ = f"{op.declaration}\n\n{op.__doc__ or ''}".rstrip()
        self._with_rule = lru_cache(_SITES)(self._batched)
        smooth = has_tensors(op) and gives_tensors(op) and not operator.is_random
        self._run = differentiable(operator, self._call, backward, why) if smooth else self._call

    def __repr__(self) -> str:
        return f"<function of JAX: {self._operator.op.declaration}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        operator = self._operator
        if self._is_undone:
            raise RuntimeError(
                f"{operator.name} was published into JAX, and is no more: publish it again"
            )
        site, arrays = operator.split(operator.bind(args, kwargs))
        return self._run(site, *arrays)

    def _call(self, site: Site, *arrays: Any) -> Any:
        if self._rule is None:
            return self._operator(site, *arrays)
        return self._with_rule(site)(*arrays)

    def _batched(self, site: Site) -> Any:
        """The call with the rule that was registered, for jax.vmap."""
        jax, rule = self._operator.jax, self._rule
        assert rule is not None
        call = jax.custom_batching.custom_vmap(lambda *arrays: self._operator(site, *arrays))

        @call.def_vmap
        def run(size: int, batched: Sequence[bool], *arrays: Any) -> Any:
            given = zip(site.joined(batched), site.letters, strict=True)
            flags = [False if letters == "-" else flag for flag, letters in given]
            results = rule(size, flags, *site.joined(arrays))
            return results, jax.tree_util.tree_map(lambda _: True, results)

        return call

    def _set_rule(self, rule: Rule) -> None:
        self._rule = rule
        self._with_rule.cache_clear()


class Published(Publication):
    """What a publish() did: a mapping of names, as "demo::scale", to functions of JAX.

    `refused` says of each operator that is not published why.
    """

    _place = "JAX from {}::"
    _all: ClassVar[dict[str, Publication]] = {}

    def __init__(self, jax: Any, namespace: str) -> None:
        super().__init__(namespace)
        self._jax = jax
        self._declarations: list[str] = []
        self._backwards: dict[str, Library] = {}  # by the namespace that they are of
        self._dropping: list[Callable[[], None]] = []  # what unregisters their kernels

    def register_vmap(self, name: str, rule: Rule) -> None:
        """Says how jax.vmap calls an operator: at once, and not for each element of the batch.

        `rule(size, batched, *arguments)` gets all arguments in the order of the schema; `batched`
        says of each whether it has the batch, whose dimension is the first; of a list it is a list.
        It gives the results, in which the batch is the first dimension.
        """
        function = self[name]
        assert isinstance(function, Function)
        function._set_rule(rule)

    def _take_back(self) -> None:
        for declaration in self._declarations:
            allow(declaration, False)
        while self._dropping:
            self._dropping.pop()()
        while self._backwards:
            self._backwards.popitem()[1]._destroy()

    def undo(self) -> None:
        """Takes all functions back: calls raise from then on, also those of compiled programs."""
        for function in self._calls.values():
            assert isinstance(function, Function)
            function._is_undone = True
        super().undo()

    def _add(self, op: "_C.OpOverload") -> None:
        check_schema(op)
        name = op.name()
        self._refuse_twice(name)
        operator = Operator(self._jax, op)
        backward, why = self._backward_of(operator)
        if why and gives_tensors(op) and has_tensors(op):
            self._without_gradient[name] = why
        self._allow(op)
        self._know(name, Function(operator, backward, why))

    def _allow(self, op: "_C.OpOverload") -> None:
        allow(op.declaration, True)
        self._declarations.append(op.declaration)

    def _backward_of(self, operator: Operator) -> "tuple[BackwardCall | None, str]":
        """The backward of an operator, or why there is none."""
        op = operator.op
        if operator.written or operator.is_random:
            return None, _WRITES if operator.written else _RANDOM
        if not has_tensors(op):
            return None, ""
        try:
            backward = Backward(op)
            why = why_no_gradient(op, backward)
        except ValueError as error:  # a formula with a fault
            return None, str(error)
        if why:
            return None, why
        namespace, _, rest = op.name().partition("::")
        base, _, overload = rest.partition(".")
        of_backwards = f"opyard_jax_{namespace}"
        if of_backwards not in self._backwards:
            self._backwards[of_backwards] = Library(of_backwards, "FRAGMENT")
        library = self._backwards[of_backwards]
        # Not an overload of one name: the backwards of overloads may take the same values.
        name = f"{base}__{overload}_backward" if overload else f"{base}_backward"
        library.define(backward.declaration(name, optional=True))
        if backward.is_by_derivative:
            self._dropping.append(implement_backward(op.name(), f"{of_backwards}::{name}"))
        else:
            library.impl(name, backward.run, "CompositeExplicitAutograd")
        defined = _ops.overload_of(f"{of_backwards}::{name}")
        self._allow(defined)
        return BackwardCall(operator, backward, Operator(self._jax, defined)), ""


def publish(what: Any) -> Published:
    """Makes functions of JAX of operators of Opyard.

    `what` is a namespace, as "demo"; an operator or its name, as "demo::scale" with all its
    overloads or "demo::scale.other"; or several of these. They stay until the result's undo(), or
    until one of them is undefined here.

    A function takes arrays where the schema has tensors, and constants elsewhere. It can be called
    in jax.jit, whose programs call the kernel for the CPU without Python; Opyard's kernel for Meta
    says what its results are like; its gradient is the operator's derivative; jax.vmap calls it
    once for each element of the batch, or by register_vmap(). What an operator writes to an
    argument is a result, and the argument stays as it was.

    What JAX cannot have is refused, and stands with the reason in the result's `refused`. Raises
    ImportError without JAX, LookupError for what is not defined, ValueError if nothing could be
    published.
    """
    jax = require_jax()
    register_target(jax)
    operators = operators_of(what)
    namespaces = list(dict.fromkeys(op.namespace for op in operators))
    made = Published(jax, namespaces[0])
    made._add_all(operators)
    return made
