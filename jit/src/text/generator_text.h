// text/generator_text.h: a generator of random numbers as a constant: torch.Generator(...).
//
// Depends on: text/graph_language.h.
#pragma once

#include <string>

#include "text/graph_language.h"

namespace opyard::jit::detail {

// Whether the next tokens are "torch.", which begins one.
bool begins_generator(const Cursor& cursor);
// torch.Generator(device="cpu", seed=5): a new generator with this seed.
opyard::Value parse_generator(Cursor& cursor);
// The same text of a generator, by the seed that it was given last.
std::string generator_text(const opyard::Value& value);

}  // namespace opyard::jit::detail
