// test_interpreter.cpp: protects calls into an interpreter that ends, or has ended.
// Suspect dispatcher/src/interpreter/interpreter.cpp.
#include "opyard/interpreter/interpreter.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "../fake_interpreter.h"
#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/tensor.h"
#include "opyard/value/stack.h"

namespace opyard::test_interpreter {
namespace {

// What the slots are asked with. None of it is touched by a disarmed one.
struct Asked {
  Interpreter& tag;
  const TensorImpl& self;
  const Operator& op;
  Stack& stack;
  Tensor tensor{};
  Device device{};
};

// One call a slot. [Matrix]: a slot without a row fails, and so does a row without a slot.
using Row = std::function<void(Asked&)>;
const std::map<std::string, Row>& rows() {
  static const std::uintptr_t event = 1, stream = 2;
  static const std::map<std::string, Row> all = {
      {"name", [](Asked& a) { a.tag.name(); }},
      {"incref", [](Asked& a) { a.tag.incref(nullptr); }},
      {"decref", [](Asked& a) { a.tag.decref(nullptr, true); }},
      {"detach", [](Asked& a) { a.tag.detach(a.self, a.tensor); }},
      {"dispatch", [](Asked& a) { a.tag.dispatch(a.op, a.stack); }},
      {"report_error_callback",
       [](Asked& a) { a.tag.report_error_callback(nullptr, DispatchKey::CPU); }},
      {"python_op_registration_trampoline",
       [](Asked& a) {
         a.tag.python_op_registration_trampoline(a.op, DispatchKey::CPU, {}, a.stack, true, true);
       }},
      {"throw_abstract_impl_not_imported_error",
       [](Asked& a) { a.tag.throw_abstract_impl_not_imported_error("t::f", "module", ""); }},
      {"python_dispatcher", [](Asked& a) { a.tag.python_dispatcher(a.op, {}, a.stack); }},
      {"is_contiguous", [](Asked& a) { a.tag.is_contiguous(a.self, MemoryFormat::Contiguous); }},
      {"is_strides_like",
       [](Asked& a) { a.tag.is_strides_like(a.self, MemoryFormat::Contiguous); }},
      {"is_non_overlapping_and_dense",
       [](Asked& a) { a.tag.is_non_overlapping_and_dense(a.self); }},
      {"device", [](Asked& a) { a.tag.device(a.self, a.device); }},
      {"dim", [](Asked& a) { a.tag.dim(a.self); }},
      {"strides", [](Asked& a) { a.tag.strides(a.self); }},
      {"sizes", [](Asked& a) { a.tag.sizes(a.self); }},
      {"layout", [](Asked& a) { a.tag.layout(a.self); }},
      {"numel", [](Asked& a) { a.tag.numel(a.self); }},
      // Symbolic words are passed on unseen here.
      {"sym_sizes",
       [](Asked& a) { a.tag.sym_sizes(a.self, reinterpret_cast<std::span<const SymInt>&>(a)); }},
      {"sym_numel", [](Asked& a) { a.tag.sym_numel(a.self, reinterpret_cast<SymInt&>(a)); }},
      {"sym_strides",
       [](Asked& a) { a.tag.sym_strides(a.self, reinterpret_cast<std::span<const SymInt>&>(a)); }},
      {"sym_storage_offset",
       [](Asked& a) { a.tag.sym_storage_offset(a.self, reinterpret_cast<SymInt&>(a)); }},
      {"trace_gpu_event_creation",
       [](Asked& a) { a.tag.trace_gpu_event_creation(Backend::CUDA, event); }},
      {"trace_gpu_event_deletion",
       [](Asked& a) { a.tag.trace_gpu_event_deletion(Backend::CUDA, event); }},
      {"trace_gpu_event_record",
       [](Asked& a) { a.tag.trace_gpu_event_record(Backend::CUDA, event, stream); }},
      {"trace_gpu_event_wait",
       [](Asked& a) { a.tag.trace_gpu_event_wait(Backend::CUDA, event, stream); }},
      {"trace_gpu_memory_allocation",
       [](Asked& a) { a.tag.trace_gpu_memory_allocation(Backend::CUDA, 16); }},
      {"trace_gpu_memory_deallocation",
       [](Asked& a) { a.tag.trace_gpu_memory_deallocation(Backend::CUDA, 16); }},
      {"trace_gpu_stream_creation",
       [](Asked& a) { a.tag.trace_gpu_stream_creation(Backend::CUDA, stream); }},
      {"trace_gpu_device_synchronization",
       [](Asked& a) { a.tag.trace_gpu_device_synchronization(Backend::CUDA); }},
      {"trace_gpu_stream_synchronization",
       [](Asked& a) { a.tag.trace_gpu_stream_synchronization(Backend::CUDA, stream); }},
      {"trace_gpu_event_synchronization",
       [](Asked& a) { a.tag.trace_gpu_event_synchronization(Backend::CUDA, event); }},
      {"reset_backward_hooks", [](Asked& a) { a.tag.reset_backward_hooks(a.self); }},
      {"is_current", [](Asked& a) { static_cast<void>(a.tag.is_current()); }},
  };
  return all;
}

// Those of which nothing must come back.
constexpr const char* kHousekeeping[] = {
    "name", "incref", "decref", "report_error_callback", "reset_backward_hooks", "is_current"};
bool keeps_house(const std::string& slot) {
  if (slot.rfind("trace_gpu_", 0) == 0) return true;
  return std::find(std::begin(kHousekeeping), std::end(kHousekeeping), slot) !=
         std::end(kHousekeeping);
}

std::vector<std::string> slot_names() {
  return {
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) #name,
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION
  };
}

TEST(Interpreter, AnArmedTagLeadsToItsOwnTableAndContext) {
  int context = 0;
  Interpreter* const a = FakeA::create(&context);
  Interpreter* const b = FakeB::create();
  EXPECT_STREQ(a->name(), "A");
  EXPECT_STREQ(b->name(), "B");
  EXPECT_EQ(a->context(), &context);
  EXPECT_TRUE(a->armed());
  const int before = FakeA::increfs;
  a->incref(nullptr);
  EXPECT_EQ(FakeA::increfs, before + 1);
}

// See [Matrix]. The names of E1 to E11 come first, in the order of the list.
TEST(Interpreter, E12_EverySlotHasARowAndEveryRowASlot) {
  const std::vector<std::string> names = slot_names();
  EXPECT_EQ(names.size(), 34u);
  for (const std::string& name : names) EXPECT_TRUE(rows().contains(name)) << name;
  for (const auto& [name, row] : rows()) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(Interpreter, E12_DisarmedHousekeepingDoesNothingAndTheRestRaisesByName) {
  Interpreter* const a = FakeA::create();
  const Tensor tensor = Tensor::empty({});
  const Registration definition = define("t::f(Tensor x) -> Tensor");
  Stack stack;
  a->disarm();
  const int increfs = FakeA::increfs;
  const int decrefs = FakeA::decrefs;
  Asked asked{*a, *tensor.impl(), require_operator("t::f"), stack};
  for (const auto& [name, row] : rows()) {
    if (keeps_house(name)) {
      EXPECT_NO_THROW(row(asked)) << name;
    } else {
      EXPECT_THROWN(row(asked), InterpreterGone,
                    name +
                        ": a tensor or an object was asked for what its interpreter defines, but "
                        "that interpreter has ended; pass t.alias() to get a tensor on the same "
                        "storage that needs none");
    }
  }
  EXPECT_EQ(FakeA::increfs, increfs);
  EXPECT_EQ(FakeA::decrefs, decrefs);
  EXPECT_STREQ(a->name(), "<unloaded interpreter>");
}

TEST(Interpreter, E12_EverySlotHasADisarmedForm) {
#define OPYARD_INTERPRETER_FUNCTION(name, result, parameters, arguments, disarmed) \
  EXPECT_NE(disarmed_vtable().name, nullptr) << #name;
#include "opyard/interpreter/interpreter_functions.def"
#undef OPYARD_INTERPRETER_FUNCTION
}

TEST(Interpreter, E13_TheTagOutlivesTheTableThatItsPluginBrought) {
  auto table = std::make_unique<InterpreterVTable>(FakeA::vtable());
  Interpreter* const tag = Interpreter::create(table.get());
  EXPECT_STREQ(tag->name(), "A");
  tag->disarm();
  table.reset();  // the plugin's memory is gone
  EXPECT_FALSE(tag->armed());
  EXPECT_STREQ(tag->name(), "<unloaded interpreter>");
  tag->disarm();
  EXPECT_FALSE(tag->armed()) << "disarming twice is the same as once";
}

}  // namespace
}  // namespace opyard::test_interpreter
