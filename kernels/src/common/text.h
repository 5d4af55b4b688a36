// kernels/common/text.h: the words of opyard/value/message.h, with which kernels refuse.
//
// Depends on: opyard/tensor.h, opyard/value/message.h.
#pragma once

#include "opyard/tensor.h"
#include "opyard/value/message.h"
