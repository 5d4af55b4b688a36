// opyard/value/heap_values.h: heap objects behind values.
//
// Tensors, storages, generators and objects of users are counted by themselves and stored in a
// value as they are; a dict has a file of its own (value/dict_object.h). The rest is here: all
// but lists is immutable.
//
// Depends on: base/counted.h, interpreter/interpreter.h, tensor/stream.h, value/user_type.h.
#pragma once

#include <complex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/base/counted.h"
#include "opyard/interpreter/interpreter.h"
#include "opyard/tensor/stream.h"
#include "opyard/value/user_type.h"

namespace opyard {

class Value;

// Text.
class OPYARD_API StringObject final : public Counted {
 public:
  explicit StringObject(std::string_view text) : text(text) {}
  const std::string text;
};

// The elements of a list or tuple. A list is shared: a change is seen by all its owners.
// A tuple is never changed once made. Not synchronised.
class OPYARD_API ListObject final : public Counted {
 public:
  explicit ListObject(std::vector<Value> values);
  // Nested containers are taken apart one after another, so depth costs no stack.
  ~ListObject() override;
  std::vector<Value> items;
};

// An object of an interpreter, owned through its tag; see interpreter/interpreter.h.
class OPYARD_API ForeignObject final : public Counted {
 public:
  // Takes over an owner of `object`.
  ForeignObject(Interpreter* interpreter, void* object) noexcept
      : interpreter(interpreter), object(object) {}
  ~ForeignObject() override { interpreter->decref(object, false); }
  Interpreter* const interpreter;
  void* const object;
};

// A complex number: its 16 bytes do not fit into a value.
class OPYARD_API ComplexObject final : public Counted {
 public:
  explicit ComplexObject(std::complex<double> number) noexcept : number(number) {}
  const std::complex<double> number;
};

// A pointer that only its makers understand, under a name by which they know it.
class OPYARD_API CapsuleObject final : public Counted {
 public:
  // Called once with `context` when the last owner lets go, on whatever thread that is.
  using Deleter = void (*)(void* context);

  // What the pointer leads to is given back through `deleter`, also when this call throws. A null
  // deleter borrows it: the caller keeps it alive. Raises std::bad_alloc.
  static CountedPtr<CapsuleObject> adopt(void* pointer, std::string_view name, void* context,
                                         Deleter deleter);
  ~CapsuleObject() override;

  void* const pointer;
  const std::string name;

 private:
  CapsuleObject(void* pointer, std::string_view name) : pointer(pointer), name(name) {}

  void* context_ = nullptr;
  Deleter deleter_ = nullptr;
};

// A stream of a device, as a value has it.
class OPYARD_API StreamObject final : public Counted {
 public:
  explicit StreamObject(Stream stream) noexcept : stream(stream) {}
  const Stream stream;
};

// A value of an enum, as a value has it.
class OPYARD_API EnumObject final : public Counted {
 public:
  explicit EnumObject(EnumValue value) noexcept : value(value) {}
  const EnumValue value;
};

}  // namespace opyard
