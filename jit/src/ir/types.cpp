// ir/types.cpp: shaped tensor types, the pullback type, and subtyping.
#include "opyard/jit/types.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/detail/base/made_once.h"
#include "opyard/schema/relations.h"

namespace opyard::jit {
namespace {

void check_shape(const TensorShape& shape) {
  const auto check_not_negative = [](const std::vector<std::int64_t>& numbers, const char* what) {
    for (const std::int64_t number : numbers) {
      OPYARD_CHECK(number >= 0 || number == kUnknownSize, BadValue,
                   fmt::format("{} {} of a tensor type is negative", what, number));
    }
  };
  if (shape.sizes) check_not_negative(*shape.sizes, "size");
  if (!shape.strides) return;
  OPYARD_CHECK(shape.sizes && shape.sizes->size() == shape.strides->size(), BadValue,
               fmt::format("a tensor type with {} strides has {} sizes; the numbers must agree",
                           shape.strides->size(), shape.sizes ? shape.sizes->size() : 0));
  check_not_negative(*shape.strides, "stride");
}

bool fits_sizes(const std::optional<std::vector<std::int64_t>>& narrow,
                const std::optional<std::vector<std::int64_t>>& wide) {
  if (!wide) return true;
  if (!narrow || narrow->size() != wide->size()) return false;
  return std::equal(narrow->begin(), narrow->end(), wide->begin(),
                    [](std::int64_t a, std::int64_t b) { return b == kUnknownSize || a == b; });
}

template <typename T>
bool fits_known(const std::optional<T>& narrow, const std::optional<T>& wide) {
  return !wide || narrow == wide;
}

bool fits_shape(const TensorShape& narrow, const TensorShape& wide) {
  return fits_known(narrow.dtype, wide.dtype) && fits_sizes(narrow.sizes, wide.sizes) &&
         fits_sizes(narrow.strides, wide.strides) &&
         fits_known(narrow.requires_grad, wide.requires_grad) &&
         fits_known(narrow.device, wide.device);
}

using MaybeSizes = std::optional<std::vector<std::int64_t>>;

MaybeSizes common_sizes(const MaybeSizes& a, const MaybeSizes& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  std::vector<std::int64_t> common(*a);
  for (std::size_t i = 0; i < common.size(); ++i) {
    if (common[i] != (*b)[i]) common[i] = kUnknownSize;
  }
  return common;
}

template <typename T>
std::optional<T> common_known(const std::optional<T>& a, const std::optional<T>& b) {
  return a == b ? a : std::nullopt;
}

TypePtr unify_tensors(const TypePtr& a, const TypePtr& b) {
  const TensorShape* const left = find_shape(*a);
  const TensorShape* const right = find_shape(*b);
  if (left == nullptr || right == nullptr) return base_type(TypeKind::Tensor);
  TensorShape common;
  common.dtype = common_known(left->dtype, right->dtype);
  common.sizes = common_sizes(left->sizes, right->sizes);
  common.strides = common.sizes ? common_sizes(left->strides, right->strides) : std::nullopt;
  common.requires_grad = common_known(left->requires_grad, right->requires_grad);
  common.device = common_known(left->device, right->device);
  return shaped_tensor(std::move(common));
}

}  // namespace

ShapedTensor::ShapedTensor(TensorShape shape)
    : Type(TypeKind::Tensor, {}, {}, 0), shape_(std::move(shape)) {}
ShapedTensor::~ShapedTensor() = default;

TypePtr shaped_tensor(TensorShape shape) {
  check_shape(shape);
  if (shape == TensorShape()) return base_type(TypeKind::Tensor);
  return make_counted<const ShapedTensor>(std::move(shape));
}

const TensorShape* find_shape(const Type& type) {
  if (type.kind() != TypeKind::Tensor || &type == base_type(TypeKind::Tensor).get()) return nullptr;
  const auto* const shaped = dynamic_cast<const ShapedTensor*>(&type);
  return shaped == nullptr ? nullptr : &shaped->shape();
}

TypePtr type_of_tensor(const Tensor& tensor) {
  if (!tensor.defined()) return base_type(TypeKind::Tensor);
  TensorShape shape;
  shape.dtype = tensor.dtype();
  shape.sizes.emplace(tensor.sizes().begin(), tensor.sizes().end());
  shape.strides.emplace(tensor.strides().begin(), tensor.strides().end());
  shape.requires_grad = false;
  shape.device = tensor.device();
  return shaped_tensor(std::move(shape));
}

TypePtr pullback_type() {
  static constinit MadeOnce<TypePtr> type;
  return type.get(
      [] { return std::make_unique<const TypePtr>(named_type(TypeKind::Class, kPullbackClass)); });
}

bool is_pullback(const Type& type) {
  return type.kind() == TypeKind::Class && type.name() == kPullbackClass;
}

bool same_type(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind() != b.kind() || a.elements().size() != b.elements().size()) return false;
  const TensorShape* const left = find_shape(a);
  const TensorShape* const right = find_shape(b);
  if ((left == nullptr) != (right == nullptr)) return false;
  if (left != nullptr) return *left == *right;
  if (a.name() != b.name() || a.size_hint() != b.size_hint()) return false;
  return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(),
                    [](const TypePtr& x, const TypePtr& y) { return same_type(*x, *y); });
}

bool fits_type(const Type& narrow, const Type& wide) {
  if (const TensorShape* const wanted = find_shape(wide)) {
    const TensorShape* const given = find_shape(narrow);
    return given != nullptr && fits_shape(*given, *wanted);
  }
  // Inside containers shapes are not looked at: what a list holds may change.
  return is_subtype(narrow, wide);
}

TypePtr unify(const TypePtr& a, const TypePtr& b) {
  if (fits_type(*a, *b)) return b;
  if (fits_type(*b, *a)) return a;
  if (a->kind() == TypeKind::Tensor && b->kind() == TypeKind::Tensor) return unify_tensors(a, b);
  if (a->kind() == TypeKind::None) return optional_of(b);
  if (b->kind() == TypeKind::None) return optional_of(a);
  if (a->kind() == TypeKind::Optional || b->kind() == TypeKind::Optional) {
    const auto inner = [](const TypePtr& type) {
      return type->kind() == TypeKind::Optional ? type->elements().front() : type;
    };
    const TypePtr common = unify(inner(a), inner(b));
    return common == nullptr ? TypePtr() : optional_of(common);
  }
  if (a->kind() != TypeKind::Tuple || b->kind() != TypeKind::Tuple ||
      a->elements().size() != b->elements().size()) {
    return {};
  }
  std::vector<TypePtr> elements;
  for (std::size_t i = 0; i < a->elements().size(); ++i) {
    elements.push_back(unify(a->elements()[i], b->elements()[i]));
    if (elements.back() == nullptr) return {};
  }
  return compound_type(TypeKind::Tuple, std::move(elements));
}

}  // namespace opyard::jit
