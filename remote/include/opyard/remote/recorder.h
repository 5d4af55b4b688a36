// opyard/remote/recorder.h: calls on tensors of other processes, recorded into blocks.
//
//   x.to("remote:0")        a tensor whose elements are on worker 0 of the current session
//   aten::mul(x, x)         recorded: sizes and dtype come from the operator's kernel at Meta
//   y.to("cpu")             the block is sent, and the worker answers with the elements
//
// A Recorder is what this process has of one worker. Its open block grows by a call at a time; when
// someone reads, when it has kMostCalls, when the program pauses while the worker is idle, or by
// flush(), it is closed and waits to be sent. A closed block is a graph: see remote/block.h. What
// sends it is a Sender, which knows of processes and of Python; nothing here does.
//
// [Memory] The storage of a remote tensor has no elements. Its address is none that a processor
// reads from, and says which Memory it is of; that knows the worker's value and has a meta tensor
// of the same geometry. Views share the storage, as everywhere, and cost nothing: where one is an
// argument, the block has an aten::as_strided of what the worker keeps. So a write by way of a view
// is seen by all.
//
// [Ends] An operator without sizes (it has no kernel at Meta, or that needs elements) ends the
// block: it is called on the worker by itself, behind the block, and the caller waits.
//
// Threads: any, with the lock of an interpreter or without. The recorder's lock is held for the
// time of an append; no code of a user runs then, and no block is sent.
//
// Depends on: registry/operator.h, remote/block.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "opyard/registry/operator.h"
#include "opyard/remote/block.h"
#include "opyard/value/stack.h"

namespace opyard::remote {

inline constexpr std::size_t kMostCalls = 64;  // of a block

// What came of an operator that a worker has called by itself, or of a value that was read.
struct Answer {
  enum class Kind { Tensor, List, Value };
  Kind kind = Kind::Value;
  // Of a tensor that stays there:
  std::uint64_t number = 0;
  DType dtype = DType::Float32;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  std::vector<Answer> items;  // of a list
  Value value;                // of everything else
};

// What carries blocks. Called with no lock of ours held, with the lock of an interpreter or not.
class OPYARD_API Sender : public Counted {
 public:
  // Sends what recorder.take() gives until there is nothing.
  virtual void send(Recorder& recorder) = 0;
  // The same, and waits for what the tail of this block gives. Raises what the worker raised.
  virtual std::vector<Answer> wait(Recorder& recorder, std::uint64_t block) = 0;
  // Raises that the session has ended.
  virtual void refuse(Recorder& recorder) = 0;
};

class OPYARD_API Recorder final : public Counted {
 public:
  Recorder(CountedPtr<Sender> sender, Device device);

  Device device() const noexcept { return device_; }

  // Records a call, and replaces the arguments by its results. Raises Unsupported for tensors of
  // several places, what the kernel at Meta raises, and what the session raises.
  void call(const Operator& op, Stack& stack);
  // A tensor on the worker with the elements of one of the CPU.
  Tensor import(const Tensor& tensor);
  // The elements of a tensor on the worker. Waits.
  Tensor read(const Tensor& tensor);
  // Closes the open block and has it sent.
  void flush();

  // For who sends: the next closed block, or null; then that it was sent, or cannot be, and that it
  // was answered.
  std::shared_ptr<Block> take();
  void sent(const Block& block);
  void answered();
  // The numbers of values that no tensor has any more.
  std::vector<std::uint64_t> take_dropped();

  // Waits until no call has been recorded for kPause, some are, and the worker has nothing to do.
  // False when the recorder is closed. For a thread of its own, without the lock of an interpreter.
  bool wait_for_pause();
  // From now on everything is refused.
  void close();

  // How many calls were recorded, and how many operators ended a block.
  std::uint64_t recorded() const noexcept { return recorded_.load(std::memory_order_relaxed); }
  std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

 private:
  friend class Memory;

  ~Recorder() override;

  void check_not_resized(const Operator& op, std::span<const Value> arguments,
                         std::span<const Value> metas) const;
  // Calls an operator on the worker by itself; see [Ends].
  void call_there(const Operator& op, Stack& stack);
  Tensor new_tensor(const Tensor& meta, std::uint64_t number, Memory*& memory);
  Value result_of(const Answer& answer);

  // With the lock held.
  void open_block();
  std::uint32_t value_of(const Tensor& tensor);
  std::uint32_t value_of(Memory& memory);
  std::uint32_t view_in_block(std::uint32_t base, const Tensor& tensor, DType its_dtype);
  std::uint32_t derived(const Operator& op, std::uint32_t from, std::span<const Value> arguments);
  std::uint32_t output_of(std::uint32_t value);
  std::shared_ptr<Block> close_block();
  void sweep();

  // From any thread: a Memory has no owner any more.
  void forget(Memory* memory) noexcept;

  const CountedPtr<Sender> sender_;
  const Device device_;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::shared_ptr<Block> open_;  // null, or with something in it
  std::deque<std::shared_ptr<Block>> closed_;
  std::uint64_t blocks_ = 0;
  std::size_t in_flight_ = 0;
  std::vector<Memory*> waiting_;  // dead, of blocks that were not sent yet
  std::vector<Memory*> buried_;   // dead, to be deleted when the lock is not held
  std::vector<std::uint64_t> dropped_numbers_;

  std::atomic<Memory*> dead_{nullptr};
  std::atomic<bool> is_closed_{false};
  std::atomic<std::uint64_t> numbers_;  // of values: above those that a session gives out
  std::atomic<std::uint64_t> recorded_{0};
  std::atomic<std::uint64_t> ended_{0};
};

// The recorder of a tensor on a worker; null for any other tensor.
OPYARD_API Recorder* find_recorder(const Tensor& tensor) noexcept;

// Names the backend "remote", once, and registers what records its calls. `find` gives the recorder
// of a worker of the current session, and raises if there is none.
OPYARD_API void register_key(CountedPtr<Recorder> (*find)(std::int16_t worker));
OPYARD_API bool is_remote(Device device) noexcept;

// How a call of an operator on remote tensors goes, as a sentence.
OPYARD_API std::string explain_recording(const Operator& op);

}  // namespace opyard::remote
