// test/cpp/schema/schema_error.h: the error that a malformed schema raises.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "../thrown_by.h"
#include "opyard/schema/parse.h"

namespace opyard {

inline std::string error_of(std::string_view text, const SchemaLimits& limits = {}) {
  const Thrown thrown = thrown_by([&] { parse_schema(text, limits); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadSchema);
  return thrown.text;
}

}  // namespace opyard
