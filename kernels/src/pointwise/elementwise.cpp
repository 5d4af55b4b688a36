// kernels/pointwise/elementwise.cpp: bringing inputs to one dtype and one shape, and the result
// home.
#include "pointwise/elementwise.h"

#include <algorithm>

#include "common/copy.h"
#include "common/order.h"
#include "common/releasing.h"
#include "common/symbolic_results.h"
#include "common/write.h"
#include "pointwise/carried.h"

namespace opyard::kernels {
namespace {

DType dtype_of_numbers(const Computation& computation) {
  const DType dtype = computation.computed;
  return computation.exact_numbers && is_floating_point(dtype) ? carrier_of(dtype) : dtype;
}

// See [Small calls].
bool is_simple(const Tensor& tensor) noexcept {
  if (!tensor.defined()) return false;
  const TensorImpl& impl = *tensor.impl();
  return impl.policies() == 0 && impl.own_contiguous() && impl.own_device().is_cpu() &&
         impl.own_numel() < kReleasingElements && (impl.data() != nullptr || impl.own_numel() == 0);
}

Loop find_own_loop(const Loops& loops, DType dtype) noexcept {
  const int index = computed_index(dtype);
  return index < 0 ? nullptr : loops.of[std::size_t(index)];
}

template <std::size_t count>
Tensor run_simple(Loop loop, const std::array<const Tensor*, count>& inputs, DType dtype) {
  const TensorImpl& first = *inputs[0]->impl();
  Tensor result = Tensor::empty(first.own_sizes(), dtype);
  std::array<std::byte*, count + 1> data{bytes_of(result)};
  std::array<std::int64_t, count + 1> steps{std::int64_t(item_size(dtype))};
  for (std::size_t i = 0; i < count; ++i) {
    data[i + 1] = bytes_of(*inputs[i]);
    steps[i + 1] = std::int64_t(item_size(first.dtype()));
  }
  const Number context{};
  if (first.own_numel() > 0) loop(data.data(), steps.data(), first.own_numel(), &context);
  return result;
}

}  // namespace

Tensor of_alike(const Loops& loops, const Tensor& self) {
  if (!is_simple(self)) return {};
  const Loop loop = find_own_loop(loops, self.impl()->dtype());
  if (loop == nullptr) return {};
  return run_simple<1>(loop, {&self}, self.impl()->dtype());
}

Tensor of_alike(const Loops& loops, const Tensor& self, const Tensor& other, DType result) {
  if (!is_simple(self) || !is_simple(other)) return {};
  const TensorImpl &a = *self.impl(), &b = *other.impl();
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.own_sizes(), b.own_sizes())) return {};
  const Loop loop = find_own_loop(loops, a.dtype());
  if (loop == nullptr) return {};
  return run_simple<2>(loop, {&self, &other}, result);
}

Tensor of_alike(const Loops& loops, const Tensor& self, const Tensor& other) {
  if (!self.defined()) return {};
  return of_alike(loops, self, other, self.impl()->dtype());
}

Tensor of_number(const char* op, const Loops& loops, const Tensor& self, const Scalar& other,
                 DType result) {
  if (!is_simple(self)) return {};
  const TensorImpl& impl = *self.impl();
  const DType dtype = impl.dtype();
  const Loop loop = find_own_loop(loops, dtype);
  if (loop == nullptr || category_of(dtype_for(other)) > category_of(dtype)) return {};
  Number number = number_in(op, "other", other, dtype);
  Tensor written = Tensor::empty(impl.own_sizes(), result);
  const std::array<std::byte*, 3> data{bytes_of(written), bytes_of(self), number.bytes};
  const std::array<std::int64_t, 3> steps{std::int64_t(item_size(result)),
                                          std::int64_t(item_size(dtype)), 0};
  const Number context{};
  if (impl.own_numel() > 0) loop(data.data(), steps.data(), impl.own_numel(), &context);
  return written;
}

Tensor of_number(const char* op, const Loops& loops, const Tensor& self, const Scalar& other) {
  if (!self.defined()) return {};
  return of_number(op, loops, self, other, self.impl()->dtype());
}

Elementwise::Input& Elementwise::next(const char* name, Role role) {
  OPYARD_ASSERT(count_ < kMostInputs);
  Input& input = inputs_[count_++];
  input.name = name;
  input.role = role;
  return input;
}

void Elementwise::input(const char* name, const Tensor& tensor) {
  require_cpu(op_, name, tensor);
  next(name, Role::Tensor).tensor = &tensor;
  promotion_.add(tensor);
}

void Elementwise::input(const char* name, const Scalar& number) {
  next(name, Role::Number).number = &number;
  promotion_.add(number);
}

void Elementwise::mask(const char* name, const Tensor& tensor) {
  require_dtype(op_, name, tensor, DType::Bool);
  next(name, Role::Mask).tensor = &tensor;
}

void Elementwise::constant(const char* name, const Scalar& number) {
  next(name, Role::Number).number = &number;
}

std::string Elementwise::describe_inputs() const {
  std::string text;
  for (std::size_t i = 0; i < count_; ++i) {
    const Input& input = inputs_[i];
    if (i > 0) text += i + 1 == count_ ? " and " : ", ";
    if (input.tensor != nullptr) {
      text += text_of({input.name, " is ", *input.tensor});
    } else {
      text += text_of({input.name, " is ", *input.number});
    }
  }
  return text;
}

Loop Elementwise::find_loop(const Loops& loops, DType dtype, bool of_all) const {
  const auto find = [&](DType one) -> Loop {
    if (one == DType::UInt64 && !of_all) return nullptr;
    return loops.of[std::size_t(computed_index(carrier_of(one)))];
  };
  const Loop loop = find(dtype);
  if (loop == nullptr) {
    std::string accepted;
#define OPYARD_DTYPE(code, name, python, ...) \
  if (find(DType::name) != nullptr) accepted += accepted.empty() ? #python : ", " #python;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
    refuse(ErrorKind::Unsupported, {op_, ": ", describe_inputs(), ", which is computed in ", dtype,
                                    "; accepted are inputs that are computed in ", accepted});
  }
  return loop;
}
Loop Elementwise::choose(const Loops& loops, DType dtype) const {
  return find_loop(loops, dtype, false);
}
Loop Elementwise::choose_for_all(const Loops& loops, DType dtype) const {
  return find_loop(loops, dtype, true);
}

Number Elementwise::number(const char* name, const Scalar& scalar, DType dtype) const {
  const Number own = number_in(op_, name, scalar, dtype);
  if (!is_carried(dtype)) return own;
  return is_integral(dtype) ? number_in(op_, name, scalar, DType::Int64)
                            : number_in(op_, name, scalar, DType::Float32);
}

Number Elementwise::number_for(const Input& input, const Computation& computation) const {
  return number_in(op_, input.name, *input.number, dtype_of_numbers(computation));
}

std::vector<NamedTensor> Elementwise::named_tensors() const {
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < count_; ++i) {
    if (inputs_[i].tensor != nullptr) named.push_back({inputs_[i].name, *inputs_[i].tensor});
  }
  return named;
}

DimVector Elementwise::sizes() const {
  DimVector sizes;
  bool any = false;
  for (std::size_t i = 0; i < count_; ++i) {
    const Input& input = inputs_[i];
    if (input.tensor == nullptr) continue;
    if (!any) sizes = DimVector(input.tensor->sizes());
    any = true;
    if (std::ranges::equal(sizes, input.tensor->sizes())) continue;
    std::optional<DimVector> joined = find_broadcast(sizes, input.tensor->sizes());
    if (!joined) refuse_operands(op_, named_tensors());
    sizes = std::move(*joined);
  }
  return sizes;
}

// One line over all elements, if every tensor is as the result is, and nothing has to be
// converted or copied. Gives false if that is not so.
bool Elementwise::compute_plainly(const Tensor& result, const Computation& computation, Loop loop,
                                  const void* context, bool shares_memory) const {
  const std::int64_t count = result.numel();
  if (count >= kReleasingElements || !result.is_contiguous()) return false;
  std::array<std::byte*, Walk::kMostOperands> data{bytes_of(result)};
  std::array<std::int64_t, Walk::kMostOperands> steps{std::int64_t(item_size(result.dtype()))};
  std::array<Number, kMostInputs> numbers;
  for (std::size_t i = 0; i < count_; ++i) {
    const Input& input = inputs_[i];
    if (input.role == Role::Number) {
      numbers[i] = number_for(input, computation);
      data[i + 1] = numbers[i].bytes;
      steps[i + 1] = 0;
      continue;
    }
    const Tensor& tensor = *input.tensor;
    if ((input.role == Role::Tensor && tensor.dtype() != computation.computed) ||
        !tensor.is_contiguous() || !std::ranges::equal(tensor.sizes(), result.sizes()) ||
        (shares_memory && bytes_of(tensor) != data[0] && overlap(tensor, result))) {
      return false;
    }
    data[i + 1] = bytes_of(tensor);
    steps[i + 1] = std::int64_t(item_size(tensor.dtype()));
    if (shares_memory && data[i + 1] == data[0] && steps[i + 1] != steps[0]) return false;
  }
  if (count > 0) loop(data.data(), steps.data(), count, context);
  return true;
}

Device Elementwise::device() const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (inputs_[i].tensor != nullptr && is_meta(*inputs_[i].tensor)) return {Backend::Meta};
  }
  return {};
}

void Elementwise::compute(const Tensor& result, const Computation& computation,
                          bool shares_memory) const {
  if (is_meta(result)) return;
  if (is_carried(computation.computed)) return compute_carried(result, computation, shares_memory);
  compute_with(result, computation, computation.loop, &computation.context, shares_memory);
}

void Elementwise::compute_carried(const Tensor& result, const Computation& computation,
                                  bool shares_memory) const {
  Carrying carrying(computation.loop, &computation.context);
  carrying.add(computation.result, computation.in_order);
  for (std::size_t i = 0; i < count_; ++i) {
    const Role role = inputs_[i].role;
    carrying.add(role == Role::Mask     ? DType::Bool
                 : role == Role::Number ? dtype_of_numbers(computation)
                                        : computation.computed,
                 computation.in_order);
  }
  compute_with(result, computation, &Carrying::run, &carrying, shares_memory);
}

void Elementwise::compute_with(const Tensor& result, const Computation& computation, Loop loop,
                               const void* context, bool shares_memory) const {
  if (compute_plainly(result, computation, loop, context, shares_memory)) return;
  std::array<Tensor, kMostInputs> held;  // inputs that had to be copied
  std::array<Number, kMostInputs> numbers;
  Walk walk(result.sizes());
  walk.add(result);
  for (std::size_t i = 0; i < count_; ++i) {
    const Input& input = inputs_[i];
    if (input.role == Role::Number) {
      numbers[i] = number_for(input, computation);
      walk.add_number(numbers[i].bytes);
      continue;
    }
    const Tensor* tensor = input.tensor;
    if (input.role == Role::Tensor && tensor->dtype() != computation.computed) {
      held[i] = converted(op_, *tensor, computation.computed);
      tensor = &held[i];
    } else if (shares_memory) {
      held[i] = apart_from(op_, *tensor, result);
      tensor = &held[i];
    }
    walk.add(*tensor);
  }
  walk.run_by_many(loop, context);
}

bool Elementwise::is_symbolic() const {
  return std::any_of(inputs_.begin(), inputs_.begin() + std::ptrdiff_t(count_), [](const Input& i) {
    return i.tensor != nullptr && has_symbolic_sizes(*i.tensor);
  });
}

// See symbolic_results.h [Unknown sizes].
Tensor Elementwise::symbolic_result(DType dtype) const {
  return empty_on_meta(op_, symbolic_broadcast(op_, named_tensors()), dtype);
}

// See order.h [Order].
Tensor Elementwise::empty_result(DType dtype) const {
  std::array<const Tensor*, kMostInputs> tensors{};
  std::size_t count = 0;
  bool is_row_major = true;
  if (is_symbolic()) return symbolic_result(dtype);
  for (std::size_t i = 0; i < count_; ++i) {
    if (inputs_[i].tensor == nullptr) continue;
    tensors[count++] = inputs_[i].tensor;
    is_row_major = is_row_major && inputs_[i].tensor->is_contiguous();
  }
  if (is_row_major) return Tensor::empty(sizes(), dtype, device());
  const DimVector all = sizes();
  const DimVector strides = ordered_strides(all, std::span(tensors).first(count));
  return empty_with_strides(all, strides, dtype, device());
}

// Whether the tensors are what the loop takes as they are, and the result is like each of them.
bool Elementwise::are_alike(const Computation& computation) const {
  const Tensor* const first = inputs_[0].tensor;
  if (first == nullptr || is_carried(computation.computed)) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    const Input& input = inputs_[i];
    if (input.role == Role::Mask) return false;
    if (input.role == Role::Number) continue;
    const Tensor& tensor = *input.tensor;
    if (tensor.dtype() != computation.computed || is_meta(tensor) || !tensor.is_contiguous()) {
      return false;
    }
    if (i > 0 && !std::ranges::equal(tensor.sizes(), first->sizes())) return false;
  }
  return first->numel() < kReleasingElements;
}

// Of inputs that are_alike(). What comes before the loop is most of the work of a small call, so
// nothing is asked here that are_alike() has answered: bench row small_add.
Tensor Elementwise::run_alike(const Computation& computation) const {
  const Tensor& first = *inputs_[0].tensor;
  std::array<std::byte*, Walk::kMostOperands> data;
  std::array<std::int64_t, Walk::kMostOperands> steps;
  std::array<Number, kMostInputs> numbers;
  for (std::size_t i = 0; i < count_; ++i) {
    const Input& input = inputs_[i];
    if (input.role == Role::Number) {
      numbers[i] = number_for(input, computation);
      data[i + 1] = numbers[i].bytes;
      steps[i + 1] = 0;
    } else {
      data[i + 1] = bytes_of(*input.tensor);
      steps[i + 1] = std::int64_t(item_size(computation.computed));
    }
  }
  Tensor result = Tensor::empty(first.sizes(), computation.result);
  data[0] = bytes_of(result);
  steps[0] = std::int64_t(item_size(computation.result));
  const std::int64_t count = result.numel();
  if (count > 0) computation.loop(data.data(), steps.data(), count, &computation.context);
  return result;
}

Tensor Elementwise::run(const Computation& computation) const {
  if (are_alike(computation)) return run_alike(computation);
  Tensor result = empty_result(computation.result);
  compute(result, computation, false);
  return result;
}

Tensor& Elementwise::run_into(const char* name, Tensor& written,
                              const Computation& computation) const {
  require_writable(op_, name, written);
  require_storable(op_, name, written, computation.result);
  require_result_device(op_, name, written, device());
  if (is_symbolic() || has_symbolic_sizes(written)) {
    static_cast<void>(symbolic_result(computation.result));  // refuses sizes that do not fit
    written.count_write();
    return written;
  }
  require_result_sizes(op_, name, written, sizes());
  if (written.dtype() == computation.result) {
    // Numbers that do not fit must be refused before the version says that something changed.
    for (std::size_t i = 0; i < count_; ++i) {
      if (inputs_[i].role == Role::Number) {
        number_for(inputs_[i], computation);
      }
    }
    written.count_write();
    compute(written, computation, true);
    return written;
  }
  const Tensor result = run(computation);
  written.count_write();
  if (is_meta(written)) return written;
  copy_elements(op_, written, result);
  return written;
}

}  // namespace opyard::kernels
