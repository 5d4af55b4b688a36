// base/demangled.h: demangled names of C++ types.
//
// Depends on: nothing else of ours.
#pragma once

#include <string>
#include <typeinfo>

namespace opyard {

// "opyard::Tensor (opyard::Tensor const&, double)"
std::string demangled(const std::type_info& type);

}  // namespace opyard
