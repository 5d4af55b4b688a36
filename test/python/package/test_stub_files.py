"""test_stub_files.py: the .pyi files of operators say what the operators are.

Suspect _core/stub_files.py.
"""

import ast
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT

import opyard
from opyard._core import stub_files as _stubs

pytestmark = pytest.mark.once

DTYPE = "_opyard.dtype | _builtins.type | _opyard_arrays.NumPyDType"


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "opyard", "stubs", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def mypy():
    """How to run it, or a skip: it is among the linters, and no one else needs it."""
    beside = ROOT / "build" / "venv-lint" / "bin" / "mypy"
    if importlib.util.find_spec("mypy"):
        return [sys.executable, "-m", "mypy"]
    found = shutil.which("mypy") or (beside if beside.exists() else None)
    if found is None:
        pytest.skip("mypy is not installed")
    return [found]


def checked(folder, *files):
    """What mypy says of files in a folder, which may import what is there, and opyard. It may be
    the mypy of another CPython, so it gets no other path of this one."""
    package = Path(_stubs.__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(package)])}
    environment.pop("LD_PRELOAD", None)  # of a sanitizer, which mypy's questions to CPython upset
    done = subprocess.run(
        [*mypy(), "--strict", "--no-incremental", f"--python-executable={sys.executable}", *files],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout.splitlines()


def calls_in(text):
    """The signatures of __call__, by the class's name, without those that take arrays."""
    return {
        name: [way for way in ways if "Array" not in way]
        for name, ways in ways_to_call(text).items()
    }


def ways_to_call(text):
    return {
        node.name: [
            ast.unparse(item.args) + " -> " + ast.unparse(item.returns)
            for item in node.body
            if isinstance(item, ast.FunctionDef)
        ]
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
    }


def test_F37_X8_what_takes_tensors_takes_arrays_of_others(library, ns):
    for schema in (
        "f(Tensor x, Tensor[] y=[]) -> Tensor",
        "f.n(int x) -> int",
        "g(Tensor x) -> ()",
    ):
        library.define(schema)
    ways = ways_to_call(_stubs.stub_of(ns))
    array, numpys = "_opyard_arrays.ForeignArray", "_opyard_arrays.NDArray"
    assert ways["_Packet_f"] == [
        "self__, /, x: _opyard.Tensor, y: _abc.Sequence[_opyard.Tensor]=... -> _opyard.Tensor",
        f"self__, /, x: {numpys}, y: _abc.Sequence[{numpys}]=... -> {numpys}",
        f"self__, /, x: {array}, y: _abc.Sequence[{array}]=... -> _typing.Any",
        "self__, /, x: _opyard_arrays.Int -> _builtins.int",
    ]
    assert ways["_Packet_g"][1] == f"self__, /, x: {numpys} -> None"
    assert ways["_Packet_g"][2] == f"self__, /, x: {array} -> None"


def of(ns):
    return calls_in(_stubs.stub_of(ns))


def test_F37_X8_arguments_defaults_and_results(define, ns):
    define('f(Tensor x, int n=1, *, str s="a", float? t=None) -> Tensor')
    assert of(ns)["_Packet_f"] == [
        "self__, /, x: _opyard.Tensor, n: _opyard_arrays.Int=1, *, s: _builtins.str='a', "
        "t: _opyard_arrays.Float | None=None -> _opyard.Tensor"
    ]


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ("f() -> ()", " -> None"),
        ("f(int[] n) -> int[]",
         ", n: _abc.Sequence[_opyard_arrays.Int] -> _builtins.list[_builtins.int]"),
        ("f(int[2] n) -> ()",
         ", n: _abc.Sequence[_opyard_arrays.Int] | _opyard_arrays.Int -> None"),
        ("f(Tensor?[] x) -> (Tensor, int)",
         ", x: _abc.Sequence[_opyard.Tensor | None] -> "
         "_builtins.tuple[_opyard.Tensor, _builtins.int]"),
        ("f(Scalar s, ScalarType t, Device d) -> Device",
         ", s: _opyard_arrays.Scalar, t: " + DTYPE + ", d: _opyard.device | _builtins.str -> "
         "_opyard.device"),
        ("f(SymInt n, Layout l) -> bool",
         ", n: _opyard_arrays.Int | _opyard_symbolic.SymInt, l: _opyard_layout.Layout -> "
         "_builtins.bool"),
        ("f(Dict(str, int) d) -> Any",
         ", d: _builtins.dict[_builtins.str, _builtins.int] -> _typing.Any"),
        ("f(float x=inf, float y=1.5, int[] z=[1]) -> ()",
         ", x: _opyard_arrays.Float=..., y: _opyard_arrays.Float=1.5, "
         "z: _abc.Sequence[_opyard_arrays.Int]=... -> None"),
        ("f(int a, int from, int b, *, int lambda=1) -> ()",
         ", a: _opyard_arrays.Int, from_: _opyard_arrays.Int, /, b: _opyard_arrays.Int, "
         "**kwargs: _typing.Any -> None"),
        ("f(Tensor self, int self_) -> ()",
         ", self: _opyard.Tensor, self_: _opyard_arrays.Int -> None"),
        ("f(int a, ...) -> ...", ", a: _opyard_arrays.Int, *args: _typing.Any -> _typing.Any"),
        ("f(int class, int class_) -> ()",
         ", class__: _opyard_arrays.Int, /, class_: _opyard_arrays.Int -> None"),
        ("f(int args, ...) -> ...",
         ", args: _opyard_arrays.Int, *args_: _typing.Any -> _typing.Any"),
        ("f(int kwargs, *, int in) -> ()",
         ", kwargs: _opyard_arrays.Int, **kwargs_: _typing.Any -> None"),
        ("f(ScalarType d=float32, ScalarType? e=bool, Layout l=sparse) -> ()",
         ", d: " + DTYPE + "=_opyard.float32, e: " + DTYPE + " | None=_opyard.bool, "
         "l: _opyard_layout.Layout=_opyard_layout.Layout.sparse -> None"),
    ],
)  # fmt: skip
def test_F37_X8_types(define, ns, schema, written):
    define(schema)
    assert of(ns)["_Packet_f"] == [
        "self__, /" + written if "/" not in written else "self__" + written
    ]


def test_X8_the_object_itself_has_a_name_of_its_own(define, ns):
    define("f(Tensor self__) -> ()")
    assert of(ns)["_Packet_f"] == ["self___, /, self__: _opyard.Tensor -> None"]
    compile(_stubs.stub_of(ns), "stub", "exec")


def test_X8_operators_and_overloads_with_names_of_python(library, ns):
    library.define("__add__(Tensor x) -> Tensor")
    library.define("f.overloads(Tensor x) -> Tensor")
    library.define("f.qualified_name(int x) -> int")
    text = _stubs.stub_of(ns)
    assert "__add__" not in text and "    overloads: _Operator1_f_overloads\n" in text


@pytest.mark.parametrize("name", ["class", "None"])
def test_X8_a_namespace_that_no_module_can_be_called(name):
    library = opyard.library.Library(name, "FRAGMENT")
    try:
        library.define("f(int x) -> int")
        assert _stubs.stub_of(name)
        for ask in (_stubs.module_of, lambda name: _stubs.package_of([name])):
            with pytest.raises(LookupError, match=rf"^'{name}' is no name in Python, so no module"):
                ask(name)
    finally:
        library._destroy()


def test_X8_a_folder_that_cannot_be_made_is_named_in_a_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("aten", "--out", tmp_path / "file" / "x")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith(f"Not a directory: '{tmp_path / 'file' / 'x'}'")


def test_F37_X8_overloads_stand_in_the_order_in_which_they_are_tried(library, ns):
    for schema in ("f.z(Tensor x) -> Tensor", "f(int x) -> int", "f.int(str x) -> str"):
        library.define(schema)
    text = _stubs.stub_of(ns)
    assert [call.split(" -> ")[1] for call in calls_in(text)["_Packet_f"]] == [
        "_opyard.Tensor", "_builtins.int", "_builtins.str",
    ]  # fmt: skip
    # Three of the packet, two of it with arrays, and three of f.z.
    assert text.count("@_typing.overload") == 8
    for line in ("z: _Operator1_f_z", "default: _Operator1_f_default", "int: _Operator1_f_int"):
        assert f"    {line}\n" in text
    assert text.endswith("\nf: _Packet_f\n")


def test_F37_X8_docstrings(library, ns):
    library.define('f(str s="\\"") -> ()', doc='Says """it\\.\n\n  Twice "')
    classes = [n for n in ast.parse(_stubs.stub_of(ns)).body if isinstance(n, ast.ClassDef)]
    doc = ast.get_docstring(classes[0].body[0])
    assert doc == inspect.cleandoc(getattr(opyard.ops, ns).f.default.__doc__)


def test_X8_the_text_is_the_same_each_time():
    first = run("aten")
    assert first.returncode == 0 and first.stderr == ""
    assert first.stdout == run("aten").stdout
    ast.parse(first.stdout)


def test_X8_files_are_written_and_left_alone_where_they_are_the_same(define, ns, tmp_path):
    define("f(Tensor x) -> Tensor")
    _stubs.main([ns, "--out", str(tmp_path / "new"), "--modules"], opyard.library.load_plugins)
    stub, module = tmp_path / "new" / f"{ns}.pyi", tmp_path / "new" / f"{ns}.py"
    assert stub.read_text() == _stubs.stub_of(ns)
    before = stub.stat().st_mtime_ns
    _stubs.main([ns, "--out", str(tmp_path / "new")], opyard.library.load_plugins)
    assert stub.stat().st_mtime_ns == before
    spec = importlib.util.spec_from_file_location(ns, module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    assert loaded.f is getattr(opyard.ops, ns).f and "f" in dir(loaded)


def test_X8_libraries_and_modules_are_loaded_before(plugin, tmp_path):
    from built import plugin_path

    (tmp_path / "brings.py").write_text(
        "from opyard.library import Library\n"
        "lib = Library('brought', 'DEF')\nlib.define('f(int n) -> int')\n"
    )
    done = run("--load", plugin_path("opyard_test_plugin"), "--import", "brings", "--out", tmp_path,
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"brought.pyi", "test_plugin.pyi"} <= set(os.listdir(tmp_path))


def test_X8_a_package_without_names_has_all_namespaces(tmp_path):
    """Those of aten and of packages that are installed; a call of each is checked then."""
    info = tmp_path / "sold-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sold\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[opyard.plugins]\nsold = sold\n")
    (tmp_path / "sold.py").write_text(
        "from opyard.library import Library\n"
        "lib = Library('sold', 'DEF')\nlib.define('f(Tensor x) -> Tensor')\n"
    )
    done = run("--package", "--out", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = {path.name for path in (tmp_path / "opyard-stubs").glob("*.pyi")}
    assert {"_ops_aten.pyi", "_ops_opyard.pyi", "_ops_sold.pyi"} <= written
    (tmp_path / "use.py").write_text(
        "import opyard\n\nx = opyard.ops.aten.neg(opyard.ops.sold.f(opyard.tensor([1.0])))\n"
        "opyard.ops.sold.f(1)\nopyard.ops.aten.neg('a')\n"
    )
    lines = checked(tmp_path, "use.py")
    assert faults(lines) == {4: "call-overload", 5: "call-overload"}, lines


def test_X8_a_tensor_is_no_number_where_tensors_are_taken(library, ns):
    """It has __index__ and __float__, so ways to call with Tensors come before numbers'."""
    for schema in ("f(int n) -> int", "f.tensor(Tensor n) -> Tensor", "f.many(int n, int m) -> ()"):
        library.define(schema)
    results = [way.rpartition(" -> ")[2] for way in ways_to_call(_stubs.stub_of(ns))["_Packet_f"]]
    numpys = "_opyard_arrays.NDArray"
    assert results == ["_opyard.Tensor", numpys, "_typing.Any", "_builtins.int", "None"]


def test_X8_copy_takes_a_number():
    ways = calls_in(_stubs.stub_of("aten"))["_Packet_copy_"]
    assert [way for way in ways if "src: _opyard_arrays.Operand," in way], ways
    assert opyard.zeros(2).copy_(1.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing_here"], "error: no operator of the namespace nothing_here is defined; load the "
                           "library or import the module that defines them\n"),
        ([], "error: no operator is defined, so there is nothing to write; name a namespace"),
        (["--package"],
         "error: --modules and --package write several files: say where with --out\n"),
        (["--import", "no_such_module"], "error: No module named 'no_such_module'\n"),
        (["--load", "/no/such.so"], "/no/such.so"),
    ],
)  # fmt: skip
def test_X8_wrong_command_lines(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


USE = """
import opyard
{bring}

x = opyard.tensor([1.0])
y: opyard.Tensor = ops.add(x, x, alpha=2)
z: opyard.Tensor = ops.add.Tensor(x, 2 * x)
n: int = ops.add(x, x)
ops.add("a", x)
ops.add.Tensor(x, x, beta=2)
ops.no_such(x)
"""
FAULTS = {7: "assignment", 8: "call-overload", 9: "call-overload", 10: "attr-defined"}


def faults(lines):
    found = {}
    for line in lines:
        parts = line.split(":", 2)
        if len(parts) == 3 and " error: " in f" {parts[2]}" and parts[0] == "use.py":
            found[int(parts[1])] = line.rpartition("[")[2].rstrip("]")
    return found


def test_X8_mypy_takes_the_module_form_and_finds_wrong_calls(tmp_path):
    assert run("aten", "--out", tmp_path, "--modules").returncode == 0
    (tmp_path / "use.py").write_text(USE.format(bring="import aten as ops").lstrip("\n"))
    lines = checked(tmp_path, "use.py", "aten.pyi")
    assert faults(lines) == FAULTS, lines
    assert not [line for line in lines if line.startswith("aten.pyi") and "error" in line]


def test_X8_mypy_takes_the_package_form(tmp_path):
    assert run("aten", "--out", tmp_path, "--package").returncode == 0
    assert (tmp_path / "opyard-stubs" / "py.typed").read_text() == "partial\n"
    (tmp_path / "use.py").write_text(USE.format(bring="ops = opyard.ops.aten").lstrip("\n"))
    lines = checked(tmp_path, "use.py")
    assert faults(lines) == FAULTS, lines


def test_X8_mypy_takes_every_kind_of_schema(library, ns, tmp_path):
    for schema in (
        "a(Tensor(a!) self, int from, *, Tensor(b!) out, int lambda=1) -> (Tensor(a!), Tensor(b!))",
        "b(Tensor?[] x, int[2] n=[1, 1], Dict(str, int[])? d=None) -> (Tensor[], Dict(str, int))",
        "b.int(int n) -> int", "b.str(Any n) -> Any", "b.more(int n, ...) -> ...",
        "c((int, Tensor) pair, Future(int) f, Scalar? s=None) -> SymInt",
        "c.b(Stream s, Generator? g, QScheme q, MemoryFormat m, Layout l) -> (int, str)",
        "list(int[][] x) -> bool", "int(float inf=inf, complex c=1j, str s=\"'\") -> Device",
    ):  # fmt: skip
        library.define(schema)
    (tmp_path / f"{ns}.pyi").write_text(_stubs.stub_of(ns))
    lines = checked(tmp_path, f"{ns}.pyi")
    assert lines[-1].startswith("Success"), lines


# From a function to a schema, and back ---------------------------------------------------------


def function_of(op):
    """A function with the signature that an operator shows."""

    def made(*args, **kwargs): ...

    made.__name__ = op.__name__
    made.__signature__ = inspect.signature(op)
    made.__annotations__ = op.__annotations__
    return made


def scaled(x: opyard.Tensor, factor: float = 1.0, *, times: int = 2) -> opyard.Tensor:
    """Scales a tensor."""


def many(
    xs: "list[opyard.Tensor]",
    n: "list[int] | None" = None,
    s: "int | float" = 1,
    *,
    d: "dict[str, int] | None" = None,
    t: opyard.dtype = opyard.float32,
) -> "tuple[opyard.Tensor, list[int]]": ...


def nothing(flag: bool, text: str = "a'\"b", at: complex = 1j) -> None: ...


@pytest.mark.parametrize("function", [scaled, many, nothing])
def test_X8_a_function_becomes_a_schema_and_its_signature_comes_back(library, ns, function):
    name = library.define(function)
    op = getattr(getattr(opyard.ops, ns), function.__name__).default
    assert name == op.name() == f"{ns}::{function.__name__}"
    shown = inspect.signature(op)
    assert [(p.name, p.kind) for p in shown.parameters.values()] == [
        (p.name, p.kind) for p in inspect.signature(function).parameters.values()
    ]
    again = opyard.library.infer_schema(function_of(op), mutates_args=(), op_name=name)
    assert opyard.schema.parse(again) == op._schema
    assert [p.default for p in shown.parameters.values() if p.name != "t"] == [
        p.default for p in inspect.signature(function).parameters.values() if p.name != "t"
    ]


def test_X8_what_a_function_writes_to_and_says(library, ns):
    library.define(scaled, mutates_args=["x"], tags=["pointwise"])
    op = getattr(opyard.ops, ns).scaled.default
    assert op.declaration == (
        f"{ns}::scaled(Tensor(a0!) x, float factor=1., *, SymInt times=2) -> Tensor"
    )
    assert op.__doc__ == f"{op.declaration}\n\nScales a tensor."
    assert op.tags == ["pointwise"]


def test_X8_what_cannot_be_defined_is_refused(library):
    with pytest.raises(ValueError, match=r"^infer_schema\(<lambda>\): parameter 'x' must have a"):
        library.define(lambda x: x)
    with pytest.raises(TypeError) as caught:
        library.define("f(Tensor x) -> ()", mutates_args=["x"])
    assert str(caught.value) == (
        "mutates_args goes with a function; a schema says itself what is written to, as in "
        "Tensor(a!) x"
    )
