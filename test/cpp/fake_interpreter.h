// test/cpp/fake_interpreter.h: two interpreters without a language, which count what is asked of them.
#pragma once

#include <atomic>

#include "opyard/interpreter/interpreter.h"

namespace opyard {

// Owners that were added and taken, of any object. Threads may count at once.
template <char kLetter>
struct Fake {
  static constexpr char kName[] = {kLetter, '\0'};
  static inline std::atomic<int> increfs{0};
  static inline std::atomic<int> decrefs{0};

  // The one that this thread is in.
  static inline thread_local const Interpreter* current = nullptr;

  static const InterpreterVTable& vtable() {
    static const InterpreterVTable table = [] {
      InterpreterVTable slots = disarmed_vtable();
      slots.name = [](Interpreter&) { return static_cast<const char*>(kName); };
      slots.incref = [](Interpreter&, void*) { increfs.fetch_add(1); };
      slots.decref = [](Interpreter&, void*, bool) { decrefs.fetch_add(1); };
      slots.is_current = [](Interpreter& tag) { return current == &tag; };
      return slots;
    }();
    return table;
  }

  // A new tag each time. Like all tags it is never freed.
  static Interpreter* create(void* context = nullptr) {
    return Interpreter::create(&vtable(), context);
  }
};

using FakeA = Fake<'A'>;
using FakeB = Fake<'B'>;

}  // namespace opyard
