// kernels/take.h: collecting elements by lists of positions.
//
// Depends on: check.h.
#pragma once

#include <string>
#include <vector>

#include "check.h"

namespace opyard::kernels {

// Positions in one dimension of a tensor.
struct Positions {
  std::size_t dim;
  Tensor index;      // int64
  std::string name;  // in messages: "indices[0]"
};

// Takes from `self` the elements at the positions, which broadcast to common sizes B. With one
// dimension or neighbouring ones, the result has B in their place; else B comes first, and the
// other dimensions follow in order. Works on every dtype. Raises BadShape where positions do not
// broadcast, BadIndex, naming the place in the index, where one is out of range. Positions may
// count from the end where `negative` says so.
Tensor take(const char* op, const Tensor& self, const std::vector<Positions>& positions,
            bool negative);

// The place of a linear position in row-major sizes, as "[1, 2]".
DimVector place_of(std::int64_t position, IntSpan sizes);

}  // namespace opyard::kernels
