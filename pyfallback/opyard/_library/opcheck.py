"""opyard.library.opcheck: tests an operator against its schema.

[Copies] Every test calls the operator with copies of the arguments, so the caller's are not
touched. Tensors that share memory share it in the copies as well, and one that comes twice comes
twice.

What counts as a write or an alias is in _library/declared.py.
"""

import copy
import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _C
from .._C import OpOverload, Tensor, from_numpy
from .._core import hooks
from .._core import ops as _ops
from .._core.keywords import names_keywords
from .._tensor.symbolic import SymInt
from .declared import Watch, by_name, outputs_of, span_of, tensors_in
from .fake import DynamicSize


class OpCheckError(Exception):
    """An operator does not do what its schema says; raised by opcheck()."""


# Arguments -----------------------------------------------------------------------------------


def _rebuilt(value: Any, replaced: "Mapping[int, Tensor]") -> Any:
    """A copy of a value with other tensors, by the addresses of the former ones."""
    if isinstance(value, Tensor):
        return replaced[id(value)]
    if isinstance(value, (list, tuple)):
        items = [_rebuilt(item, replaced) for item in value]
        return items if isinstance(value, list) else _tuple_of(type(value), items)
    if isinstance(value, dict):
        return {key: _rebuilt(item, replaced) for key, item in value.items()}
    return value


def _tuple_of(kind: type, items: list) -> Any:
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _view(buffer: bytearray, offset: int, like: Tensor) -> Tensor:
    """A tensor on a part of a buffer, laid out as another one."""
    begin, end = span_of(like)
    part = from_numpy(memoryview(buffer)[offset : offset + end - begin])
    flat = part._typed(like.dtype, ((end - begin) // like.element_size(),))
    return _ops.ops.aten.as_strided(flat, list(like.shape), list(like.strides), 0)


def _copies(tensors: "list[Tensor]") -> "dict[int, Tensor]":
    """Copies by the addresses of the originals. See [Copies]."""
    copies: dict[int, Tensor] = {}
    spans = sorted(
        (span, id(t), t)
        for t in {id(t): t for t in tensors}.values()
        if (span := span_of(t)) is not None
    )
    groups: list[list[tuple]] = []
    end = 0
    for span, address, tensor in spans:
        if span[0] >= end:
            groups.append([])
        groups[-1].append((span, address, tensor))
        end = max(end, span[1])
    for group in groups:
        if len(group) == 1:
            copies[group[0][1]] = copy.deepcopy(group[0][2])
            continue
        begin = group[0][0][0]
        size = max(span[1] for span, _, _ in group) - begin
        buffer = bytearray(ctypes.string_at(begin, size))
        for span, address, tensor in group:
            copies[address] = _view(buffer, span[0] - begin, tensor)
    for tensor in tensors:
        if id(tensor) not in copies:
            copies[id(tensor)] = copy.deepcopy(tensor)
    return copies


def _fakes(tensors: "list[Tensor]") -> "dict[int, Tensor]":
    """Tensors without elements that look like these."""
    fakes: dict[int, Tensor] = {}
    for tensor in tensors:
        if id(tensor) in fakes:
            continue
        shape, strides = tuple(tensor.shape), tuple(tensor.strides)
        room = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        flat = _C.empty_meta(tensor.dtype, (max(room, 0) if tensor.numel() else 0,))
        fakes[id(tensor)] = _ops.ops.aten.as_strided(flat, list(shape), list(strides), 0)
    return fakes


def _dynamic(tensors: "list[Tensor]") -> "tuple[dict[int, Tensor], list[SymInt]]":
    """Tensors without elements that look like these, with symbols for sizes from 2 on: one for
    each size, whichever tensor has it. And the symbols.
    """
    symbols: dict[int, SymInt] = {}

    def symbol(size: int) -> Any:
        if size >= 2 and size not in symbols:
            symbols[size] = SymInt(DynamicSize(f"s{len(symbols)}", "int", 2, None, size))
        return symbols.get(size, size)

    dynamic: dict[int, Tensor] = {}
    for tensor in tensors:
        if id(tensor) in dynamic:
            continue
        shape, strides = tensor.shape, list(tensor.strides)
        sizes = [symbol(size) for size in shape]
        known: dict[int, Any] = {1: 1}  # what a stride is made of
        for at in sorted(range(len(sizes)), key=lambda i: (tensor.strides[i], tensor.shape[i])):
            step = strides[at]
            strides[at] = known.get(step, step)
            known[step * shape[at]] = strides[at] * sizes[at] if step != 1 else sizes[at]
        dynamic[id(tensor)] = _ops.ops.aten.empty_strided(
            sizes, strides, dtype=tensor.dtype, device="meta"
        )
    return dynamic, list(symbols.values())


class _Call:
    """An operator with arguments, which may be called with others like them."""

    # How far apart results may be; None as the dtype says.
    rtol: "float | None" = None
    atol: "float | None" = None

    def __init__(self, op: OpOverload, args: tuple, kwargs: dict) -> None:
        self.op = op
        self.schema = op._schema
        named = {argument.name: argument.type for argument in self.schema.arguments}
        types = [*named.values(), *[None] * len(args)]  # None for those of `...`
        self.args = tuple(map(_as_tensors, args, types))
        self.kwargs = {name: _as_tensors(value, named.get(name)) for name, value in kwargs.items()}
        self.originals = [t for _, t in tensors_in([self.args, self.kwargs])]

    def made_of(self, replaced: "Mapping[int, Tensor]") -> "tuple[tuple, dict]":
        return _rebuilt(self.args, replaced), _rebuilt(self.kwargs, replaced)


def _as_tensors(value: Any, kind: Any = None) -> Any:
    """Arrays of others as tensors on their memory; all if the schema has a tensor."""
    while kind is not None and kind.kind == "Optional":
        [kind] = kind.elements
    elements = () if kind is None else kind.elements
    if isinstance(value, (list, tuple)):
        types = elements * len(value) if len(elements) == 1 else [*elements, *[None] * len(value)]
        items = list(map(_as_tensors, value, types))
        return items if isinstance(value, list) else _tuple_of(type(value), items)
    if isinstance(value, dict):
        of_items = elements[1] if len(elements) == 2 else None
        return {key: _as_tensors(item, of_items) for key, item in value.items()}
    if kind is not None and kind.kind in ("Tensor", "Union"):
        return _taken(value)
    # Not what has a buffer only: a text of bytes may be meant.
    if not isinstance(value, (Tensor, type)) and hasattr(value, "__dlpack__"):
        return _taken(value)
    return value


def _taken(value: Any) -> Any:
    """The tensor that an operator takes an array for. One that it refuses stays what it is, so
    that the call says why.
    """
    try:
        tensor = _C.tensor_for(value)
    except Exception:
        return value
    return value if tensor is None else tensor


# test_schema ---------------------------------------------------------------------------------


def _test_schema(call: _Call) -> None:
    args, kwargs = call.made_of(_copies(call.originals))
    watch = Watch(call.schema, by_name(call.schema, args, kwargs))
    faults = watch.faults(outputs_of(call.schema, call.op(*args, **kwargs)))
    if faults:
        raise OpCheckError(_list(faults))


def _list(faults: "list[str]") -> str:
    return faults[0] if len(faults) == 1 else "".join(f"\n  - {fault}" for fault in faults)


# test_faketensor -----------------------------------------------------------------------------


def _hint(size: Any) -> "int | None":
    """The number of a size; None for one that only elements tell."""
    return size if isinstance(size, int) else getattr(size.node, "hint", None)


def _same_sizes(real: Sequence[Any], fake: Sequence[Any]) -> bool:
    """A size that is not known yet may be any."""
    return len(real) == len(fake) and all(
        _hint(b) in (None, a) for a, b in zip(real, fake, strict=True)
    )


def _known(sizes: Sequence[Any]) -> bool:
    return all(isinstance(size, int) for size in sizes)


def _compare(real: Any, fake: Any, place: str, faults: "list[str]") -> None:
    if isinstance(real, (list, tuple)) and isinstance(fake, (list, tuple)):
        if len(real) != len(fake):
            faults.append(f"{place} has {len(fake)} items, and {len(real)} in truth")
        for number, (a, b) in enumerate(zip(real, fake, strict=False)):
            _compare(a, b, f"{place}[{number}]", faults)
        return
    if isinstance(real, dict) and isinstance(fake, dict):
        if list(real) != list(fake):
            faults.append(f"{place} has the keys {list(fake)}, and {list(real)} in truth")
        for key in real.keys() & fake.keys():
            _compare(real[key], fake[key], f"{place}[{key!r}]", faults)
        return
    if not (isinstance(real, Tensor) and isinstance(fake, Tensor)):
        symbolic = type(fake).__name__ in ("SymInt", "SymFloat", "SymBool")
        if type(real) is not type(fake) and not (symbolic and isinstance(real, (int, float))):
            faults.append(
                f"{place} is a {type(fake).__name__}, and a {type(real).__name__} in truth"
            )
        return
    if fake.device.type != "meta":
        faults.append(f"{place} has elements, on {fake.device}, though no argument has")
    if real.dtype is not fake.dtype:
        faults.append(f"{place} is of {fake.dtype}, and of {real.dtype} in truth")
    if not _same_sizes(real.shape, fake.shape):
        faults.append(f"{place} has the shape {_row(fake.shape)}, and {_row(real.shape)} in truth")
    elif _known(fake.shape) and real.numel() > 0 and not _same_sizes(real.strides, fake.strides):
        strides = f"{_row(fake.strides)}, and {_row(real.strides)} in truth"
        faults.append(f"{place} has the strides {strides}")


def _row(sizes: Sequence[Any]) -> str:
    return "(" + ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"


def _test_faketensor(call: _Call) -> None:
    args, kwargs = call.made_of(_copies(call.originals))
    outputs = outputs_of(call.schema, call.op(*args, **kwargs))
    fake_args, fake_kwargs = call.made_of(_fakes(call.originals))
    fake_outputs = outputs_of(call.schema, call.op(*fake_args, **fake_kwargs))
    faults: list[str] = []
    for number, (real, fake) in enumerate(zip(outputs, fake_outputs, strict=True)):
        _compare(real, fake, f"the fake result {number}", faults)
    given = list(
        zip(
            by_name(call.schema, args, kwargs),
            by_name(call.schema, fake_args, fake_kwargs),
            strict=True,
        )
    )
    for number, (real, fake) in enumerate(zip(outputs, fake_outputs, strict=True)):
        for (_, name, argument), (_, _, fake_argument) in given:
            if (real is argument) != (fake is fake_argument):
                which = "is" if real is argument else "is not"
                faults.append(
                    f"the result {number} {which} the argument {name} in truth, and the fake one "
                    "differs"
                )
    if faults:
        raise OpCheckError(_list(faults))


def _is_in_cpp(call: _Call) -> bool:
    """Whether the kernel of the call was registered from C++, so that advice is for that."""
    from .._dispatch.explanation import Explanation

    try:
        kernel = Explanation.of(call.op, call.args, call.kwargs).kernel
    except Exception:  # the call says why
        return False
    return re.search(r"\.(c|cc|cpp|cu|cxx|h|hpp):\d+$", kernel) is not None


def _advice_for_meta(call: _Call, error: Exception) -> str:
    """What to do about an operator that has nothing to run without elements; else "". A kernel in
    C++ is run, and says itself what to do."""
    if not isinstance(error, NotImplementedError) or "\n  -> Meta " not in str(error):
        return ""
    register = f'opyard.library.register_fake("{call.op.name()}", fake)'
    return f" Register one by {register}: fake makes the results, of which no one reads elements."


# test_autograd_registration ------------------------------------------------------------------


def _test_autograd_registration(call: _Call) -> None:
    """Calls are taped at the Autograd keys, by formulas, and by no kernel below."""
    from .._dispatch.guards import AutoDispatchBelowAutograd

    if hooks["formulas"](call.op) not in (None, "Python"):
        _ops.load_aten()  # formulas name operators of aten
        hooks["check_formulas"](call.op)
    if any(argument.is_write for argument in call.schema.arguments):
        return  # it has the formula of its functional form, or none
    copies = _copies(call.originals)
    args, kwargs = call.made_of(copies)
    needing = [t for t in copies.values() if t.dtype.is_floating_point]
    for tensor in needing:
        tensor.requires_grad_()
    if not needing:
        return
    with AutoDispatchBelowAutograd():
        outputs = outputs_of(call.schema, call.op(*args, **kwargs))
    faults = [
        f"the result {number}{place} requires a gradient, though the call was made below autograd"
        for number, output in enumerate(outputs)
        for place, tensor in tensors_in(output)
        if tensor.requires_grad and not any(tensor is given for given in copies.values())
    ]
    if faults:
        formula = (
            "m.derivative()" if _is_in_cpp(call) else "Library.derivative() or register_autograd()"
        )
        raise OpCheckError(
            f"{_list(faults)}: the kernel tapes calls itself, where they are lost as soon as "
            f"the call is taped. Give the operator a formula, with {formula}, or register this "
            "kernel at the Autograd key"
        )


# test_aot_dispatch_dynamic -------------------------------------------------------------------


def _test_aot_dispatch_dynamic(call: _Call) -> None:
    """In a graph the call gives the same results and gradients; and results of the same sizes if
    sizes are symbols.
    """
    originals = list({id(tensor): tensor for tensor in call.originals}.values())

    def copies() -> "list[Tensor]":
        copied = _copies(originals)
        return [
            copied[id(tensor)].detach().requires_grad_(tensor.requires_grad)
            if tensor.requires_grad
            else copied[id(tensor)]
            for tensor in originals
        ]

    def outputs_with(replaced: "Mapping[int, Tensor]") -> "list[Any]":
        args, kwargs = call.made_of(replaced)
        return outputs_of(call.schema, call.op(*args, **kwargs))

    def run(*tensors: Tensor) -> "list[Tensor]":
        replaced = dict(zip(map(id, originals), tensors, strict=True))
        return [tensor for _, tensor in tensors_in(outputs_with(replaced))]

    writes = any(argument.is_write for argument in call.schema.arguments)
    faults = hooks["find_graph_faults"](run, copies, writes, call.rtol, call.atol)
    dynamic, symbols = _dynamic(originals)
    try:
        fakes = outputs_with(dynamic)
    except Exception as error:
        said = ", ".join(f"{symbol} = {_hint(symbol)}" for symbol in symbols) or "none"
        raise OpCheckError(
            f"called without elements and with symbols for sizes ({said}), it raised "
            f"{type(error).__name__}: {error}{_advice_for_meta(call, error)}"
        ) from error
    outputs = outputs_with(dict(zip(map(id, originals), copies(), strict=True)))
    for number, (real, fake) in enumerate(zip(outputs, fakes, strict=True)):
        _compare(real, fake, f"with symbols for sizes the fake result {number}", faults)
    if faults:
        raise OpCheckError(_list(faults))


# opcheck -------------------------------------------------------------------------------------

_TESTS: "dict[str, Callable[[_Call], None]]" = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_dynamic": _test_aot_dispatch_dynamic,
}


def _asked(test_utils: "str | Sequence[str]") -> "list[str]":
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    for name in names:
        if name not in _TESTS:
            raise ValueError(f"opcheck() has no test called {name!r}; it has {', '.join(_TESTS)}")
    return names


def _shown_tensor(value: Tensor) -> str:
    dtype = repr(value.dtype)
    needs = ".requires_grad_()" if value.requires_grad else ""
    if span_of(value) is not None and value.numel() <= 16:
        return f"opyard.tensor({value.tolist()}, dtype={dtype}){needs}"
    device = f', device="{value.device}"' if value.device.type != "cpu" else ""
    return f"opyard.ops.aten.empty({list(value.shape)}, dtype={dtype}{device}){needs}"


def _shown(value: Any) -> str:
    """A value as one would type it; large tensors by their shape."""
    if isinstance(value, Tensor):
        return _shown_tensor(value)
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(_shown, value))
        if isinstance(value, list):
            return f"[{items}]"
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shown(item)}" for key, item in value.items()) + "}"
    return repr(value)


@names_keywords
def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: "Mapping[str, Any] | None" = None,
    *,
    test_utils: "str | Sequence[str]" = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: "float | None" = None,
    rtol: "float | None" = None,
) -> "dict[str, Any]":
    """Checks with a call whether an operator does what its schema and its fake kernel say.

        opcheck("demo::twice", (opyard.tensor([1.0, 2.0]),))

    `op` is a name, an operator of opyard.ops, or what custom_op() gave. The tests are

    - "test_schema": the call writes only to arguments that are declared so, (a!), and results alias
      arguments and each other only where alias sets say so. Arguments may alias before the call.
    - "test_autograd_registration": no kernel below the Autograd keys tapes calls itself, and
      the operator's formulas can be read.
    - "test_faketensor": called without elements, the operator gives results with the same shapes,
      strides and element types.
    - "test_aot_dispatch_dynamic": a graph of the call gives the same results; if an argument
      requires a gradient, its next stage gives the gradients that a backward gives; and the fake
      kernel takes sizes that are symbols. Numbers may differ by `rtol` and `atol`, which else the
      dtype says.

    The call is made with copies of the arguments. Gives a dictionary from test to "SUCCESS" or,
    without `raise_exception`, the exception.

    Raises OpCheckError with a line that shows how to repeat the test, ValueError for an unknown
    test, LookupError if there is no such operator.
    """
    tests = _asked(test_utils)
    if not isinstance(args, (list, tuple)):
        raise TypeError(
            f"opcheck: args must be a tuple or a list of the arguments of {op}, as in (x,), not an "
            f"object of {type(args).__name__}"
        )
    if not isinstance(op, (str, OpOverload, _C.OpOverloadPacket)) and hasattr(op, "op"):
        op = op.op
    if isinstance(op, _C.OpOverloadPacket) and len(_ops.overload_names(op)) > 1:
        op = _C.OpOverloadPacket._resolve(op, *args, **(kwargs or {}))
    operator = _ops.operator_of(op)
    call = _Call(operator, tuple(args), dict(kwargs or {}))
    call.rtol, call.atol = rtol, atol
    results: dict[str, Any] = {}
    for name in tests:
        try:
            _TESTS[name](call)
        except Exception as error:
            again = f"opyard.library.opcheck({operator.name()!r}, {_shown(call.args)}"
            if call.kwargs:
                again += f", {_shown(call.kwargs)}"
            what = str(error) if isinstance(error, OpCheckError) else (
                f"the call raised {type(error).__name__}: {error}{_advice_for_meta(call, error)}"
            )  # fmt: skip
            failure = OpCheckError(
                f"{operator.name()}: {name} failed: {what}\n"
                f"Declaration: {operator.declaration}\n"
                f"To repeat it: {again}, test_utils={name!r})"
            )
            failure.__cause__ = error.__cause__ if isinstance(error, OpCheckError) else error
            if raise_exception:
                raise failure from failure.__cause__
            results[name] = failure
        else:
            results[name] = "SUCCESS"
    return results
