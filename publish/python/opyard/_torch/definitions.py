"""Definitions of operators in PyTorch. They stay until the process ends.

PyTorch's objects of operators point into its registry, and so do programs that it compiled: a call
through one whose definition is gone ends the process. What is taken back are the kernels; a call
is an error then, and the operator can be published again.
"""

from typing import Any

from .._publish.schemas import Refusal

# By namespace, and by name of the operator.
_libraries: dict[str, Any] = {}
_declared: dict[str, str] = {}


def is_of_others(torch: Any, name: str) -> bool:
    """Whether PyTorch has an operator "ns::name.overload" that was not defined here."""
    return name not in _declared and name in torch._C._dispatch_get_all_op_names()


def define(torch: Any, namespace: str, declaration: str, tags: "list[Any]") -> None:
    """Defines "name.overload(…) -> …" in a namespace, unless it is. Raises Refusal for another.

    The tags are those of the first time.
    """
    name = f"{namespace}::{declaration.partition('(')[0]}"
    known = _declared.get(name)
    if known is None:
        if namespace not in _libraries:
            _libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")
        _libraries[namespace].define(declaration, tags=tags)
        _declared[name] = declaration
    elif known != declaration:
        raise Refusal(
            f"it was published before as {known}, and PyTorch keeps a schema until the process "
            "ends: publish into another namespace, by to="
        )
