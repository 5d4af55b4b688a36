// profiler/capture/streams.cpp: streams, their blocks, and windows over them.
//
// [Positions] A stream's thread publishes each event by storing `next_`. A thread that begins or
// ends a window reads it under the lock, under which alone a stream changes its block; so block and
// position fit each other.
//
// [Ends of threads] A thread's key destructor marks its stream as ended. A stream that has ended is
// freed with the last window; its blocks stay as long as a capture holds them.
//
// [Ring] While a ring is on, streams keep their past. If there are too many blocks, or one was full
// too long ago, the block of all threads that was full first is freed; the stream of a thread that
// has ended goes with its last block.
//
// [Files] If a capture is written to files, new blocks are parts of a mapped file: what a thread
// has written is there, however its process ends. Only events are; what changes a block's owners
// and successors is memory of the process. If there is no room on the disk, blocks are in memory
// alone.
//
// [CPU time] The first event of a thread that comes a millisecond or more after its CPU time was
// read has it read again, and noted in front of it. So a wait is between two readings, and a thread
// that makes many events pays for one reading in thousands of them. A window that ends reads that
// of all threads. Which calls took the time is found out later: see profile/thread_times.cpp.
//
// [Fork] The child has one thread: the streams of the others have ended there. Its own goes on,
// under the thread's new id, and in a new block if the last one is in the parent's file, which the
// parent goes on writing.
#include "opyard/profiler/capture.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "capture/file_blocks.h"
#include "capture/file_writer.h"
#include "capture/ring_blocks.h"
#include "opyard/base/alloc.h"
#include "opyard/detail/base/mutex.h"

namespace opyard::profiler {

__thread Stream* thread_stream __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// See [CPU time].
constexpr std::uint64_t kNanosecondsBetweenReadings = 1'000'000;

// 0 if the clock is gone with its thread.
std::uint64_t thread_time_ns(clockid_t clock) noexcept {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return std::uint64_t(time.tv_sec) * 1'000'000'000 + std::uint64_t(time.tv_nsec);
}
// Of any thread of the process, as the kernel numbers its clocks: it may have ended.
clockid_t clock_of(std::int64_t native_id) noexcept {
  constexpr unsigned kThreadsSchedule = 6;
  return clockid_t(~unsigned(native_id) << 3 | kThreadsSchedule);
}

}  // namespace

// Everything but append() is here: all of it under the lock.
class Streams {
 public:
  static Streams& instance() {
    static Streams& all = *new Streams;  // threads may end after static destructors
    return all;
  }

  Stream* make_stream() {
    const std::lock_guard lock(mutex_);
    auto stream =
        std::unique_ptr<Stream, void (*)(Stream*)>(new Stream, [](Stream* s) { delete s; });
    stream->native_id_ = std::int64_t(::syscall(SYS_gettid));
    stream->handle_ = std::uint64_t(::pthread_self());
    stream->number_ = next_number_;
    streams_.reserve(streams_.size() + 1);
    open_block(*stream, new_block(*stream));
    ++next_number_;
    streams_.push_back(stream.get());
    if (pthread_setspecific(at_thread_end_, stream.get()) != 0) {
      // Then it is found ended by no one, and stays: a stream too many, and no event lost.
    }
    return stream.release();
  }

  // Goes on to a new block; to the same one from its start if no one wants what is in it.
  void make_room(Stream& stream) {
    const std::lock_guard lock(mutex_);
    if (!keeps() && stream.last_->owners == 1 && stream.last_->file == nullptr) {
      stream.end_ = stream.last_->events + Block::kEvents;
      stream.next_.store(stream.last_->events, std::memory_order_release);
      return;
    }
    Block* const fresh = new_block(stream);
    stream.last_->used = position(stream);
    stream.last_->next = fresh;
    open_block(stream, fresh);
    trim();
  }

  void end_thread(Stream* stream) noexcept {
    const std::lock_guard lock(mutex_);
    stream->ended_ = true;
    stream->ended_at_ = now_ticks();
    stream->ended_thread_time_ = thread_time_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!keeps()) forget_ended();
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

  void end(Window& window, Capture& capture) {
    const std::lock_guard lock(mutex_);
    capture.end = read_clock_pair();
    capture.begin = window.begin_;
    capture.first_pair = first_pair_;
    capture.unix_begin_ns = window.unix_begin_ns_;
    capture.streams.reserve(streams_.size());
    for (Stream* const stream : streams_) {
      const auto start = std::find_if(window.starts_.begin(), window.starts_.end(),
                                      [&](auto& at) { return at.stream == stream->number_; });
      const bool is_new = stream->number_ >= window.first_new_stream_;
      if (start == window.starts_.end() && !is_new) continue;
      StreamCapture part;
      part.native_id = stream->native_id_;
      part.handle = stream->handle_;
      part.lost = stream->lost_.load(std::memory_order_relaxed) - (is_new ? 0 : start->lost);
      take(*stream, is_new ? stream->first_ : start->block, is_new ? 0 : start->event, part);
      part.last_thread_time_ns = stream->ended_ ? stream->ended_thread_time_
                                                : thread_time_ns(clock_of(stream->native_id_));
      part.last_thread_time_ticks = stream->ended_ ? stream->ended_at_ : now_ticks();
      capture.streams.push_back(std::move(part));
    }
    close(window);
  }

  void abandon(Window& window) noexcept {
    const std::lock_guard lock(mutex_);
    close(window);
  }

  void begin_ring(std::uint64_t blocks, std::uint64_t ticks) {
    const std::lock_guard lock(mutex_);
    ring_begin_ = read_clock_pair();
    ring_blocks_ = std::max<std::uint64_t>(blocks, 1);
    ring_ticks_ = ticks;
  }
  void end_ring() noexcept {
    const std::lock_guard lock(mutex_);
    ring_blocks_ = 0;
    trim();
  }
  void copy_ring(Capture& capture) {
    const std::lock_guard lock(mutex_);
    capture.is_ring = true;
    capture.end = read_clock_pair();
    capture.first_pair = first_pair_;
    capture.begin = begin_of_ring(capture.end);
    const std::uint64_t age = capture.end.monotonic_ns - capture.begin.monotonic_ns;
    capture.unix_begin_ns = unix_time_ns() - age;
    capture.streams.reserve(streams_.size());
    for (Stream* const stream : streams_) {
      StreamCapture part;
      part.native_id = stream->native_id_;
      part.handle = stream->handle_;
      part.lost = stream->lost_.load(std::memory_order_relaxed);
      const auto [block, event] = first_since(*stream, ring_begin_.ticks);
      take(*stream, block, event, part);
      capture.streams.push_back(std::move(part));
    }
  }

  void give_back(std::vector<StreamCapture>& streams) noexcept {
    const std::lock_guard lock(mutex_);
    for (StreamCapture& stream : streams) {
      for (const Slice& slice : stream.slices) drop(slice.block);
    }
    streams.clear();
  }

  // See [Files].
  void begin_file(std::unique_ptr<MappedBlocks> file) noexcept {
    const std::lock_guard lock(mutex_);
    file_ = file.release();
    if (thread_stream != nullptr) seal(*thread_stream);
  }
  void end_file() noexcept {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    std::exchange(file_, nullptr)->close();
    if (thread_stream != nullptr) seal(*thread_stream);
  }
  std::uint64_t blocks_beside_file() noexcept {
    const std::lock_guard lock(mutex_);
    return blocks_beside_file_;
  }
  ClockPair first_pair() const noexcept { return first_pair_; }

  // Blocks that were read from a file become part of a capture.
  static Block* memory_block() {
    void* const memory = allocate(sizeof(Block) + sizeof(BlockData), alignof(Block));
    auto* const block = new (memory) Block;
    auto* const data = reinterpret_cast<BlockData*>(block + 1);
    block->events = data->events;
    return block;
  }

  void count_lost() noexcept { lost_streams_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Streams() : first_pair_(read_clock_pair()) {
    if (pthread_key_create(&at_thread_end_, [](void* stream) {
          thread_stream = nullptr;
          instance().end_thread(static_cast<Stream*>(stream));
        }) != 0) {
      throw std::bad_alloc();
    }
  }

  static std::uint32_t position(const Stream& stream) noexcept {
    if (stream.end_ == nullptr) return stream.last_->used;
    return std::uint32_t(stream.next_.load(std::memory_order_acquire) - stream.last_->events);
  }
  // The next event of the stream, which is this thread's, begins a block.
  static void seal(Stream& stream) noexcept {
    stream.last_->used = position(stream);
    stream.end_ = nullptr;
    stream.next_.store(nullptr, std::memory_order_release);
  }

  Block* new_block(const Stream& stream) {
    const ClockPair pair = read_clock_pair();
    BlockData* const data = file_ == nullptr ? nullptr : file_->take();
    Block* block = nullptr;
    if (data != nullptr) {
      try {
        block = new (allocate(sizeof(Block), alignof(Block))) Block;
      } catch (...) {
        file_->give_back();
        throw;
      }
      block->events = data->events;
      block->file = file_;
      data->stream = stream.number_;
      data->native_id = stream.native_id_;
      data->handle = stream.handle_;
      data->pair = pair;
      data->magic = BlockData::kMagic;
    } else {
      blocks_beside_file_ += file_ != nullptr ? 1 : 0;
      block = memory_block();
    }
    block->pair = pair;
    return block;
  }
  static void drop(Block* block) noexcept {
    if (--block->owners != 0) return;
    const bool in_file = block->file != nullptr;
    if (in_file) block->file->give_back();
    deallocate(block, sizeof(Block) + (in_file ? 0 : sizeof(BlockData)), alignof(Block));
  }

  void open_block(Stream& stream, Block* block) noexcept {
    ++stream_blocks_;
    if (stream.first_ == nullptr) stream.first_ = block;
    stream.last_ = block;
    stream.end_ = block->events + Block::kEvents;
    stream.next_.store(block->events, std::memory_order_release);
  }

  // Not before the ring, nor longer ago than it reaches; nor before the first event of the busiest
  // thread, since what others did then is half of what happened.
  ClockPair begin_of_ring(const ClockPair& end) const {
    std::uint64_t begin = ring_begin_.ticks;
    if (end.ticks > ring_ticks_) begin = std::max(begin, end.ticks - ring_ticks_);
    for (const Stream* const stream : streams_) {
      if (stream->first_lost_) begin = std::max(begin, stream->first_->pair.ticks);
    }
    const TickConverter converter(first_pair_, end);
    return {begin, std::uint64_t(converter.monotonic_ns(begin))};
  }

  // Where the first event is that is not before that time. What is before a ring is of a profile
  // that has ended: between both no one captured, so its exits may be missing.
  static std::pair<Block*, std::uint32_t> first_since(const Stream& stream, std::uint64_t ticks) {
    Block* at = stream.first_;
    if (at == nullptr) return {nullptr, 0};
    while (at->next != nullptr && at->next->pair.ticks <= ticks) at = at->next;
    const std::uint32_t end = at == stream.last_ ? position(stream) : at->used;
    std::uint32_t event = 0;
    while (event < end && at->events[event].ticks < ticks) event += 1 + at->events[event].payload;
    return {at, event};
  }

  static void take(Stream& stream, Block* from, std::uint32_t event, StreamCapture& part) {
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
    --open_windows_;
    trim();
  }

  // Whether what threads write is wanted by anyone.
  bool keeps() const noexcept { return open_windows_ != 0 || ring_blocks_ != 0; }
  // Frees what no one wants any more. While a window is open, all of it is wanted.
  void trim() noexcept {
    if (open_windows_ != 0) return;
    if (ring_blocks_ != 0) return trim_ring();
    for (Stream* const stream : streams_) forget_past(*stream);
    forget_ended();
  }
  void forget_past(Stream& stream) noexcept {
    while (stream.first_ != stream.last_) forget_first(stream);
  }
  void forget_first(Stream& stream) noexcept {
    drop(std::exchange(stream.first_, stream.first_->next));
    stream.first_lost_ = true;
    --stream_blocks_;
  }

  // See [Ring].
  void trim_ring() noexcept {
    const std::uint64_t now = now_ticks();
    const std::uint64_t oldest = now > ring_ticks_ ? now - ring_ticks_ : 0;
    for (;;) {
      Stream* least = nullptr;
      for (Stream* const stream : streams_) {
        const bool may_go = stream->first_ != stream->last_ || stream->ended_;
        if (may_go && (least == nullptr || end_of_first(*stream) < end_of_first(*least))) {
          least = stream;
        }
      }
      if (least == nullptr) return;
      if (stream_blocks_ <= ring_blocks_ && end_of_first(*least) >= oldest) return;
      if (least->first_ == least->last_) {
        forget_stream(least);
      } else {
        forget_first(*least);
      }
    }
  }
  // When the first block of a stream was full, or its thread's last event.
  static std::uint64_t end_of_first(const Stream& stream) noexcept {
    if (stream.first_ != stream.last_) return stream.first_->next->pair.ticks;
    return stream.ended_ ? stream.ended_at_ : ~std::uint64_t{0};
  }
  void forget_stream(Stream* stream) noexcept {
    forget_past(*stream);
    drop(stream->last_);
    --stream_blocks_;
    std::erase(streams_, stream);
    delete stream;
  }
  void forget_ended() noexcept {
    for (std::size_t n = streams_.size(); n-- > 0;) {
      if (streams_[n]->ended_) forget_stream(streams_[n]);
    }
  }

  static void in_child() {
    Streams& all = instance();
    for (Stream* const stream : all.streams_) {
      stream->ended_ = stream != thread_stream;
      stream->ended_at_ = now_ticks();
      stream->due_ = 0;  // a child has taken no time yet
    }
    if (all.file_ != nullptr) {
      // The parent's map stays as long as blocks of it are held here.
      all.file_->close();
      all.file_ = nullptr;
      file_writer.load()->leave_files_of_parent();
    }
    if (thread_stream == nullptr) return;
    if (thread_stream->last_->file != nullptr) seal(*thread_stream);
    thread_stream->native_id_ = std::int64_t(::syscall(SYS_gettid));
  }

  Mutex mutex_{LockRank::ProfilerStreams, in_child};
  const ClockPair first_pair_;
  pthread_key_t at_thread_end_{};
  std::vector<Stream*> streams_;
  std::uint64_t next_number_ = 0;
  int open_windows_ = 0;
  std::uint64_t stream_blocks_ = 0;  // that streams hold
  std::uint64_t ring_blocks_ = 0;    // that they may hold while a ring is on; 0: none is
  std::uint64_t ring_ticks_ = 0;     // how long ago the newest event of a block may be
  ClockPair ring_begin_{};
  MappedBlocks* file_ = nullptr;  // that new blocks are taken from; frees itself
  std::uint64_t blocks_beside_file_ = 0;
  std::atomic<std::uint64_t> lost_streams_{0};
};

namespace {

void tell_file_writer() noexcept {
  if (FileWriter* const writer = file_writer.load()) writer->before_new_block();
}

}  // namespace

Stream* Stream::make() noexcept {
  try {
    tell_file_writer();
    thread_stream = Streams::instance().make_stream();
  } catch (const std::bad_alloc&) {
    Streams::instance().count_lost();
  }
  return thread_stream;
}

void Stream::append_slow(EventKind kind, std::uint32_t key, std::uint16_t detail,
                         const Payload* words, std::size_t count) noexcept {
  Event* at = next_.load(std::memory_order_relaxed);
  if (std::size_t(end_ - at) < 1 + count) {
    try {
      tell_file_writer();
      Streams::instance().make_room(*this);
    } catch (const std::bad_alloc&) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    at = next_.load(std::memory_order_relaxed);
  }
  const std::uint64_t now = now_ticks();
  if (now >= due_) {
    note_thread_time(now);
    at = next_.load(std::memory_order_relaxed);
    if (std::size_t(end_ - at) < 1 + count) return append_slow(kind, key, detail, words, count);
  }
  *at = {now, key, kind, std::uint8_t(count), detail};
  if (count != 0) std::copy_n(words, count, reinterpret_cast<Payload*>(at + 1));
  next_.store(at + 1 + count, std::memory_order_release);
}

// See [CPU time]. Not as the first of a block, after which greenlets are looked for.
void Stream::note_thread_time(std::uint64_t now) noexcept {
  Event* const at = next_.load(std::memory_order_relaxed);
  if (at == end_ - Block::kEvents || end_ - at < 3) return;
  due_ = now + ticks_of(kNanosecondsBetweenReadings);
  *at = {now, 0, event_of(MarkKind::ThreadTime), 1, 0};
  const Payload words{thread_time_ns(CLOCK_THREAD_CPUTIME_ID), 0};
  std::copy_n(&words, 1, reinterpret_cast<Payload*>(at + 1));
  next_.store(at + 2, std::memory_order_release);
}

void begin_ring_blocks(std::uint64_t blocks, std::uint64_t ticks) {
  Streams::instance().begin_ring(blocks, ticks);
}
void end_ring_blocks() { Streams::instance().end_ring(); }
Capture copy_ring_blocks(Window& window) {
  Capture capture;
  Streams::instance().copy_ring(capture);
  capture.start_stacks = std::move(window.start_stacks_);
  return capture;
}

void begin_file_blocks(std::unique_ptr<MappedBlocks> file) {
  Streams::instance().begin_file(std::move(file));
}
void end_file_blocks() { Streams::instance().end_file(); }
std::uint64_t blocks_beside_file() { return Streams::instance().blocks_beside_file(); }
ClockPair first_clock_pair() { return Streams::instance().first_pair(); }
Block* make_memory_block() { return Streams::memory_block(); }

Capture::Capture(Capture&& other) noexcept { *this = std::move(other); }

Capture& Capture::operator=(Capture&& other) noexcept {
  std::swap(begin, other.begin);
  std::swap(end, other.end);
  std::swap(first_pair, other.first_pair);
  std::swap(unix_begin_ns, other.unix_begin_ns);
  std::swap(is_ring, other.is_ring);
  streams.swap(other.streams);
  start_stacks.swap(other.start_stacks);
  thread_names.swap(other.thread_names);
  lines.swap(other.lines);
  notes.swap(other.notes);
  return *this;
}

Capture::~Capture() {
  if (!streams.empty()) Streams::instance().give_back(streams);
}

std::uint64_t Capture::events() const noexcept {
  std::uint64_t count = 0;
  for (const StreamCapture& stream : streams) {
    for (const Slice& slice : stream.slices) count += slice.end - slice.begin;
  }
  return count;
}
std::uint64_t Capture::bytes() const noexcept { return events() * sizeof(Event); }

Window::Window() { Streams::instance().begin(*this); }

Window::~Window() {
  if (open_) Streams::instance().abandon(*this);
}

void Window::add_start_stack(StartStack stack) {
  if (stack.native_id != 0) stack.first_thread_time_ns = thread_time_ns(clock_of(stack.native_id));
  start_stacks_.push_back(std::move(stack));
}

Capture Window::end() {
  Capture capture;
  for (StartStack& stack : start_stacks_) {
    if (stack.native_id != 0) stack.last_thread_time_ns = thread_time_ns(clock_of(stack.native_id));
  }
  Streams::instance().end(*this, capture);
  capture.start_stacks = std::move(start_stacks_);
  return capture;
}

}  // namespace opyard::profiler
