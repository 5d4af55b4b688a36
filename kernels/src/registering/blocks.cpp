// kernels/registering/blocks.cpp: registration of operators from their literals.
#include "registering/blocks.h"

#include <opyard/registry/composite.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/define.h"

namespace opyard::kernels {
namespace {

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

std::vector<std::string> words_of(const char* text) {
  std::vector<std::string> words;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

void register_block(Library& library, const Block& block) {
  library.set_source_location(block.place);
  const std::string_view schema = block.schema, name = schema.substr(0, schema.find('('));
  if (!block.is_answered) {
    library.def(schema, words_of(block.tags), AliasAnalysis::FromSchema, text_or_empty(block.doc));
  }
  if (block.body != nullptr) {
    library.implement(name, std::nullopt, checked_composite(block.body), false);
  }
  if (block.register_kernel != nullptr) block.register_kernel(library);
  if (!block.formulas.empty()) {
    std::vector<Formula> formulas;
    for (const BlockFormula& each : block.formulas) formulas.push_back({each.of, each.text});
    library.derivative(name, std::move(formulas));
  }
  const bool is_taped_inside = block.body != nullptr && block.formulas.empty();
  const Form form = is_taped_inside ? Form::Composition : Form::WithFormula;
  if (block.in_place) define_in_place(library, name, form);
  if (block.out != nullptr) define_out(library, name, block.out, form);
}

}  // namespace

void register_blocks(Library& library, std::span<const Block> blocks) {
  for (const Block& block : blocks) register_block(library, block);
}

}  // namespace opyard::kernels
