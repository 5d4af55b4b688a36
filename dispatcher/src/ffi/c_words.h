// ffi/c_words.h: the words of one call, and calling a function with them.
//
// See [Registers] in ffi/c_signature.h for where they are stored.
//
// Depends on: ffi/c_signature.h.
#pragma once

#include <bit>
#include <complex>
#include <cstring>
#include <utility>

#include "ffi/c_signature.h"
#include "opyard/tensor/dlpack.h"

namespace opyard::ffi {

static_assert(std::endian::native == std::endian::little, "a bool is the first byte of its word");

union Word {
  std::uint64_t integer;
  double real;
  const void* pointer;
};

// What a function returns or leaves behind an out-pointer.
union Out {
  std::int64_t integer;
  double real;
  double parts[2];
  bool boolean;
  ffi_arg widened;
  char* text;
  dlpack::DLManagedTensorVersioned* tensor;
  struct {
    void* data;
    std::int64_t size;
  } list;
};

// Calls with the first words of each row; the function takes some or all of them. `integers` and
// `reals` are at least as many as it takes, and so is `others`, of the words on the stack.
template <typename R, std::size_t integers, std::size_t reals, std::size_t others>
[[gnu::always_inline]] OPYARD_CALLS_OTHER_TYPE inline R call_directly(const void* function,
                                                                      const Word* words) {
  return [&]<std::size_t... I, std::size_t... D, std::size_t... S>(
             std::index_sequence<I...>, std::index_sequence<D...>, std::index_sequence<S...>) {
    using Function = R (*)(decltype(void(I), std::uint64_t())..., decltype(void(D), double())...,
                           decltype(void(S), std::uint64_t())...);
    return reinterpret_cast<Function>(const_cast<void*>(function))(
        words[I].integer..., words[kFirstReal + D].real..., words[kFirstOther + S].integer...);
  }(std::make_index_sequence<integers>(), std::make_index_sequence<reals>(),
         std::make_index_sequence<others>());
}

// Copies a number into the 8 or 16 bytes at `to`. Raises BadArgument for another kind of value.
inline void write_number(CElement element, const Value& value, void* to) {
  const auto copy = [to](auto number) { std::memcpy(to, &number, sizeof(number)); };
  switch (element) {
    case CElement::Float:
      return copy(value.to_double());
    case CElement::Bool:
      return copy(value.to_bool());
    case CElement::Complex:
      return copy(value.to_complex());
    default:
      return copy(value.to_int());
  }
}

// The number at an address.
inline Value read_number(CElement element, const void* at) {
  const auto read = [at]<typename T>(T number) {
    std::memcpy(&number, at, sizeof(T));
    return number;
  };
  if (element == CElement::Float) return Value(read(0.0));
  if (element == CElement::Int) return Value(read(std::int64_t{0}));
  if (element == CElement::Bool) return Value(read(std::uint8_t{0}) != 0);
  return Value(read(std::complex<double>()));
}

}  // namespace opyard::ffi
