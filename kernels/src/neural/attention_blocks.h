// kernels/neural/attention_blocks.h: attention in blocks of queries, an operator of its own.
//
// Depends on: common/options.h.
#pragma once

#include "common/options.h"

namespace opyard::kernels {

// The weights, as a composition: softmax(query key^T scale + mask). A row of which all is masked
// off gives zeros.
Tensor attention_weights(const char* op, const Tensor& query, const Tensor& key,
                         const MaybeTensor& mask, bool is_causal, double scale);

// Whether attention_in_blocks() takes them: floats of one dtype on the CPU, as many heads of each,
// and several queries; a mask is of bools or of the same dtype.
bool are_blocks(const Tensor& query, const Tensor& key, const Tensor& value,
                const MaybeTensor& mask);
// opyard::attention: softmax(query key^T scale + mask) value.
Tensor attention_in_blocks(const Tensor& query, const Tensor& key, const Tensor& value,
                           const MaybeTensor& mask, bool is_causal, double scale);

}  // namespace opyard::kernels
