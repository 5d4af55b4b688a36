// kernels/registering/blocks.h: operators of kernels/operators/, as literals that the build makes.
//
// A file of blocks becomes a table of these rows and one OPYARD_LIBRARY_FRAGMENT that registers
// them: blocks/literals.cpp writes it. No file is read at run time, and no body before its first
// call.
//
// Depends on: opyard/library.h.
#pragma once

#include <opyard/library.h>

#include <span>

namespace opyard::kernels {

using RegisterKernel = void(Library& library);

struct BlockFormula {
  const char* of;    // arguments
  const char* text;  // their derivative
};

// Texts that a block has not are null.
struct Block {
  const char* place;  // "kernels/operators/special.ops:12"
  const char* schema;
  const char* doc;
  const char* tags;  // with blanks between
  const char* body;  // of a composite
  RegisterKernel* register_kernel;
  std::span<const BlockFormula> formulas;
  bool is_answered;  // by NumPy or SciPy: defined when it is first wanted
  bool in_place;     // see define.h
  const char* out;   // the name of that overload
};

void register_blocks(Library& library, std::span<const Block> blocks);

}  // namespace opyard::kernels
