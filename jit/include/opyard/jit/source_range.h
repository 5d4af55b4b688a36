// opyard/jit/source_range.h: source ranges of nodes: a line of a graph's text or of a program.
//
// Depends on: nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace opyard::jit {

struct SourceRange {
  // Shared by all nodes of one text; null if nothing is known.
  std::shared_ptr<const std::string> file;
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1; 0 if it is not known

  bool known() const noexcept { return file != nullptr; }
  // "model.py:12:4", "model.py:12" if the column is not known, or empty.
  std::string text() const {
    if (!known()) return {};
    const std::string place = *file + ':' + std::to_string(line);
    return column == 0 ? place : place + ':' + std::to_string(column);
  }
};

}  // namespace opyard::jit
