// opyard/profiler/stream.h: a thread's event stream.
//
//   Stream ─ Block ─ Block ─ Block          a thread's own; the last one is being written
//              └──────┴── Slice of a Capture, which keeps its blocks
//
// Each thread of the system has one stream, made with its first event. It appends to the last
// block without a lock, and takes the lock of all streams for a new block only. Nothing that was
// written changes or moves; a block is freed when neither its stream nor a capture holds it, so
// events outlive their thread.
//
// Threads: append() belongs to the stream's thread, which may hold any lock. The others are told by
// the list of streams where a stream was at a moment.
//
// Depends on: profiler/event.h, profiler/clock.h.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opyard/profiler/clock.h"
#include "opyard/profiler/event.h"

namespace opyard::profiler {

class MappedBlocks;  // see profiler/src/capture/mapped_blocks.h
class Stream;

// What a block holds, 64 KiB, in memory and in files alike. Events follow each other to the first
// that has no time; a file is zeros wherever nothing was written.
struct BlockData {
  static constexpr std::uint64_t kMagic = 0x0001'6b6c'6279'706f;  // "opybk" and a version
  static constexpr std::size_t kEvents = 4093;

  std::uint64_t magic;
  std::uint64_t stream;  // the number of the stream
  std::int64_t native_id;
  std::uint64_t handle;
  ClockPair pair;  // when it was begun
  Event events[kEvents];
};
static_assert(sizeof(BlockData) == 1 << 16);

// One in memory has its data behind it; that of one in a file is part of the map, see [Files] in
// streams.cpp.
struct Block {
  static constexpr std::size_t kEvents = BlockData::kEvents;

  Block* next = nullptr;         // of the same stream; written under the lock of all streams
  std::uint32_t owners = 1;      // under the lock of all streams
  std::uint32_t used = 0;        // once the stream has gone on to the next block
  ClockPair pair{};              // when it was begun
  MappedBlocks* file = nullptr;  // that its data is in, or null
  Event* events = nullptr;
};

// This thread's stream, or null before its first event. One pointer, and no more: a library that is
// loaded late gets little of the memory that the initial-exec model takes from.
extern OPYARD_API __thread Stream* thread_stream __attribute__((tls_model("initial-exec")));

class OPYARD_API Stream {
 public:
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // This thread's; null if there is no memory for one, which is counted.
  static Stream* current() noexcept {
    return __builtin_expect(thread_stream != nullptr, 1) ? thread_stream : make();
  }

  void append(EventKind kind, std::uint32_t key, std::uint16_t detail = 0) noexcept {
    Event* const at = next_.load(std::memory_order_relaxed);
    const std::uint64_t now = now_ticks();
    if (__builtin_expect(int(at == end_) | int(now >= due_), 0) != 0) {
      return append_slow(kind, key, detail, nullptr, 0);
    }
    *at = {now, key, kind, 0, detail};
    next_.store(at + 1, std::memory_order_release);
  }
  // With words behind it, fewer than 256.
  void append(EventKind kind, std::uint32_t key, std::uint16_t detail, const Payload* words,
              std::size_t count) noexcept {
    append_slow(kind, key, detail, words, count);
  }

  // As append() by the processor's counter, which is chosen, in the block that is being written;
  // false, and nothing is captured, if that is full or CPU time is to be read. Calls nothing.
  bool append_here(EventHalf half) noexcept {
    Event* const at = next_.load(std::memory_order_relaxed);
    const std::uint64_t now = read_counter();
    if (__builtin_expect(int(at == end_) | int(now >= due_), 0) != 0) return false;
    at->ticks = now;
    set_half(*at, half);
    next_.store(at + 1, std::memory_order_release);
    return true;
  }

  // Takes the last event back if it is this enter, without words behind it, and not earlier than
  // that; a reading of CPU time behind it goes, too, and is made again. On the thread of the
  // stream, while no other can begin or end a window.
  bool take_back(EventKind enter, std::uint32_t key, std::uint64_t earliest) noexcept {
    Event* at = next_.load(std::memory_order_relaxed);
    if (at == nullptr) return false;
    const Event* const begin = end_ - Block::kEvents;
    const bool has_reading =
        at - begin > 2 && at[-2].payload == 1 && at[-2].kind == event_of(MarkKind::ThreadTime);
    if (has_reading) at -= 2;
    if (at == begin) return false;
    const Event& last = at[-1];
    if (last.kind != enter || last.key != key || last.payload != 0 || last.ticks < earliest) {
      return false;
    }
    if (has_reading) due_ = 0;
    at[-1].ticks = 0;  // so a file ends here
    next_.store(at - 1, std::memory_order_release);
    return true;
  }

  // Whether the last event is the first of its block.
  bool has_begun_block() const noexcept {
    const Event* const at = next_.load(std::memory_order_relaxed);
    return at != nullptr && at == end_ - Block::kEvents + 1;
  }

  std::int64_t native_id() const noexcept { return native_id_; }
  std::uint64_t handle() const noexcept { return handle_; }

 private:
  friend class Streams;
  Stream() = default;
  ~Stream() = default;
  static Stream* make() noexcept;
  void append_slow(EventKind kind, std::uint32_t key, std::uint16_t detail, const Payload* words,
                   std::size_t count) noexcept;
  void note_thread_time(std::uint64_t now) noexcept;

  std::atomic<Event*> next_{nullptr};
  std::uint64_t due_ = 0;   // in ticks: then CPU time is read, see [CPU time] in streams.cpp
  Event* end_ = nullptr;    // null if the next event begins a block, whatever the last one holds
  Block* first_ = nullptr;  // from here on under the lock of all streams
  Block* last_ = nullptr;
  std::int64_t native_id_ = 0;  // as the system and other tools know the thread
  std::uint64_t handle_ = 0;    // pthread_self(), by which Python knows it
  std::uint64_t number_ = 0;    // in the order of their making
  std::atomic<std::uint64_t> lost_{0};
  bool ended_ = false;
  std::uint64_t ended_at_ = 0;  // in ticks
  std::uint64_t ended_thread_time_ = 0;
  bool first_lost_ = false;  // blocks before the first one have been freed
};

// Of code that runs on this thread. Lost, and counted, if there is no memory.
inline void append_event(EventKind kind, std::uint32_t key, std::uint16_t detail = 0) noexcept {
  if (Stream* const stream = Stream::current()) stream->append(kind, key, detail);
}

// See Stream::append_here(). False before the thread's first event, too.
inline bool capture_here(EventHalf half) noexcept {
  Stream* const stream = thread_stream;
  return __builtin_expect(stream != nullptr, 1) && stream->append_here(half);
}

// Of this thread; false if it has no stream.
inline bool has_begun_block() noexcept {
  return thread_stream != nullptr && thread_stream->has_begun_block();
}

}  // namespace opyard::profiler
