"""Models: graphs with the tensors that they need, from files of torch.export and of our own.

    model = opyard.jit.load("model.pt2")      # exported by PyTorch, which is not needed here
    y = model(x)
    opyard.jit.save(model, "model.safetensors")

A file is a stranger's: its graph calls operators of `aten`, of `quantized_decomposed`, which are
ours as well, and those in `allowed`, and nothing in
it is run or unpickled while it is read.
"""

import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _C, _graphs, _models
from .._C import Tensor
from .._core import ops as _ops
from .._core.allowed import Allowed, allowed_names
from .._core.keywords import names_keywords
from .._core.near_names import hint
from .._core.paths import require_path
from .._tensor import dtypes
from .modes import by_mode
from .onnx_files import looks_like_onnx


def _flatten(tree: Any, value: object, path: str, flat: list[object]) -> None:
    """The leaves of a value that is nested as the tree says. Raises TypeError for another."""
    if tree is None:
        flat.append(value)
        return
    ((kind, items),) = tree.items()
    wanted = {"tuple": tuple, "list": list, "dict": dict}[kind]
    if kind == "dict" and not isinstance(value, dict):
        value = _fields(value, [key for key, _ in items])
    if not isinstance(value, wanted):
        raise TypeError(f"{path} is a {kind}, and {type(value).__name__} was given")
    if kind == "dict":
        keys = [key for key, _ in items]
        if set(value) != set(keys):  # type: ignore[call-overload]
            raise TypeError(f"{path} has the keys {keys}, and {list(value)} were given")  # type: ignore[call-overload]
        for key, item in items:
            _flatten(item, value[key], f"{path}[{key!r}]", flat)  # type: ignore[index]
        return
    if len(value) != len(items):  # type: ignore[arg-type]
        was = "was" if len(value) == 1 else "were"  # type: ignore[arg-type]
        s = "" if len(items) == 1 else "s"
        raise TypeError(f"{path} has {len(items)} item{s}, and {len(value)} {was} given")  # type: ignore[arg-type]
    for index, (item, each) in enumerate(zip(items, value, strict=True)):  # type: ignore[call-overload]
        _flatten(item, each, f"{path}[{index}]", flat)


def _fields(value: object, names: list[object]) -> object:
    """An instance of a class that was registered, as the dict of its fields."""
    fields = [name for name in names if isinstance(name, str) and hasattr(value, name)]
    if len(fields) < len(names):
        return value
    return {name: getattr(value, name) for name in fields}


def _outline(tree: Any, names: Iterator[str]) -> str:
    """A tree as text: "(x, {'scale': scale})"."""
    if tree is None:
        return next(names)
    ((kind, items),) = tree.items()
    if kind == "dict":
        return "{" + ", ".join(f"{key!r}: {_outline(item, names)}" for key, item in items) + "}"
    inner = [_outline(item, names) for item in items]
    if kind == "list":
        return f"[{', '.join(inner)}]"
    return f"({', '.join(inner)}{',' * (len(inner) == 1)})"


def _numbered(name: str) -> Iterator[str]:
    return (f"{name}{n}" for n in itertools.count())


def _build(tree: Any, leaves: Iterator[object]) -> object:
    if tree is None:
        return next(leaves)
    ((kind, items),) = tree.items()
    if kind == "dict":
        return {key: _build(item, leaves) for key, item in items}
    built = [_build(item, leaves) for item in items]
    return built if kind == "list" else tuple(built)


class Model:
    """A graph and its weights; called, it runs. load() and from_exported() make one."""

    def __init__(
        self, model: _models.Model, exact: bool = False, without: Iterable[str] = ()
    ) -> None:
        self._model = model
        self._preparation = exact, list(without)
        self._input_tree = json.loads(model.input_tree) if model.input_tree else None
        self._output_tree = json.loads(model.output_tree) if model.output_tree else None
        self._state = model.state()

    @property
    def graph(self) -> _graphs.Graph:
        """Its first inputs are the state, in order; the rest are what is passed."""
        return self._model.graph

    @property
    def input_names(self) -> list[str]:
        """What its inputs are called, in order."""
        return self._model.input_names

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Runs with inputs nested as when it was exported, and gives outputs nested so.

        The inputs of an ONNX file are passed by position or by name; several outputs are a dict.
        Arrays of other libraries are taken, and give their kind to the outputs, as in a call of an
        operator.
        Raises TypeError and ValueError, naming the input, for one of another kind, dtype or size,
        and for a size out of the range that the model was exported for.
        """
        flat: list[object] = []
        if self._input_tree is None:
            if kwargs:
                raise TypeError(
                    "the inputs of this model have no names; pass them by position: "
                    f"{self._signature()}"
                )
            if len(args) != len(self.input_names):
                raise TypeError(self._refusal(args, kwargs))
            flat.extend(args)
        else:
            positional, named = self._input_tree["tuple"]
            ((_, items),), ((_, options),) = positional.items(), named.items()
            if kwargs and not options:
                args, kwargs = self._in_order(items, args, kwargs)
            if len(args) != len(items) or kwargs.keys() != {key for key, _ in options}:
                raise TypeError(self._refusal(args, kwargs))
            for item, name, value in zip(items, self._outlines()[0], args, strict=True):
                _flatten(item, value, f"the input {name}", flat)
            for key, item in options:
                _flatten(item, kwargs[key], f"the input {key}", flat)
        outputs = self._model.run(tuple(flat))
        if self._output_tree is not None:
            return _build(self._output_tree, iter(outputs))
        return outputs[0] if len(outputs) == 1 else outputs

    def _in_order(
        self, items: list[Any], args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """Inputs by position in place of those by name, if all that are left are given so."""
        names = self.input_names[len(args) :]
        if any(item is not None for item in items) or kwargs.keys() != set(names):
            return args, kwargs
        return (*args, *(kwargs[name] for name in names)), {}

    @property
    def example_inputs(self) -> tuple[tuple, dict[str, Any]] | None:
        """What the program was exported with: model(*args, **kwargs) takes it.

        None for a file of our own, and for an example that has anything but tensors, tuples, lists,
        dicts, numbers, texts and None.
        """
        flat = self._model.example()
        if flat is None or self._input_tree is None:
            return None
        args, kwargs = _build(self._input_tree, iter(flat))  # type: ignore[misc]
        return args, kwargs

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters, buffers and constants by name: the model's own tensors, not copies."""
        return {name: tensor for name, tensor, _ in self._state}

    def parameters(self) -> list[Tensor]:
        """What can be trained, each once even if it has several names.

        After requires_grad_() on them, a loss that is computed from the model's outputs gives them
        gradients by backward().
        """
        return [tensor for _, tensor in self.named_parameters()]

    def named_parameters(self) -> list[tuple[str, Tensor]]:
        """What can be trained, with its name; each once, under the first of its names."""
        found: dict[int, tuple[str, Tensor]] = {}
        for name, tensor, is_parameter in self._state:
            if is_parameter:
                found.setdefault(id(tensor), (name, tensor))
        return list(found.values())

    @property
    def training(self) -> bool | None:
        """Whether it was exported while it trained; None if no operator computes otherwise then.

        True also for one of which a part trains, as with frozen batch norms.
        """
        found = by_mode(self.graph)
        return True if found[True] else False if found[False] else None

    def train(self, mode: bool = True) -> "Model":
        """Returns the model, if that is the mode it was exported in, or if it has none.

        A graph says of dropout and batch norm what they compute, and stays as it is: RuntimeError
        for the other mode names those operators.
        """
        if not isinstance(mode, bool):
            raise TypeError(f"train: mode must be True or False, not {mode!r}")
        others = by_mode(self.graph)[not mode]
        if others:
            was, call = ("evaluation", "train") if mode else ("training", "eval")
            raise RuntimeError(
                f"{call}: this model was exported in {was} mode, in which its graph calls "
                f"{', '.join(others)}; export it anew after {call}() of the module"
            )
        return self

    def eval(self) -> "Model":
        """train(False)."""
        return self.train(False)

    def prepare(self, *, exact: bool = False, without: Iterable[str] = ()) -> "Model":
        """Prepares the model anew, as load() does, for runs that need no gradient; returns it.

        A copy of its graph is made shorter: batch norms are folded into convolutions, what depends
        on weights alone is computed, and operators in a row are fused. `exact` leaves out what
        changes how results are rounded, `without` names single preparations. After weights were
        written, the graph itself runs until this is called.
        Raises ValueError for a name that is no preparation.
        """
        self._preparation = exact, list(without)
        self._model = self._model.prepare(*self._preparation)
        return self

    def to(self, dtype: "_C.dtype") -> "Model":
        """Converts its floating point numbers to a dtype, and prepares it anew; returns the model.

        Parameters, buffers and constants are new tensors, in a new graph: make the optimizer
        afterwards. Inputs are wanted in the dtype, and an operator that is told one that the
        weights had, such as aten::zeros, is told this one. Another one, as float32 for sums among
        weights of bfloat16, stays, and so do integers and complex numbers.
        Raises TypeError for what is no dtype, ValueError for one of no floating point numbers.
        """
        found = dtype if isinstance(dtype, _C.dtype) else dtypes.find(dtype)
        if found is None:
            raise TypeError(
                f"to: dtype must be a dtype, as opyard.float64, not {dtype!r}; a model runs on "
                "the CPU, and has no other device"
            )
        if not found.is_floating_point:
            raise ValueError(
                f"to: a model's floats become float64, float32, float16 or bfloat16, not {found}"
            )
        needing = [tensor.requires_grad for _, tensor, _ in self._state]
        self._model = self._model.convert(found.name, *self._preparation)
        self._state = self._model.state()
        for (_, tensor, _), needs in zip(self._state, needing, strict=True):
            if needs and not tensor.requires_grad:
                tensor.requires_grad_()
        return self

    def explain(self) -> str:
        """What a call runs: each preparation and in how many places, or why the graph itself."""
        return self._model.explain()

    def _outlines(self) -> tuple[list[str], dict[str, str]]:
        """How its inputs are nested: those by position, and those by name."""
        names = iter(self.input_names)
        if self._input_tree is None:
            return list(names), {}
        positional, named = self._input_tree["tuple"]
        ((_, items),), ((_, options),) = positional.items(), named.items()
        return (
            [_outline(item, names) for item in items],
            {key: _outline(item, names) for key, item in options},
        )

    def _signature(self) -> str:
        items, options = self._outlines()
        # A leaf has the name under which it is passed.
        by_name = [key if key == each else f"{key}={each}" for key, each in options.items()]
        return ", ".join([*items, *(["*"] if by_name else []), *by_name])

    def _refusal(self, args: tuple, kwargs: dict[str, object]) -> str:
        """Of a call whose inputs are not those of the model."""
        items, options = self._outlines()
        faults = [f"{name} is missing" for name in items[len(args) :]]
        if len(args) > len(items):
            faults.append(f"{len(items)} are taken by position, and {len(args)} were given")
        for name in kwargs:
            if name in items:
                faults.append(f"{name} is passed by position")
            elif name not in options:
                faults.append(f"none is called {name!r}{hint(name, options)}")
        faults += [f"{name} is missing" for name in options if name not in kwargs]
        return f"the inputs of this model are ({self._signature()}): {'; '.join(faults)}"

    def __repr__(self) -> str:
        if self._output_tree is None:
            count = len(list(self.graph.outputs()))
            outputs = ", ".join(itertools.islice(_numbered("output"), count))
            outputs = outputs if count == 1 else f"({outputs})"
        else:
            outputs = _outline(self._output_tree, _numbered("output"))
        state = f"{len(self._state)} tensors of state"
        return f"<opyard.jit.Model ({self._signature()}) -> {outputs}, {state}>"


@names_keywords
def load(
    path: str | os.PathLike[str],
    *,
    untrusted: bool = True,
    allowed: Allowed = (),
    mapped: bool = False,
    exact: bool = False,
    without: Iterable[str] = (),
) -> Model:
    """The model in a file of torch.export.save(), a .pt2, of opyard.jit.save(), or of ONNX.

    An `untrusted` file may call operators of `aten` and those in `allowed`, no others, and its runs
    have a budget of steps; `allowed` has full names or objects of opyard.ops. Raises OSError as
    open() does, ValueError for a file that is broken, and NotImplementedError for a version that is
    not read and, in one list, for all operators of a .pt2 that are not here; of a file of save() it
    is ValueError for the first one. `mapped` is as in
    opyard.load().
    """
    require_path("load", path)
    names = allowed_names("load", allowed)
    _ops.load_aten()
    without = list(without)
    if looks_like_onnx(path):
        from .._onnx.model import load_onnx

        made = load_onnx(path, untrusted=untrusted, allowed=names, exact=exact, without=without)
        return Model(made, exact, without)
    given = (untrusted, names, mapped, exact, without)
    return Model(_models.load_model(os.fsencode(path), *given), exact, without)


@names_keywords
def save(model: Model | _graphs.Graph, path: str | os.PathLike[str]) -> None:
    """Writes a model, or a graph with its constants, as one safetensors file that load() reads.

    Weights are its tensors, which other tools read, too; the graph's text is in its metadata.
    """
    require_path("save", path)
    if isinstance(model, Model):
        model._model.save(os.fsencode(path))
    elif isinstance(model, _graphs.Graph):
        _models.model_of(model).save(os.fsencode(path))
    else:
        graph = "; save its graph" if hasattr(model, "graph") else ""
        raise TypeError(f"save() takes a Model or a Graph, not {type(model).__name__}{graph}")


@names_keywords
def from_exported(program: Any, *, allowed: Allowed = ()) -> Model:
    """The model of a torch.export.ExportedProgram that is in memory. PyTorch is loaded already."""
    export = getattr(type(program), "__module__", "")
    if not export.startswith("torch.export"):
        raise TypeError(
            f"from_exported() takes what torch.export.export() gave, not {type(program).__name__}"
        )
    import torch.export

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt2")
        torch.export.save(program, path)
        return load(path, allowed=allowed)
