// objects/values/integer.h: conversion of Python ints to 64-bit integers.
//
// Depends on: runtime/{errors,stack_end}.h.
#pragma once

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/stack_end.h"
#include "runtime/errors.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opyard::python {

inline constexpr const char* kInt64Range = "-9223372036854775808 to 9223372036854775807";

// The value of an int; nothing if it is past 64 bits. Throws PythonErrorSet for what is no int.
inline std::optional<std::int64_t> find_int64(PyObject* integer) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
  if (overflow != 0) return std::nullopt;
  return value;
}

// The value of an int above int64; nothing for others. With no exception set.
inline std::optional<std::uint64_t> find_uint64_above(PyObject* integer) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow <= 0) return std::nullopt;
  const unsigned long long value = PyLong_AsUnsignedLongLong(integer);
  if (value != ~0ULL || PyErr_Occurred() == nullptr) return value;
  if (!clear_if(PyExc_OverflowError)) throw PythonErrorSet();
  return std::nullopt;
}

// As much of a UTF-8 text as fits into so many bytes, not cut in the middle of a character.
inline std::string_view whole_characters(std::string_view text, std::size_t most) noexcept {
  std::size_t size = std::min(text.size(), most);
  while (size > 0 && size < text.size() && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

// An object as repr() shows it, for messages, cut if it is long. May run Python code. Throws
// PythonErrorSet for RecursionError: a __repr__ that leads back here would otherwise run again at
// each level.
inline std::string shown(PyObject* object) {
  const Owned text = Owned::steal(is_stack_at_its_end() ? nullptr : PyObject_Repr(object));
  if (!text && PyErr_ExceptionMatches(PyExc_RecursionError) != 0) throw PythonErrorSet();
  const char* const utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 != nullptr) {
    constexpr std::size_t kMost = 4000;  // bytes
    const std::string_view all(utf8);
    const std::string_view kept = whole_characters(all, kMost);
    return std::string(kept) + (kept.size() < all.size() ? "..." : "");
  }
  clear_or_report(PyExc_Exception,
                  object);  // the object cannot show itself, or is an int of thousands of digits
  return "<unprintable>";
}

}  // namespace opyard::python
