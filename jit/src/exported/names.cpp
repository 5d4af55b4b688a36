// exported/names.cpp: the list of functions on sizes; targets and stacks are taken apart.
#include "exported/names.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

namespace opyard::jit {
namespace {

// Functions on sizes, and the built-in ones that they are here.
struct SizeFunction {
  const char* target;
  const char* builtin;
};
constexpr std::array kSizeFunctions = {
    SizeFunction{"torch.ops.aten.sym_size.int", "aten::size"},
    SizeFunction{"_operator.add", "aten::add"},
    SizeFunction{"_operator.sub", "aten::sub"},
    SizeFunction{"_operator.mul", "aten::mul"},
    SizeFunction{"_operator.floordiv", "aten::floordiv"},
    SizeFunction{"_operator.mod", "aten::remainder"},
    SizeFunction{"_operator.truediv", "aten::div"},
    SizeFunction{"_operator.pow", "aten::pow"},
    SizeFunction{"_operator.neg", "aten::neg"},
    SizeFunction{"_operator.eq", "aten::eq"},
    SizeFunction{"_operator.ne", "aten::ne"},
    SizeFunction{"_operator.lt", "aten::lt"},
    SizeFunction{"_operator.le", "aten::le"},
    SizeFunction{"_operator.gt", "aten::gt"},
    SizeFunction{"_operator.ge", "aten::ge"},
    SizeFunction{"_operator.and_", "aten::__and__"},
    SizeFunction{"_operator.or_", "aten::__or__"},
    SizeFunction{"torch.sym_max", "prim::max"},
    SizeFunction{"torch.sym_min", "prim::min"},
    SizeFunction{"torch.sym_not", "aten::__not__"},
    SizeFunction{"torch.sym_float", "aten::Float"},
    SizeFunction{"torch.sym_int", "aten::Int"},
    SizeFunction{"torch.ops.aten.sym_numel.default", "aten::numel"},
    SizeFunction{"torch._sym_sqrt", "aten::sqrt"},
    SizeFunction{"torch.sym_sqrt", "aten::sqrt"},
    SizeFunction{"math.sqrt", "aten::sqrt"},
    SizeFunction{"math.ceil", "aten::ceil"},
    SizeFunction{"math.floor", "aten::floor"},
    SizeFunction{"math.trunc", "aten::Int"},
};

}  // namespace

const char* find_size_function(const std::string& target) {
  for (const SizeFunction& each : kSizeFunctions) {
    if (target == each.target) return each.builtin;
  }
  return nullptr;
}

std::optional<OperatorName> operator_name(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  if (!target.starts_with(kPrefix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  const std::size_t first = target.find('.');
  const std::size_t last = target.rfind('.');
  if (first == target.npos || first == last) return std::nullopt;
  OperatorName name;
  name.name = std::string(target.substr(0, first)) +
              "::" + std::string(target.substr(first + 1, last - first - 1));
  name.overload = std::string(target.substr(last + 1));
  if (name.overload == "default") name.overload.clear();
  return name;
}

SourceRange source_range_of(const Json& node) {
  SourceRange place;
  const Json* const metadata = find_member(node, "metadata");
  const Json* const trace = metadata == nullptr ? nullptr : find_member(*metadata, "stack_trace");
  if (trace == nullptr || !trace->is_string()) return place;
  const std::string& text = trace->get_ref<const std::string&>();
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  for (std::size_t at = text.find(kFile); at != text.npos; at = text.find(kFile, at + 1)) {
    const std::size_t begin = at + kFile.size();
    const std::size_t end = text.find(kLine, begin);
    if (end == text.npos) break;
    const std::string file = text.substr(begin, end - begin);
    if (file.starts_with('<')) continue;                               // a text that PyTorch made
    if (place.known() && file.find("/torch/") != file.npos) continue;  // inside a layer
    const unsigned long line = std::strtoul(text.c_str() + end + kLine.size(), nullptr, 10);
    place.file = std::make_shared<const std::string>(file.substr(file.rfind('/') + 1));
    place.line = std::uint32_t(std::min<unsigned long>(line, 1'000'000'000));
  }
  return place;
}

}  // namespace opyard::jit
