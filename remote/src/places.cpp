// remote/places.cpp: devices of the arguments of a call, and the arguments at Meta.
#include "places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "append.h"
#include "opyard/tensor/make.h"
#include "opyard/tensor/places.h"

namespace opyard::remote {
namespace {

constexpr int kAddressShift = 16;  // of 48 bits that addresses of programs have

Value over_items(const Value& value, Value (*change)(const Value&)) {
  std::vector<Value> items;
  for (const Value& item : value.items_unchecked()) items.push_back(change(item));
  return value.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

bool is_sequence(const Value& value) { return value.is_list() || value.is_tuple(); }

struct Refusal {
  const Operator& op;
  std::size_t position;

  [[noreturn]] OPYARD_COLD void say(const std::string& what) const {
    fail(ErrorKind::Unsupported, fmt::format("{}: '{}' {}", to_string(op.name()),
                                             op.schema().arguments[position].name, what));
  }
};

[[noreturn]] OPYARD_COLD void refuse_place(const Refusal& refusal, const Tensor& tensor,
                                           const Recorder& recorder) {
  const std::string here = to_string(recorder.device());
  if (find_recorder(tensor) != nullptr && tensor.device() == recorder.device()) {
    refusal.say(
        fmt::format("is {} on {} of another session; an operator takes tensors of one "
                    "session: copy it with to(\"cpu\") first",
                    describe(tensor), here));
  }
  refusal.say(
      fmt::format("is {} on {}, and the call is one on {}; an operator takes tensors of "
                  "one device, and numbers: move it with to(\"{}\")",
                  describe(tensor), to_string(tensor.device()), here, here));
}

void check_place(const Refusal& refusal, const Value& value, const Recorder& recorder,
                 bool takes_cpu) {
  if (value.is_tensor()) {
    const Tensor& tensor = value.tensor_unchecked();
    if (!tensor.defined() || find_recorder(tensor) == &recorder) return;
    const bool is_number = tensor.device().is_cpu() && tensor.dim() == 0;
    const Argument& argument = refusal.op.schema().arguments[refusal.position];
    const bool goes_along = takes_cpu || argument.name == "indices";  // such as x[[0, 2]]
    if (!argument.is_write() && (is_number || (goes_along && tensor.device().is_cpu()))) return;
    refuse_place(refusal, tensor, recorder);
  }
  if (is_sequence(value)) {
    for (const Value& item : value.items_unchecked()) {
      check_place(refusal, item, recorder, takes_cpu);
    }
    return;
  }
  if (value.is_device()) {
    if (value.to_device() == recorder.device()) return;
    refusal.say(fmt::format(
        "is {}, and the call is one on {}; make the tensor there, and move it "
        "with to(\"{}\")",
        to_string(value.to_device()), to_string(recorder.device()), to_string(value.to_device())));
  }
  switch (value.kind()) {
    case Kind::None:
    case Kind::Bool:
    case Kind::Int:
    case Kind::Double:
    case Kind::Complex:
    case Kind::String:
    case Kind::Enum:
      return;
    default:
      refusal.say(
          fmt::format("is of kind {}, which belongs to this process; a call on {} takes "
                      "tensors, numbers, texts and lists of them",
                      name_of(value.kind()), to_string(recorder.device())));
  }
}

}  // namespace

Memory* find_memory(const Tensor& tensor) noexcept {
  if (!tensor.defined() || !is_remote(tensor.impl()->own_device())) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.impl()->storage()->data());
  return reinterpret_cast<Memory*>(address >> kAddressShift);
}

void* address_of(const Memory& memory) noexcept {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&memory) << kAddressShift);
}

Recorder* find_recorder(const Tensor& tensor) noexcept {
  const Memory* const memory = find_memory(tensor);
  return memory == nullptr ? nullptr : memory->recorder.get();
}

Recorder* find_recorder(std::span<const Value> arguments) noexcept {
  for (const Value& value : arguments) {
    Recorder* found = nullptr;
    if (value.is_tensor()) found = find_recorder(value.tensor_unchecked());
    if (is_sequence(value)) found = find_recorder(std::span(value.items_unchecked()));
    if (found != nullptr) return found;
  }
  return nullptr;
}

bool has_geometry_of(const Tensor& tensor, const Tensor& meta) noexcept {
  const TensorImpl& a = *tensor.impl();
  const TensorImpl& b = *meta.impl();
  return a.dtype() == b.dtype() && a.own_storage_offset() == b.own_storage_offset() &&
         std::ranges::equal(a.own_sizes(), b.own_sizes()) &&
         std::ranges::equal(a.own_strides(), b.own_strides());
}

void check_places(const Operator& op, std::span<const Value> arguments, const Recorder& recorder,
                  bool takes_cpu) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    check_place({op, i}, arguments[i], recorder, takes_cpu);
  }
}

Value at_meta(const Value& argument) {
  if (argument.is_tensor()) {
    const Tensor& tensor = argument.tensor_unchecked();
    if (!tensor.defined()) return Tensor();
    const Memory* const memory = find_memory(tensor);
    if (memory == nullptr) {
      return Tensor::empty(tensor.sizes(), tensor.dtype(), Device{Backend::Meta, -1});
    }
    if (has_geometry_of(tensor, memory->meta)) return memory->meta;
    const TensorImpl& impl = *tensor.impl();
    return Tensor(make_counted<TensorImpl>(memory->meta.impl()->storage(), impl.dtype(),
                                           impl.own_sizes(), impl.own_strides(),
                                           impl.own_storage_offset(), memory->meta.keys()));
  }
  if (argument.is_device() && is_remote(argument.to_device())) return Device{Backend::Meta, -1};
  return is_sequence(argument) && holds_tensor(argument) ? over_items(argument, &at_meta)
                                                         : argument;
}

Tensor meta_tensor(IntSpan sizes, IntSpan strides, std::int64_t offset, DType dtype) {
  std::int64_t elements = 0;
  if (count_elements(sizes) != 0) {
    const std::optional<Extent> extent = find_extent(sizes, strides);
    OPYARD_CHECK(extent.has_value(), BadShape, "a tensor of a worker reaches past int64");
    elements = offset + extent->highest + 1;
  }
  const Tensor room = Tensor::empty(std::array{elements}, dtype, Device{Backend::Meta, -1});
  return Tensor(
      make_counted<TensorImpl>(room.impl()->storage(), dtype, sizes, strides, offset, room.keys()));
}

Tensor snapshot(const Tensor& tensor) {
  const Tensor rows = contiguous(tensor);
  if (!rows.same(tensor)) return rows;
  Tensor copy = Tensor::empty(rows.sizes(), rows.dtype());
  const std::size_t bytes = std::size_t(rows.numel()) * item_size(rows.dtype());
  if (bytes != 0) std::memcpy(copy.mutable_raw(), rows.raw(), bytes);
  return copy;
}

}  // namespace opyard::remote
