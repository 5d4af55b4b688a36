// text/typed_calls.cpp: writer of headers with a C++ function for each operator.
#include "opyard/jit/operator_file.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "opyard/detail/registry/record.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"

namespace opyard::jit {
namespace {

constexpr std::string_view kKeywords[] = {
    "alignas",   "alignof",   "and",       "asm",     "auto",     "bool",     "break",
    "case",      "catch",     "char",      "class",   "const",    "continue", "default",
    "delete",    "do",        "double",    "else",    "enum",     "explicit", "export",
    "extern",    "false",     "float",     "for",     "friend",   "goto",     "if",
    "inline",    "int",       "long",      "mutable", "new",      "not",      "operator",
    "or",        "private",   "protected", "public",  "register", "return",   "short",
    "signed",    "sizeof",    "static",    "struct",  "switch",   "template", "this",
    "throw",     "true",      "try",       "typedef", "typeid",   "typename", "union",
    "unsigned",  "using",     "virtual",   "void",    "volatile", "while",    "xor",
    "namespace", "constexpr", "noexcept",  "nullptr"};

std::string cpp_name(std::string_view name) {
  const bool is_word = std::ranges::find(kKeywords, name) != std::end(kKeywords);
  return std::string(name) + (is_word ? "_" : "");
}

struct Spelling {
  TypeKind kind;
  const char* value;
  const char* parameter;  // where it differs
};
constexpr Spelling kSpellings[] = {
    {TypeKind::Tensor, "opyard::Tensor", "const opyard::Tensor&"},
    {TypeKind::Int, "std::int64_t", nullptr},
    {TypeKind::SymInt, "std::int64_t", nullptr},
    {TypeKind::Float, "double", nullptr},
    {TypeKind::Bool, "bool", nullptr},
    {TypeKind::Str, "std::string", "std::string_view"},
    {TypeKind::Scalar, "opyard::Scalar", "const opyard::Scalar&"},
    {TypeKind::Complex, "std::complex<double>", nullptr},
    {TypeKind::ScalarType, "opyard::DType", nullptr},
    {TypeKind::Device, "opyard::Device", nullptr},
    {TypeKind::Layout, "opyard::Layout", nullptr},
    {TypeKind::MemoryFormat, "opyard::MemoryFormat", nullptr},
    {TypeKind::Generator, "opyard::CountedPtr<opyard::Generator>", nullptr},
};

[[noreturn]] void refuse(const Type& type) {
  fail(ErrorKind::Unsupported,
       fmt::format("the type {} has no C++ type in a header that is made", to_string(type)));
}

bool is_int_list(const Type& type) {
  return type.kind() == TypeKind::List &&
         (type.element().kind() == TypeKind::Int || type.element().kind() == TypeKind::SymInt);
}

std::string spell_value(const Type& type) {
  if (type.kind() == TypeKind::List) {
    return fmt::format("std::vector<{}>", spell_value(type.element()));
  }
  if (type.kind() == TypeKind::Optional) {
    return fmt::format("std::optional<{}>", spell_value(type.element()));
  }
  for (const Spelling& row : kSpellings) {
    if (row.kind == type.kind()) return row.value;
  }
  refuse(type);
}

std::string spell_parameter(const Type& type, bool is_written) {
  if (is_written && type.kind() == TypeKind::Tensor) return "opyard::Tensor&";
  if (is_int_list(type)) return "opyard::IntSpan";
  if (type.kind() == TypeKind::List) return fmt::format("const {}&", spell_value(type));
  if (type.kind() == TypeKind::Optional) {
    const Type& inner = type.element();
    if (is_int_list(inner)) return "std::optional<opyard::IntSpan>";
    if (inner.kind() == TypeKind::Str) return "std::optional<std::string_view>";
    const bool is_counted = inner.kind() == TypeKind::Tensor || inner.kind() == TypeKind::Scalar ||
                            inner.kind() == TypeKind::List || inner.kind() == TypeKind::Generator;
    const std::string whole = spell_value(type);
    return is_counted ? fmt::format("const {}&", whole) : whole;
  }
  for (const Spelling& row : kSpellings) {
    if (row.kind == type.kind()) return row.parameter != nullptr ? row.parameter : row.value;
  }
  refuse(type);
}

std::string tuple_or_one(const std::vector<std::string>& results) {
  if (results.empty()) return "void";
  if (results.size() == 1) return results.front();
  return fmt::format("std::tuple<{}>", fmt::join(results, ", "));
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t i = text.find(from); i != std::string::npos;
       i = text.find(from, i + to.size())) {
    text.replace(i, from.size(), to);
  }
}

// As people write the types that kernels have.
std::string written(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kWritten[] = {
      {"std::__1::", "std::"},
      {"std::__cxx11::", "std::"},
      {"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
      {"std::basic_string_view<char, std::char_traits<char>>", "std::string_view"},
      {"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
      {"std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
      {"std::span<long const, 18446744073709551615ul>", "opyard::IntSpan"},
      {"> >", ">>"},
  };
  for (const auto& [from, to] : kWritten) replace_all(text, from, to);
  // The allocators of vectors.
  constexpr std::string_view kAllocator = ", std::allocator<";
  for (std::size_t i = text.find(kAllocator); i != std::string::npos; i = text.find(kAllocator)) {
    std::size_t open = 1, end = i + kAllocator.size();
    for (; end < text.size() && open > 0; ++end) {
      if (text[end] == '<') ++open;
      if (text[end] == '>') --open;
    }
    text.erase(i, end - i);
  }
  if (text.ends_with(" const&")) text = "const " + text.substr(0, text.size() - 7) + "&";
  return text == "long" ? "std::int64_t" : text;
}

// "R (A, B<C, D>)" as its types.
CppSignature parts_of(std::string_view text) {
  CppSignature signature;
  std::size_t open = 0, begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++open;
    if (text[i] == '>') --open;
    if (open > 0) continue;
    if (text[i] == '(') {
      signature.result =
          written(std::string(text.substr(0, text.find_last_not_of(' ', i - 1) + 1)));
      begin = i + 1;
    } else if (text[i] == ',' || text[i] == ')') {
      const std::string_view one = text.substr(begin, i - begin);
      if (!one.empty()) signature.parameters.push_back(written(std::string(one)));
      begin = i + 2;  // and the blank
    }
  }
  replace_all(signature.result, "<long>", "<std::int64_t>");
  for (std::string& one : signature.parameters) replace_all(one, "<long>", "<std::int64_t>");
  return signature;
}

// That of a kernel of C++, if one has one.
std::optional<CppSignature> signature_of_kernels(const Operator& op) {
  for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::Meta}) {
    const Record* const record = inspect::resolve(op, key).record;
    const std::type_info* const type = record == nullptr ? nullptr : record->signature;
    if (type == nullptr) continue;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
    if (status == 0) return parts_of(text.get());
  }
  return std::nullopt;
}

std::string default_number(double number) {
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

// A default in C++, or nothing where there is none to write.
std::optional<std::string> default_text(const Argument& argument) {
  if (!argument.default_value) return std::nullopt;
  const opyard::Value& value = *argument.default_value;
  const TypeKind kind = argument.type->kind();
  const TypeKind inner = kind == TypeKind::Optional ? argument.type->element().kind() : kind;
  if (value.is_none())
    return kind == TypeKind::Optional ? std::optional("std::nullopt") : std::nullopt;
  if (value.is_bool()) return value.to_bool() ? "true" : "false";
  if (value.is_int()) {
    const std::string number = fmt::format("{}", value.to_int());
    switch (inner) {
      case TypeKind::Scalar:
        return fmt::format("opyard::Scalar(std::int64_t{{{}}})", number);
      case TypeKind::ScalarType:
        return fmt::format("opyard::DType({})", number);
      case TypeKind::Layout:
        return fmt::format("opyard::Layout({})", number);
      case TypeKind::MemoryFormat:
        return fmt::format("opyard::MemoryFormat({})", number);
      case TypeKind::Int:
      case TypeKind::SymInt:
        return number;
      case TypeKind::Float:
        return default_number(double(value.to_int()));
      default:
        return std::nullopt;
    }
  }
  if (value.is_double() && std::isfinite(value.to_double())) {
    const std::string number = default_number(value.to_double());
    return inner == TypeKind::Scalar ? fmt::format("opyard::Scalar({})", number) : number;
  }
  if (value.is_string() && inner == TypeKind::Str) return quoted_text(value.to_string_view());
  if (!value.is_list() || kind != TypeKind::List) return std::nullopt;
  if (value.to_list().empty()) return "{}";
  if (!is_int_list(*argument.type)) return std::nullopt;
  std::vector<std::string> numbers;
  for (const opyard::Value& each : value.to_list()) {
    if (!each.is_int()) return std::nullopt;
    numbers.push_back(fmt::format("{}", each.to_int()));
  }
  return fmt::format("detail::numbers<{}>", fmt::join(numbers, ", "));
}

std::string comment(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += fmt::format("// {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

class HeaderWriter {
 public:
  std::string function(const OperatorName& name, std::string_view doc) {
    const Operator& op = require_operator(to_string(name));
    const Schema& schema = op.schema();
    CppSignature signature;
    try {
      const std::optional<CppSignature> own = signature_of_kernels(op);
      signature = own ? *own : cpp_signature(schema);
    } catch (const Error& error) {
      fail(error.kind(), fmt::format("{}: {}", to_string(name), error.what()));
    }
    const std::vector<std::string>& types = signature.parameters;
    std::vector<std::string> parameters(types.size()), names;
    bool has_defaults = true;
    for (std::size_t i = types.size(); i-- > 0;) {
      const Argument& argument = schema.arguments[i];
      const std::optional<std::string> value = has_defaults ? default_text(argument) : std::nullopt;
      has_defaults = value.has_value();
      parameters[i] = fmt::format("{} {}{}", types[i], cpp_name(argument.name),
                                  value ? " = " + *value : std::string());
    }
    for (const Argument& argument : schema.arguments) names.push_back(cpp_name(argument.name));
    return fmt::format(
        "{}{}inline {} {}({}) {{\n"
        "  static constinit opyard::FoundOperator<{}({})> op(\n      \"{}\");\n"
        "  {}op.call({});\n}}\n",
        comment(op.declaration()), comment(doc), signature.result, unique_name(schema, types),
        fmt::join(parameters, ", "), signature.result, fmt::join(types, ", "), to_string(name),
        signature.result == "void" ? "" : "return ", fmt::join(names, ", "));
  }

 private:
  std::string unique_name(const Schema& schema, const std::vector<std::string>& types) {
    std::string name(schema.name.base_name());
    const bool writes_out = !schema.arguments.empty() && schema.arguments.back().is_out();
    if (writes_out && !name.ends_with("_out")) name += "_out";
    name = cpp_name(name);
    if (!taken_.emplace(name, types).second) name += '_' + schema.name.overload;
    taken_.emplace(name, types);
    return name;
  }

  std::set<std::pair<std::string, std::vector<std::string>>> taken_;
};

}  // namespace

CppSignature cpp_signature(const Schema& schema) {
  CppSignature signature;
  for (const Argument& argument : schema.arguments) {
    signature.parameters.push_back(spell_parameter(*argument.type, argument.is_write()));
  }
  std::vector<std::string> results;
  for (const Argument& result : schema.results) {
    const bool is_argument = result.is_write() && result.type->kind() == TypeKind::Tensor;
    results.push_back(is_argument ? "opyard::Tensor&" : spell_value(*result.type));
  }
  signature.result = tuple_or_one(results);
  return signature;
}

std::string typed_calls_header(std::string_view source, std::string_view name_space,
                               std::span<const OperatorName> names) {
  HeaderWriter writer;
  std::string functions;
  for (const OperatorName& name : names) {
    functions += '\n' + writer.function(name, inspect::doc(name));
  }
  return fmt::format(
      "// Typed calls of the operators of {0}, made from their schemas; do not edit.\n"
      "#pragma once\n\n#include <complex>\n#include <cstdint>\n#include <optional>\n"
      "#include <string>\n#include <string_view>\n#include <tuple>\n#include <vector>\n\n"
      "#include <opyard/registry/found_operator.h>\n#include <opyard/tensor.h>\n"
      "#include <opyard/tensor/memory_format.h>\n#include <opyard/value/generator.h>\n"
      "#include <opyard/value/scalar.h>\n\n"
      "namespace {1} {{\n\nnamespace detail {{\n"
      "template <std::int64_t... N>\ninline constexpr std::int64_t numbers[] = {{N...}};\n"
      "}}  // namespace detail\n{2}\n}}  // namespace {1}\n",
      source, name_space, functions);
}

}  // namespace opyard::jit
