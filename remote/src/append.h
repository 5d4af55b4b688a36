// remote/append.h: appending of inputs, arguments and calls to a block. Not public.
//
// Everything that tells one graph from another goes into the block's key as well. A number as an
// argument is an input, whose value does not.
//
// Threads: with the lock of the block's recorder held, or while no one else can see the block.
//
// Depends on: remote/recorder.h.
#pragma once

#include <algorithm>
#include <span>

#include "opyard/remote/recorder.h"

namespace opyard::remote {

template <typename Word>
void append_word(std::string& key, Word word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof word);
}

void append_constant(std::string& key, const Value& value);

inline bool holds_tensor(const Value& value) {
  if (value.is_tensor()) return true;
  if (value.kind() != Kind::List && value.kind() != Kind::Tuple) return false;
  const auto& items = value.items_unchecked();
  return std::any_of(items.begin(), items.end(), &holds_tensor);
}

inline bool is_number(const Value& value) {
  return value.is_int() || value.is_double() || value.is_complex();
}

inline std::uint32_t append_value(Block& block, Memory* memory) {
  block.values.push_back({.memory = memory});
  return std::uint32_t(block.values.size() - 1);
}

inline std::uint32_t append_input(Block& block, CountedPtr<Memory> memory, Value here) {
  const std::uint32_t value = append_value(block, memory.get());
  block.values.back().is_input = true;
  block.key += 'i';
  block.key += memory ? char(Kind::Tensor) : char(here.kind());
  block.inputs.push_back({value, std::move(memory), std::move(here)});
  return value;
}

enum class Numbers { AsInputs, AsConstants };

// `value_of` gives the number of the value that a tensor is.
template <typename ValueOf>
Arg append_argument(Block& block, const Value& value, Numbers numbers, const ValueOf& value_of) {
  const auto known = [&](std::uint32_t index) {
    block.key += 'v';
    append_word(block.key, index);
    return Arg{Arg::Kind::Value, index, 0};
  };
  if (value.is_tensor()) {
    if (value.tensor_unchecked().defined()) return known(value_of(value.tensor_unchecked()));
    block.key += 'u';
    return {Arg::Kind::Undefined, 0, 0};
  }
  if (holds_tensor(value)) {
    std::vector<Arg> items;
    for (const Value& item : value.items_unchecked()) {
      items.push_back(append_argument(block, item, numbers, value_of));
    }
    block.key += 'l';
    append_word(block.key, std::uint32_t(items.size()));
    const Arg list{Arg::Kind::List, std::uint32_t(block.arguments.size()),
                   std::uint32_t(items.size())};
    block.arguments.insert(block.arguments.end(), items.begin(), items.end());
    return list;
  }
  if (is_number(value) && numbers == Numbers::AsInputs) {
    return known(append_input(block, nullptr, value));
  }
  // A device of workers is the cpu of the one that makes the call.
  const Value there = value.is_device() && is_remote(value.to_device()) ? Value(Device{}) : value;
  if (numbers == Numbers::AsInputs) append_constant(block.key, there);
  block.constants.push_back(there);
  return {Arg::Kind::Constant, std::uint32_t(block.constants.size() - 1), 0};
}

template <typename ValueOf>
Call& append_call(Block& block, const Operator& op, std::span<const Value> arguments,
                  const ValueOf& value_of) {
  constexpr std::size_t kUsual = 12;
  SmallVector<Arg, kUsual> own;
  // Those that are views come as calls of their own, in front of this one.
  for (const Value& argument : arguments) {
    own.push_back(append_argument(block, argument, Numbers::AsInputs, value_of));
  }
  block.key += 'c';
  append_word(block.key, &op);
  const auto first = std::uint32_t(block.arguments.size());
  for (const Arg& arg : own) block.arguments.push_back(arg);
  block.calls.push_back({&op, first, std::uint32_t(block.values.size())});
  return block.calls.back();
}

}  // namespace opyard::remote
