"""Models: graphs with the tensors that they need, from files of torch.export and of our own.

    model = opyard.jit.load("model.pt2")      # exported by PyTorch, which is not needed here
    y = model(x)
    opyard.jit.save(model, "model.safetensors")

A file is a stranger's: its graph calls operators of `aten` and those in `allowed`, and nothing in
it is run or unpickled while it is read.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _graphs, _models
from .._C import Tensor
from .._core import ops as _ops


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
        raise TypeError(f"{path} has {len(items)} items, and {len(value)} were given")  # type: ignore[arg-type]
    for index, (item, each) in enumerate(zip(items, value, strict=True)):  # type: ignore[call-overload]
        _flatten(item, each, f"{path}[{index}]", flat)


def _fields(value: object, names: list[object]) -> object:
    """An instance of a class that was registered, as the dict of its fields."""
    fields = [name for name in names if isinstance(name, str) and hasattr(value, name)]
    if len(fields) < len(names):
        return value
    return {name: getattr(value, name) for name in fields}


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

    def __init__(self, model: _models.Model) -> None:
        self._model = model
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

        Arrays of other libraries are taken, and give their kind to the outputs, as in a call of an
        operator.
        Raises TypeError and ValueError, naming the input, for one of another kind, dtype or size,
        and for a size out of the range that the model was exported for.
        """
        flat: list[object] = []
        if self._input_tree is None:
            if kwargs:
                raise TypeError("the inputs of this model have no names; pass them by position")
            flat.extend(args)
        else:
            positional, named = self._input_tree["tuple"]
            _flatten(positional, args, "the inputs", flat)
            _flatten(named, kwargs, "the inputs by name", flat)
        outputs = self._model.run(tuple(flat))
        if self._output_tree is not None:
            return _build(self._output_tree, iter(outputs))
        return outputs[0] if len(outputs) == 1 else outputs

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
        found = {id(tensor): tensor for _, tensor, is_parameter in self._state if is_parameter}
        return list(found.values())

    def __repr__(self) -> str:
        inputs = ", ".join(self.input_names)
        return f"<opyard.jit.Model ({inputs}), {len(self._state)} tensors of state>"


def load(
    path: str | os.PathLike[str],
    *,
    untrusted: bool = True,
    allowed: Iterable[str] = (),
    mapped: bool = False,
) -> Model:
    """The model in a file of torch.export.save(), a .pt2, or of opyard.jit.save().

    An `untrusted` file may call operators of `aten` and those in `allowed`, no others, and its runs
    have a budget of steps. Raises OSError as open() does, ValueError for a file that is broken, and
    NotImplementedError for a version that is not read and, in one list, for all operators of a .pt2
    that are not here; of a file of save() it is ValueError for the first one. `mapped` is as in
    opyard.load().
    """
    names = list(allowed)
    _ops.load_aten()
    for name in names:
        _ops.load_for(name)
    return Model(_models.load_model(os.fsencode(path), untrusted, names, mapped))


def save(model: Model | _graphs.Graph, path: str | os.PathLike[str]) -> None:
    """Writes a model, or a graph with its constants, as one safetensors file that load() reads.

    Weights are its tensors, which other tools read, too; the graph's text is in its metadata.
    """
    if isinstance(model, Model):
        model._model.save(os.fsencode(path))
    elif isinstance(model, _graphs.Graph):
        _models.model_of(model).save(os.fsencode(path))
    else:
        raise TypeError(f"save() takes a Model or a Graph, not {type(model).__name__}")


def from_exported(program: Any, *, allowed: Iterable[str] = ()) -> Model:
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
