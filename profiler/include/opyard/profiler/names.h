// opyard/profiler/names.h: the table of names by key.
//
// A key is a number from 1 that is never used again, and its name a copy: so a name is right after
// whatever it names is gone. The same name gets the same key, so that a program that makes the same
// function a million times does not fill the memory with its names.
//
// Depends on: base/export.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard::profiler {

// A thing that events are about. Text is valid UTF-8: add_name() sees to that.
struct Name {
  std::string text;  // of a Python function its name, of a C function module and qualified name
  std::string qualified;  // of a Python function its qualified name
  std::string file;       // of a Python function; empty for others
  std::int32_t line = 0;  // the first of a Python function
  std::string kind;  // what tells equal texts apart: "code", "c", "operator", an instance's class
  std::uint64_t identity = 0;  // of an instance; 0 if names of equal text are one
  std::string extra;           // more, as a JSON object, or empty
  std::uint32_t group = 0;  // of a kernel, the key of its operator, whose row in tables it shares
};

// The key of a name. Any thread. Throws std::bad_alloc.
OPYARD_API std::uint32_t add_name(Name name);
// The name of a key that add_name() gave; valid for ever. Any thread.
OPYARD_API const Name& name_of(std::uint32_t key);
// The highest key there is.
OPYARD_API std::uint32_t last_key();

// Bytes that are not UTF-8 become U+FFFD, one each.
OPYARD_API std::string to_valid_utf8(std::string_view text);

}  // namespace opyard::profiler
