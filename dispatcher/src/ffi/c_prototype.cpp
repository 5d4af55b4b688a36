// ffi/c_prototype.cpp: C signatures as text, and names of their forms.
#include <fmt/format.h>

#include "ffi/c_signature.h"

namespace opyard::ffi {
namespace {

const char* c_name(CElement element) {
  switch (element) {
    case CElement::Int:
      return "int64_t";
    case CElement::Float:
      return "double";
    case CElement::Bool:
      return "bool";
    case CElement::Complex:
      return "double _Complex";
    case CElement::Text:
    case CElement::Device:
      return "const char*";
    case CElement::Tensor:
      return "const DLTensor*";
    case CElement::Capsule:
      return "void*";
  }
  return "";
}

void add_argument(std::vector<std::string>& parameters, const CPart& part,
                  const std::string& name) {
  const char* const type = part.written ? "DLTensor*" : c_name(part.element);
  if (part.list) {
    parameters.push_back(is_number(part.element) ? fmt::format("const {}* {}", type, name)
                                                 : fmt::format("{} const* {}", type, name));
    parameters.push_back(fmt::format("int64_t {}_size", name));
  } else if (part.by_pointer) {
    parameters.push_back(fmt::format("const {}* {}", type, name));
  } else {
    parameters.push_back(fmt::format("{} {}", type, name));
  }
}

void add_result(std::vector<std::string>& parameters, const CPart& part, const std::string& name) {
  if (part.alias_of >= 0) return;
  if (part.list) {
    parameters.push_back(fmt::format("{}** {}", c_name(part.element), name));
    parameters.push_back(fmt::format("int64_t* {}_size", name));
  } else if (is_number(part.element)) {
    parameters.push_back(fmt::format("{}* {}", c_name(part.element), name));
  } else {
    parameters.push_back(fmt::format(
        "{} {}", part.element == CElement::Tensor ? "DLManagedTensorVersioned**" : "char**", name));
  }
}

}  // namespace

std::string prototype_of(const Operator& op, const CSignature& signature) {
  constexpr const char* kReturns[] = {"int", "void", "int64_t", "double", "bool", "double _Complex",
                                      "int"};  // in the order of CReturn
  const Schema& schema = op.schema();
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    add_argument(parameters, signature.arguments[i], schema.arguments[i].name);
  }
  if (!signature.returns_result()) {
    for (std::size_t i = 0; i < signature.results.size(); ++i) {
      const std::string& given = schema.results[i].name;
      add_result(parameters, signature.results[i],
                 !given.empty()                  ? given
                 : signature.results.size() == 1 ? "result"
                                                 : fmt::format("result{}", i));
    }
  }
  std::string name(op.name().base_name());
  if (!op.name().overload.empty()) name += "_" + op.name().overload;
  std::string list = parameters.empty() ? "void" : parameters[0];
  for (std::size_t i = 1; i < parameters.size(); ++i) list += ", " + parameters[i];
  return fmt::format("{} {}({})", kReturns[int(signature.returned)], name, list);
}

}  // namespace opyard::ffi

namespace opyard {

const char* name_of(CForm form) noexcept {
  switch (form) {
    case CForm::Standard:
      return "Standard";
    case CForm::Void:
      return "Void";
    case CForm::Comparator:
      return "Comparator";
  }
  return "";
}

CForm parse_c_form(std::string_view name) {
  for (const CForm form : {CForm::Standard, CForm::Void, CForm::Comparator}) {
    if (name == name_of(form)) return form;
  }
  fail(ErrorKind::BadValue,
       fmt::format(
           "no form of C functions is called \"{}\"; there are Standard, Void and Comparator",
           name));
}

std::string c_prototype(const Operator& op, CForm form) {
  return ffi::prototype_of(op, *ffi::make_c_signature(op, form));
}

}  // namespace opyard
