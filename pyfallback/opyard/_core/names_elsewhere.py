"""Where a name is that a module of the package has not: advice for its AttributeError.

    opyard.sum          it is an operator: opyard.ops.aten.sum, or x.sum() of a tensor x
    opyard.Linear       it is opyard.nn.Linear
    opyard.maen         'mean' may be meant, which is an operator: …
    opyard.nn.Lineer    'Linear' may be meant

It is asked for when a message is read, and may import modules of the package and load the kernels.
"""

import sys
from types import ModuleType

from .. import _C
from .near_names import hint, near_name, public
from .ops import find_aten, ops, overload_names

TYPE_CHECKING = False  # as in typing, whose import would cost more than the rest of this file
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What PyTorch calls so and what is there in its place.
_HERE = {
    "opyard.backends": "there are no settings of backends",
    "opyard.cuda": "no kernels for GPUs are here",
    "opyard.jit.script": "opyard.jit.compile takes a function as it is, opyard.jit.trace makes a "
    "graph of one",
    "opyard.models": "opyard.jit.load reads a model",
    "opyard.onnx": "opyard.jit.load reads a file of ONNX",
    "opyard.random": "opyard.rand and randn give random numbers, manual_seed() sets the seed",
}


def in_package(name: str) -> str:
    """Where a name is that `opyard` itself has not, as a part of a sentence."""
    if name.startswith("_"):
        return _near_or_longer(name, _own())
    if said := _HERE.get(f"opyard.{name}"):
        return f"; {said}"
    operator = _as_operator(name)
    others = _in_modules(name, "opyard")
    if operator:
        ours = [each for each in others if not each.startswith("opyard.array_api")]
        return f"; it is {operator}" + (f"; there is {_one_of(ours)}, too" if ours else "")
    if others:
        return f"; it is {_one_of(others)}"
    own = _own()
    operators = [each for each in public(dir(ops.aten)) if each.islower() and each[-1] != "_"]
    meant = near_name(name, [*own, *operators])
    if meant is None or meant in own:
        return _near_or_longer(name, [*own, *operators])
    return f"; {meant!r} may be meant, which is {_as_operator(meant)}"


def in_module(module: str, own: "Iterable[str]", name: str) -> str:
    """The same for a module of the package whose public names are `own`."""
    if said := _HERE.get(f"{module}.{name}"):
        return f"; {said}"
    own = list(own)
    if near := hint(name, own):
        return near
    if name.startswith("_"):
        return ""
    if others := _in_modules(name, module):
        return f"; it is {_one_of(others)}"
    if longer := _near_or_longer(name, own):
        return longer
    operator = _as_operator(name)
    return f"; it is {operator}" if operator else ""


def _own() -> list[str]:
    return public(dir(sys.modules["opyard"]))


def _near_or_longer(name: str, known: list[str]) -> str:
    """The near name, or those that begin with this one: `linalg`, `xavier`."""
    if near := hint(name, known):
        return near
    longer = [each for each in known if each.startswith(name) and len(name) > 2]
    if not longer:
        return ""
    more = ", …" if len(longer) > 3 else ""
    return f"; names that begin so are {', '.join(longer[:3])}{more}"


def _as_operator(name: str) -> str:
    """`an operator: opyard.ops.aten.relu, or x.relu() of a tensor x`, if it is one."""
    if not callable(getattr(_C.Tensor, name, len)):
        return f"an attribute of tensors: x.{name}"
    packet = find_aten(name)
    if packet is None:
        return ""
    found = f"an operator: opyard.ops.aten.{name}"
    if isinstance(packet, _C.OpOverloadPacket):
        schemas = [getattr(packet, one)._schema for one in overload_names(packet)]
        firsts = {str(one.arguments[0].type) for one in schemas if one.arguments}
        if not firsts & {"Tensor", "Tensor?"}:
            return found
    return f"{found}, or x.{name}() of a tensor x"


def _in_modules(name: str, here: str) -> list[str]:
    """The public modules that have this name, in full with it; those of `opyard` itself first."""
    return [f"{path}.{name}" for path, names in _modules() if path != here and name in names]


def _modules() -> "Iterator[tuple[str, list[str]]]":
    """The public modules, as they are written, and their names."""
    package = sys.modules["opyard"]
    yield "opyard", package.__all__
    for name in sorted(package._SUBMODULES):
        module = getattr(package, name)
        yield f"opyard.{name}", module.__all__
        for inner in module.__all__:
            part = getattr(module, inner)
            if isinstance(part, ModuleType) and hasattr(part, "__all__"):
                yield f"opyard.{name}.{inner}", part.__all__


def _one_of(names: list[str]) -> str:
    return " or ".join(names[:3])
