// tracer/filter.h: include and exclude filters of functions.
//
// A pattern is what a file name begins with ("/home/me/app/"), a shell pattern for the whole of it
// ("*/test_*.py"), or the name of a module or package ("app.models"), which stands for its files
// and for its functions in C. With patterns to include, a Python function must fit one of them;
// whatever fits one to exclude is left out.
//
// Threads: with the GIL held. Depends on: opyard/profiler/names.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/profiler/names.h"

namespace opyard::python {

class Filter {
 public:
  // `lines` are patterns of functions, see chooses_lines().
  void set(std::vector<std::string> include, std::vector<std::string> exclude,
           std::vector<std::string> lines);

  // Of this setting; another one than any before, of this interpreter or another, since CPython
  // 3.11 and 3.12 share some code objects between interpreters. 0 if everything is captured, and
  // no lines are.
  std::uint32_t number() const noexcept { return number_; }
  bool leaves_out_file(std::string_view file) const;
  bool leaves_out_callable(std::string_view name) const;
  bool leaves_out_any() const noexcept { return !include_.empty() || !exclude_.empty(); }
  // Whether the lines of a function are timed: a pattern is for its name ("parse", "Reader.*"),
  // for its module and its name ("app.models.parse"), or for its file ("*/models.py").
  bool chooses_lines(const profiler::Name& name) const;

 private:
  struct Pattern {
    enum class Kind { Beginning, Shell, Module } kind;
    std::string text;
    std::string file;    // of a module: "/app/models.py"
    std::string folder;  // of a module: "/app/models/"
  };
  static Pattern read(std::string text);
  static bool fits(const Pattern& pattern, const std::string& file);

  std::vector<Pattern> include_;
  std::vector<Pattern> exclude_;
  std::vector<std::string> lines_;
  std::uint32_t number_ = 0;
};

}  // namespace opyard::python
