"""Frameworks that are published into: importing one, and its oldest version."""

import importlib
from types import ModuleType
from typing import Any


def require_framework(name: str, title: str, oldest: "tuple[int, int]") -> Any:
    """The module of a framework. Raises ImportError if it is missing or older than `oldest`."""
    wanted = f"{title} {oldest[0]}.{oldest[1]} or newer"
    try:
        module: Any = importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"opyard.{name} publishes operators into {title}, which cannot be imported here "
            f"({error}); it needs {wanted}: pip install {name}"
        ) from error
    version = getattr(module, "__version__", None)
    if not isinstance(module, ModuleType) or version is None:
        raise ImportError(
            f"opyard.{name}: the module {name} that is imported here, {module!r}, is not {title}"
        )
    numbers = tuple(int(part) for part in str(version).split("+")[0].split(".")[:2])
    if numbers < oldest:
        raise ImportError(
            f"opyard.{name} publishes operators into {wanted}, and this one is {version}: "
            f"pip install -U {name}"
        )
    return module
