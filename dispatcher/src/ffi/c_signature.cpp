// ffi/c_signature.cpp: C signature of a schema, and errors of schemas without one.
#include "ffi/c_signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/detail/schema/declared_writes.h"
#include "schema/base_types.h"

namespace opyard::ffi {
namespace {

constexpr const char* kNoType =
    "no C type stands for it; take its parts as arguments, or register a "
    "C++ or Python kernel";

// "argument 'x' at position 0", "result 1"
std::string place_of_argument(const Schema& schema, std::size_t position) {
  return fmt::format("argument '{}' at position {}", schema.arguments[position].name, position);
}

[[noreturn]] OPYARD_COLD void refuse_form(const Operator& op, CForm form, std::string_view reason) {
  fail(ErrorKind::Unsupported,
       fmt::format("{} has no C signature{}: {}.\nDeclaration: {}", to_string(op.name()),
                   form == CForm::Comparator ? " of the form Comparator" : "", reason,
                   op.declaration()));
}

// Why a type has no C element; empty if it has one.
std::string find_element(const Type& type, CElement& element) {
  switch (detail::runtime_kind(type.kind())) {
    case TypeKind::Int:
      element = CElement::Int;
      return {};
    case TypeKind::Float:
      element = CElement::Float;
      return {};
    case TypeKind::Bool:
      element = CElement::Bool;
      return {};
    case TypeKind::Complex:
#ifdef FFI_TARGET_HAS_COMPLEX_TYPE
      element = CElement::Complex;
      return {};
#else
      return "libffi has no complex numbers on this machine; take the two parts as float";
#endif
    case TypeKind::Str:
      element = CElement::Text;
      return {};
    case TypeKind::Device:
      element = CElement::Device;
      return {};
    case TypeKind::Tensor:
      element = CElement::Tensor;
      return {};
    case TypeKind::Capsule:
      element = CElement::Capsule;
      return {};
    case TypeKind::Scalar:
      return "a number of any kind has no fixed C type; take int, float, bool or complex";
    default:
      return kNoType;
  }
}

// The shape of a type, without its alias sets. Gives a reason if it has none.
std::string find_shape(const Type& outer, CPart& part) {
  const Type* type = &outer;
  if (type->kind() == TypeKind::Optional) {
    part.optional = true;
    type = &type->element();
  }
  if (type->kind() == TypeKind::List) {
    part.list = true;
    type = &type->element();
    if (type->kind() == TypeKind::Optional) {
      part.optional_elements = true;
      type = &type->element();
    }
  }
  std::string reason = find_element(*type, part.element);
  if (reason.empty() && part.optional_elements && is_number(part.element)) {
    reason =
        "a list of numbers is in C without gaps and has no room for None; take a list of "
        "numbers and one of bool";
  }
  if (reason.empty() && part.list && part.element == CElement::Capsule) reason = kNoType;
  return reason;
}

std::string find_argument(const Argument& argument, CPart& part) {
  std::string reason = find_shape(*argument.type, part);
  if (!reason.empty()) return reason;
  part.written = argument.is_write();
  if (part.written && part.element != CElement::Tensor) {
    return "C functions write to tensors only; return the new value as a result";
  }
  if (part.written && part.list && argument.alias->is_write) {
    return "C functions cannot change the length of a list; write to its tensors, as in "
           "Tensor(a!)[]";
  }
  part.by_pointer = part.optional && !part.list && is_number(part.element);
  return {};
}

std::string find_result(const Schema& schema, const Argument& result, CPart& part) {
  std::string reason = find_shape(*result.type, part);
  if (!reason.empty()) return reason;
  if (result.alias) {
    part.alias_of = result.alias->is_write ? returned_argument(schema, result) : kNoArgument;
    if (part.alias_of != kNoArgument) return {};
    return "it is a view of an argument, whose memory a C function cannot keep; return a tensor of "
           "its "
           "own, or the argument that is written to, as in (Tensor(a!) x) -> Tensor(a!)";
  }
  if (part.list) {
    if (!is_number(part.element)) {
      return "lists come back from C of numbers only; make each element a result of its own";
    }
    if (part.optional) {
      return "a null pointer is the empty list here, so None cannot come back; return a bool "
             "beside "
             "the list";
    }
  } else if (part.optional && is_number(part.element)) {
    return "a number that may be missing cannot come back from C; return a bool beside it";
  } else if (part.element == CElement::Capsule) {
    return "no one would know whose the pointer is and how it is given back; take it as an "
           "argument";
  }
  return {};
}

CReturn return_of(CElement element) {
  switch (element) {
    case CElement::Float:
      return CReturn::Float;
    case CElement::Bool:
      return CReturn::Bool;
    case CElement::Complex:
      return CReturn::Complex;
    default:
      return CReturn::Int;
  }
}

void make_comparator(const Operator& op, CSignature& signature) {
  const std::vector<CPart>& arguments = signature.arguments;
  const auto is_element = [](const CPart& part) { return part.is_plain_number(); };
  if (arguments.size() != 2 || !std::all_of(arguments.begin(), arguments.end(), is_element) ||
      arguments[0].element != arguments[1].element || signature.returned != CReturn::Int) {
    refuse_form(
        op, CForm::Comparator,
        "a comparator takes two numbers of one type and returns an int, as in (float a, float b) "
        "-> int");
  }
  for (CPart& part : signature.arguments) part.by_pointer = true;
  signature.returned = CReturn::Sign;
}

char letter_of(CElement element) {
  switch (element) {
    case CElement::Int:
      return 'l';
    case CElement::Float:
      return 'd';
    case CElement::Bool:
      return 'b';
    case CElement::Complex:
      return 'c';
    default:
      return 'p';
  }
}

constexpr char kReturnLetters[] = "ivldbci";  // in the order of CReturn

ffi_type* type_of(char letter) {
  switch (letter) {
    case 'v':
      return &ffi_type_void;
    case 'i':
      return &ffi_type_sint;
    case 'l':
      return &ffi_type_sint64;
    case 'd':
      return &ffi_type_double;
    case 'b':
      return &ffi_type_uint8;
#ifdef FFI_TARGET_HAS_COMPLEX_TYPE
    case 'c':
      return &ffi_type_complex_double;
#endif
    default:
      return &ffi_type_pointer;
  }
}

// Gives every part its parameters.
void place_parameters(CSignature& signature) {
  signature.letters = kReturnLetters[int(signature.returned)];
  const auto place = [&](CPart& part, bool is_result) {
    part.parameter = std::uint16_t(signature.letters.size() - 1);
    if (part.parameters() == 0) return;
    const bool plain = !is_result && part.is_plain_number();
    signature.letters += plain ? letter_of(part.element) : 'p';
    if (part.list) signature.letters += is_result ? 'p' : 'l';
  };
  for (CPart& part : signature.arguments) place(part, false);
  if (signature.returns_result()) return;
  for (CPart& part : signature.results) place(part, true);
}

// Finds every parameter's word in the rows of registers; false if one has none. See [Registers] in
// the header.
bool place_in_rows(CSignature& signature) {
  signature.integers = signature.reals = signature.others = 0;
  for (const char letter : std::string_view(signature.letters).substr(1)) {
    const bool is_real = letter == 'd' || letter == 'c';
    std::uint16_t& row = is_real ? signature.reals : signature.integers;
    const std::size_t size = letter == 'c' ? 2 : 1;
    if (row + size <= (is_real ? kReals : kIntegers)) {
      signature.parameter_words.push_back(std::uint16_t(row + (is_real ? kFirstReal : 0)));
      row = std::uint16_t(row + size);
    } else if (size == 1 && signature.others < kOthers) {
      signature.parameter_words.push_back(std::uint16_t(kFirstOther + signature.others++));
    } else {
      return false;
    }
  }
  return true;
}

void place_words(CSignature& signature) {
  std::vector<std::uint16_t>& words = signature.parameter_words;
  signature.direct = kRegistersFit && place_in_rows(signature);
  signature.words = signature.others > 0 ? kDirectWords : kFirstOther;
  if (!signature.direct) {
    words.clear();
    signature.words = 0;
    for (const char letter : std::string_view(signature.letters).substr(1)) {
      words.push_back(signature.words);
      signature.words = std::uint16_t(signature.words + (letter == 'c' ? 2 : 1));
    }
  }
  const auto place = [&](CPart& part) {
    if (part.parameter < words.size()) part.word = words[part.parameter];
    if (part.list && part.parameter + 1u < words.size()) part.size_word = words[part.parameter + 1];
  };
  for (CPart& part : signature.arguments) place(part);
  for (CPart& part : signature.results) place(part);
}

void prepare(CSignature& signature) {
  for (const char letter : std::string_view(signature.letters).substr(1)) {
    signature.types.push_back(type_of(letter));
  }
  const ffi_status status =
      ffi_prep_cif(&signature.cif, FFI_DEFAULT_ABI, unsigned(signature.types.size()),
                   type_of(signature.letters[0]), signature.types.data());
  if (status != FFI_OK) {
    fail(ErrorKind::Internal, fmt::format("libffi refuses the signature {} with status {}",
                                          signature.letters, int(status)));
  }
}

}  // namespace

std::unique_ptr<const CSignature> make_c_signature(const Operator& op, CForm form) {
  const Schema& schema = op.schema();
  if (schema.variadic_arguments || schema.variadic_results) {
    refuse_form(op, CForm::Standard,
                "it takes or gives any number of values, and a C function a fixed one");
  }
  auto signature = std::make_unique<CSignature>();
  signature->form = form;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const std::string reason =
        find_argument(schema.arguments[i], signature->arguments.emplace_back());
    if (!reason.empty()) {
      refuse_form(op, CForm::Standard,
                  fmt::format("{} is of type {}, and {}", place_of_argument(schema, i),
                              to_string(*schema.arguments[i].type), reason));
    }
  }
  for (std::size_t i = 0; i < schema.results.size(); ++i) {
    const std::string reason =
        find_result(schema, schema.results[i], signature->results.emplace_back());
    if (!reason.empty()) {
      refuse_form(op, CForm::Standard,
                  fmt::format("result {} is of type {}, and {}", i,
                              to_string(*schema.results[i].type), reason));
    }
  }
  if (signature->results.size() == 1 && signature->results[0].is_plain_number()) {
    signature->returned = return_of(signature->results[0].element);
  } else if (form == CForm::Void) {
    signature->returned = CReturn::Nothing;
  }
  if (form == CForm::Comparator) make_comparator(op, *signature);
  const auto is_word = [](const CPart& part) {
    return part.is_plain_number() && part.element != CElement::Complex;
  };
  signature->only_words =
      std::all_of(signature->arguments.begin(), signature->arguments.end(), is_word) &&
      signature->returns_result() && signature->returned != CReturn::Complex;
  place_parameters(*signature);
  place_words(*signature);
  prepare(*signature);
  return signature;
}

void refuse_argument(const Operator& op, std::size_t position, ErrorKind kind,
                     std::string_view reason) {
  fail(kind, fmt::format("{}: {}: {}", to_string(op.name()),
                         place_of_argument(op.schema(), position), reason));
}

void refuse_result(const Operator& op, std::size_t position, ErrorKind kind,
                   std::string_view reason) {
  fail(kind, fmt::format("{}: result {}: {}", to_string(op.name()), position, reason));
}

}  // namespace opyard::ffi
