// ffi/c_signature.h: the C signature of a schema, read by the table in
// opyard/ffi/c_function.h, for both directions.
//
// A call moves words of 8 bytes: one for each parameter of a number or pointer type, two for a
// complex number. Where they are stored depends on how the function is called.
//
// [Registers] x86-64 and AArch64 pass the first integers and pointers in one row of registers, the
// first reals in another, what is left over in words on the stack, and the caller clears its stack
// away. So most functions can be called through one C++ type that has more of each than they take,
// which costs 2 ns where libffi costs 15 to 70 (bench rows c_function): the words are in three
// rows. Others go through libffi, with their words in the order of the parameters: those with more
// than eight words left over, and with a complex number among them.
//
// Depends on: opyard/ffi/c_function.h, libffi.
#pragma once

#include <ffi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opyard/ffi/c_function.h"

namespace opyard::ffi {

#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kRegistersFit = true;
#else
inline constexpr bool kRegistersFit = false;
#endif
inline constexpr std::size_t kIntegers = 6;
inline constexpr std::size_t kReals = 8;
inline constexpr std::size_t kOthers = 8;
inline constexpr std::size_t kFirstReal = kIntegers;
inline constexpr std::size_t kFirstOther = kIntegers + kReals;
inline constexpr std::size_t kDirectWords = kFirstOther + kOthers;

// What one entry of the table stores.
enum class CElement : std::uint8_t { Int, Float, Bool, Complex, Text, Device, Tensor, Capsule };

constexpr bool is_number(CElement element) { return element <= CElement::Complex; }
constexpr std::size_t size_of(CElement element) {
  return element == CElement::Bool ? 1 : element == CElement::Complex ? 16 : 8;
}

// An argument or result of the schema.
struct CPart {
  CElement element{};
  bool list = false;
  bool optional = false;           // of the whole
  bool optional_elements = false;  // of a list
  bool written = false;            // DLTensor*
  bool by_pointer = false;         // a number
  int alias_of = -1;               // a result that is this argument: no parameter
  std::uint16_t parameter = 0;     // its first C parameter
  std::uint16_t word = 0;          // the word of that one
  std::uint16_t size_word = 0;     // and of the length of a list

  std::size_t parameters() const { return alias_of >= 0 ? 0 : list ? 2 : 1; }
  bool is_plain_number() const { return is_number(element) && !list && !by_pointer; }
};

enum class CReturn : std::uint8_t { Status, Nothing, Int, Float, Bool, Complex, Sign };

struct CSignature {
  std::vector<CPart> arguments;
  std::vector<CPart> results;  // the returned one among them
  CReturn returned = CReturn::Status;
  CForm form = CForm::Standard;
  std::string letters;  // of the return value and the parameters

  // Whether the return value is the only result of the schema.
  bool returns_result() const { return returned >= CReturn::Int; }
  // All arguments are plain numbers, none of them complex, and so is the result, which is returned.
  bool only_words = false;
  bool direct = false;                                // see [Registers]; if not, through libffi
  std::uint16_t integers = 0, reals = 0, others = 0;  // words in each row, if it is direct
  std::uint16_t words = 0;                            // in all
  std::vector<std::uint16_t> parameter_words;         // the first word of each parameter

  std::vector<ffi_type*> types;
  ffi_cif cif{};
};

// Raises Unsupported, naming the argument or result that has no C type.
std::unique_ptr<const CSignature> make_c_signature(const Operator& op, CForm form);

// "double cosine(double x)"
std::string prototype_of(const Operator& op, const CSignature& signature);

// The error of an argument or result that came over the border and cannot be taken.
[[noreturn]] OPYARD_COLD void refuse_argument(const Operator& op, std::size_t position,
                                              ErrorKind kind, std::string_view reason);
[[noreturn]] OPYARD_COLD void refuse_result(const Operator& op, std::size_t position,
                                            ErrorKind kind, std::string_view reason);

}  // namespace opyard::ffi
