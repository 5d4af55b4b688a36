// xla/abi.h: the part of the typed FFI of XLA that custom calls use, as layouts.
//
// XLA calls a handler with a CallFrame and reads what it gives back; both sides know these structs
// by their layout. They are declared here after XLA's documentation of version 0.3, so that nothing
// of XLA is needed to build. test/python/publish/test_jax_layouts.py compiles this header beside
// that of the jaxlib which is installed, and compares sizes, offsets and numbers.
//
// Every struct begins with its size, by which one side sees what the other knows. `extensions` is
// null but for the one call that asks a handler for its version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace opyard::xla {

// Of the layouts here. XLA refuses a handler of a version that it does not know.
inline constexpr int kMajorVersion = 0;
inline constexpr int kMinorVersion = 3;

enum class ExtensionKind : int { Metadata = 1 };

struct Extension {
  std::size_t bytes;
  ExtensionKind kind;
  Extension* next;
};

struct Version {
  std::size_t bytes;
  Extension* extensions;
  int major;
  int minor;
};

// ---- Errors: made by XLA, owned by the caller

struct FfiError;

enum class ErrorCode : int {
  InvalidArgument = 3,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  Unimplemented = 12,
  Internal = 13
};

struct ErrorCreateArgs {
  std::size_t bytes;
  Extension* extensions;
  const char* message;
  ErrorCode code;
};

// ---- Arrays

enum class ElementType : int {
  Bool = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  UInt8 = 6,
  UInt16 = 7,
  UInt32 = 8,
  UInt64 = 9,
  Half = 10,
  Float32 = 11,
  Float64 = 12,
  ComplexFloat = 15,
  BFloat16 = 16,
  ComplexDouble = 18
};

struct Buffer {
  std::size_t bytes;
  Extension* extensions;
  ElementType type;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};

// What arguments and results can be.
enum class BufferKind : int { Buffer = 1 };

struct Buffers {
  std::size_t bytes;
  Extension* extensions;
  std::int64_t count;
  BufferKind* kinds;
  void** buffers;
};

// ---- Attributes: constants of a custom call

struct Text {
  const char* begin;
  std::size_t size;
};

enum class AttributeKind : int { Text = 4 };

struct Attributes {
  std::size_t bytes;
  Extension* extensions;
  std::int64_t count;
  AttributeKind* kinds;
  Text** names;
  void** values;  // a Text* where the kind is Text
};

// ---- States: what a call site of a program keeps

struct Context;  // of one run

struct TypeId {
  std::int64_t number;  // 0: not registered
};

struct TypeInfo {
  std::size_t bytes;
  Extension* extensions;
  void (*destroy)(void* state);
};

struct TypeRegisterArgs {
  std::size_t bytes;
  Extension* extensions;
  Text name;
  TypeId* id;
  const TypeInfo* info;
};

enum class Stage : int { Instantiate = 0, Prepare = 1, Initialize = 2, Execute = 3 };

struct StateArgs {
  std::size_t bytes;
  Extension* extensions;
  Context* context;
  Stage stage;  // in which the state was made
  TypeId* id;
  void* state;  // given, or got
};

// ---- XLA's functions, as far as the last that is used here

struct Api {
  std::size_t bytes;
  Extension* extensions;
  Version version;
  const void* internal;
  FfiError* (*create_error)(ErrorCreateArgs*);
  void (*error_message)(void*);
  void (*destroy_error)(void*);
  FfiError* (*register_handler)(void*);
  FfiError* (*get_stream)(void*);
  FfiError* (*register_type)(TypeRegisterArgs*);
  FfiError* (*get_context)(void*);
  FfiError* (*set_state)(StateArgs*);
  FfiError* (*get_state)(StateArgs*);
};

// ---- Calls

struct CallFrame {
  std::size_t bytes;
  Extension* extensions;
  const Api* api;
  Context* context;
  Stage stage;
  Buffers arguments;
  Buffers results;
  Attributes attributes;
  void* future;
};

struct Metadata {
  std::size_t bytes;
  Version version;
  std::uint32_t traits;
  TypeId state;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

}  // namespace opyard::xla
