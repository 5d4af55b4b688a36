// test/cpp/thrown_by.h: the error that a piece of code throws, as a value to compare.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "opyard/base/error.h"

namespace opyard {

struct Thrown {
  bool any = false;
  ErrorKind kind{};
  std::string text;
};

// What `body` throws; the test fails where it throws nothing, or something else than Error.
template <typename Body>
Thrown thrown_by(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    return {true, error.kind(), error.what()};
  }
  ADD_FAILURE() << "an error was expected and none was thrown";
  return {};
}

// A whole sentence, and the kind it comes with.
#define EXPECT_THROWN(body, expected_kind, expected_text)               \
  do {                                                                  \
    const ::opyard::Thrown thrown = ::opyard::thrown_by([&] { body; }); \
    EXPECT_STREQ(name_of(thrown.kind), #expected_kind);                 \
    EXPECT_EQ(thrown.text, expected_text);                              \
  } while (false)

}  // namespace opyard
