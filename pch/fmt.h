// pch/fmt.h: the standard library and fmt, precompiled.
#include "std.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
