// test/python/plugins/vtable_plugin.cpp: C++ that asks an interpreter through the tag of a tensor.
//
// Operators below test_vtable; each takes a tensor that Python has a wrapper of. `ask` calls one
// slot by its name and gives what comes back.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "../../cpp/symbolic.h"
#include "opyard/interpreter/gil.h"
#include "opyard/library.h"
#include "opyard/observe/gpu_trace.h"
#include "opyard/value/list.h"
#include "opyard/value/sym_tensor.h"

namespace {

using opyard::Backend;
using opyard::DispatchKey;
using opyard::DispatchKeySet;
using opyard::Interpreter;
using opyard::MemoryFormat;
using opyard::SymInt;
using opyard::Tensor;
using opyard::Value;

// "name state", for each slot in order.
std::vector<std::string> list_slots(const Tensor& x) {
  std::vector<std::string> found;
  const opyard::InterpreterVTable& table = x.impl()->object_link().tag()->vtable();
  const opyard::InterpreterVTable& gone = opyard::disarmed_vtable();
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) \
  found.push_back(std::string(#name) + (table.name == nullptr     ? " null"        \
                                        : table.name == gone.name ? " disarmed"    \
                                                                  : " live"));
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION
  return found;
}

// What a slot is asked with.
struct Asked {
  Interpreter& tag;
  const Tensor& x;
  const opyard::TensorImpl& self;
  void* object;                // the wrapper of x
  const opyard::Operator& op;  // test_vtable::one(Tensor x) -> Tensor
  opyard::Stack stack{};

  template <typename Call>
  Value boxed(const Call& call) {
    stack.push(x);
    call();
    return stack.pop();
  }
};

Value words(opyard::SymIntSpan span) {
  std::vector<Value> list;
  for (const SymInt& word : span) list.emplace_back(word);
  return Value::list(std::move(list));
}
Value words(std::span<const std::int64_t> span) {
  std::vector<Value> list;
  for (const std::int64_t word : span) list.emplace_back(word);
  return Value::list(std::move(list));
}

constexpr MemoryFormat kFormat = MemoryFormat::Contiguous;
constexpr std::uintptr_t kEvent = 11, kStream = 22, kAddress = 33;

using Row = std::function<Value(Asked&)>;

// A void slot as a row.
template <typename Call>
Row does(Call call) {
  return [call](Asked& a) {
    call(a);
    return Value();
  };
}

const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> all = {
      {"name", [](Asked& a) { return Value(a.tag.name()); }},
      {"incref", does([](Asked& a) { a.tag.incref(a.object); })},
      {"decref", does([](Asked& a) { a.tag.decref(a.object, false); })},
      {"detach",
       [](Asked& a) {
         Tensor result;
         a.tag.detach(a.self, result);
         return Value(result);
       }},
      {"dispatch", [](Asked& a) { return a.boxed([&] { a.tag.dispatch(a.op, a.stack); }); }},
      {"report_error_callback",
       does([](Asked& a) { a.tag.report_error_callback(a.object, DispatchKey::CPU); })},
      {"python_op_registration_trampoline",
       [](Asked& a) {
         return a.boxed([&] {
           a.tag.python_op_registration_trampoline(a.op, DispatchKey::CPU, {DispatchKey::CPU},
                                                   a.stack, false, false);
         });
       }},
      {"trampoline with keyset and op",
       [](Asked& a) {
         return a.boxed([&] {
           a.tag.python_op_registration_trampoline(a.op, DispatchKey::CPU, {DispatchKey::CPU},
                                                   a.stack, true, true);
         });
       }},
      {"throw_abstract_impl_not_imported_error", does([](Asked& a) {
         a.tag.throw_abstract_impl_not_imported_error("t::f", "some_module", "a context");
       })},
      {"python_dispatcher",
       [](Asked& a) {
         return a.boxed([&] { a.tag.python_dispatcher(a.op, {DispatchKey::CPU}, a.stack); });
       }},
      {"is_contiguous", [](Asked& a) { return Value(a.tag.is_contiguous(a.self, kFormat)); }},
      {"is_strides_like", [](Asked& a) { return Value(a.tag.is_strides_like(a.self, kFormat)); }},
      {"is_non_overlapping_and_dense",
       [](Asked& a) { return Value(a.tag.is_non_overlapping_and_dense(a.self)); }},
      {"device",
       [](Asked& a) {
         opyard::Device device;
         a.tag.device(a.self, device);
         return Value(device);
       }},
      {"dim", [](Asked& a) { return Value(a.tag.dim(a.self)); }},
      {"strides", [](Asked& a) { return words(a.tag.strides(a.self)); }},
      {"sizes", [](Asked& a) { return words(a.tag.sizes(a.self)); }},
      {"layout", [](Asked& a) { return Value(std::int64_t(a.tag.layout(a.self))); }},
      {"numel", [](Asked& a) { return Value(a.tag.numel(a.self)); }},
      {"sym_sizes",
       [](Asked& a) {
         opyard::SymIntSpan result;
         a.tag.sym_sizes(a.self, result);
         return words(result);
       }},
      {"sym_strides",
       [](Asked& a) {
         opyard::SymIntSpan result;
         a.tag.sym_strides(a.self, result);
         return words(result);
       }},
      {"sym_numel",
       [](Asked& a) {
         SymInt result;
         a.tag.sym_numel(a.self, result);
         return Value(result);
       }},
      {"sym_storage_offset",
       [](Asked& a) {
         SymInt result;
         a.tag.sym_storage_offset(a.self, result);
         return Value(result);
       }},
      {"trace_gpu_event_creation",
       does([](Asked& a) { a.tag.trace_gpu_event_creation(Backend::CUDA, kEvent); })},
      {"trace_gpu_event_deletion",
       does([](Asked& a) { a.tag.trace_gpu_event_deletion(Backend::CUDA, kEvent); })},
      {"trace_gpu_event_record",
       does([](Asked& a) { a.tag.trace_gpu_event_record(Backend::CUDA, kEvent, kStream); })},
      {"trace_gpu_event_wait",
       does([](Asked& a) { a.tag.trace_gpu_event_wait(Backend::CUDA, kEvent, kStream); })},
      {"trace_gpu_memory_allocation",
       does([](Asked& a) { a.tag.trace_gpu_memory_allocation(Backend::CUDA, kAddress); })},
      {"trace_gpu_memory_deallocation",
       does([](Asked& a) { a.tag.trace_gpu_memory_deallocation(Backend::CUDA, kAddress); })},
      {"trace_gpu_stream_creation",
       does([](Asked& a) { a.tag.trace_gpu_stream_creation(Backend::CUDA, kStream); })},
      {"trace_gpu_device_synchronization",
       does([](Asked& a) { a.tag.trace_gpu_device_synchronization(Backend::CUDA); })},
      {"trace_gpu_stream_synchronization",
       does([](Asked& a) { a.tag.trace_gpu_stream_synchronization(Backend::CUDA, kStream); })},
      {"trace_gpu_event_synchronization",
       does([](Asked& a) { a.tag.trace_gpu_event_synchronization(Backend::CUDA, kEvent); })},
      {"reset_backward_hooks", does([](Asked& a) { a.tag.reset_backward_hooks(a.self); })},
      {"is_current", [](Asked& a) { return Value(a.tag.is_current()); }},
  };
  return all;
}

// The address of the sizes that C++ was given, and what is there now: as many as were given last.
std::size_t held_count = 0;
std::int64_t hold_sizes(const Tensor& x) {
  const opyard::IntSpan sizes = x.impl()->object_link().tag()->sizes(*x.impl());
  held_count = sizes.size();
  return std::int64_t(reinterpret_cast<std::uintptr_t>(sizes.data()));
}
std::vector<std::int64_t> held(std::int64_t address) {
  const auto* const sizes = reinterpret_cast<const std::int64_t*>(std::uintptr_t(address));
  return {sizes, sizes + held_count};
}
std::vector<std::int64_t> plain_sizes(const Tensor& x) {
  const opyard::IntSpan sizes = x.sizes();
  return {sizes.begin(), sizes.end()};
}

SymInt twice_and_one(const SymInt& n) { return n * 2 + 1; }
SymInt same(const SymInt& n) { return n; }
SymInt add(const SymInt& a, const SymInt& b) { return a + b; }
std::int64_t decide(const SymInt& n) { return n.guard_int("vtable_plugin.cpp", __LINE__); }
SymInt cpp_symbol(std::string name, std::int64_t hint) {
  return opyard::Reasoner::symbol(std::move(name), hint);
}

Value ask(std::string slot, const Tensor& x) {
  Interpreter& tag = *x.impl()->object_link().tag();
  Asked asked{tag, x, *x.impl(), x.impl()->object_link().object(&tag),
              opyard::require_operator("test_vtable::one")};
  return rows().at(slot)(asked);
}

// Adds an owner to the wrapper on a thread that is in no interpreter.
void incref_on_another_thread(const Tensor& x) {
  Interpreter& tag = *x.impl()->object_link().tag();
  void* const object = x.impl()->object_link().object(&tag);
  const opyard::GilReleased released;
  std::thread([&] { tag.incref(object); }).join();
}

// A tag begins with the address of its table. Puts a copy there that counts calls of the
// trampoline; again, the one that was there.
std::atomic<std::int64_t> trampolines{0};
void count_trampolines(const Tensor& x) {
  static const opyard::InterpreterVTable* former = nullptr;
  static opyard::InterpreterVTable counting;
  Interpreter* const tag = x.impl()->object_link().tag();
  auto& table = *reinterpret_cast<std::atomic<const opyard::InterpreterVTable*>*>(tag);
  if (former != nullptr) {
    table.store(std::exchange(former, nullptr));
    return;
  }
  former = table.load();
  trampolines = 0;
  counting = *former;
  counting.python_op_registration_trampoline =
      [](Interpreter& interpreter, const opyard::Operator& op, DispatchKey key,
         DispatchKeySet keyset, opyard::Stack& stack, bool with_keyset, bool with_op) {
        ++trampolines;
        former->python_op_registration_trampoline(interpreter, op, key, keyset, stack, with_keyset,
                                                  with_op);
      };
  table.store(&counting);
}
std::int64_t take_trampolines() { return trampolines.exchange(0); }
// A call from C++, by the stack.
Tensor call_one(const Tensor& x) {
  opyard::InlineStack<1> stack;
  stack.push(x);
  opyard::require_operator("test_vtable::one").call_boxed(stack);
  return stack.pop().to_tensor();
}

// Tells of an event as the code of a device does.
void trace(std::string event) {
  using I = Interpreter;
  const Backend cuda = Backend::CUDA;
  const std::map<std::string, std::function<void()>> all = {
      {"event_creation", [&] { trace_gpu(&I::trace_gpu_event_creation, cuda, kEvent); }},
      {"event_deletion", [&] { trace_gpu(&I::trace_gpu_event_deletion, cuda, kEvent); }},
      {"event_record", [&] { trace_gpu(&I::trace_gpu_event_record, cuda, kEvent, kStream); }},
      {"event_wait", [&] { trace_gpu(&I::trace_gpu_event_wait, cuda, kEvent, kStream); }},
      {"memory_allocation", [&] { trace_gpu(&I::trace_gpu_memory_allocation, cuda, kAddress); }},
      {"memory_deallocation",
       [&] { trace_gpu(&I::trace_gpu_memory_deallocation, cuda, kAddress); }},
      {"stream_creation", [&] { trace_gpu(&I::trace_gpu_stream_creation, cuda, kStream); }},
      {"device_synchronization", [&] { trace_gpu(&I::trace_gpu_device_synchronization, cuda); }},
      {"stream_synchronization",
       [&] { trace_gpu(&I::trace_gpu_stream_synchronization, cuda, kStream); }},
      {"event_synchronization",
       [&] { trace_gpu(&I::trace_gpu_event_synchronization, cuda, kEvent); }},
  };
  all.at(event)();
}
void trace_on_another_thread(std::string event) {
  std::thread([&] { trace(event); }).join();
}

// After Python has ended.
std::string event_at_exit;
void trace_at_exit(std::string event) {
  event_at_exit = std::move(event);
  std::atexit([] { trace(event_at_exit); });
}

}  // namespace

OPYARD_LIBRARY(test_vtable, m) {
  m.def("trace(str event) -> ()", &trace);
  m.def("trace_on_another_thread(str event) -> ()", &trace_on_another_thread);
  m.def("trace_at_exit(str event) -> ()", &trace_at_exit);
  m.def("list_slots(Tensor x) -> str[]", &list_slots);
  m.def("one(Tensor x) -> Tensor");
  m.def("ask(str slot, Tensor x) -> Any", &ask);
  m.def("hold_sizes(Tensor x) -> int", &hold_sizes);
  m.def("held(int address) -> int[]", &held);
  m.def("plain_sizes(Tensor x) -> int[]", &plain_sizes);
  m.def("twice_and_one(SymInt n) -> SymInt", &twice_and_one);
  m.def("same(SymInt n) -> SymInt", &same);
  m.def("add(SymInt a, SymInt b) -> SymInt", &add);
  m.def("decide(SymInt n) -> int", &decide);
  m.def("cpp_symbol(str name, int hint) -> SymInt", &cpp_symbol);
  m.def("incref_on_another_thread(Tensor x) -> ()", &incref_on_another_thread);
  m.def("count_trampolines(Tensor x) -> ()", &count_trampolines);
  m.def("take_trampolines() -> int", &take_trampolines);
  m.def("call_one(Tensor x) -> Tensor", &call_one);
}

OPYARD_LIBRARY(test_vtable_fakes, m) {
  m.set_python_module("demo.fakes", "pip install demo");
  m.def("f(Tensor x) -> Tensor");
}
