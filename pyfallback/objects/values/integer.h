// objects/values/integer.h: conversion of Python ints to 64-bit integers.
//
// Depends on: runtime/{errors,stack_end}.h.
#pragma once

#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/stack_end.h"
#include "runtime/errors.h"

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

// An object as repr() shows it, for messages. May run Python code. Throws PythonErrorSet for
// RecursionError: a __repr__ that leads back here would otherwise run again at each level.
inline std::string shown(PyObject* object) {
  const Owned text = Owned::steal(is_stack_at_its_end() ? nullptr : PyObject_Repr(object));
  if (!text && PyErr_ExceptionMatches(PyExc_RecursionError) != 0) throw PythonErrorSet();
  const char* const utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  constexpr std::size_t kMost = 4000;  // bytes of a message
  if (utf8 != nullptr) {
    std::string_view all(utf8);
    if (all.size() <= kMost) return std::string(all);
    while ((all[kMost] & 0xC0) == 0x80) all.remove_suffix(1);
    return std::string(all.substr(0, kMost)) + "...";
  }
  clear_or_report(PyExc_Exception,
                  object);  // the object cannot show itself, or is an int of thousands of digits
  return "<unprintable>";
}

}  // namespace opyard::python
