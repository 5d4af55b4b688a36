// kernels/aliased_results.h: results of a handler that are arguments, or views of arguments.
//
// Both classes read the schema before the handler runs, and change its results after it.
//
// Depends on: objects/convert/wrapper_sizes.h, registry/operator.h, schema/declared_writes.h,
// tensor/exported_tensor.h.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "objects/convert/wrapper_sizes.h"
#include "opyard/detail/schema/declared_writes.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/registry/operator.h"
#include "opyard/value/stack.h"

namespace opyard::python {

// [Returned] A result that the schema says is an argument is that argument, whatever a handler
// gives for it: one that unwraps, calls and wraps gives a new wrapper each time, and callers, such
// as C++ code that gets a reference, go on with what they gave. These are the arguments, by result.
class ReturnedArguments {
 public:
  ReturnedArguments(const Operator& op, std::span<const Value> values) : op_(op) {
    const Schema& schema = op.schema();
    const auto writes = [](const Argument& result) { return result.alias && result.is_write(); };
    if (std::ranges::none_of(schema.results, writes)) return;
    positions_ = returned_arguments(schema);
    for (const int position : positions_) {
      values_.push_back(position == kNoArgument ? Value() : Value(values[std::size_t(position)]));
    }
  }
  void put(Stack& stack) {
    const std::span<Value> results = stack.top(positions_.size());
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      if (positions_[i] == kNoArgument) continue;
      if (results[i].is_tensor() && values_[i].is_tensor()) {
        follow_sizes(op_, results[i].tensor_unchecked(), values_[i].tensor_unchecked());
      }
      results[i] = std::move(values_[i]);
    }
  }

 private:
  const Operator& op_;
  std::vector<int> positions_;
  std::vector<Value> values_;
};

// [Views] A wrapper that a class gives as a view counts the same writes as what it is a view of.
// These are the viewed arguments, by result.
class ViewedArguments {
 public:
  ViewedArguments(const Operator& op, std::span<const Value> values) : op_(op) {
    const auto is_alias = [](const Argument& result) { return bool(result.alias); };
    if (std::ranges::none_of(op.schema().results, is_alias)) return;
    for (const int position : viewed_arguments(op.schema())) {
      viewed_.push_back(position == kNoArgument ? Value() : Value(values[std::size_t(position)]));
    }
  }
  void share(Stack& stack) const {
    if (viewed_.empty()) return;
    const std::span<const Value> results = stack.top(viewed_.size());
    for (std::size_t i = 0; i < viewed_.size(); ++i) share(results[i], viewed_[i]);
  }

 private:
  void share(const Value& result, const Value& viewed) const {
    if (!viewed.is_tensor() || !viewed.tensor_unchecked().defined()) return;
    if (result.is_list()) {
      for (const Value& item : result.items_unchecked()) share(item, viewed);
    } else if (result.is_tensor() && result.tensor_unchecked().defined()) {
      ExportedTensor::share_versions(*result.tensor_unchecked().impl(),
                                     *viewed.tensor_unchecked().impl(), is_detach(op_.name()));
    }
  }

  const Operator& op_;
  std::vector<Value> viewed_;
};

}  // namespace opyard::python
