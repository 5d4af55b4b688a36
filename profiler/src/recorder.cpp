// profiler/recorder.cpp: streams, their blocks, and windows over them.
//
// [Positions] A stream's thread publishes each event by storing `next_`. Whoever begins or ends a
// window reads it under the lock, under which alone a stream changes its block; so block and
// position fit each other.
//
// [Ends of threads] A thread's key destructor marks its stream as ended. A stream that has ended is
// freed with the last window; its blocks stay as long as a recording holds them.
//
// [Fork] The child has one thread: the streams of the others have ended there. Its own goes on,
// under the thread's new id.
#include "opyard/profiler/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "opyard/base/alloc.h"
#include "opyard/detail/base/mutex.h"

namespace opyard::profiler {

__thread Stream* thread_stream __attribute__((tls_model("initial-exec"))) = nullptr;

// Everything but append() is here: all of it under the lock.
class Recorder {
 public:
  static Recorder& instance() {
    static Recorder& recorder = *new Recorder;  // threads may end after static destructors
    return recorder;
  }

  Stream* make_stream() {
    const std::lock_guard lock(mutex_);
    auto stream =
        std::unique_ptr<Stream, void (*)(Stream*)>(new Stream, [](Stream* s) { delete s; });
    stream->native_id_ = std::int64_t(::syscall(SYS_gettid));
    stream->handle_ = std::uint64_t(::pthread_self());
    stream->number_ = next_number_;
    streams_.reserve(streams_.size() + 1);
    open_block(*stream, new_block());
    ++next_number_;
    streams_.push_back(stream.get());
    if (pthread_setspecific(at_thread_end_, stream.get()) != 0) {
      // Then it is found ended by no one, and kept: a stream too many, and no event lost.
    }
    return stream.release();
  }

  // Goes on to a new block; to the same one from its start if no one wants what is in it.
  void make_room(Stream& stream) {
    const std::lock_guard lock(mutex_);
    if (open_windows_ == 0 && stream.last_->owners == 1) {
      stream.next_.store(stream.last_->events, std::memory_order_release);
      return;
    }
    Block* const fresh = new_block();
    stream.last_->used = position(stream);
    stream.last_->next = fresh;
    open_block(stream, fresh);
    if (open_windows_ == 0) forget_past(stream);
  }

  void end_thread(Stream* stream) noexcept {
    const std::lock_guard lock(mutex_);
    stream->ended_ = true;
    if (open_windows_ == 0) forget_ended();
  }

  void begin(Window& window) {
    const std::lock_guard lock(mutex_);
    window.starts_.reserve(streams_.size());
    for (Stream* const stream : streams_) {
      if (stream->ended_) continue;
      window.starts_.push_back({stream->number_, stream->last_, position(*stream),
                                stream->lost_.load(std::memory_order_relaxed)});
      ++stream->last_->owners;
    }
    window.first_new_stream_ = next_number_;
    window.unix_begin_ns_ = unix_time_ns();
    window.begin_ = read_clock_pair();
    ++open_windows_;
    window.open_ = true;
  }

  void end(Window& window, Recording& recording) {
    const std::lock_guard lock(mutex_);
    recording.end = read_clock_pair();
    recording.begin = window.begin_;
    recording.first_pair = first_pair_;
    recording.unix_begin_ns = window.unix_begin_ns_;
    recording.streams.reserve(streams_.size());
    for (Stream* const stream : streams_) {
      const auto start = std::find_if(window.starts_.begin(), window.starts_.end(),
                                      [&](auto& at) { return at.stream == stream->number_; });
      const bool is_new = stream->number_ >= window.first_new_stream_;
      if (start == window.starts_.end() && !is_new) continue;
      StreamRecording part;
      part.native_id = stream->native_id_;
      part.handle = stream->handle_;
      part.lost = stream->lost_.load(std::memory_order_relaxed) - (is_new ? 0 : start->lost);
      take(*stream, is_new ? stream->first_ : start->block, is_new ? 0 : start->event, part);
      recording.streams.push_back(std::move(part));
    }
    close(window);
  }

  void abandon(Window& window) noexcept {
    const std::lock_guard lock(mutex_);
    close(window);
  }

  void give_back(std::vector<StreamRecording>& streams) noexcept {
    const std::lock_guard lock(mutex_);
    for (StreamRecording& stream : streams) {
      for (const Slice& slice : stream.slices) drop(slice.block);
    }
    streams.clear();
  }

  void count_lost() noexcept { lost_streams_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Recorder() : first_pair_(read_clock_pair()) {
    if (pthread_key_create(&at_thread_end_, [](void* stream) {
          thread_stream = nullptr;
          instance().end_thread(static_cast<Stream*>(stream));
        }) != 0) {
      throw std::bad_alloc();
    }
  }

  static std::uint32_t position(const Stream& stream) noexcept {
    return std::uint32_t(stream.next_.load(std::memory_order_acquire) - stream.last_->events);
  }

  static Block* new_block() {
    auto* const block = static_cast<Block*>(allocate(sizeof(Block), alignof(Block)));
    block->next = nullptr;
    block->owners = 1;
    block->used = 0;
    block->pair = read_clock_pair();
    return block;
  }
  static void drop(Block* block) noexcept {
    if (--block->owners == 0) deallocate(block, sizeof(Block), alignof(Block));
  }

  static void open_block(Stream& stream, Block* block) noexcept {
    if (stream.first_ == nullptr) stream.first_ = block;
    stream.last_ = block;
    stream.end_ = block->events + Block::kEvents;
    stream.next_.store(block->events, std::memory_order_release);
  }

  static void take(Stream& stream, Block* from, std::uint32_t event, StreamRecording& part) {
    std::size_t count = 0;
    for (const Block* at = from; at != nullptr; at = at->next) ++count;
    part.slices.reserve(count);
    for (Block* at = from; at != nullptr; at = at->next) {
      const std::uint32_t end = at == stream.last_ ? position(stream) : at->used;
      if (end > event) {
        part.slices.push_back({at, event, end});
        ++at->owners;
      }
      event = 0;
    }
  }

  void close(Window& window) noexcept {
    for (const Window::Start& start : window.starts_) drop(start.block);
    window.starts_.clear();
    window.open_ = false;
    if (--open_windows_ != 0) return;
    for (Stream* const stream : streams_) forget_past(*stream);
    forget_ended();
  }
  static void forget_past(Stream& stream) noexcept {
    while (stream.first_ != stream.last_) drop(std::exchange(stream.first_, stream.first_->next));
  }
  void forget_ended() noexcept {
    std::erase_if(streams_, [](Stream* stream) {
      if (!stream->ended_) return false;
      forget_past(*stream);
      drop(stream->last_);
      delete stream;
      return true;
    });
  }

  static void in_child() {
    Recorder& recorder = instance();
    for (Stream* const stream : recorder.streams_) stream->ended_ = stream != thread_stream;
    if (thread_stream != nullptr) thread_stream->native_id_ = std::int64_t(::syscall(SYS_gettid));
  }

  Mutex mutex_{LockRank::ProfilerStreams, in_child};
  const ClockPair first_pair_;
  pthread_key_t at_thread_end_{};
  std::vector<Stream*> streams_;
  std::uint64_t next_number_ = 0;
  int open_windows_ = 0;
  std::atomic<std::uint64_t> lost_streams_{0};
};

Stream* Stream::make() noexcept {
  try {
    thread_stream = Recorder::instance().make_stream();
  } catch (const std::bad_alloc&) {
    Recorder::instance().count_lost();
  }
  return thread_stream;
}

void Stream::append_slow(EventKind kind, std::uint32_t key, std::uint16_t detail,
                         const Payload* words, std::size_t count) noexcept {
  Event* at = next_.load(std::memory_order_relaxed);
  if (std::size_t(end_ - at) < 1 + count) {
    try {
      Recorder::instance().make_room(*this);
    } catch (const std::bad_alloc&) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    at = next_.load(std::memory_order_relaxed);
  }
  *at = {now_ticks(), key, kind, std::uint8_t(count), detail};
  if (count != 0) std::copy_n(words, count, reinterpret_cast<Payload*>(at + 1));
  next_.store(at + 1 + count, std::memory_order_release);
}

Recording::Recording(Recording&& other) noexcept { *this = std::move(other); }

Recording& Recording::operator=(Recording&& other) noexcept {
  std::swap(begin, other.begin);
  std::swap(end, other.end);
  std::swap(first_pair, other.first_pair);
  std::swap(unix_begin_ns, other.unix_begin_ns);
  streams.swap(other.streams);
  start_stacks.swap(other.start_stacks);
  thread_names.swap(other.thread_names);
  notes.swap(other.notes);
  return *this;
}

Recording::~Recording() {
  if (!streams.empty()) Recorder::instance().give_back(streams);
}

std::uint64_t Recording::events() const noexcept {
  std::uint64_t count = 0;
  for (const StreamRecording& stream : streams) {
    for (const Slice& slice : stream.slices) count += slice.end - slice.begin;
  }
  return count;
}
std::uint64_t Recording::bytes() const noexcept { return events() * sizeof(Event); }

Window::Window() { Recorder::instance().begin(*this); }

Window::~Window() {
  if (open_) Recorder::instance().abandon(*this);
}

Recording Window::end() {
  Recording recording;
  Recorder::instance().end(*this, recording);
  recording.start_stacks = std::move(start_stacks_);
  return recording;
}

}  // namespace opyard::profiler
