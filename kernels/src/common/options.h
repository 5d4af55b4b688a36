// kernels/common/options.h: what operators that make tensors take, each if it is given.
#pragma once

#include <optional>

#include "opyard/tensor.h"

namespace opyard::kernels {

using MaybeDType = std::optional<DType>;
using MaybeLayout = std::optional<Layout>;
using MaybeDevice = std::optional<Device>;
using MaybeBool = std::optional<bool>;
using MaybeFormat = std::optional<MemoryFormat>;

}  // namespace opyard::kernels
