// kernels/neural/convolution_parts.h: cutting of a convolution into parts for several threads.
//
// Depends on: common/releasing.h, opyard/parallel.h.
#pragma once

#include <opyard/parallel.h>

#include <algorithm>
#include <cstdint>

#include "common/releasing.h"

namespace opyard::kernels {

// Runs body(first part, end) by many threads if there is work for them.
template <typename Body>
void products_by_parts(std::int64_t parts, double products_of_a_part, const Body& body) {
  const double products = double(parts) * products_of_a_part;
  if (products < double(kReleasingProducts)) {
    if (parts > 0) body(std::int64_t{0}, parts);
    return;
  }
  const auto grain = std::int64_t(double(kProductsOfAThread) / std::max(products_of_a_part, 1.0));
  without_gil([&] { parallel_for(0, parts, std::max<std::int64_t>(grain, 1), body); });
}

}  // namespace opyard::kernels
