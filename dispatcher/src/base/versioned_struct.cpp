// base/versioned_struct.cpp: checks of versioned structs.
#include "base/versioned_struct.h"

#include <fmt/format.h>

namespace opyard {

void check_sized(const void* given, std::size_t bytes, std::size_t known, const char* name) {
  if (given == nullptr) {
    fail(ErrorKind::BadArgument, fmt::format("a null pointer was given in place of an {}", name));
  }
  if (bytes < sizeof(std::size_t)) {
    fail(ErrorKind::BadArgument,
         fmt::format("an {0} begins with its size, but the first field is {1}; write sizeof({0}) "
                     "there",
                     name, bytes));
  }
  for (std::size_t i = known; i < bytes; ++i) {
    if (static_cast<const unsigned char*>(given)[i] == 0) continue;
    fail(ErrorKind::Unsupported,
         fmt::format("the {} comes from a later version of Opyard: it has {} bytes, of which this "
                     "version knows {}, and byte {} is not zero",
                     name, bytes, known, i));
  }
}

}  // namespace opyard
