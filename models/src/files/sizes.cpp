// files/sizes.cpp: parser, printer and evaluation of size expressions.
#include "files/sizes.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

using SizeKind = SizeExpression::Kind;

constexpr int kMostSizeNesting = 64;
constexpr std::int64_t kMostPower = 16;

struct SizeFunction {
  SizeKind kind;
  const char* name;      // in our own form
  const char* exported;  // in a program
  const char* infix;     // or null, if it is written as a call
};
constexpr std::array kSizeOperations = {
    SizeFunction{SizeKind::Add, "add", "Add", " + "},
    SizeFunction{SizeKind::Mul, "mul", "Mul", "*"},
    SizeFunction{SizeKind::FloorDiv, "floordiv", "FloorDiv", "//"},
    SizeFunction{SizeKind::FloorDiv, "floordiv", "CleanDiv", "//"},
    SizeFunction{SizeKind::Mod, "mod", "Mod", "%"},
    SizeFunction{SizeKind::Mod, "mod", "PythonMod", "%"},
    SizeFunction{SizeKind::Min, "min", "Min", nullptr},
    SizeFunction{SizeKind::Max, "max", "Max", nullptr},
};

const SizeFunction& function_of(SizeKind kind) {
  return *std::ranges::find(kSizeOperations, kind, &SizeFunction::kind);
}

// Raises BadValue if it has not as many parts as its function takes.
SizeExpression checked(SizeKind kind, std::vector<SizeExpression> parts, const std::string& what) {
  const bool is_pair = kind == SizeKind::FloorDiv || kind == SizeKind::Mod;
  OPYARD_CHECK(is_pair ? parts.size() == 2 : parts.size() >= 2, BadValue,
               fmt::format("{}: {} of {} sizes", what, function_of(kind).name, parts.size()));
  return {kind, std::move(parts)};
}

// ---- as a program writes it

class SizeReader {
 public:
  SizeReader(std::string_view text, const std::string& what) : rest_(text), what_(what) {}

  SizeExpression read_all() {
    SizeExpression size = read(0);
    if (!rest_.empty()) broken();
    return size;
  }

 private:
  [[noreturn]] void broken() const {
    fail(
        ErrorKind::BadValue,
        fmt::format("{} is no expression of sizes, from {} on", what_,
                    Json(rest_.substr(0, 40)).dump(-1, ' ', true, Json::error_handler_t::replace)));
  }

  std::string_view take_until(char end) {
    const std::size_t at = rest_.find(end);
    if (at == rest_.npos) broken();
    const std::string_view taken = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return taken;
  }

  std::int64_t read_number() {
    const std::string_view digits = take_until(')');
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) broken();
    return number;
  }

  // 'n', positive=True, integer=True)
  std::string read_name() {
    if (!take_until('\'').empty()) broken();
    std::string name(take_until('\''));
    take_until(')');
    return name;
  }

  std::vector<SizeExpression> read_parts(int nesting) {
    std::vector<SizeExpression> parts;
    while (true) {
      parts.push_back(read(nesting + 1));
      if (rest_.starts_with(", ")) {
        rest_.remove_prefix(2);
      } else {
        if (!take_until(')').empty()) broken();
        return parts;
      }
    }
  }

  SizeExpression read(int nesting) {
    if (nesting > kMostSizeNesting) broken();
    const std::string_view function = take_until('(');
    if (function == "Integer") return read_number();
    if (function == "Symbol") return read_name();
    if (function == "Pow") return power(read_parts(nesting));
    for (const SizeFunction& each : kSizeOperations) {
      if (function == each.exported) return checked(each.kind, read_parts(nesting), what_);
    }
    fail(ErrorKind::Unsupported,
         fmt::format("{} is computed by {}, which is not read; export the model with sizes that "
                     "are sums, products or quotients of others",
                     what_, Json(function).dump(-1, ' ', true, Json::error_handler_t::replace)));
  }

  SizeExpression power(const std::vector<SizeExpression>& parts) {
    // Powers of powers would grow without bound.
    OPYARD_CHECK(parts.size() == 2 && parts[0].parts.empty() && parts[1].kind == SizeKind::Number &&
                     parts[1].number >= 2 && parts[1].number <= kMostPower,
                 Unsupported,
                 fmt::format("{} is a power, and those of one size are read, with exponents from 2 "
                             "to {}",
                             what_, kMostPower));
    return {SizeKind::Mul, std::vector(std::size_t(parts[1].number), parts[0])};
  }

  std::string_view rest_;
  const std::string& what_;
};

SizeExpression read_json(const Json& json, const std::string& what, int nesting) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_array()) return require_int(json, what);
  OPYARD_CHECK(nesting <= kMostSizeNesting && !json.empty(), BadValue,
               fmt::format("{} has a size that is no expression", what));
  const std::string& name = require_text(json[0], what);
  const auto found = std::ranges::find(kSizeOperations, name, &SizeFunction::name);
  OPYARD_CHECK(found != kSizeOperations.end(), BadValue,
               fmt::format("{} has a size that is computed by {}, which does not exist", what,
                           json[0].dump()));
  std::vector<SizeExpression> parts;
  for (std::size_t i = 1; i < json.size(); ++i)
    parts.push_back(read_json(json[i], what, nesting + 1));
  return checked(found->kind, std::move(parts), what);
}

// ---- values

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - std::int64_t{a % b != 0 && (a < 0) != (b < 0)};
}

std::optional<LinearSize> sum(const LinearSize& a, const LinearSize& b) {
  LinearSize made;
  if (__builtin_add_overflow(a.factor, b.factor, &made.factor) ||
      __builtin_add_overflow(a.rest, b.rest, &made.rest))
    return std::nullopt;
  return made;
}

std::optional<LinearSize> product(const LinearSize& a, const LinearSize& b) {
  if (a.factor != 0 && b.factor != 0) return std::nullopt;
  const LinearSize& varies = a.factor != 0 ? a : b;
  const std::int64_t times = a.factor != 0 ? b.rest : a.rest;
  LinearSize made;
  if (__builtin_mul_overflow(varies.factor, times, &made.factor) ||
      __builtin_mul_overflow(varies.rest, times, &made.rest))
    return std::nullopt;
  return made;
}

std::optional<LinearSize> apply(SizeKind kind, const LinearSize& a, const LinearSize& b) {
  if (kind == SizeKind::Add) return sum(a, b);
  if (kind == SizeKind::Mul) return product(a, b);
  if (a.factor != 0 || b.factor != 0) return std::nullopt;
  if (kind == SizeKind::Min) return LinearSize{0, std::min(a.rest, b.rest)};
  if (kind == SizeKind::Max) return LinearSize{0, std::max(a.rest, b.rest)};
  if (b.rest == 0 || (a.rest == INT64_MIN && b.rest == -1)) return std::nullopt;
  const std::int64_t quotient = floor_quotient(a.rest, b.rest);
  return LinearSize{0, kind == SizeKind::FloorDiv ? quotient : a.rest - quotient * b.rest};
}

}  // namespace

SizeExpression parse_size(std::string_view text, const std::string& what) {
  return SizeReader(text, what).read_all();
}

Json size_json(const SizeExpression& size) {
  if (size.kind == SizeKind::Number) return size.number;
  if (size.kind == SizeKind::Name) return size.name;
  Json json = Json::array();
  json.push_back(function_of(size.kind).name);
  for (const SizeExpression& part : size.parts) json.push_back(size_json(part));
  return json;
}

SizeExpression read_size_json(const Json& json, const std::string& what) {
  return read_json(json, what, 0);
}

const std::string* find_unknown(const SizeExpression& size, const SizeValues& known) {
  if (size.kind == SizeKind::Name) return known.contains(size.name) ? nullptr : &size.name;
  for (const SizeExpression& part : size.parts) {
    if (const std::string* const found = find_unknown(part, known)) return found;
  }
  return nullptr;
}

std::optional<LinearSize> linear_size(const SizeExpression& size, const SizeValues& known,
                                      std::string_view unknown) {
  if (size.kind == SizeKind::Number) return LinearSize{0, size.number};
  if (size.kind == SizeKind::Name) {
    if (size.name == unknown) return LinearSize{1, 0};
    const auto found = known.find(size.name);
    return found == known.end() ? std::nullopt : std::optional(LinearSize{0, found->second});
  }
  std::optional<LinearSize> all;
  for (std::size_t i = 0; i < size.parts.size(); ++i) {
    const std::optional<LinearSize> part = linear_size(size.parts[i], known, unknown);
    if (!part) return std::nullopt;
    all = i == 0 ? part : apply(size.kind, *all, *part);
    if (!all) return std::nullopt;
  }
  return all;
}

std::string to_string(const SizeExpression& size) {
  if (size.kind == SizeKind::Number) return std::to_string(size.number);
  if (size.kind == SizeKind::Name) return size.name;
  const SizeFunction& function = function_of(size.kind);
  std::string text;
  for (const SizeExpression& part : size.parts) {
    if (!text.empty()) text += function.infix != nullptr ? function.infix : ", ";
    const bool is_compound = !part.parts.empty() && function_of(part.kind).infix != nullptr;
    text +=
        is_compound && function.infix != nullptr ? "(" + to_string(part) + ")" : to_string(part);
  }
  return function.infix != nullptr ? text : fmt::format("{}({})", function.name, text);
}

}  // namespace opyard::jit
