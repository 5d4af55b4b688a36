// code/told.h: texts of instructions for a listener. See observe/instruction_listener.h.
//
// Depends on: base/alloc.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

namespace opyard::jit {

class InstructionNotes {
 public:
  InstructionNotes() = default;
  InstructionNotes(const InstructionNotes&) = delete;
  InstructionNotes& operator=(const InstructionNotes&) = delete;
  ~InstructionNotes() { delete[] notes_.load(std::memory_order_relaxed); }

  // One for each instruction, made when they are first asked for; null if there is no memory. Any
  // thread.
  std::atomic<std::uint32_t>* require(std::size_t count) noexcept {
    std::atomic<std::uint32_t>* notes = notes_.load(std::memory_order_acquire);
    if (notes != nullptr) return notes;
    std::unique_ptr<std::atomic<std::uint32_t>[]> made(new (std::nothrow)
                                                           std::atomic<std::uint32_t>[count]());
    if (made == nullptr || !notes_.compare_exchange_strong(notes, made.get())) return notes;
    return made.release();
  }

 private:
  std::atomic<std::atomic<std::uint32_t>*> notes_{nullptr};
};

}  // namespace opyard::jit
