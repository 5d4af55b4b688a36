// loops/attention.h: the weights of attention, for some queries side by side.
//
// Scores are kept transposed: a line for each key, in which each of kQueries neighbours is a query.
// So the softmax of all of them runs down the lines, without sums across a register.
//
// Depends on: nothing.
#pragma once

#include <cstdint>

namespace opyard::kernels {

inline constexpr std::int64_t kQueries = 32;

// Scores become exp(score - the largest of its query); `factors` gets one over their sum for each
// query. Where all scores are -inf, all become 0, and the factor, too.
template <typename T>
using AttentionLoop = void (*)(T* scores, std::int64_t keys, T* factors);

}  // namespace opyard::kernels
