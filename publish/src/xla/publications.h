// xla/publications.h: which operators programs of XLA may call.
//
// A program names an operator by its whole declaration, so that one which was compiled for another
// schema, in this process or in an earlier one, finds none. What is published again under the same
// declaration is the same publication, and programs go on with it.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace opyard::xla {

struct Publication {
  std::string declaration;
  std::atomic<bool> is_on{false};
};

// Good for ever; a new one is off. Raises bad_alloc.
Publication& publication_of(std::string_view declaration);

}  // namespace opyard::xla
