// opyard/tensor.h: everything about tensors in one include.
//
// The parts, for those who want one of them: tensor/dtype.h, tensor/device.h,
// tensor/layout.h, tensor/storage.h, tensor/tensor_impl.h, tensor/tensor.h, and
// tensor/dlpack.h for the exchange with other libraries.
//
// Depends on: the headers it includes.
#pragma once

#include "opyard/tensor/device.h"
#include "opyard/tensor/dlpack.h"
#include "opyard/tensor/dtype.h"
#include "opyard/tensor/layout.h"
#include "opyard/tensor/storage.h"
#include "opyard/tensor/tensor.h"
#include "opyard/tensor/tensor_impl.h"
