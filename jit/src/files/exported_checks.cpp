// files/exported_checks.cpp: see exported_checks.h; sizes are numbers or expressions of symbols.
#include "files/exported_checks.h"

#include <cstdint>

#include "files/exported.h"

namespace opyard::jit {
namespace {

InputCheck::Size read_size(const Json& size, const std::string& what) {
  require_object(size, what);
  if (const Json* const number = find_member(size, "as_int")) return require_int(*number, what);
  const Json& expression = require_member(size, "as_expr", what);
  const std::string& text = require_text(require_member(expression, "expr_str", what), what);
  // Others, such as twice a size, are checked by the operators.
  constexpr std::string_view kSymbol = "Symbol('";
  if (!text.starts_with(kSymbol)) return {};
  const std::size_t end = text.find('\'', kSymbol.size());
  if (end == text.npos) return {};
  return text.substr(kSymbol.size(), end - kSymbol.size());
}

}  // namespace

InputCheck read_input_check(const Json& graph, const std::string& name, const std::string& what) {
  const Json& all = require_member(graph, "tensor_values", what);
  const Json& meta = require_member(all, name.c_str(), what);
  InputCheck check = {
      name, require_exported_dtype(require_member(meta, "dtype", what), what), {}, {}};
  for (const Json& size : require_array(require_member(meta, "sizes", what), what)) {
    check.sizes.push_back(read_size(size, what));
  }
  return check;
}

std::map<std::string, std::pair<std::int64_t, std::int64_t>> read_ranges(const Json& program,
                                                                         const std::string& what) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> read;
  const Json* const ranges = find_member(program, "range_constraints");
  if (ranges == nullptr) return read;
  for (const auto& [name, range] : require_object(*ranges, what).items()) {
    const Json& least = require_member(range, "min_val", what);
    const Json& most = require_member(range, "max_val", what);
    read[name] = {least.is_null() ? 0 : require_int(least, what),
                  most.is_null() ? INT64_MAX : require_int(most, what)};
  }
  return read;
}

}  // namespace opyard::jit
