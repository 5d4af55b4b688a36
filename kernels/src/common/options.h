// kernels/common/options.h: names for the types of optional arguments, lists and pairs of operators.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "opyard/tensor.h"

namespace opyard::kernels {

using MaybeDType = std::optional<DType>;
using MaybeLayout = std::optional<Layout>;
using MaybeDevice = std::optional<Device>;
using MaybeBool = std::optional<bool>;
using MaybeFormat = std::optional<MemoryFormat>;
using MaybeInt = std::optional<std::int64_t>;
using MaybeDims = std::optional<IntSpan>;
using MaybeTensor = std::optional<Tensor>;

using Tensors = std::vector<Tensor>;
using Indices = std::vector<MaybeTensor>;
using TwoTensors = std::tuple<Tensor, Tensor>;

}  // namespace opyard::kernels
