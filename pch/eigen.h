// pch/eigen.h: the standard library and Eigen, precompiled for the inner loops.
#include "std.h"

#include <Eigen/Core>
