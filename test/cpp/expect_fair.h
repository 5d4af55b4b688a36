// test/cpp/expect_fair.h: calls while other threads register and unregister what they call.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "opyard/base/error.h"

namespace opyard {

// What other threads do may take away what a call wants; any other error fails the test.
template <typename Body>
void expect_fair(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    const bool fair = error.kind() == ErrorKind::NoKernel ||
                      error.kind() == ErrorKind::OperatorGone ||
                      error.kind() == ErrorKind::NotFound;
    EXPECT_TRUE(fair) << error.what();
  }
}

}  // namespace opyard
