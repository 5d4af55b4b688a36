// opyard/tensor/views.h: views of a tensor's memory, for authors of kernels.
//
//   for (std::int64_t i = 0; i < images.size(0); ++i) blur(select(images, 0, i));
//
// A view shares the storage, copies nothing and calls no operator, so it is for kernels, which run
// behind the layers that tape and trace; other code calls `aten` operators. A negative dimension
// or index counts from the end. They raise BadIndex for one that is out of range, and BadShape for
// sizes that do not fit.
//
// Depends on: tensor/tensor.h.
#pragma once

#include <optional>

#include "opyard/tensor/tensor.h"

namespace opyard {

// One element of a dimension, which the view does not have.
OPYARD_API Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index);
// `length` elements of a dimension, from `start` on.
OPYARD_API Tensor narrow(const Tensor& x, std::int64_t dim, std::int64_t start,
                         std::int64_t length);
// Two dimensions swapped.
OPYARD_API Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
// The dimensions in another order: `dims` names each once.
OPYARD_API Tensor permute(const Tensor& x, IntSpan dims);
// A dimension of size 1 more, in front of the one that is named.
OPYARD_API Tensor unsqueeze(const Tensor& x, std::int64_t dim);
// Broadcast: dimensions of size 1 appear with another size, new ones come in front; -1 keeps a
// size.
OPYARD_API Tensor expand(const Tensor& x, IntSpan sizes);
// Other sizes for the same elements in row-major order; one may be -1 for what is left. Raises
// BadShape if no strides show them so; contiguous() of tensor/make.h has memory for which some do.
OPYARD_API Tensor view(const Tensor& x, IntSpan sizes);

// The strides with which the tensor's elements, in row-major order, appear under `sizes`, or
// nothing if no strides do that. `sizes` hold as many elements as the tensor.
OPYARD_API std::optional<DimVector> find_view_strides(const Tensor& tensor, IntSpan sizes);

}  // namespace opyard
