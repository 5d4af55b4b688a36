// kernels/geometry/arguments.h: arguments of a boxed call by name, with ints that may be symbolic.
//
// Depends on: opyard/library.h.
#pragma once

#include <opyard/library.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace opyard::kernels {

class Arguments {
 public:
  Arguments(const Operator& op, Stack& stack)
      : schema_(op.schema()), values_(stack.top(schema_.arguments.size())) {}

  const Value& at(const char* name) const {
    const std::optional<std::size_t> place = schema_.find_argument(name);
    OPYARD_ASSERT(place.has_value());
    return values_[*place];
  }
  bool has(const char* name) const { return schema_.find_argument(name).has_value(); }
  // None if there is no such argument.
  Value find(const std::string& name) const {
    return has(name.c_str()) ? at(name.c_str()) : Value();
  }
  std::optional<DType> dtype() const {
    const Value& given = at("dtype");
    return given.is_none() ? std::nullopt : std::optional(DType(given.to_int()));
  }
  std::vector<SymInt> ints(const char* name) const { return at(name).to<std::vector<SymInt>>(); }
  std::span<Value> values() const { return values_; }

  void give(Stack& stack, Value result) const {
    stack.drop(values_.size());
    stack.push(std::move(result));
  }
  void give(Stack& stack, Tensor result) const { give(stack, Value(std::move(result))); }

 private:
  const Schema& schema_;
  const std::span<Value> values_;
};

inline bool any_symbolic(const std::vector<SymInt>& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const SymInt& s) { return s.is_symbolic(); });
}

}  // namespace opyard::kernels
