// kernels/geometry/symbolic_calls.cpp: compositions in SymInts.
#include "geometry/symbolic_calls.h"

#include <cstring>

#include "common/ops.h"
#include "common/symbolic_results.h"
#include "geometry/arguments.h"

namespace opyard::kernels {
namespace {

Value boxed_ints(std::vector<SymInt> ints) {
  return ValueCast<std::vector<SymInt>>::to(std::move(ints));
}

// With the defaults of what is not given.
Value call_filled(const char* name, std::vector<Value> given) {
  const Operator& op = require_operator(name);
  const std::vector<Argument>& arguments = op.schema().arguments;
  Stack stack;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    stack.push(i < given.size() ? std::move(given[i]) : *arguments[i].default_value);
  }
  op.call_boxed(stack);
  return stack.pop();
}

Tensor narrowed_to(const Tensor& self, std::int64_t dim, SymInt start, SymInt length) {
  return call_filled("aten::narrow",
                     {Value(self), Value(dim), Value(std::move(start)), Value(std::move(length))})
      .to_tensor();
}

// One that no class defines, and whose elements are nowhere.
bool is_plain_meta(const Tensor& x) {
  return x.defined() && x.device().backend == Backend::Meta && !x.keys().has(DispatchKey::Python);
}

Tensor given_self(const Operator& op, const Arguments& given) {
  const char* const name = given.has("self") ? "self" : "input";
  Tensor self = given.at(name).to_tensor();
  require_defined(to_string(op.name()).c_str(), name, self);
  return self;
}

std::size_t require_dim_of(const Operator& op, const Tensor& self, const Arguments& given) {
  return require_slice_dim(to_string(op.name()).c_str(), self, given.at("dim").to_int());
}

Tensor copied_in_rows(const Tensor& self) {
  return call_filled("aten::clone", {Value(self), Value(std::int64_t(MemoryFormat::Contiguous))})
      .to_tensor();
}

// Whether a view shows other sizes is asked of known strides only.
Tensor in_sizes(const Tensor& self, std::vector<SymInt> sizes) {
  const bool is_known = self.impl()->policies() == 0;
  return call_view(is_known && !self.is_contiguous() ? copied_in_rows(self) : self,
                   std::move(sizes));
}

void decide_each(std::span<Value> values) {
  for (Value& value : values) {
    if (value.is_sym_int()) {
      value = Value(value.to_sym_int().guard_int("symbolic_calls.cpp", __LINE__));
    } else if (value.is_list()) {
      std::vector<Value> items(value.items_unchecked());
      decide_each(items);
      value = Value::list(std::move(items));
    }
  }
}

}  // namespace

void decide_symbolic(const Operator& op, DispatchKeySet keys, Stack& stack) {
  for (Value& value : stack.top(op.schema().arguments.size())) {
    if (detail::has_symbolic_int({&value, 1})) decide_each({&value, 1});
  }
  op.redispatch_boxed(keys, stack);
}

void symbolic_reshape(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  given.give(stack,
             in_sizes(given_self(op, given), given.ints(given.has("shape") ? "shape" : "size")));
}

void symbolic_unflatten(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  const std::size_t at = require_dim_of(op, self, given);
  std::vector<SymInt> sizes = sym_sizes_of(self), parts = given.ints("sizes");
  fill_open_size(parts, [&] { return sizes[at]; });
  const auto place = sizes.erase(sizes.begin() + std::ptrdiff_t(at));
  sizes.insert(place, parts.begin(), parts.end());
  given.give(stack, in_sizes(self, std::move(sizes)));
}

void symbolic_repeat(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  const bool is_tile = given.has("dims");
  std::vector<SymInt> repeats = given.ints(is_tile ? "dims" : "repeats");
  const std::vector<SymInt> own = sym_sizes_of(self);
  if (is_tile && repeats.size() < own.size()) {
    repeats.insert(repeats.begin(), own.size() - repeats.size(), SymInt(1));
  }
  OPYARD_REQUIRE(repeats.size() >= own.size(), BadShape, to_string(op.name()), ": repeats are ",
                 repeats.size(), " numbers and self is ", self,
                 "; a number is needed for each of its dimensions");
  const std::size_t lead = repeats.size() - own.size();
  std::vector<SymInt> split, spread, joined;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const SymInt size = i < lead ? SymInt(1) : own[i - lead];
    split.insert(split.end(), {SymInt(1), size});
    spread.insert(spread.end(), {repeats[i], size});
    joined.push_back(repeats[i] * size);
  }
  const Tensor repeated = call_expand(in_sizes(self, std::move(split)), std::move(spread));
  given.give(stack, call_view(copied_in_rows(repeated), std::move(joined)));
}

void symbolic_split(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  const std::size_t at = require_dim_of(op, self, given);
  const SymInt size = sym_sizes_of(self)[at], part = given.at("split_size").to_sym_int();
  const std::int64_t count =
      ((size + part - SymInt(1)) / part).guard_int("symbolic_calls.cpp", __LINE__);
  std::vector<Value> parts;
  SymInt start(0);
  for (std::int64_t i = 1; i < count; ++i) {
    parts.emplace_back(narrowed_to(self, std::int64_t(at), start, part));
    start = start + part;
  }
  parts.emplace_back(narrowed_to(self, std::int64_t(at), start, size - start));
  given.give(stack, Value::list(std::move(parts)));
}

void symbolic_split_sizes(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  const std::size_t at = require_dim_of(op, self, given);
  std::vector<Value> parts;
  SymInt start(0);
  for (const SymInt& size : given.ints(given.has("split_size") ? "split_size" : "split_sizes")) {
    parts.emplace_back(narrowed_to(self, std::int64_t(at), start, size));
    start = start + size;
  }
  given.give(stack, Value::list(std::move(parts)));
}

void symbolic_tensor_split(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  const auto at = std::int64_t(require_dim_of(op, self, given));
  std::vector<Value> parts;
  Value start(std::int64_t{0});
  const auto add = [&](Value end) {
    parts.push_back(call_filled("aten::slice.Tensor", {Value(self), Value(at), start, end}));
    start = std::move(end);
  };
  for (const SymInt& end : given.ints("indices")) add(Value(end));
  add(Value());
  given.give(stack, Value::list(std::move(parts)));
}

void symbolic_new(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  std::string name = "aten::" + std::string(op.name().base_name().substr(std::strlen("new_")));
  if (name == "aten::empty") name += ".memory_format";
  const Operator& target = require_operator(name);
  Stack values;
  for (const Argument& argument : target.schema().arguments) {
    Value value = given.find(argument.name);
    if (value.is_none() && argument.name == "dtype") value = Value(std::int64_t(self.dtype()));
    if (value.is_none() && argument.name == "device") value = Value(self.device());
    values.push(std::move(value));
  }
  target.call_boxed(values);
  given.give(stack, values.pop());
}

void symbolic_empty_permuted(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const std::string name = to_string(op.name());
  const std::vector<SymInt> sizes = given.ints("size");
  const auto layout = given.at("physical_layout").to<std::vector<std::int64_t>>();
  OPYARD_REQUIRE(layout.size() == sizes.size(), BadValue, name, ": there are ", sizes.size(),
                 " sizes, and physical_layout is ", IntSpan(layout),
                 "; each dimension is to be named once");
  dim_flags(name.c_str(), layout, std::int64_t(sizes.size()));
  std::vector<SymInt> strides(sizes.size());
  SymInt step(1);
  for (std::size_t i = layout.size(); i-- > 0;) {
    const auto dim = std::size_t(wrap_dim(name.c_str(), layout[i], std::int64_t(sizes.size())));
    strides[dim] = step;
    step = step * sizes[dim];
  }
  given.give(stack,
             call_filled("aten::empty_strided",
                         {given.at("size"), boxed_ints(std::move(strides)), given.at("dtype"),
                          given.at("layout"), given.at("device"), given.at("pin_memory")}));
}

void symbolic_scatter(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor copy = ops::clone(given_self(op, given));
  std::vector<Value> place = {Value(copy), given.at("dim")};
  const bool is_slice = given.has("step");
  for (const char* name : {"index", "start", "end", "step"}) {
    if (given.has(name)) place.push_back(given.at(name));
  }
  const Tensor part =
      call_filled(is_slice ? "aten::slice.Tensor" : "aten::select.int", std::move(place))
          .to_tensor();
  ops::copy_into(part, given.at("src").to_tensor());
  given.give(stack, copy);
}

void symbolic_pad(const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  const char* const argument = given.has("pad") ? "pad" : "padding";
  if (given.has("mode") && given.at("mode").to_string_view() == "constant") {
    Value value = given.at("value");
    if (value.is_none()) value = Value(0.0);
    return given.give(
        stack, call_filled("aten::constant_pad_nd", {Value(self), given.at(argument), value}));
  }
  if (!is_plain_meta(self)) return decide_symbolic(op, keys, stack);
  const std::vector<SymInt> pad = given.ints(argument);
  OPYARD_REQUIRE(pad.size() % 2 == 0 && std::int64_t(pad.size()) <= 2 * self.dim(), BadValue,
                 to_string(op.name()), ": ", argument, " has ", pad.size(), " numbers and self is ",
                 self, "; two numbers are needed for each dimension from the last");
  std::vector<SymInt> sizes = sym_sizes_of(self);
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    SymInt& size = sizes[sizes.size() - 1 - i];
    size = size + pad[2 * i] + pad[2 * i + 1];
  }
  given.give(stack, empty_on_meta(to_string(op.name()).c_str(), sizes, self.dtype()));
}

void symbolic_output_size(const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given_self(op, given);
  const std::vector<SymInt> last = given.ints("output_size");
  if (!is_plain_meta(self) || std::size_t(self.dim()) < last.size()) {
    return decide_symbolic(op, keys, stack);
  }
  std::vector<SymInt> sizes = sym_sizes_of(self);
  std::ranges::copy(last, sizes.end() - std::ptrdiff_t(last.size()));
  given.give(stack, empty_on_meta(to_string(op.name()).c_str(), sizes, self.dtype()));
}

void symbolic_elsewhere(const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Arguments given(op, stack);
  if (!is_plain_meta(given_self(op, given))) return decide_symbolic(op, keys, stack);
  for (Value& value : given.values()) {
    if (value.is_sym_int()) value = Value(std::int64_t{0});
    if (!value.is_list()) continue;
    std::vector<Value> items(value.items_unchecked());
    for (Value& item : items) {
      if (item.is_sym_int()) item = Value(std::int64_t{0});
    }
    value = Value::list(std::move(items));
  }
  op.redispatch_boxed(keys, stack);
}

}  // namespace opyard::kernels
