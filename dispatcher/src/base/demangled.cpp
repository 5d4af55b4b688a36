// base/demangled.cpp: demangled names of C++ types.
#include "base/demangled.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace opyard {

std::string demangled(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : type.name();
}

}  // namespace opyard
