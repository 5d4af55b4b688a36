// kernels/pointwise/loops.h: loops for operators that are compiled once, for the baseline.
//
// What is worth a build for each processor is in kernels/loops/.
//
// Depends on: pointwise/elementwise.h, loops/elementwise_loops.h.
#pragma once

#include "loops/elementwise_loops.h"
#include "pointwise/elementwise.h"
