// test/bench/cpp/hot_graphs.h: paths of hot_paths that run graphs, whose operators hot_paths.cpp defines.
//
// Depends on: tensor/tensor.h.
#pragma once

#include "opyard/tensor/tensor.h"

namespace opyard::bench {

void run_graph_operator(const Tensor& x, long times);
void run_graph_int(long times);
void run_graph_enter(const Tensor& x, long times);

}  // namespace opyard::bench
