// sampler/sampled_stacks.h: threads of an interpreter, and their stacks, read by copies.
//
// [Torn] The thread goes on while it is read. A stack is whole if each frame is of a code object,
// at an instruction of it, and if each is inside the one that it says called it; else it is read
// again, kTries times in all, and then given up.
//
// Threads: one at a time, without the GIL. Depends on: sampler/sampled_codes.h,
// opyard/profiler/samples.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "opyard/profiler/samples.h"
#include "sampler/own_memory.h"
#include "sampler/sampled_codes.h"

namespace opyard::python {

// What a thread state says.
struct SampledThread {
  Address state = 0;
  Address next = 0;
  std::uint64_t ident = 0;
  std::int64_t native_id = 0;
};

// Where a thread's frames were when it was read last: they may be there again.
struct StackPlace {
  Address frame = 0;  // as the thread state says it
  Address chunk = 0;
  std::size_t used = 0;  // bytes of the piece
};

// Of an interpreter, at one moment.
struct InterpreterFacts {
  Address first_thread = 0;  // that began last; 0 if it cannot be read
  Address gil_holder = 0;    // 0 if no thread holds the GIL, or if there is none
};

class SampledStacks {
 public:
  enum class Result { Whole, Torn, Gone };

  // `interpreter` outlives this. Throws std::bad_alloc, as the others do.
  SampledStacks(PyInterpreterState* interpreter, Py_ssize_t word_index);

  InterpreterFacts facts() const noexcept;
  // All threads, the latest first; false if the list changed meanwhile too often to be read.
  bool find_threads(std::vector<SampledThread>& threads) const;
  // The stack of a thread, outermost first. Gone: the thread has ended, or
  // another one has its state.
  Result read(const SampledThread& thread, StackPlace& place,
              std::vector<profiler::SampledFrame>& stack);

 private:
  struct Frame {
    Address address;
    Address code;
    Address instruction;
  };

  Result read_once(const SampledThread& thread, StackPlace& place);
  bool read_place(const StackPlace& place, Address& frame);
  bool read_frames(Address frame);
  bool read_names(std::vector<profiler::SampledFrame>& stack);
  bool find_in_chunk(Address frame, std::size_t size, const unsigned char*& found) const noexcept;

  const Address interpreter_;
  const Address gil_holder_;
  const Address gil_locked_;
  SampledCodes codes_;
  std::vector<unsigned char> chunk_;  // a copy of the piece of the stack in use
  Address chunk_begin_ = 0;
  std::size_t chunk_copied_ = 0;
  std::vector<Frame> frames_;  // innermost first
  std::vector<Address> codes_read_;
  std::vector<CodeCopy> copies_;
  std::vector<std::uint32_t> copy_of_;  // of each frame, its number
};

// The kernel's number of a thread of pthreads, which CPython does not keep before 3.11: where the
// C library has it is looked for once, in this thread.
std::int64_t native_id_of_pthread(std::uint64_t ident) noexcept;

}  // namespace opyard::python
