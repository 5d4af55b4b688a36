"""test_signature.py: signatures, annotations and docstrings of operators, and their decompositions.

Suspect opyard/_core/signatures.py.
"""

import inspect
import typing
from collections.abc import Sequence

import pytest
from built import ROOT

import opyard
from opyard import Tensor
from opyard.dispatch import DispatchKeySet

Number = bool | int | float | complex

# Each schema type, as an argument and as a result.
TYPES = {
    "Tensor": (Tensor, Tensor),
    "int": (int, int),
    "float": (float, float),
    "bool": (bool, bool),
    "str": (str, str),
    "complex": (complex, complex),
    "Scalar": (Number, Number),
    "Device": (opyard.device, opyard.device),
    "ScalarType": (opyard.dtype, opyard.dtype),
    "Generator": (opyard.Generator, opyard.Generator),
    "NoneType": (None, None),
    "SymInt": (int, int),
    "SymFloat": (float, float),
    "SymBool": (bool, bool),
    "int[]": (Sequence[int], list[int]),
    "int[2]": (Sequence[int], list[int]),
    "Tensor?": (Tensor | None, Tensor | None),
    "Tensor?[]": (Sequence[Tensor | None], list[Tensor | None]),
    "Dict(str, int)": (dict[str, int], dict[str, int]),
    "(int, str)": (tuple[int, str], tuple[int, str]),
    "Future(int)": (opyard.futures.Future, opyard.futures.Future),
    **dict.fromkeys(
        "Any Layout MemoryFormat Storage Stream Capsule DeviceIndex QScheme Dimname "
        "AnyClassType AnyEnumType".split(),
        (typing.Any, typing.Any),
    ),
}


def test_F37_every_base_type_has_a_row():
    types = ROOT / "dispatcher/include/opyard/schema/types.def"
    if not types.exists():
        pytest.skip("the sources are not here")
    written = [
        line.split('"')[1] for line in types.read_text().splitlines() if line.startswith("OPYARD_B")
    ]
    assert set(written) <= set(TYPES)
    assert len(written) > 20


@pytest.mark.parametrize("written", TYPES)
def test_F37_annotations_of_each_type(define, written):
    argument, result = TYPES[written]
    op = define(f"f({written} x) -> {written}").default
    assert op.__annotations__ == {"x": argument, "return": result}
    assert inspect.signature(op).parameters["x"].annotation == argument
    assert inspect.signature(op).return_annotation == result


# A schema, and the signature without annotations.
SIGNATURES = {
    "() -> ()": "()",
    "(Tensor x) -> ()": "(x)",
    "(Tensor x, int n=1) -> ()": "(x, n=1)",
    "(Tensor x, *, int n, float a=1.5) -> ()": "(x, *, n, a=1.5)",
    '(str s="a", int[] n=[1, 2], bool? b=None) -> ()': "(s='a', n=[1, 2], b=None)",
    "(int from, int to) -> ()": "(from_, /, to)",
    "(Tensor self, int in=1, *, int n=2) -> ()": "(self, in_=1, /, *, n=2)",
    "(Tensor x, ...) -> ()": "(x, *args)",
    "(Tensor args, ...) -> ()": "(args, *args_)",
    "(int class, int class_) -> ()": "(class__, /, class_)",
    "(Layout l=sparse, Layout? m=None) -> ()": "(l=opyard.Layout.sparse, m=None)",
}


@pytest.mark.parametrize("schema", SIGNATURES)
def test_F37_signatures(define, schema):
    signature = inspect.signature(define(f"f{schema}").default)
    plain = signature.replace(
        parameters=[
            p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )
    assert str(plain) == SIGNATURES[schema]


@pytest.mark.parametrize(
    "dtype", [d for d in vars(opyard._C).values() if isinstance(d, opyard.dtype)], ids=str
)
def test_F37_element_types_are_defaults_as_python_has_them(define, dtype):
    name = dtype.name
    schema = f"f(ScalarType a={name}, ScalarType? b={name}, ScalarType[] c=[{name}]) -> ()"
    op = define(schema).default
    a, b, c = (p.default for p in inspect.signature(op).parameters.values())
    assert a is b is dtype and c == [dtype]


RESULTS = {
    "()": None,
    "Tensor": Tensor,
    "(Tensor, int)": tuple[Tensor, int],
    "(Tensor a, Tensor b)": tuple[Tensor, Tensor],
    "Tensor[]": list[Tensor],
}


@pytest.mark.parametrize("results", RESULTS)
def test_F37_what_is_returned(define, results):
    assert (
        inspect.signature(define(f"f() -> {results}").default).return_annotation
        == (RESULTS[results])
    )


def test_F37_arguments_bind_as_in_a_call(define, x):
    op = define('f(Tensor x, int n=1, *, str s="a") -> ()').default
    bound = inspect.signature(op).bind(x, s="b")
    bound.apply_defaults()
    assert bound.arguments == {"x": x, "n": 1, "s": "b"}
    with pytest.raises(TypeError):
        inspect.signature(op).bind()


def test_F37_every_aten_operator_has_a_signature():
    names = [name for name in opyard._bind.operator_names() if name.startswith("aten::")]
    for name in names or ["aten::add.Tensor"]:
        op = opyard._core.ops.overload_of(name)
        assert list(inspect.signature(op).parameters) == [
            a.name + "_" * (a.name in ("from", "in")) for a in op._schema.arguments
        ]
        assert op.__doc__.startswith(name)


def test_F37_docstrings_have_schema_and_text(library, ns):
    library.define("f(Tensor x) -> Tensor", doc="Gives x.\n\nNothing else.")
    library.define("f.n(Tensor x, int n) -> Tensor")
    f = getattr(opyard.ops, ns).f
    assert f.default.__doc__ == f"{ns}::f(Tensor x) -> Tensor\n\nGives x.\n\nNothing else."
    assert f.n.__doc__ == f"{ns}::f.n(Tensor x, int n) -> Tensor"
    assert f.__doc__ == f"{f.default.__doc__}\n\n{f.n.__doc__}"
    assert inspect.getdoc(f.default) == f.default.__doc__
    assert f.default.__name__ == "f.default"
    default = f.default
    library._destroy()
    assert default.__doc__ == f"{ns}::f(Tensor x) -> Tensor"


def test_F37_classes_keep_their_own_docstrings():
    assert opyard._C.OpOverload.__doc__.startswith("One operator: ")
    assert opyard._C.OpOverloadPacket.__doc__.startswith("An operator with all its overloads")


def test_F37_packets_have_the_signature_of_their_only_overload(library, ns):
    library.define("f(Tensor x, int n=2) -> Tensor")
    f = getattr(opyard.ops, ns).f
    assert inspect.signature(f) == inspect.signature(f.default)
    library.define("f.other(str s) -> ()")
    assert str(inspect.signature(f)) == "(*args, **kwargs)"


# F35: made of other operators, and where each part is ----------------------------------------


def test_F35_decompose_calls_the_composite_kernel(library, define, x):
    calls = []
    f = define(
        "f(Tensor x, *, int n=1) -> Tensor",
        CompositeImplicitAutograd=lambda x, *, n=1: calls.append(n) or x,
    ).default
    library.impl("f", lambda x, *, n=1: calls.append("CPU") or x, "CPU")
    f(x)
    assert f.decompose(x, n=3) is x
    assert calls == ["CPU", 3]


def test_F35_decompose_without_a_composite_kernel(library, define, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x).default
    assert f.decompose(x) is NotImplemented
    library.impl("f", lambda x: x, "CompositeImplicitAutograd")
    library.impl("f", lambda x: x, "CompositeExplicitAutograd")
    with pytest.raises(NotImplementedError) as caught:
        f.decompose(x)
    assert str(caught.value) == (
        f"{f.name()} has a kernel at CompositeImplicitAutograd, but one at "
        "CompositeExplicitAutograd covers it at every key, so it cannot be reached"
    )


def test_F35_kernels_of_python_and_cpp_are_found(plugin, define):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x, Autograd=lambda x: x).default
    assert f.has_kernel_for_dispatch_key("CPU")
    assert f.has_kernel_for_any_dispatch_key(["CUDA", "CPU"])
    assert f.has_kernel_for_any_dispatch_key(DispatchKeySet("CPU"))
    assert not f.has_kernel_for_any_dispatch_key(["CUDA", "Meta"])
    assert plugin.same.default.has_kernel_for_any_dispatch_key(DispatchKeySet(["CPU", "CUDA"]))
    assert not plugin.same.default.has_kernel_for_any_dispatch_key(DispatchKeySet("CUDA"))


def test_F35_calling_and_redispatching(define, x):
    f = define("f(Tensor x) -> Tensor?", CPU=lambda x: x, AutogradCPU=lambda x: None).default
    assert f(x) is None
    assert f.redispatch(DispatchKeySet("CPU"), x) is x
