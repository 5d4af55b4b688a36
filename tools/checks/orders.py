"""tools/checks/orders.py: the orders of layers and rooms, and a file's place in them."""

from pathlib import Path

# Lowest first: a file includes from its own place and from those before it.
LAYERS = [
    "dispatcher",
    "jit",
    "models",
    "autograd",
    "profiler",
    "remote",
    "kernels",
    "publish",
    "pyfallback",
]
# What they have of Python, in <layer>/python: above the plugin, of which it sees what is public.
SLICES = [
    f"{layer}/python"
    for layer in ("jit", "models", "autograd", "profiler", "kernels", "remote", "publish")
]
PLACES = LAYERS + SLICES
# What a layer may do without the ones between.
NEEDS_ONLY = {
    "profiler": ["dispatcher"],
    "remote": ["dispatcher", "jit"],
    "publish": ["dispatcher", "jit", "autograd"],
    "profiler/python": ["dispatcher", "profiler", "pyfallback"],
}
# The folders of a layer, with the same order.
IDEAS = {
    "dispatcher": [
        "base",
        "text",
        "keys",
        "interpreter",
        "thread",
        "observe",
        "pool",
        "tensor",
        "value",
        "schema",
        "registry",
        "inspect",
        "ffi",
        "plugin",
        "c_api",
    ],
    "jit": ["ir", "text", "fusion", "code", "passes", "trace"],
    "models": ["files", "exported", "prepared", "model"],
    "autograd": ["functions", "forward", "tape"],
    "profiler": ["capture", "profile", "files", "exports"],
    "kernels": [
        "blocks",
        "loops",
        "common",
        "registering",
        "matrix",
        "pointwise",
        "reduction",
        "geometry",
        "creation",
        "indexing",
        "neural",
        "gradients",
        "composition",
    ],
}
# The rooms of the Python plugin, and those of its package; `include` is what it offers others.
ROOMS = [
    "include",
    "runtime",
    "objects/values",
    "objects/arrays",
    "objects/tensor",
    "objects/convert",
    "operators",
    "kernels",
    "registering",
    "vtable",
    "bind",
    "embed",
]
PACKAGE = Path("pyfallback/opyard")
# Its folder, and those of the layers' parts of it.
PACKAGES = [PACKAGE, *(Path(slice_, "opyard") for slice_ in SLICES)]
PACKAGE_ROOMS = [
    "_core",
    "_tensor",
    "_dispatch",
    "_autograd",
    "_nn",
    "_optim",
    "_library",
    "_numpy",
    "_plugins",
    "_onnx",
    "_files",
    "_jit",
    "_profile",
    "_remote",
    "_publish",
    "_torch",
    "_jax",
    "_array_api",
]
# Whose modules the rooms are, lowest first. Not the order of the layers: what compiles graphs for
# people takes modules of nn and loads models, of which the C++ of graphs knows nothing.
PACKAGE_SLICES = [
    "pyfallback",
    "autograd/python",
    "kernels/python",
    "models/python",
    "jit/python",
    "profiler/python",
    "remote/python",
    "publish/python",
]
# What is run from a shell, which is above all modules that people import.
COMMANDS = ["__main__.py", "_run_command.py"]
# The modules of the package that may name what a layer brings.
PACKAGE_TOP = ["__init__.py", "_hooks.py", *COMMANDS]


def layer_of(path: Path) -> str | None:
    """The layer, or the slice of one, that a file is in."""
    slice_ = "/".join(path.parts[:2])
    if slice_ in SLICES:
        return slice_
    return path.parts[0] if path.parts[0] in LAYERS else None


def idea_of(path: Path) -> tuple[int, str]:
    """The number and the name of the folder of a layer that a file is in, lowest first."""
    parts = path.parts[1:-1]
    if layer_of(path) in SLICES:
        return 0, ""
    if path.parts[0] == "pyfallback":
        for number, room in enumerate(ROOMS):
            if parts[: room.count("/") + 1] == tuple(room.split("/")):
                return number, room
        return len(ROOMS), "/".join(parts)
    # <layer>/include/opyard/[detail/][<layer>/]<idea>/ or <layer>/src/<idea>/
    inner = [part for part in parts if part not in ("include", "src", "opyard", "detail")]
    idea = inner[0] if inner and inner[0] != path.parts[0] else inner[1] if len(inner) > 1 else ""
    ideas = IDEAS.get(path.parts[0], [""])
    if idea in ideas:
        return ideas.index(idea), idea
    if idea:
        return len(ideas), idea
    # Headers of a layer as a whole gather its ideas in dispatcher/, elsewhere all ideas share them.
    is_shared = path.suffix != ".cpp" and path.parts[0] != "dispatcher"
    return (-1 if is_shared else len(ideas) - 1), idea


def place_of(path: Path) -> tuple[int, int] | None:
    """Where a file of a layer is: (layer, idea). Includes go from later to earlier places."""
    layer = layer_of(path)
    return None if layer is None else (PLACES.index(layer), idea_of(path)[0])


def is_without_python(path: Path) -> bool:
    """Whether a file is in no folder for Python."""
    return layer_of(path) not in SLICES


def is_private(path: Path) -> bool:
    return "include" not in path.parts


def library_of(path: Path) -> str:
    """What is linked together, by its folder."""
    layer, *rest = path.parts
    if layer_of(path) in SLICES:
        return f"{layer}/python"
    if layer == "pyfallback":
        apart = ("embed", "bind")
        return f"{layer}/{rest[0]}" if rest[0] in apart else f"{layer}/_C"
    apart = layer == "kernels" and rest[0] in ("blocks", "loops")
    return f"{layer}/{rest[0]}" if apart else layer


def in_opyard(path: Path) -> Path:
    """The path of a module inside the package."""
    return path.relative_to(next(each for each in PACKAGES if path.is_relative_to(each)))


def is_roomless(path: Path) -> bool:
    """Extension modules, what the build wrote down, and the version, which import nothing."""
    return path.stem.split(".")[0] in (
        "_C",
        "_bind",
        "_blocks",
        "_build_info",
        "_gradients",
        "_graphs",
        "_models",
        "_tracer",
        "_version",
    )


def package_room(path: Path) -> int:
    """The number of the room of a module: the modules that people import are above all rooms."""
    folder = in_opyard(path).parts[0]
    if folder in PACKAGE_ROOMS:
        return PACKAGE_ROOMS.index(folder)
    if is_roomless(path):
        return -1
    return len(PACKAGE_ROOMS) + (path.name in ("__init__.py", *COMMANDS))
