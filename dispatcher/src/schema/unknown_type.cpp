// schema/unknown_type.cpp: looking up the names of types, and suggestions for misspelt ones.
#include "schema/unknown_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "opyard/detail/text/near_names.h"
#include "schema/base_types.h"

namespace opyard::detail {
namespace {

// What people write who think of C++ or Python, and what they mean. `fix` may be written in its
// place; if there is no advice, the advice is to do so.
struct Hint {
  std::string_view written;
  std::string_view fix;
  std::string_view advice = {};
};
constexpr std::string_view kIntAdvice = "write 'int' or 'SymInt'";
constexpr std::string_view kListAdvice = "write 'T[]', such as 'int[]'";
constexpr std::string_view kOptionalAdvice = "write 'T?', such as 'Tensor?'";
constexpr std::string_view kTupleAdvice = "write '(A, B)'";
constexpr std::string_view kCppAdvice =
    "types of C++ have other names here, such as 'int', 'float', 'str' and 'T[]'";
constexpr Hint kHints[] = {
    {"int64_t", "int", kIntAdvice},
    {"int32_t", "int", kIntAdvice},
    {"int16_t", "int", kIntAdvice},
    {"int8_t", "int", kIntAdvice},
    {"uint8_t", "int", kIntAdvice},
    {"size_t", "int", kIntAdvice},
    {"long", "int", kIntAdvice},
    {"int64", "int", kIntAdvice},
    {"int32", "int", kIntAdvice},
    {"integer", "int", kIntAdvice},
    {"double", "float"},
    {"Double", "float"},
    {"float32", "float"},
    {"float64", "float"},
    {"boolean", "bool"},
    {"string", "str"},
    {"String", "str"},
    {"string_view", "str"},
    {"torch.Tensor", "Tensor"},
    {"opyard.Tensor", "Tensor"},
    {"tensors", "Tensor[]"},
    {"Tensors", "Tensor[]"},
    {"TensorList", "Tensor[]"},
    {"tensor_list", "Tensor[]"},
    {"IntArrayRef", "int[]"},
    {"list", {}, kListAdvice},
    {"List", {}, kListAdvice},
    {"vector", {}, kListAdvice},
    {"Sequence", {}, kListAdvice},
    {"Optional", {}, kOptionalAdvice},
    {"optional", {}, kOptionalAdvice},
    {"tuple", {}, kTupleAdvice},
    {"Tuple", {}, kTupleAdvice},
    {"dict", {}, "write 'Dict(K, V)'"},
    {"Number", "Scalar"},
    {"dtype", "ScalarType"},
    {"torch.dtype", "ScalarType"},
    {"void", {}, "write '()' for no result"},
    {"None", {}, "write 'NoneType', or '()' for no result"},
    {"std", {}, kCppAdvice},
    {"const", {}, kCppAdvice},
};
constexpr std::string_view kCommonTypes =
    "common types are Tensor, int, float, bool, str, Scalar, SymInt, Device, ScalarType, and "
    "T[] or T? of them; opyard/schema/types.def lists all";

constexpr std::string_view kClassPrefix = "__torch__.torch.classes.";

std::string_view without_class_prefix(std::string_view name) {
  return name.starts_with(kClassPrefix) ? name.substr(kClassPrefix.size()) : name;
}

// demo.Counter, but not int.x.
bool may_be_class(std::string_view name) {
  const std::size_t point = name.find('.');
  return point != std::string_view::npos &&
         std::none_of(std::begin(kBaseEntries), std::end(kBaseEntries),
                      [&](const BaseEntry& entry) { return entry.text == name.substr(0, point); });
}

// The hint for a name that another language or another spelling gave.
std::optional<Hint> find_hint(std::string_view name) {
  for (const Hint& hint : kHints) {
    if (hint.written == name) return hint;
  }
  for (const BaseEntry& entry : kBaseEntries) {
    if (same_letters(name, entry.text)) return Hint{name, entry.text};
  }
  return std::nullopt;
}

// A base type that is one slip away.
std::optional<Hint> find_neighbour(std::string_view name) {
  std::array<std::string_view, std::size(kBaseEntries)> known;
  std::transform(std::begin(kBaseEntries), std::end(kBaseEntries), known.begin(),
                 [](const BaseEntry& entry) { return entry.text; });
  const std::string_view meant = near_name(name, known, kFewShortNames);
  if (meant.empty()) return std::nullopt;
  return Hint{name, meant};
}

}  // namespace

TypePtr find_type(std::string_view name) {
  if (name == "number") return base_type(TypeKind::Scalar);
  for (int i = 0; i < kBaseTypeCount; ++i) {
    if (name == base_entry(TypeKind(i)).text) return base_type(TypeKind(i));
  }
  const std::string_view user_type = without_class_prefix(name);
  if (user_type.find('.') != std::string_view::npos && find_user_type(user_type) != nullptr) {
    return named_type(TypeKind::Class, std::string(user_type));
  }
  const bool variable = name.front() == 't' && name.find('.') == std::string_view::npos;
  if (!variable || find_hint(name)) return nullptr;
  return named_type(TypeKind::Variable, std::string(name));
}

void report_unknown_type(SchemaCursor& cursor, Span span, std::string_view name) {
  std::optional<Hint> hint = find_hint(name);
  if (!hint && may_be_class(name)) {
    cursor.report(span, fmt::format("Unknown custom class type {}. Please ensure it is registered.",
                                    shown(without_class_prefix(name))));
    return;
  }
  if (!hint) hint = find_neighbour(name);
  std::optional<SchemaFix> fix;
  if (hint && !hint->fix.empty()) fix = SchemaFix{span.begin, span.end, std::string(hint->fix)};
  std::string advice(kCommonTypes);
  if (hint) advice = hint->advice.empty() ? fmt::format("write '{}'", hint->fix) : hint->advice;
  cursor.report(span, fmt::format("unknown type '{}'; {}", shown(name), advice), std::move(fix));
}

}  // namespace opyard::detail
