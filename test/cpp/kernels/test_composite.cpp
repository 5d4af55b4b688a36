// test_composite.cpp: composite kernels in a program that is not linked with libopyard_jit.
// Suspect registry/composite.cpp, jit/src/code/body.cpp.
#include <gtest/gtest.h>

#include <fstream>

#include "../aten.h"
#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/inspect/explain.h"
#include "opyard/library.h"
#include "opyard/registry/composite.h"

namespace opyard::test_composite {
namespace {

bool is_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

const char* const kSchema = "lerp_to(Tensor x, Tensor to, float by=0.5) -> Tensor";
const char* const kBody = "let way = to - x; x + way * by";

// Before any body is read: the tests of a program run in the order of the file.
TEST(Composite, ABodyOfAProgramIsReadAtItsFirstCallAndLoadsWhatReadsIt) {
  Library library(LibraryKind::Def, "composite_early");
  library.def(kSchema, composite(kBody));
  library.def("wrong(Tensor x) -> Tensor", composite("x + z"));
  EXPECT_FALSE(is_mapped("libopyard_jit.so"));
  load_library(kKernelsLibrary);  // which its body calls
  const Tensor x = f32({2}, {1, 2});
  EXPECT_FALSE(is_mapped("libopyard_jit.so")) << "a program that calls no composite pays nothing";
  const auto op = require_operator("composite_early::lerp_to")
                      .typed<Tensor(const Tensor&, const Tensor&, double)>();
  EXPECT_EQ(show(op.call(x, f32({2}, {3, 4}), 0.5)), "float32[2] 2 3");
  EXPECT_TRUE(is_mapped("libopyard_jit.so"));
  const auto wrong = require_operator("composite_early::wrong").typed<Tensor(const Tensor&)>();
  const std::string text = thrown_by([&] { wrong.call(x); }).text;
  EXPECT_NE(text.find("the body of composite_early::wrong:1:5"), std::string::npos) << text;
}

TEST(Composite, ABodyThatIsRefusedRegistersNothing) {
  load_library(kKernelsLibrary);
  Library library(LibraryKind::Def, "composite_refused");
  for (const char* const body : {"x +", "nothing(x)", "x, x", "f(x)"}) {
    EXPECT_EQ(thrown_by([&] { library.def("f(Tensor x) -> Tensor", composite(body)); }).kind,
              ErrorKind::BadGraph);
    EXPECT_EQ(thrown_by([&] { composite(library, "f(Tensor x) -> Tensor", body); }).kind,
              ErrorKind::BadGraph);
    EXPECT_EQ(Registry::instance().find({"composite_refused::f", ""}), nullptr) << body;
  }
}

TEST(Composite, AKernelOfAnOperatorThatIsThere) {
  load_library(kKernelsLibrary);
  const Tensor x = f32({2}, {1, 2});
  Library library(LibraryKind::Def, "composite_later");
  library.def("f(Tensor x) -> Tensor");
  library.impl("f", DispatchKey::CPU, composite("x * 3"));
  const Operator& op = require_operator("composite_later::f");
  EXPECT_EQ(show(op.typed<Tensor(const Tensor&)>().call(x)), "float32[2] 3 6");
  const Value arguments[] = {Value(x)};
  EXPECT_NE(to_string(explain(op, arguments)).find("its body:\n    x * 3\n"), std::string::npos);
}

}  // namespace
}  // namespace opyard::test_composite
