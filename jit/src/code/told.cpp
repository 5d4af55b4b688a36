// code/told.cpp: interpreter loop with a listener.
#include "code/code_data.h"
#include "opyard/observe/instruction_listener.h"

namespace opyard::jit {
namespace {

std::string describe(const ToldInstruction& told) {
  return location_of(*static_cast<const CodeData*>(told.code),
                     static_cast<const Instruction*>(told.instruction));
}

struct Telling {
  const InstructionListener listener;
  const ToldInstruction told;
  Telling(InstructionListener to, const CodeData& code, const Instruction* at,
          std::atomic<std::uint32_t>& note) noexcept
      : listener(to), told{note, &code, at, describe} {
    listener(told, true);
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling() { listener(told, false); }
};

}  // namespace

const Instruction* run_one_told(const Instruction* at, Frame& frame) {
  const InstructionListener listener = instruction_listener.load(std::memory_order_acquire);
  std::atomic<std::uint32_t>* const notes =
      listener == nullptr ? nullptr : frame.code->notes.require(frame.code->instructions.size());
  if (notes == nullptr) return at->function(at, frame);
  const Telling telling(listener, *frame.code, at, notes[frame.code->index_of(at)]);
  return at->function(at, frame);
}

}  // namespace opyard::jit
