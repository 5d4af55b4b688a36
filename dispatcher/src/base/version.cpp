// base/version.cpp: the version of the library that is loaded, as text.
//
// Depends on: opyard/version.h.
#include "opyard/version.h"

#define OPYARD_TEXT_OF(x) #x
#define OPYARD_TEXT(x) OPYARD_TEXT_OF(x)

namespace opyard {

const char* version() noexcept {
  return OPYARD_TEXT(OPYARD_VERSION_MAJOR) "." OPYARD_TEXT(OPYARD_VERSION_MINOR) "." OPYARD_TEXT(
      OPYARD_VERSION_PATCH);
}

}  // namespace opyard
