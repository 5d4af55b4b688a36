// exported/checks.cpp: reading input constraints: dtypes, sizes, ranges.
#include "exported/checks.h"

#include <cstdint>

#include <fmt/format.h>

#include "exported/program.h"
#include "files/sizes.h"

namespace opyard::jit {
namespace {

SizeExpression read_size(const Json& size, const std::string& what) {
  require_object(size, what);
  if (const Json* const number = find_member(size, "as_int")) return require_int(*number, what);
  const Json& expression = require_member(size, "as_expr", what);
  return parse_size(require_text(require_member(expression, "expr_str", what), what), what);
}

}  // namespace

InputCheck read_input_check(const Json& graph, const std::string& name, const std::string& what) {
  const Json& all = require_member(graph, "tensor_values", what);
  const Json& meta = require_member(all, name.c_str(), what);
  InputCheck check = {
      name, require_exported_dtype(require_member(meta, "dtype", what), what), {}, {}};
  for (const Json& size : require_array(require_member(meta, "sizes", what), what)) {
    check.sizes.emplace_back(
        read_size(size, fmt::format("{}: size {} of input %{}", what, check.sizes.size(), name)));
  }
  return check;
}

InputCheck read_int_check(const Json& graph, const std::string& name, const std::string& what) {
  const Json& all = require_member(graph, "sym_int_values", what);
  const Json& value = require_member(all, name.c_str(), what);
  return {name, {}, {read_size(value, what + ": input %" + name)}, {}};
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
