// tensor/stream.cpp: the text of a stream.
#include "opyard/tensor/stream.h"

#include <fmt/format.h>

namespace opyard {

std::string to_string(Stream stream) {
  return fmt::format("stream {} on {}", stream.id, to_string(stream.device));
}

}  // namespace opyard
