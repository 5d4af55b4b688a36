// test_gpu_trace.cpp: protects that work on a device goes on whatever watches it, and that the first one
// who asks is told. Suspect dispatcher/src/observe/gpu_trace.cpp.
#include "opyard/observe/gpu_trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../fake_interpreter.h"
#include "../simulated_device.h"
#include "opyard/base/warning.h"

namespace opyard::test_gpu_trace {
namespace {

std::vector<std::string> told;
std::vector<std::string> warned;

std::string hex(std::uintptr_t word) { return std::to_string(word); }

const InterpreterVTable& watching() {
  static const InterpreterVTable table = [] {
    InterpreterVTable slots = FakeA::vtable();
    slots.trace_gpu_memory_allocation = [](Interpreter&, Backend backend, std::uintptr_t address) {
      told.push_back("allocation on " + to_string(backend) + " " + hex(address));
    };
    slots.trace_gpu_memory_deallocation = [](Interpreter&, Backend, std::uintptr_t address) {
      told.push_back("deallocation " + hex(address));
    };
    slots.trace_gpu_stream_synchronization = [](Interpreter&, Backend, std::uintptr_t stream) {
      told.push_back("stream " + hex(stream));
    };
    slots.trace_gpu_event_record = [](Interpreter&, Backend, std::uintptr_t event,
                                      std::uintptr_t stream) {
      told.push_back("event " + hex(event) + " in " + hex(stream));
    };
    slots.trace_gpu_event_wait = [](Interpreter&, Backend, std::uintptr_t, std::uintptr_t) {
      fail(ErrorKind::BadValue, "the watcher broke");
    };
    slots.trace_gpu_event_creation = [](Interpreter&, Backend, std::uintptr_t) { throw 42; };
    return slots;
  }();
  return table;
}

// In one process one interpreter is told for ever, so all of it is one story.
TEST(GpuTrace, E29_TheFirstInterpreterIsToldAndItsFailuresGoNoFurther) {
  SimulatedDevice device;
  register_device(Backend::PrivateUse1, device.functions("simulated"));
  const std::int64_t sizes[] = {4};
  const Device there{Backend::PrivateUse1, 0};

  static_cast<void>(Tensor::empty(sizes, DType::Float32, there));
  EXPECT_TRUE(told.empty()) << "no one asked";
  EXPECT_EQ(GpuTrace::get(), nullptr);

  Interpreter* const first = Interpreter::create(&watching());
  EXPECT_TRUE(GpuTrace::set(first));
  EXPECT_FALSE(GpuTrace::set(FakeB::create())) << "the first one stays it";
  EXPECT_TRUE(GpuTrace::set(first));
  EXPECT_EQ(GpuTrace::get(), first);

  {
    const Tensor tensor = Tensor::empty(sizes, DType::Float32, there);
    const std::string address = hex(reinterpret_cast<std::uintptr_t>(tensor.impl()->data()));
    EXPECT_EQ(told, std::vector<std::string>{"allocation on PrivateUse1 " + address});
    told.clear();
    synchronise({there, 7});
    EXPECT_EQ(told, std::vector<std::string>{"stream 7"});
    told.clear();
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].substr(0, 13), "deallocation ");
  told.clear();
  trace_gpu(&Interpreter::trace_gpu_event_record, Backend::CUDA, 5, 6);
  EXPECT_EQ(told, std::vector<std::string>{"event 5 in 6"});
  told.clear();

  set_late_warning_handler([](const std::string& message) noexcept { warned.push_back(message); });
  EXPECT_NO_THROW(trace_gpu(&Interpreter::trace_gpu_event_wait, Backend::CUDA, 5, 6));
  EXPECT_NO_THROW(trace_gpu(&Interpreter::trace_gpu_event_creation, Backend::CUDA, 5));
  set_late_warning_handler(nullptr);
  EXPECT_EQ(warned, (std::vector<std::string>{
                        "CUDA trace hook execution failed: the watcher broke",
                        "CUDA trace hook execution failed: something was thrown that is no "
                        "std::exception"}));

  first->disarm();
  static_cast<void>(Tensor::empty(sizes, DType::Float32, there));
  EXPECT_TRUE(told.empty()) << "an interpreter that has ended is not told";
}

}  // namespace
}  // namespace opyard::test_gpu_trace
