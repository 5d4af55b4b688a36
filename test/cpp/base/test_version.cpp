// test_version.cpp: protects the agreement between the headers and the loaded library.
// Suspect dispatcher/src/base/version.cpp.
#include <gtest/gtest.h>

#include <string>

#include "opyard/version.h"

namespace opyard::test_version {
namespace {

TEST(Version, TheLibraryIsTheOneTheHeadersDescribe) {
  std::string from_header = std::to_string(OPYARD_VERSION_MAJOR) + "." +
                            std::to_string(OPYARD_VERSION_MINOR) + "." +
                            std::to_string(OPYARD_VERSION_PATCH);
  EXPECT_EQ(from_header, version());
}

TEST(Version, TheNumberOrdersVersions) {
  EXPECT_EQ(OPYARD_VERSION_MAJOR * 10000 + OPYARD_VERSION_MINOR * 100 + OPYARD_VERSION_PATCH,
            OPYARD_VERSION);
}

}  // namespace
}  // namespace opyard::test_version
