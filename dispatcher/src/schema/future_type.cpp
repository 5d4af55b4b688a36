// schema/future_type.cpp: the element type of futures.
#include "opyard/schema/future_type.h"

namespace opyard {
namespace {

class TypedElement final : public FutureElement {
 public:
  explicit TypedElement(TypePtr type) noexcept : type(std::move(type)) {}
  bool accepts(const Value& value) const override { return opyard::accepts(*type, value); }
  std::string text() const override { return to_string(*type); }

  const TypePtr type;
};

}  // namespace

CountedPtr<const FutureElement> future_element(TypePtr type) {
  OPYARD_CHECK(type, BadArgument, "a null pointer is no type of a future's value");
  return make_counted<TypedElement>(std::move(type));
}

TypePtr element_type(const FutureObject& future) {
  const auto* const typed = dynamic_cast<const TypedElement*>(future.element());
  return typed == nullptr ? base_type(TypeKind::Any) : typed->type;
}

}  // namespace opyard
