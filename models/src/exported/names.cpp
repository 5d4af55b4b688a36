// exported/names.cpp: parsing of targets and stack traces, and the list of size functions.
#include "exported/names.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

namespace opyard::jit {
namespace {

// Functions on sizes, and the built-in ones that they are here.
struct SizeTarget {
  const char* target;
  const char* builtin;
};
constexpr std::array kSizeFunctions = {
    SizeTarget{"torch.ops.aten.sym_size.int", "aten::size"},
    SizeTarget{"_operator.add", "aten::add"},
    SizeTarget{"_operator.sub", "aten::sub"},
    SizeTarget{"_operator.mul", "aten::mul"},
    SizeTarget{"_operator.floordiv", "aten::floordiv"},
    SizeTarget{"_operator.mod", "aten::remainder"},
    SizeTarget{"_operator.truediv", "aten::div"},
    SizeTarget{"_operator.pow", "aten::pow"},
    SizeTarget{"_operator.neg", "aten::neg"},
    SizeTarget{"_operator.eq", "aten::eq"},
    SizeTarget{"_operator.ne", "aten::ne"},
    SizeTarget{"_operator.lt", "aten::lt"},
    SizeTarget{"_operator.le", "aten::le"},
    SizeTarget{"_operator.gt", "aten::gt"},
    SizeTarget{"_operator.ge", "aten::ge"},
    SizeTarget{"_operator.and_", "aten::__and__"},
    SizeTarget{"_operator.or_", "aten::__or__"},
    SizeTarget{"torch.sym_max", "prim::max"},
    SizeTarget{"torch.sym_min", "prim::min"},
    SizeTarget{"torch.sym_not", "aten::__not__"},
    SizeTarget{"torch.sym_float", "aten::Float"},
    SizeTarget{"torch.sym_int", "aten::Int"},
    SizeTarget{"torch.ops.aten.sym_numel.default", "aten::numel"},
    SizeTarget{"torch._sym_sqrt", "aten::sqrt"},
    SizeTarget{"torch.sym_sqrt", "aten::sqrt"},
    SizeTarget{"math.sqrt", "aten::sqrt"},
    SizeTarget{"math.ceil", "aten::ceil"},
    SizeTarget{"math.floor", "aten::floor"},
    SizeTarget{"math.trunc", "aten::Int"},
};

}  // namespace

const char* find_size_function(const std::string& target) {
  for (const SizeTarget& each : kSizeFunctions) {
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

namespace {

// A text among what is said beside a node; empty if there is none.
std::string_view note_of(const Json& node, const char* name) {
  const Json* const metadata = find_member(node, "metadata");
  const Json* const found = metadata == nullptr ? nullptr : find_member(*metadata, name);
  if (found == nullptr || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

}  // namespace

// "key,path,class" of each module from the outermost to the innermost, with ";" in between.
std::string scope_of(const Json& node) {
  const std::string_view stack = note_of(node, "nn_module_stack");
  const std::string_view first = stack.substr(0, stack.find(';'));
  const std::string_view last = stack.substr(stack.rfind(';') + 1);
  const std::size_t comma = last.find(',');
  const std::size_t end = last.rfind(',');
  if (comma == end || first.find(',') == first.npos) return {};
  std::string scope(first.substr(first.find_last_of(".,") + 1));
  std::string path(last.substr(comma + 1, end - comma - 1));
  if (path.empty()) return scope;
  std::replace(path.begin(), path.end(), '.', '/');
  return scope + '/' + path;
}

SourceRange source_range_of(const Json& node) {
  SourceRange place;
  const std::string text(note_of(node, "stack_trace"));
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
