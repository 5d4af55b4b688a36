// test/embed/check.h: checks that the programs of this folder share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "opyard/base/error.h"

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (false)

// The text of the error of this kind that a body raises.
template <typename Body>
std::string thrown(opyard::ErrorKind kind, const Body& body) {
  try {
    body();
  } catch (const opyard::Error& error) {
    if (error.kind() != kind) std::fprintf(stderr, "another kind: %s\n", error.what());
    CHECK(error.kind() == kind);
    return error.what();
  }
  CHECK(!"nothing was thrown");
  return "";
}
