// profiler/capture/instructions.cpp: event source: instructions of graphs.
#include <new>

#include "opyard/observe/instruction_listener.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"

namespace opyard::profiler {
namespace {

std::uint32_t instruction_key_of(const ToldInstruction& told) noexcept {
  std::uint32_t key = told.note.load(std::memory_order_relaxed);
  if (__builtin_expect(key != 0, 1)) return key;
  try {
    Name name;
    name.text = told.describe(told);
    name.kind = "instruction";
    key = add_name(std::move(name));
    told.note.store(key, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // an event without a name, then
  }
  return key;
}

void capture_instruction(const ToldInstruction& told, bool begins) noexcept {
  const SpanKind kind = SpanKind::Instruction;
  append_event(begins ? enter_of(kind) : exit_of(kind), instruction_key_of(told));
}

bool wants_instructions(const SessionOptions& options) { return options.instructions; }
void start_instructions(Window&, const SessionOptions&) {
  instruction_listener.store(&capture_instruction, std::memory_order_release);
}
void stop_instructions(SourceReport&) {
  instruction_listener.store(nullptr, std::memory_order_release);
}

constexpr Source kInstructionSource{"instructions", wants_instructions, start_instructions,
                                    stop_instructions};
[[maybe_unused]] const bool instructions_registered = (register_source(&kInstructionSource), true);

}  // namespace
}  // namespace opyard::profiler
