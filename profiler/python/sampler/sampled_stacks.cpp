// sampler/sampled_stacks.cpp: reading threads and stacks by copies.
//
// From 3.11 on frames are in pieces of a stack of CPython's own, one behind the other: a piece is
// copied at once, and most stacks are in it. Frames elsewhere, of generators say, are copied one by
// one.
#include "sampler/sampled_stacks.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "sampler/python_layout.h"

namespace opyard::python {
namespace {

constexpr int kTries = 3;
constexpr std::size_t kDeepest = 4096;
constexpr std::size_t kMostThreads = 20'000;
constexpr std::size_t kMostChunk = std::size_t{64} << 10;
// What is copied beyond the last frame that is known: calls go on meanwhile.
constexpr std::size_t kBehindTop = 256;
constexpr std::size_t kThreadBytes = 1024;
constexpr std::size_t kFrameBytes = 160;

using ThreadCopy = CopyOf<kThreadBytes>;
using FrameCopy = CopyOf<kFrameBytes>;

bool read_thread(Address state, ThreadCopy& copy) noexcept {
  return kLayout.thread_size <= kThreadBytes && read_memory(state, copy.bytes, kLayout.thread_size);
}

std::int64_t native_id_in(const ThreadCopy& copy, std::uint64_t ident) noexcept {
  if (kLayout.thread_native_id == OPYARD_NO_OFFSET) return native_id_of_pthread(ident);
  return std::int64_t(copy.at<unsigned long>(kLayout.thread_native_id));
}

}  // namespace

std::int64_t native_id_of_pthread(std::uint64_t ident) noexcept {
  // The first place in the thread's own record that has its number, of which the C library has one.
  static const std::size_t offset = [] {
    constexpr std::size_t kMost = 4096;
    const auto own = Address(pthread_self());
    const pid_t wanted = gettid();
    for (std::size_t at = 0; at < kMost; at += sizeof(pid_t)) {
      pid_t found = 0;
      if (!read_value(own + at, found)) break;
      if (found == wanted) return at;
    }
    return OPYARD_NO_OFFSET;
  }();
  pid_t id = 0;
  return offset != OPYARD_NO_OFFSET && read_value(Address(ident) + offset, id) ? id : 0;
}

SampledStacks::SampledStacks(PyInterpreterState* interpreter, Py_ssize_t word_index)
    : interpreter_(Address(interpreter)),
      gil_holder_(Address(opyard_find_gil(interpreter).holder)),
      gil_locked_(Address(opyard_find_gil(interpreter).locked)),
      codes_(word_index) {
  native_id_of_pthread(pthread_self());
}

InterpreterFacts SampledStacks::facts() const noexcept {
  InterpreterFacts facts;
  int locked = 0;
  const iovec to[3] = {{&facts.first_thread, sizeof(Address)},
                       {&locked, sizeof locked},
                       {&facts.gil_holder, sizeof(Address)}};
  const iovec from[3] = {
      {reinterpret_cast<void*>(interpreter_ + kLayout.interpreter_threads), sizeof(Address)},
      {reinterpret_cast<void*>(gil_locked_), sizeof locked},
      {reinterpret_cast<void*>(gil_holder_), sizeof(Address)}};
  read_pieces(to, from, gil_holder_ == 0 ? 1 : 3);
  if (locked != 1) facts.gil_holder = 0;
  return facts;
}

bool SampledStacks::find_threads(std::vector<SampledThread>& threads) const {
  threads.clear();
  ThreadCopy copy;
  for (Address at = facts().first_thread; at != 0;) {
    if (threads.size() == kMostThreads || !read_thread(at, copy)) return false;
    if (copy.at<Address>(kLayout.thread_interpreter) != interpreter_) return false;
    const std::uint64_t ident = copy.at<unsigned long>(kLayout.thread_ident);
    const auto next = copy.at<Address>(kLayout.thread_next);
    threads.push_back({at, next, ident, native_id_in(copy, ident)});
    at = next;
  }
  return true;
}

bool SampledStacks::find_in_chunk(Address frame, std::size_t size,
                                  const unsigned char*& found) const noexcept {
  if (frame < chunk_begin_ || frame - chunk_begin_ + size > chunk_copied_) return false;
  found = chunk_.data() + (frame - chunk_begin_);
  return true;
}

// Reads the frame that is named there and the piece of the stack.
bool SampledStacks::read_place(const StackPlace& place, Address& frame) {
  frame = place.frame;
  chunk_begin_ = place.chunk;
  chunk_copied_ = 0;
  iovec to[2];
  iovec from[2];
  std::size_t count = 0;
  if (kLayout.frame_holder != OPYARD_NO_OFFSET) {
    to[count] = {&frame, sizeof frame};
    from[count++] = {reinterpret_cast<void*>(place.frame + kLayout.frame_holder), sizeof frame};
  }
  if (place.chunk != 0) {
    if (chunk_.size() < place.used) chunk_.resize(place.used);
    to[count] = {chunk_.data(), place.used};
    from[count++] = {reinterpret_cast<void*>(place.chunk), place.used};
  }
  if (read_pieces(to, from, count) != count) return false;
  chunk_copied_ = place.chunk == 0 ? 0 : place.used;
  return true;
}

// The thread state, what names its frame and the piece of its stack by one call, if the last stack
// was at the same place: so what is read is of one moment, nearly.
SampledStacks::Result SampledStacks::read_once(const SampledThread& thread, StackPlace& place) {
  frames_.clear();
  ThreadCopy copy;
  Address frame = 0;
  bool is_read = false;
  if (place.frame != 0 && kLayout.frame_holder != OPYARD_NO_OFFSET && place.chunk != 0) {
    if (chunk_.size() < place.used) chunk_.resize(place.used);
    const iovec to[3] = {
        {copy.bytes, kLayout.thread_size}, {&frame, sizeof frame}, {chunk_.data(), place.used}};
    const iovec from[3] = {
        {reinterpret_cast<void*>(thread.state), kLayout.thread_size},
        {reinterpret_cast<void*>(place.frame + kLayout.frame_holder), sizeof frame},
        {reinterpret_cast<void*>(place.chunk), place.used}};
    const std::size_t read = read_pieces(to, from, 3);
    if (read == 0) return Result::Gone;
    is_read = read == 3;
  } else if (!read_thread(thread.state, copy)) {
    return Result::Gone;
  }
  if (copy.at<Address>(kLayout.thread_interpreter) != interpreter_ ||
      copy.at<unsigned long>(kLayout.thread_ident) != thread.ident) {
    return Result::Gone;
  }
  StackPlace now{copy.at<Address>(kLayout.thread_frame), 0, 0};
  if (now.frame == 0) return Result::Whole;
  if (kLayout.thread_chunk != OPYARD_NO_OFFSET) {
    now.chunk = copy.at<Address>(kLayout.thread_chunk);
    const Address limit = copy.at<Address>(kLayout.thread_limit);
    const Address top = std::min(copy.at<Address>(kLayout.thread_top) + kBehindTop, limit);
    if (now.chunk != 0 && top > now.chunk) {
      now.used = std::min<std::size_t>(top - now.chunk, kMostChunk);
    } else {
      now.chunk = 0;
    }
  }
  const bool is_same = is_read && now.frame == place.frame && now.chunk == place.chunk;
  if (is_same) {
    chunk_begin_ = place.chunk;
    chunk_copied_ = place.used;
  } else if (!read_place(now, frame)) {
    place = StackPlace();
    return Result::Torn;
  }
  place = now;
  return read_frames(frame) ? Result::Whole : Result::Torn;
}

bool SampledStacks::read_frames(Address frame) {
  static_assert(kFrameBytes % sizeof(Address) == 0);
  FrameCopy copy;
  while (frame != 0) {
    if (frames_.size() == kDeepest || kLayout.frame_size > kFrameBytes) return false;
    const unsigned char* found = nullptr;
    const bool is_in_chunk = find_in_chunk(frame, kLayout.frame_size, found);
    if (is_in_chunk) {
      std::memcpy(copy.bytes, found, kLayout.frame_size);
    } else if (!read_memory(frame, copy.bytes, kLayout.frame_size)) {
      return false;
    }
    const auto previous = copy.at<Address>(kLayout.frame_previous);
    // Within a piece what called is before what was called. See [Torn].
    if (is_in_chunk && previous >= frame && previous < chunk_begin_ + chunk_copied_) return false;
    const bool has_code = kLayout.frame_owner == OPYARD_NO_OFFSET ||
                          copy.bytes[kLayout.frame_owner] < kLayout.first_owner_without_code;
    if (has_code) {
      const Address code = copy.at<Address>(kLayout.frame_code) & kLayout.code_mask;
      const Address instruction =
          kLayout.instruction_is_number != 0
              ? Address(std::intptr_t{copy.at<int>(kLayout.frame_instruction)})
              : copy.at<Address>(kLayout.frame_instruction);
      frames_.push_back({frame, code, instruction});
    }
    frame = previous;
  }
  return true;
}

bool SampledStacks::read_names(std::vector<profiler::SampledFrame>& stack) {
  // A recursion has one code object in many frames.
  codes_read_.clear();
  copy_of_.clear();
  for (const Frame& frame : frames_) {
    if (codes_read_.empty() || codes_read_.back() != frame.code) codes_read_.push_back(frame.code);
    copy_of_.push_back(std::uint32_t(codes_read_.size() - 1));
  }
  copies_.resize(codes_read_.size());
  for (std::size_t begin = 0; begin < codes_read_.size(); begin += kMostPieces) {
    const std::size_t count = std::min(codes_read_.size() - begin, kMostPieces);
    iovec to[kMostPieces];
    iovec from[kMostPieces];
    for (std::size_t n = 0; n < count; ++n) {
      to[n] = {copies_[begin + n].bytes, kLayout.code_size};
      from[n] = {reinterpret_cast<void*>(codes_read_[begin + n]), kLayout.code_size};
    }
    if (read_pieces(to, from, count) != count) return false;
  }
  constexpr std::intptr_t kUnit = 2;
  for (std::size_t n = frames_.size(); n-- > 0;) {
    const SampledCode* const code = codes_.find(frames_[n].code, copies_[copy_of_[n]]);
    if (code == nullptr) return false;
    // In front of the first instruction a function that has just been called is.
    std::intptr_t at = 0;
    if (kLayout.instruction_is_number != 0) {
      at = std::intptr_t(frames_[n].instruction) * kUnit;
    } else {
      at = std::intptr_t(frames_[n].instruction - code->instructions);
    }
    if (at < -kUnit || at > std::intptr_t(code->bytes)) return false;
    if (code->is_hidden) continue;
    stack.push_back({code->key, profiler::SpanKind::Python,
                     code->line_at(std::size_t(std::max<std::intptr_t>(at, 0)))});
  }
  return true;
}

SampledStacks::Result SampledStacks::read(const SampledThread& thread, StackPlace& place,
                                          std::vector<profiler::SampledFrame>& stack) {
  for (int n = 0; n < kTries; ++n) {
    stack.clear();
    const Result result = read_once(thread, place);
    if (result == Result::Gone) return result;
    if (result == Result::Whole && read_names(stack)) return Result::Whole;
  }
  return Result::Torn;
}

}  // namespace opyard::python
