"""Requirements of a session: the list of what a worker lacks, before anything runs.

The driver says what it is: its Python, its Opyard, the packages whose entry points it has loaded,
and the libraries it has loaded by path, each with the hash of its bytes. A worker loads what it can
and answers with all that it has not. A library's bytes travel only if the session says so; else
the worker opens the file of the same path, if its bytes are the same.
"""

import hashlib
import os
import platform
import sys
import tempfile
from typing import Any

from .. import _bind, _build_info
from .._core import ops as _ops
from .._version import __version__

_FOLDER: "list[tempfile.TemporaryDirectory]" = []


def _python() -> str:
    return f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _loaded_packages() -> "list[tuple[str, str]]":
    """The namespace and the distribution of each entry point that was loaded, as long as operators
    of the namespace are defined."""
    packages = sys.modules.get("opyard._plugins.packages")
    if packages is None:
        return []
    defined = {name.partition("::")[0] for name in _bind.operator_names()}
    known = packages._known.values()
    return sorted((p.name, p.distribution) for p in known if p.loaded and p.name in defined)


def _loaded_libraries() -> "list[str]":
    """Those that are neither a part of Opyard nor of a package that loads them itself."""
    own = {os.path.realpath(path) for path in (_build_info.kernels,)}
    found = [path for path in _ops.loaded_libraries() if os.path.realpath(path) not in own]
    installed = [
        os.path.dirname(os.path.realpath(file))
        for name, _ in _loaded_packages()
        if (file := getattr(sys.modules.get(_package_of(name)), "__file__", None))
    ]
    return [
        path
        for path in found
        if not any(os.path.realpath(path).startswith(folder + os.sep) for folder in installed)
    ]


def _package_of(namespace: str) -> str:
    packages = sys.modules["opyard._plugins.packages"]
    for point in packages._known.values():
        if point.name == namespace and point.loaded:
            return point.point.module.partition(".")[0]
    return ""


def needs(*, send_plugins: bool) -> "dict[str, Any]":
    """What the driver has that a call may need."""
    libraries = []
    for path in _loaded_libraries():
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            raise RuntimeError(
                f"session: the library {path}, which this process has loaded, cannot be read any "
                f"more ({error}), so workers cannot be asked for it; unload it or put it back"
            ) from error
        digest = hashlib.sha256(content).hexdigest()
        libraries.append((path, digest, content if send_plugins else None))
    return {
        "python": _python(),
        "opyard": __version__,
        "machine": platform.machine(),
        "packages": _loaded_packages(),
        "libraries": libraries,
    }


def find_lacks(needs: "dict[str, Any]") -> "list[str]":
    """Loads what the driver has, and gives a sentence for each thing that is not to be had here."""
    lacks = []
    if needs["python"] != _python():
        lacks.append(
            f"{needs['python']}: it runs {_python()}, to which functions cannot be sent by value"
        )
    if needs["opyard"] != __version__:
        lacks.append(f"Opyard {needs['opyard']}: it has {__version__}")
    if needs["machine"] != platform.machine():
        lacks.append(f"a processor of {needs['machine']}: it is of {platform.machine()}")
    if lacks:
        return lacks  # what follows would be read by another version
    for namespace, distribution in needs["packages"]:
        if why := _lacks_package(namespace, distribution):
            lacks.append(
                f"the package {distribution}, which brings operators of {namespace}: {why}"
            )
    for path, digest, content in needs["libraries"]:
        if why := _lacks_library(path, digest, content):
            lacks.append(f"the library {path}: {why}")
    return lacks


def _lacks_package(namespace: str, distribution: str) -> str:
    from .._plugins import packages

    points = packages._look().get(namespace, ())
    if not points:
        return "it is not installed there"
    versions = [point.distribution for point in points]
    if distribution not in versions:
        return f"it has {', '.join(versions)}"
    try:
        packages.load_for(namespace)
    except Exception as error:
        return f"loading it failed: {error}"
    return ""


def _lacks_library(path: str, digest: str, content: "bytes | None") -> str:
    if any(os.path.realpath(path) == os.path.realpath(each) for each in _ops.loaded_libraries()):
        return ""
    try:
        if content is None:
            if not os.path.exists(path):
                return (
                    "there is no such file; a session with send_plugins=True sends the libraries "
                    "that this process has loaded"
                )
            if _digest(path) != digest:
                return "the file there has other bytes; send_plugins=True sends these"
            _ops.load_library(path)
            return ""
        if hashlib.sha256(content).hexdigest() != digest:
            return "its bytes have changed on the way"
        if not _FOLDER:
            _FOLDER.append(tempfile.TemporaryDirectory(prefix="opyard-plugins-"))
        written = os.path.join(_FOLDER[0].name, f"{digest[:16]}-{os.path.basename(path)}")
        if not os.path.exists(written):
            with open(written, "wb") as file:
                file.write(content)
            _ops.load_library(written)
    except Exception as error:
        return f"loading it failed: {error}"
    return ""


def refusal(engine: str, found: "dict[int, list[str]]") -> str:
    """The sentence of a session that cannot start."""
    lines = [f"the workers of the {engine} session lack what this process has:"]
    lines += [f"  worker {n} lacks {each}" for n, lacks in sorted(found.items()) for each in lacks]
    lines.append("Install the same on the workers, or start the session before loading it here.")
    return "\n".join(lines)
