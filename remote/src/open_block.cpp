// remote/open_block.cpp: values of the open block, which of them are outputs, and their ends.
//
// All of it but forget() is called with the recorder's lock held.
//
// [Dead] A Memory may lose its last owner anywhere, also where locks are held. So its end only puts
// it into a list without a lock, which sweep() goes through: a value of the open block is then no
// output of it, and the number of one that was sent goes to the session. One that is in a closed
// block waits until that was sent, since a number cannot be dropped before it is known. They are
// deleted without the lock, since the end of a meta tensor may lead to an object of Python.
#include <fmt/format.h>

#include <utility>

#include "append.h"
#include "named.h"
#include "opyard/remote/recorder.h"
#include "places.h"

namespace opyard::remote {
namespace {

constinit const Named as_strided("aten::as_strided");
constinit const Named view_as_real("aten::view_as_real");
constinit const Named view_as_complex("aten::view_as_complex");

// Of a complex dtype that of its parts; nothing for others.
std::optional<DType> to_real(DType dtype) {
  switch (dtype) {
    case DType::ComplexFloat:
      return DType::Float32;
    case DType::ComplexDouble:
      return DType::Float64;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::uint32_t Recorder::value_of(Memory& memory) {
  if (memory.block == open_->serial) return memory.value;
  memory.value = append_input(*open_, CountedPtr<Memory>::share(&memory), Value());
  memory.block = open_->serial;
  return memory.value;
}

std::uint32_t Recorder::value_of(const Tensor& tensor) {
  Memory* const memory = find_memory(tensor);
  if (memory == nullptr) return append_input(*open_, nullptr, Value(snapshot(tensor)));
  const std::uint32_t base = value_of(*memory);
  if (has_geometry_of(tensor, memory->meta)) return base;
  for (const Block::View& view : open_->views) {
    if (view.base == base && has_geometry_of(tensor, view.like)) return view.value;
  }
  // Its geometry at Meta is kept with the base, which is not held by the block.
  open_->values[base].has_views = !open_->values[base].is_input;
  open_->values[base].meta = memory->meta;
  const std::uint32_t value = view_in_block(base, tensor, memory->meta.dtype());
  const TensorImpl& impl = *tensor.impl();
  const Tensor like =
      meta_tensor(impl.own_sizes(), impl.own_strides(), impl.own_storage_offset(), impl.dtype());
  open_->views.push_back({base, value, like});
  return value;
}

// A call with one value, and constants, that gives one value.
std::uint32_t Recorder::derived(const Operator& op, std::uint32_t from,
                                std::span<const Value> arguments) {
  append_call(*open_, op, arguments, [&](const Tensor&) { return from; }).results.push_back(-1);
  return append_value(*open_, nullptr);
}

std::uint32_t Recorder::view_in_block(std::uint32_t base, const Tensor& tensor, DType its_dtype) {
  const TensorImpl& impl = *tensor.impl();
  const Value itself[] = {Value(tensor)};
  const auto ints = [](IntSpan numbers) {
    std::vector<Value> items(numbers.begin(), numbers.end());
    return Value::list(std::move(items));
  };
  if (impl.dtype() == its_dtype || to_real(its_dtype) == impl.dtype()) {
    if (impl.dtype() != its_dtype) base = derived(*view_as_real, base, itself);
    const Value arguments[] = {Value(tensor), ints(impl.own_sizes()), ints(impl.own_strides()),
                               Value(impl.own_storage_offset())};
    return derived(*as_strided, base, arguments);
  }
  if (to_real(impl.dtype()) != its_dtype) {
    fail(ErrorKind::Unsupported,
         fmt::format("a tensor on {} is {} and a view of memory of {}; views of another dtype do "
                     "not reach workers: convert it with to(dtype)",
                     to_string(device_), describe(tensor), name_of(its_dtype)));
  }
  // Real and imaginary parts are beside each other.
  std::vector<Value> sizes(impl.own_sizes().begin(), impl.own_sizes().end());
  sizes.emplace_back(std::int64_t{2});
  std::vector<Value> strides;
  for (const std::int64_t stride : impl.own_strides()) strides.emplace_back(2 * stride);
  strides.emplace_back(std::int64_t{1});
  const Value arguments[] = {Value(tensor), Value::list(std::move(sizes)),
                             Value::list(std::move(strides)), Value(2 * impl.own_storage_offset())};
  return derived(*view_as_complex, derived(*as_strided, base, arguments), itself);
}

void Recorder::open_block() {
  if (open_ != nullptr) return;
  open_ = std::make_shared<Block>();
  open_->serial = ++blocks_;
  // For calls of two arguments; with more the vectors grow.
  open_->calls.reserve(kMostCalls + 1);
  open_->arguments.reserve(3 * kMostCalls);
  open_->values.reserve(2 * kMostCalls);
  open_->key.reserve(32 * kMostCalls);
}

// Gives the number of the output that a value is.
std::uint32_t Recorder::output_of(std::uint32_t value) {
  std::vector<Block::Output>& outputs = open_->outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].value == value) return std::uint32_t(i);
  }
  Block::Known& known = open_->values[value];
  Block::Output output{value, 0, known.meta, nullptr};
  if (known.memory != nullptr) output.meta = known.memory->meta;
  if (known.memory != nullptr && !known.is_input) {
    output.number = known.memory->number;
    output.memory = known.memory;
    known.memory->state = Memory::State::Closed;
  }
  if (!output.meta.defined()) {
    for (const Block::View& view : open_->views) {
      if (view.value == value) output.meta = view.like;
    }
  }
  outputs.push_back(std::move(output));
  return std::uint32_t(outputs.size() - 1);
}

std::shared_ptr<Block> Recorder::close_block() {
  sweep();
  for (std::uint32_t value = 0; value < open_->values.size(); ++value) {
    const Block::Known& known = open_->values[value];
    if (!known.is_input && (known.memory != nullptr || known.has_views)) output_of(value);
  }
  open_->key += 'o';
  for (const Block::Output& output : open_->outputs) append_word(open_->key, output.value);
  closed_.push_back(open_);
  return std::exchange(open_, nullptr);
}

void Recorder::sweep() {
  std::vector<Memory*> dead = std::move(waiting_);
  waiting_.clear();
  for (Memory* each = dead_.exchange(nullptr, std::memory_order_acquire); each != nullptr;) {
    dead.push_back(each);
    each = each->next_dead;
  }
  for (Memory* const each : dead) {
    if (each->state == Memory::State::Closed && !is_closed_.load(std::memory_order_relaxed)) {
      waiting_.push_back(each);
      continue;
    }
    if (each->state == Memory::State::Sent) dropped_numbers_.push_back(each->number);
    if (open_ != nullptr && each->block == open_->serial) {
      open_->values[each->value].memory = nullptr;
    }
    buried_.push_back(each);
  }
}

void Recorder::forget(Memory* memory) noexcept {
  if (is_closed_.load(std::memory_order_relaxed)) {
    delete memory;  // and this, if it was the last to need it
    return;
  }
  Memory* first = dead_.load(std::memory_order_relaxed);
  do {
    memory->next_dead = first;
  } while (!dead_.compare_exchange_weak(first, memory, std::memory_order_release,
                                        std::memory_order_relaxed));
}

}  // namespace opyard::remote
