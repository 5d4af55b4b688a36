// kernels/creation/meta.cpp: factories and views on meta whose sizes may be symbolic.
//
// Kernels of other backends take sizes as plain ints. These are called boxed and take them as they
// came, so that a fake kernel can say "as many rows as the elements tell":
//
//   aten.empty([get_ctx().new_dynamic_size(), 3], device="meta")
#include <opyard/library.h>

#include "common/broadcast.h"
#include "common/dtypes.h"
#include "common/numbers.h"
#include "common/order.h"
#include "common/symbolic.h"
#include "geometry/arguments.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

DimVector plain_ints(const std::vector<SymInt>& sizes) {
  DimVector numbers;
  for (const SymInt& size : sizes) numbers.push_back(size.expect_int());
  return numbers;
}

void refuse_what_meta_has_not(const Operator& op, const Arguments& given) {
  const std::string name = to_string(op.name());
  if (!given.at("device").is_none()) {
    const Device device = given.at("device").to_device();
    OPYARD_REQUIRE(device.backend == Backend::Meta, Unsupported, name, ": device is ", device,
                   ", and the tensor it is like is on meta and has sizes that no one knows yet");
  }
  if (given.has("memory_format") && !given.at("memory_format").is_none()) {
    require_row_major(name.c_str(), MemoryFormat(given.at("memory_format").to_int()));
  }
}

void factory(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  refuse_what_meta_has_not(op, given);
  DType dtype = kDefaultFloat;
  if (given.has("fill_value")) dtype = dtype_for(given.at("fill_value").to<Scalar>());
  given.give(stack, empty_on_meta(to_string(op.name()).c_str(), given.ints("size"),
                                  given.dtype().value_or(dtype)));
}

// A tensor that is like one on meta may be on another device: only sizes and strides are asked.
void like(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  if (!given.at("device").is_none() && !has_symbolic_sizes(given.at("self").to_tensor())) {
    const Backend backend = given.at("device").to_device().backend;
    if (backend != Backend::Meta) {
      return op.redispatch_boxed(DispatchKeySet(instance_of(DispatchKey::Dense, backend)), stack);
    }
  }
  refuse_what_meta_has_not(op, given);
  const Tensor self = given.at("self").to_tensor();
  const DType dtype = given.dtype().value_or(self.dtype());
  const Value& format = given.at("memory_format");
  const auto asked = format.is_none() ? std::nullopt : std::optional(MemoryFormat(format.to_int()));
  if (!has_symbolic_sizes(self)) {
    return given.give(stack, empty_in_format(self, asked, dtype, {Backend::Meta}));
  }
  const SymIntSpan sizes = sym_sizes(self);
  given.give(stack,
             empty_on_meta(to_string(op.name()).c_str(), {sizes.begin(), sizes.end()}, dtype));
}

void empty_strided_meta(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  refuse_what_meta_has_not(op, given);
  std::vector<SymInt> sizes = given.ints("size"), strides = given.ints("stride");
  OPYARD_REQUIRE(sizes.size() == strides.size(), BadShape, "aten::empty_strided: there are ",
                 sizes.size(), " sizes and ", strides.size(), " strides; give as many of each");
  const DType dtype = given.dtype().value_or(kDefaultFloat);
  if (!any_symbolic(sizes) && !any_symbolic(strides)) {
    DimVector plain_sizes, plain_strides;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      plain_sizes.push_back(sizes[i].expect_int());
      plain_strides.push_back(strides[i].expect_int());
    }
    const std::int64_t room = room_of("aten::empty_strided", plain_sizes, plain_strides);
    const Tensor block = Tensor::empty(std::array{room}, dtype, Device{Backend::Meta});
    return given.give(stack, block.as_strided(plain_sizes, plain_strides, 0));
  }
  Tensor made = empty_on_meta("aten::empty_strided", sizes, dtype);
  if (!has_symbolic_sizes(made))
    made = Tensor::empty(DimVector(sizes.size(), 0), dtype, made.device());
  make_symbolic(made, std::move(sizes), std::move(strides), SymInt(0));
  given.give(stack, made);
}

void eye_meta(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  refuse_what_meta_has_not(op, given);
  const SymInt rows = given.at("n").to_sym_int();
  const SymInt columns = given.has("m") ? given.at("m").to_sym_int() : rows;
  given.give(stack,
             empty_on_meta("aten::eye", {rows, columns}, given.dtype().value_or(kDefaultFloat)));
}

// rand, randn, randint, randperm. They are compositions; only what no composition can take is made
// here, before a backend is chosen.
void random(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Value& device = given.at("device");
  const Backend backend = device.is_none() ? Backend::CPU : device.to_device().backend;
  const bool has_sizes = given.has("size");
  std::vector<SymInt> sizes =
      has_sizes ? given.ints("size") : std::vector{given.at("n").to_sym_int()};
  if (backend != Backend::Meta || !any_symbolic(sizes)) {
    return op.redispatch_boxed(DispatchKeySet(instance_of(DispatchKey::Dense, backend)), stack);
  }
  const bool is_float = has_sizes && !given.has("high");
  const Tensor made =
      empty_on_meta(to_string(op.name()).c_str(), sizes,
                    given.dtype().value_or(is_float ? kDefaultFloat : DType::Int64));
  if (is_float) require_floats(to_string(op.name()).c_str(), "dtype", made);
  given.give(stack, made);
}

void as_strided_kernel(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given.at("self").to_tensor();
  require_defined("aten::as_strided", "self", self);
  std::vector<SymInt> sizes = given.ints("size"), strides = given.ints("stride");
  auto offset = given.at("storage_offset").to_optional<SymInt>();
  if (!any_symbolic(sizes) && !any_symbolic(strides) && !(offset && offset->is_symbolic()) &&
      !has_symbolic_sizes(self)) {
    return given.give(stack,
                      restrided(self, plain_ints(sizes), plain_ints(strides),
                                offset ? std::optional(offset->expect_int()) : std::nullopt));
  }
  OPYARD_REQUIRE(sizes.size() == strides.size(), BadShape, "aten::as_strided: there are ",
                 sizes.size(), " sizes and ", strides.size(), " strides; give as many of each");
  given.give(stack, symbolic_view(self, std::move(sizes), std::move(strides),
                                  offset ? *std::move(offset) : sym_storage_offset(self)));
}

// Of a symbolic tensor as if it were row-major: comparing strides would decide what is not known.
void view_meta(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given.at("self").to_tensor();
  std::vector<SymInt> sizes = given.ints("size");
  if (!any_symbolic(sizes) && !has_symbolic_sizes(self)) {
    return given.give(stack, view_with_sizes(self, plain_ints(sizes)));
  }
  fill_open_size(sizes, [&] { return sym_numel(self); });
  std::vector<SymInt> strides(sizes.size(), SymInt(1));
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  given.give(stack,
             symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self)));
}

// A size that is symbolic on either side is taken to be the same on both, unless self's is 1.
void expand_meta(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given.at("self").to_tensor();
  std::vector<SymInt> sizes = given.ints("size");
  if (!any_symbolic(sizes) && !has_symbolic_sizes(self)) {
    return given.give(stack, expand_to_sizes(self, plain_ints(sizes)));
  }
  const SymIntSpan own = sym_sizes(self);
  keep_sizes(sizes, own);
  if (const SizeClash misfit = find_misfit(own, SymIntSpan(sizes))) {
    refuse_misfit("aten::expand", {"self", self}, shown_sizes("size", sizes), misfit);
  }
  std::vector<SymInt> strides;
  expand_strides(own, sym_strides(self), SymIntSpan(sizes), strides);
  given.give(stack,
             symbolic_view(self, std::move(sizes), std::move(strides), sym_storage_offset(self)));
}

// ---- parts; bounds that are plain go the way of other backends ----

std::size_t require_meta_dim(const Operator& op, const Tensor& self, std::int64_t dim) {
  return require_slice_dim(to_string(op.name()).c_str(), self, dim);
}

void select_kernel(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given.at("self").to_tensor();
  const std::int64_t dim = given.at("dim").to_int();
  const SymInt index = given.at("index").to_sym_int();
  given.give(stack, index.is_symbolic()
                        ? symbolic_select(self, require_meta_dim(op, self, dim), index)
                        : select_place(self, dim, index.expect_int()));
}

void narrow_kernel(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given.at("self").to_tensor();
  const std::int64_t dim = given.at("dim").to_int();
  const SymInt start = given.at("start").to_sym_int(), length = given.at("length").to_sym_int();
  given.give(stack, start.is_symbolic() || length.is_symbolic()
                        ? symbolic_narrow(self, require_meta_dim(op, self, dim), start, length)
                        : narrow_to_part(self, dim, start.expect_int(), length.expect_int()));
}

void slice_kernel(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given.at("self").to_tensor();
  const std::int64_t dim = given.at("dim").to_int();
  const auto start = given.at("start").to_optional<SymInt>();
  const auto end = given.at("end").to_optional<SymInt>();
  const std::int64_t step = given.at("step").to_sym_int().guard_int("meta.cpp", __LINE__);
  const auto is_known = [](const auto& bound) { return !bound || !bound->is_symbolic(); };
  const auto number = [](const auto& bound) {
    return bound ? std::optional(bound->expect_int()) : std::nullopt;
  };
  if (is_known(start) && is_known(end)) {
    return given.give(stack, slice_with_bounds(self, dim, number(start), number(end), step));
  }
  OPYARD_REQUIRE(step > 0, BadValue, "aten::slice.Tensor: step is ", step,
                 "; accepted are 1 and more");
  given.give(stack, symbolic_slice(self, require_meta_dim(op, self, dim), start, end, step));
}

// How many places there are is said, so that no element is looked at.
void nonzero_static_meta(const Operator& op, DispatchKeySet, Stack& stack) {
  const Arguments given(op, stack);
  const Tensor self = given.at("self").to_tensor();
  const SymInt size = given.at("size").to_sym_int();
  OPYARD_REQUIRE(size.is_symbolic() || size.expect_int() >= 0, BadValue,
                 "aten::nonzero_static: size is ", to_string(size), ", and has to be 0 or more");
  given.give(stack,
             empty_on_meta("aten::nonzero_static", {size, SymInt(self.dim())}, DType::Int64));
}

}  // namespace

OPYARD_LIBRARY_IMPL(aten, Meta, m) {
  for (const char* name : {"empty.memory_format", "zeros", "ones", "full"}) m.impl(name, &factory);
  for (const char* name : {"empty_like", "zeros_like", "ones_like", "full_like"})
    m.impl(name, &like);
  m.impl("empty_strided", &empty_strided_meta);
  for (const char* name : {"new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"})
    m.impl(name, &symbolic_new);
  m.impl("eye", &eye_meta);
  m.impl("eye.m", &eye_meta);
  m.impl("as_strided", &as_strided_kernel);
  m.impl("nonzero_static", &nonzero_static_meta);
  m.impl("view", &view_meta);
  m.impl("expand", &expand_meta);
  m.impl("select.int", &select_kernel);
  m.impl("narrow", &narrow_kernel);
  m.impl("slice.Tensor", &slice_kernel);
}

OPYARD_LIBRARY_IMPL(aten, BackendSelect, m) {
  for (const char* name : {"rand", "randn", "randint", "randint.low", "randperm"})
    m.impl(name, &random);
}

}  // namespace opyard::kernels
