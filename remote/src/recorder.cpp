// remote/recorder.cpp: recording calls, reading values, and handing closed blocks over.
#include "opyard/remote/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <unordered_map>
#include <utility>

#include "append.h"
#include "named.h"
#include "opyard/detail/base/small_vector.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/registry/registry.h"
#include "places.h"

namespace opyard::remote {
namespace {

using Lock = std::unique_lock<std::mutex>;

constexpr auto kPause = std::chrono::microseconds(50);
constexpr std::uint64_t kFirstNumber = std::uint64_t{1} << 40;  // a session counts from 1
constexpr std::uint64_t kMostResults = 65536;                   // of a call by itself

// What is known of an operator, for as long as the process lives.
struct Facts {
  bool writes = false;
  bool is_nameable = true;
};

bool is_nameable(const Operator& op, std::span<const Value> arguments) {
  if (op.schema().variadic_arguments || op.schema().variadic_results) return false;
  Block probe;
  const auto value_of = [&](const Tensor& tensor) {
    return append_input(probe, nullptr, Value(at_meta(Value(tensor))));
  };
  Call& call = append_call(probe, op, arguments, value_of);
  for (std::size_t i = 0; i < op.schema().results.size(); ++i) call.results.push_back(-2);
  try {
    static_cast<void>(probe.graph());
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadGraph && error.kind() != ErrorKind::BadArgument) throw;
    return false;
  }
}

const Facts& facts_of(const Operator& op, std::span<const Value> arguments) {
  struct Recent {
    const Operator* op = nullptr;
    const Facts* facts = nullptr;
  };
  using Recents = std::array<Recent, 64>;
  // Behind a pointer: a library that a program loads late has little memory of threads.
  thread_local std::unique_ptr<Recents> recent;
  if (!recent) recent = std::make_unique<Recents>();
  Recent& own = (*recent)[(reinterpret_cast<std::uintptr_t>(&op) >> 6) % recent->size()];
  if (own.op == &op) return *own.facts;
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::unordered_map<const Operator*, Facts>;
  {
    const Lock lock(mutex);
    const auto found = all.find(&op);
    if (found != all.end()) {
      own = {&op, &found->second};
      return found->second;
    }
  }
  const Facts made = {.writes = op.schema().is_mutable(),
                      .is_nameable = is_nameable(op, arguments)};
  const Lock lock(mutex);
  own = {&op, &all.try_emplace(&op, made).first->second};
  return *own.facts;
}

constinit const Named clone_tensor("aten::clone");
constinit const Named copy_in_place("aten::copy_");

// What a kernel at Meta raises that would need elements; one of Python says so by its class.
bool cannot_say(const Error& error) {
  if (error.kind() == ErrorKind::Python) {
    return std::string_view(error.what()).starts_with("NotImplementedError");
  }
  return error.kind() == ErrorKind::NoKernel || error.kind() == ErrorKind::Unsupported;
}

// False if the operator cannot say what it will give without elements.
bool run_on_meta(const Operator& op, std::span<const Value> metas, Stack& stack) {
  for (const Value& meta : metas) stack.borrow(meta);
  try {
    op.redispatch_boxed(DispatchKeySet(DispatchKey::Meta), stack);
    return true;
  } catch (const Error& error) {
    if (cannot_say(error)) return false;
    throw;
  }
}

// Calls `see` with each defined tensor among values and in their lists.
template <typename See>
void each_tensor(const Value& value, const See& see) {
  if (value.is_tensor() && value.tensor_unchecked().defined()) see(value.tensor_unchecked());
  if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items_unchecked()) each_tensor(item, see);
  }
}

void count_writes(const Operator& op, std::span<const Value> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!op.schema().arguments[i].is_write()) continue;
    each_tensor(arguments[i], [](const Tensor& tensor) { tensor.count_write(); });
  }
}

void drop_memory(void* memory) { CountedPtr<Memory>::steal(static_cast<Memory*>(memory)).reset(); }

// A tensor on the storage of another one, with the geometry of one at Meta.
Tensor view_of(const TensorImpl& whole, const Tensor& meta) {
  const TensorImpl& impl = *meta.impl();
  return Tensor(make_counted<TensorImpl>(whole.storage(), impl.dtype(), impl.own_sizes(),
                                         impl.own_strides(), impl.own_storage_offset(),
                                         whole.keys() - DispatchKeySet(DispatchKey::Python)));
}

// The remote tensor whose companion at Meta shares its storage with `meta`; null if there is none.
const Tensor* find_viewed(std::span<const Value> arguments, const Tensor& meta) {
  const Tensor* found = nullptr;
  for (const Value& argument : arguments) {
    each_tensor(argument, [&](const Tensor& tensor) {
      const Memory* const memory = find_memory(tensor);
      if (memory == nullptr || memory->meta.impl()->storage() != meta.impl()->storage()) return;
      if (found == nullptr || has_geometry_of(tensor, meta)) found = &tensor;
    });
  }
  return found;
}

}  // namespace

// ---- Calls

Recorder::Recorder(CountedPtr<Sender> sender, Device device)
    : sender_(std::move(sender)), device_(device), numbers_(kFirstNumber) {}

Recorder::~Recorder() = default;

Tensor Recorder::new_tensor(const Tensor& meta, std::uint64_t number, Memory*& memory) {
  const TensorImpl& impl = *meta.impl();
  memory = make_counted<Memory>(CountedPtr<Recorder>::share(this), meta, number).release();
  CountedPtr<Storage> storage =
      Storage::adopt(address_of(*memory), impl.storage()->bytes(), device_, memory, &drop_memory);
  DispatchKeySet keys(instance_of(DispatchKey::Dense, device_.backend));
  if (!is_inference()) {
    keys = keys | DispatchKeySet{DispatchKey::ADInplaceOrView,
                                 instance_of(DispatchKey::AutogradFunctionality, device_.backend)};
  }
  return Tensor(make_counted<TensorImpl>(std::move(storage), impl.dtype(), impl.own_sizes(),
                                         impl.own_strides(), impl.own_storage_offset(), keys));
}

namespace {

// The results of a call, of what its kernel at Meta gave. What is pointed to lives as long.
struct Results {
  struct Fresh {
    const TensorImpl* tensor;
    const TensorImpl* meta;
  };
  InlineStack<4> values;
  SmallVector<std::int32_t, 3> shape;  // see Call::results
  SmallVector<Memory*, 4> memories;    // of each tensor of the call, or null for a view
  SmallVector<Fresh, 4> fresh;
};

}  // namespace

void Recorder::call(const Operator& op, Stack& stack) {
  const std::size_t count = op.schema().arguments.size();
  const std::span<const Value> arguments = stack.top(count);
  if (is_closed_.load(std::memory_order_relaxed)) sender_->refuse(*this);
  check_places(op, arguments, *this, &op == &*copy_in_place);
  const Facts& facts = facts_of(op, arguments);
  if (!facts.is_nameable) return call_there(op, stack);

  // 1. What it gives, without elements.
  InlineStack<12> held;
  for (const Value& argument : arguments) held.push(at_meta(argument));
  const std::span<const Value> metas = held.top(count);
  InlineStack<16> at_meta_stack;
  if (!run_on_meta(op, metas, at_meta_stack)) return call_there(op, stack);
  check_not_resized(op, arguments, metas);

  // 2. The same as tensors of the worker: an argument that was written, a view, or a new one.
  Results results;
  const auto tensor_of = [&](const Tensor& meta) -> Value {
    results.memories.push_back(nullptr);
    if (!meta.defined()) return Value(Tensor());
    if (const Tensor* const viewed = find_viewed(arguments, meta)) {
      return has_geometry_of(*viewed, meta) && facts.writes ? Value(*viewed)
                                                            : Value(view_of(*viewed->impl(), meta));
    }
    for (const Results::Fresh& each : results.fresh) {
      if (each.meta->storage() == meta.impl()->storage()) return view_of(*each.tensor, meta);
    }
    Tensor tensor =
        new_tensor(meta, numbers_.fetch_add(1, std::memory_order_relaxed), results.memories.back());
    results.fresh.push_back({tensor.impl().get(), meta.impl().get()});
    return tensor;
  };
  for (const Value& result : at_meta_stack.top(op.schema().results.size())) {
    if (result.is_tensor()) {
      results.shape.push_back(-1);
      results.values.push(tensor_of(result.tensor_unchecked()));
    } else if (result.is_list() && holds_tensor(result)) {
      std::vector<Value> items;
      for (const Value& item : result.items_unchecked()) {
        items.push_back(tensor_of(item.to_tensor()));
      }
      results.shape.push_back(std::int32_t(items.size()));
      results.values.push(Value::list(std::move(items)));
    } else {
      results.shape.push_back(-2);
      results.values.push(result);
    }
  }

  // 3. The call. One that only gives views of its arguments is none for the worker.
  bool is_full = false;
  if (facts.writes || !results.fresh.empty() || results.values.empty()) {
    const Lock lock(mutex_);
    open_block();
    Call& made = append_call(*open_, op, {arguments.data(), arguments.size()},
                             [&](const Tensor& tensor) { return value_of(tensor); });
    for (const std::int32_t each : results.shape) {
      if (each >= 0) append_word(open_->key, each);
    }
    made.results = std::move(results.shape);
    for (Memory* const memory : results.memories) {
      const std::uint32_t value = append_value(*open_, memory);
      if (memory == nullptr) continue;
      memory->block = open_->serial;
      memory->value = value;
    }
    if (open_->calls.size() == 1 && in_flight_ == 0) changed_.notify_one();
    is_full = open_->calls.size() >= kMostCalls;
  }
  recorded_.fetch_add(1, std::memory_order_relaxed);
  if (facts.writes) count_writes(op, arguments);
  stack.drop(count);
  for (Value& value : results.values.top(results.values.size())) stack.push(std::move(value));
  if (is_full) flush();
}

void Recorder::check_not_resized(const Operator& op, std::span<const Value> arguments,
                                 std::span<const Value> metas) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!op.schema().arguments[i].is_write() || !arguments[i].is_tensor()) continue;
    const Tensor& tensor = arguments[i].tensor_unchecked();
    if (!tensor.defined() || has_geometry_of(tensor, metas[i].tensor_unchecked())) continue;
    fail(ErrorKind::Unsupported,
         fmt::format("{}: '{}' is {} on {} and would become {}; a tensor on a worker keeps its "
                     "sizes: give one that has them",
                     to_string(op.name()), op.schema().arguments[i].name, describe(tensor),
                     to_string(device_), describe(metas[i].tensor_unchecked())));
  }
}

// ---- Reading, and calls that end a block

Tensor Recorder::import(const Tensor& tensor) {
  if (is_closed_.load(std::memory_order_relaxed)) sender_->refuse(*this);
  const Tensor rows = snapshot(tensor);
  Memory* memory = nullptr;
  const Tensor meta = Tensor::empty(rows.sizes(), rows.dtype(), Device{Backend::Meta, -1});
  Tensor there = new_tensor(meta, numbers_.fetch_add(1, std::memory_order_relaxed), memory);
  bool is_full = false;
  {
    const Lock lock(mutex_);
    open_block();
    const std::uint32_t input = append_input(*open_, nullptr, Value(rows));
    const Value arguments[] = {Value(rows), Value()};
    append_call(*open_, *clone_tensor, arguments, [&](const Tensor&) {
      return input;
    }).results.push_back(-1);
    memory->value = append_value(*open_, memory);
    memory->block = open_->serial;
    if (open_->calls.size() == 1 && in_flight_ == 0) changed_.notify_one();
    is_full = open_->calls.size() >= kMostCalls;
  }
  recorded_.fetch_add(1, std::memory_order_relaxed);
  if (is_full) flush();
  return there;
}

Tensor Recorder::read(const Tensor& tensor) {
  if (is_closed_.load(std::memory_order_relaxed)) sender_->refuse(*this);
  std::uint64_t serial = 0;
  {
    const Lock lock(mutex_);
    open_block();
    open_->tail.kind = Block::Tail::Kind::Give;
    open_->tail.output = output_of(value_of(tensor));
    serial = close_block()->serial;
  }
  const std::vector<Answer> answers = sender_->wait(*this, serial);
  if (answers.size() != 1 || !answers[0].value.is_tensor()) {
    fail(ErrorKind::Internal, "a worker answered a read of a tensor with something else");
  }
  return answers[0].value.tensor_unchecked();
}

namespace {

// Which argument a result is, by its schema: "Tensor(a!) self" and "-> Tensor(a!)". None: -1.
std::ptrdiff_t written_argument(const Operator& op, std::size_t result) {
  const Argument& given = op.schema().results[result];
  if (!given.is_write()) return -1;
  const std::vector<Argument>& arguments = op.schema().arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_write() && arguments[i].alias == given.alias) return std::ptrdiff_t(i);
  }
  return -1;
}

}  // namespace

Value Recorder::result_of(const Answer& answer) {
  switch (answer.kind) {
    case Answer::Kind::Value:
      return answer.value;
    case Answer::Kind::List: {
      std::vector<Value> items;
      for (const Answer& item : answer.items) items.push_back(result_of(item));
      return Value::list(std::move(items));
    }
    case Answer::Kind::Tensor:
      break;
  }
  Memory* memory = nullptr;
  const Tensor meta = meta_tensor(answer.sizes, answer.strides, answer.offset, answer.dtype);
  Tensor tensor = new_tensor(meta, answer.number, memory);
  const Lock lock(mutex_);
  memory->state = Memory::State::Sent;
  return tensor;
}

void Recorder::call_there(const Operator& op, Stack& stack) {
  const std::size_t count = op.schema().arguments.size();
  const std::span<const Value> arguments = stack.top(count);
  std::uint64_t serial = 0;
  {
    const Lock lock(mutex_);
    open_block();
    Block::Tail tail{.kind = Block::Tail::Kind::Call, .op = &op};
    tail.first_number = numbers_.fetch_add(kMostResults, std::memory_order_relaxed);
    for (const Value& argument : arguments) {
      tail.arguments.push_back(
          append_argument(*open_, argument, Numbers::AsConstants,
                          [&](const Tensor& tensor) { return output_of(value_of(tensor)); }));
    }
    open_->tail = std::move(tail);
    serial = close_block()->serial;
  }
  ended_.fetch_add(1, std::memory_order_relaxed);
  const std::vector<Answer> answers = sender_->wait(*this, serial);
  if (answers.size() != op.schema().results.size()) {
    fail(ErrorKind::Internal, "a worker answered a call with another number of results");
  }
  std::vector<Value> results;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::ptrdiff_t written = written_argument(op, i);
    results.push_back(written >= 0 ? Value(arguments[std::size_t(written)])
                                   : result_of(answers[i]));
  }
  count_writes(op, arguments);
  stack.drop(count);
  for (Value& result : results) stack.push(std::move(result));
}

// ---- Sending

void Recorder::flush() {
  {
    const Lock lock(mutex_);
    if (open_ != nullptr && !open_->calls.empty()) close_block();
    if (closed_.empty()) return;
  }
  sender_->send(*this);
}

std::shared_ptr<Block> Recorder::take() {
  const Lock lock(mutex_);
  if (closed_.empty()) return nullptr;
  std::shared_ptr<Block> block = std::move(closed_.front());
  closed_.pop_front();
  ++in_flight_;
  return block;
}

void Recorder::sent(const Block& block) {
  const Lock lock(mutex_);
  for (const Block::Output& output : block.outputs) {
    if (output.memory != nullptr) output.memory->state = Memory::State::Sent;
  }
}

void Recorder::answered() {
  const Lock lock(mutex_);
  if (--in_flight_ == 0) changed_.notify_one();
}

std::vector<std::uint64_t> Recorder::take_dropped() {
  std::vector<Memory*> buried;
  std::vector<std::uint64_t> numbers;
  {
    const Lock lock(mutex_);
    sweep();
    buried = std::exchange(buried_, {});
    numbers = std::exchange(dropped_numbers_, {});
  }
  for (Memory* const each : buried) delete each;  // not under the lock: see open_block.cpp [Dead]
  return numbers;
}

bool Recorder::wait_for_pause() {
  Lock lock(mutex_);
  const auto is_closed = [&] { return is_closed_.load(std::memory_order_relaxed); };
  const auto may_send = [&] {
    return open_ != nullptr && !open_->calls.empty() && in_flight_ == 0;
  };
  for (;;) {
    // By time: wait() without is of a libstdc++ that older systems lack.
    while (!is_closed() && !may_send()) changed_.wait_for(lock, std::chrono::hours(1));
    if (is_closed()) return false;
    const std::uint64_t serial = open_->serial;
    const std::size_t calls = open_->calls.size();
    changed_.wait_for(lock, kPause, is_closed);
    if (may_send() && open_->serial == serial && open_->calls.size() == calls) return true;
  }
}

void Recorder::close() {
  std::deque<std::shared_ptr<Block>> unsent;
  std::shared_ptr<Block> open;
  std::vector<Memory*> buried;
  {
    const Lock lock(mutex_);
    is_closed_.store(true, std::memory_order_relaxed);
    unsent = std::move(closed_);
    closed_.clear();
    open = std::exchange(open_, nullptr);
    sweep();
    buried = std::exchange(buried_, {});
    changed_.notify_all();
  }
  for (Memory* const each : buried) delete each;
}

}  // namespace opyard::remote
