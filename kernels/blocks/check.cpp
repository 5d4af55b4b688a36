// kernels/blocks/check.cpp: check of bodies, formulas and schemas of blocks.
#include "blocks/check.h"

#include <list>

#include "opyard/autograd/derivative.h"
#include "opyard/base/error.h"
#include "opyard/library.h"
#include "opyard/registry/composite.h"

namespace opyard::blocks {
namespace {

std::string name_of(const OperatorSource& source, const jit::OperatorBlock& block) {
  return source.file.name_space + "::" + to_string(parse_schema(block.schema.text).name);
}

// Answered ones come with Python; formulas call them.
void define_answered(Library& library, const OperatorSource& source,
                     const jit::OperatorBlock& block) {
  if (block.compiled.answered_by.empty()) return;
  try {
    library.def(block.schema.text, {"overlaps"});
  } catch (const Error& error) {
    fail_at(source, block.schema, error.what());
  }
}

void check_block(Library& library, const OperatorSource& source, const jit::OperatorBlock& block) {
  const std::string name = name_of(source, block);
  if (block.body) {
    try {
      // Over itself, as a library that is not trusted would.
      library.override_kernel(name, DispatchKey::CompositeImplicitAutograd,
                              composite(block.body->text));
    } catch (const Error& error) {
      fail_inside(source, *block.body, error.what());
    }
  }
  if (block.derivatives.empty()) return;
  std::vector<Formula> formulas;
  for (const auto& [of, formula] : block.derivatives) formulas.push_back({of, formula.text});
  try {
    library.derivative(name, std::move(formulas));
    autograd::check_formulas(require_operator(name));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    for (const auto& [of, formula] : block.derivatives) {
      if (message.find(" for " + of + ':') == std::string_view::npos) continue;
      fail_inside(source, formula, message);
    }
    fail_at(source, block.derivatives.front().second, message);
  }
}

}  // namespace

void check(const std::vector<OperatorSource>& sources) {
  std::list<Library> libraries;
  for (const OperatorSource& source : sources) {
    Library& library = libraries.emplace_back(LibraryKind::Fragment, source.file.name_space);
    for (const jit::OperatorBlock& block : source.file.blocks) {
      define_answered(library, source, block);
    }
  }
  auto library = libraries.begin();
  for (const OperatorSource& source : sources) {
    for (const jit::OperatorBlock& block : source.file.blocks) {
      check_block(*library, source, block);
    }
    ++library;
  }
}

}  // namespace opyard::blocks
