// opyard/observe/instruction_listener.h: listener for each instruction of a graph, on every thread.
//
// There is one listener at most, a profile. While there is none, a run of a graph costs one load
// more, and an instruction nothing.
//
// Depends on: base/export.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "opyard/base/export.h"

namespace opyard {

// An instruction as its graph's code knows it, for the length of the call.
struct ToldInstruction {
  // The listener's own, 0 at first; lives as long as the code.
  std::atomic<std::uint32_t>& note;
  const void* code;
  const void* instruction;
  // What it does, and where: "%3 : Tensor = aten::mul(%x, %w) (stage 0, model:3:5)". Raises
  // bad_alloc.
  std::string (*describe)(const ToldInstruction& told);
};

// On the thread that runs it: before, and after, also if it throws. Must not throw.
using InstructionListener = void (*)(const ToldInstruction& told, bool begins) noexcept;
extern OPYARD_API std::atomic<InstructionListener> instruction_listener;

}  // namespace opyard
