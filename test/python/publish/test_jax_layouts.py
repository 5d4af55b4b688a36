"""test_jax_layouts.py: the layouts of XLA's FFI, as declared here, are those of jaxlib.

Suspect publish/src/xla/abi.h. A line that fails says what a newer XLA has changed.
"""

import shutil
import subprocess

import pytest
from built import ROOT
from frameworks import require

jax = require("jax")
pytestmark = pytest.mark.once

# Ours, theirs, and the fields in order.
STRUCTS = {
    "Extension": ("XLA_FFI_Extension_Base", "bytes=struct_size kind=type next"),
    "Version": (
        "XLA_FFI_Api_Version",
        "bytes=struct_size extensions=extension_start major=major_version minor=minor_version",
    ),
    "ErrorCreateArgs": (
        "XLA_FFI_Error_Create_Args",
        "bytes=struct_size extensions=extension_start message code=errc",
    ),
    "Buffer": (
        "XLA_FFI_Buffer",
        "bytes=struct_size extensions=extension_start type=dtype data rank dims",
    ),
    "Text": ("XLA_FFI_ByteSpan", "begin=ptr size=len"),
    "TypeId": ("XLA_FFI_TypeId", "number=type_id"),
    "TypeInfo": (
        "XLA_FFI_TypeInfo",
        "bytes=struct_size extensions=extension_start destroy=deleter",
    ),
    "TypeRegisterArgs": (
        "XLA_FFI_Type_Register_Args",
        "bytes=struct_size extensions=extension_start name id=type_id info=type_info",
    ),
    "Attributes": (
        "XLA_FFI_Attrs",
        "bytes=struct_size extensions=extension_start count=size kinds=types names values=attrs",
    ),
    "CallFrame": (
        "XLA_FFI_CallFrame",
        "bytes=struct_size extensions=extension_start api context=ctx stage arguments=args "
        "results=rets attributes=attrs future",
    ),
    "Metadata": (
        "XLA_FFI_Metadata",
        "bytes=struct_size version=api_version traits state=state_type_id",
    ),
    "MetadataExtension": ("XLA_FFI_Metadata_Extension", "base=extension_base metadata"),
}
# Those of which ours is one for two of theirs, or a part.
PARTS = {
    "StateArgs": (
        (
            "XLA_FFI_State_Set_Args",
            "bytes=struct_size extensions=extension_start context=ctx stage id=type_id state",
        ),
        (
            "XLA_FFI_State_Get_Args",
            "bytes=struct_size extensions=extension_start context=ctx stage id=type_id state",
        ),
    ),
    "Buffers": (
        (
            "XLA_FFI_Args",
            "bytes=struct_size extensions=extension_start count=size kinds=types buffers=args",
        ),
        (
            "XLA_FFI_Rets",
            "bytes=struct_size extensions=extension_start count=size kinds=types buffers=rets",
        ),
    ),
    "Api": (
        (
            "XLA_FFI_Api",
            "bytes=struct_size extensions=extension_start version=api_version "
            "internal=internal_api "
            "create_error=XLA_FFI_Error_Create register_type=XLA_FFI_Type_Register "
            "set_state=XLA_FFI_State_Set get_state=XLA_FFI_State_Get",
        ),
    ),
}
NUMBERS = {
    "int(ErrorCode::InvalidArgument)": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "int(ErrorCode::ResourceExhausted)": "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED",
    "int(ErrorCode::FailedPrecondition)": "XLA_FFI_Error_Code_FAILED_PRECONDITION",
    "int(ErrorCode::Aborted)": "XLA_FFI_Error_Code_ABORTED",
    "int(ErrorCode::Unimplemented)": "XLA_FFI_Error_Code_UNIMPLEMENTED",
    "int(ErrorCode::Internal)": "XLA_FFI_Error_Code_INTERNAL",
    "int(ExtensionKind::Metadata)": "XLA_FFI_Extension_Metadata",
    "int(BufferKind::Buffer)": "XLA_FFI_ArgType_BUFFER",
    "int(AttributeKind::Text)": "XLA_FFI_AttrType_STRING",
    "int(Stage::Instantiate)": "XLA_FFI_ExecutionStage_INSTANTIATE",
    "int(Stage::Execute)": "XLA_FFI_ExecutionStage_EXECUTE",
    "kMajorVersion": "XLA_FFI_API_MAJOR",
    **{
        f"int(ElementType::{ours})": f"XLA_FFI_DataType_{theirs}"
        for ours, theirs in zip(
            "Bool Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Half Float32 Float64 BFloat16 "
            "ComplexFloat ComplexDouble".split(),
            "PRED S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 BF16 C64 C128".split(),
            strict=True,
        )
    },
}


def assertions():
    for ours, (theirs, fields) in STRUCTS.items():
        yield f"sizeof({ours}) == sizeof({theirs})"
        yield from same_places(ours, theirs, fields)
    for ours, several in PARTS.items():
        for theirs, fields in several:
            yield f"sizeof({ours}) <= sizeof({theirs})"
            yield from same_places(ours, theirs, fields)
    for ours, theirs in NUMBERS.items():
        yield f"{ours} == {theirs}"
    # XLA takes handlers of older minor versions.
    yield "kMinorVersion <= XLA_FFI_API_MINOR"


def same_places(ours, theirs, fields):
    for pair in fields.split():
        mine, _, other = pair.partition("=")
        yield f"offsetof({ours}, {mine}) == offsetof({theirs}, {other or mine})"
        yield f"sizeof({ours}::{mine}) == sizeof({theirs}::{other or mine})"


def compiled(folder, lines):
    compiler = shutil.which("c++")
    assert compiler is not None
    source = folder / "layouts.cpp"
    source.write_text(
        '#include "xla/abi.h"\n#include "xla/ffi/api/c_api.h"\nusing namespace opyard::xla;\n'
        + "".join(f'static_assert({line}, "{line}");\n' for line in lines)
    )
    includes = (ROOT / "publish/src", jax.ffi.include_dir())
    return subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof"]
        + [f"-I{path}" for path in includes]
        + [source],
        capture_output=True,
        text=True,
    )


def test_layouts_are_those_of_the_installed_jaxlib(tmp_path):
    lines = list(assertions())
    done = compiled(tmp_path, lines)
    assert done.returncode == 0, done.stderr
    assert len(lines) > 120
    # A wrong one is noticed.
    assert compiled(tmp_path, ["sizeof(Text) == sizeof(XLA_FFI_Buffer)"]).returncode != 0
