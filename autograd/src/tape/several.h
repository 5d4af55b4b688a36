// autograd/tape/several.h: the tensors of an argument or result, which may be a list.
//
// Depends on: tensor/tensor.h, value/value.h.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "opyard/tensor/tensor.h"
#include "opyard/value/value.h"

namespace opyard::autograd {

// Tensors of an argument or result, one or a list of them; undefined where there is none.
struct Several {
  bool is_list = false;
  std::vector<Tensor> tensors;

  bool any() const noexcept {
    return std::ranges::any_of(tensors, [](const Tensor& one) { return one.defined(); });
  }
  Value value() const {
    if (!is_list) return tensors[0].defined() ? Value(tensors[0]) : Value();
    std::vector<Value> items;
    for (const Tensor& one : tensors) items.push_back(one.defined() ? Value(one) : Value());
    return Value::list(std::move(items));
  }
};

inline Several tensors_in(const Value& value) {
  if (!value.is_list()) {
    return {false, {value.is_tensor() ? value.tensor_unchecked() : Tensor()}};
  }
  Several all{true, {}};
  for (const Value& item : value.items_unchecked()) {
    all.tensors.push_back(item.is_tensor() ? item.tensor_unchecked() : Tensor());
  }
  return all;
}

inline bool is_complex_tensor(const Tensor& tensor) {
  return tensor.defined() && is_complex(tensor.dtype());
}
inline bool holds_complex(const Value& value) {
  if (value.is_complex()) return true;
  const Several all = tensors_in(value);
  return std::ranges::any_of(all.tensors, is_complex_tensor);
}

}  // namespace opyard::autograd
