// opyard/detail/registry/record.h: Record: the entry that a table slot points to.
//
// A slot of an operator's table is one atomic pointer to a record. A record is immutable
// while a slot can lead to it and is freed only when no thread can be inside a call that
// read it (registry/reclaim.cpp). A null `typed` function means "box".
//
// The calling conventions
//   typed   R f(A..., void* context, DispatchKeySet)      for the operator's C++ signature R(A...)
//   boxed   void f(const Record&, const Operator&, DispatchKeySet, Stack&)
//   from registers   void f(TypedFunction, void* context, DispatchKeySet, const RegisterCall&)
//
// The third calls the record's typed function, which it is given with its context, so that a record
// that may be called Direct can be left before the call; see registry/register_call.h.
//
// The context and the set come last, so that the arguments are where a kernel without them expects
// them; see registry/kernel.h, [Functions without a key set].
//
// The key set that a kernel receives is the one its call was dispatched with, so that a
// kernel can mask it and redispatch.
//
// Depends on: registry/register_call.h, value/stack.h, schema/type.h.
#pragma once

#include <cstdint>
#include <string>
#include <typeinfo>
#include <vector>

#include "opyard/detail/base/shared_text.h"
#include "opyard/detail/registry/register_call.h"
#include "opyard/keys/dispatch_key_set.h"
#include "opyard/schema/type.h"
#include "opyard/value/stack.h"

namespace opyard {

class Interpreter;
class Operator;
struct Record;

using TypedFunction = void (*)();
using BoxedFunction = void (*)(const Record&, const Operator&, DispatchKeySet, Stack&);
using RegisterFunction = void (*)(TypedFunction, void* context, DispatchKeySet,
                                  const RegisterCall&);

// What a record does with a call.
enum class RecordRole : std::uint8_t {
  Kernel,          // runs a kernel
  Fallthrough,     // goes on below its key
  Missing,         // raises: no kernel
  Ambiguous,       // raises: AutogradOther cannot choose between a composite and a backend kernel
  Gone,            // raises: the definition was unregistered
  ThreadEntry,     // makes the thread known, then goes on; see keys/local.h [Thread entry]
  Observe,         // tells the observers, then goes on below; see registry/observed_call.h
  Watch,           // tells the watchers, then goes on to the slot's kernel; see registry/watch.h
  Tape,            // of gradients: goes on below if no tensor needs one, without boxing
  PerInterpreter,  // goes on to the record that the thread's interpreter has there; see Operator
};

// How a call may run a record's typed function.
enum class CallAs : std::uint8_t {
  Guarded,         // inside the call depth, which keeps the record alive (registry/operator.h)
  Direct,          // outside of it: nothing that the function uses can be freed meanwhile
  DirectWithKeys,  // the same, and the context is a function R(DispatchKeySet, A...): a call that
                   // comes through a layer goes to that function at once
};

// Whether a kernel for the CPU serves calls with meta tensors, if nothing else does; see
// src/registry/cpu_on_meta.cpp.
enum class OnMeta : std::uint8_t {
  Skips,    // one below it may, as if it were not there: a function of another language
  Serves,   // a function of C++
  Refuses,  // neither it nor one below it
};

// The types of a kernel's C++ signature.
struct InferredTypes {
  std::vector<TypePtr> arguments;
  std::vector<TypePtr> results;
};

struct Record {
  // Read by calls. A record has a function for calls from registers if it has a typed one.
  TypedFunction typed = nullptr;
  void* context = nullptr;
  BoxedFunction boxed = nullptr;
  RegisterFunction from_registers = nullptr;
  RecordRole role = RecordRole::Kernel;
  CallAs call_as = CallAs::Guarded;
  bool releases_gil =
      false;  // its functions release the lock of the interpreter; see interpreter/gil.h
  // Of the tape: it is asked also while gradients are off, since its operator writes or gives a
  // view.
  bool sees_all = false;
  OnMeta on_meta = OnMeta::Skips;

  // Read by people and by registration.
  void (*destroy)(void* context) = nullptr;
  const std::type_info* signature = nullptr;  // R(A...), or null for a boxed kernel
  InferredTypes (*infer)() = nullptr;
  const Interpreter* interpreter = nullptr;  // whose calls alone it serves; null for all
  SharedText provenance;                     // "registered at demo.cpp:12"
  // Where it is registered, from then on: the key, and what orders the kernels there, newest
  // highest; see registry/next.h.
  DispatchKey key = DispatchKey::Undefined;
  std::uint64_t order = 0;
  Record* next_retired = nullptr;  // registry/reclaim.cpp

  Record() = default;
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record() {
    if (destroy != nullptr) destroy(context);
  }
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    deallocate(memory, bytes);
  }
};

}  // namespace opyard
