// test/cpp/kernels/test_kernels_meta.cpp: on meta, every operator gives the geometry it gives on the CPU.
// Suspect the file of kernels/src/ that has the operator, and
// dispatcher/src/registry/cpu_on_meta.cpp.
//
// The rows are every operator that has a plain call (plain_calls.h), with its tensors in the usual
// order of dimensions and in reverse.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../aten.h"
#include "../registering.h"
#include "plain_calls.h"

namespace opyard::test_kernels_meta {
namespace {

using namespace plain_calls;

// Operators whose answer is in the elements, so that there is none on meta, and one that copies
// them to the cpu.
const std::set<std::string> kElements = {"_local_scalar_dense", "equal", "is_nonzero", "item",
                                         "to.device"};

// A copy whose dimensions are in reverse order, and one without elements.
Tensor turned(const Tensor& x) {
  DimVector sizes(x.sizes()), order;
  for (std::size_t i = sizes.size(); i-- > 0;) order.push_back(std::int64_t(i));
  std::vector<std::int64_t> reversed(sizes.begin(), sizes.end());
  std::reverse(reversed.begin(), reversed.end());
  const Tensor block = Tensor::empty(reversed, x.dtype());
  DimVector strides(block.strides());
  std::reverse(strides.begin(), strides.end());
  const Tensor made = block.as_strided(sizes, strides, 0);
  aten("copy_", {made, x});
  return made;
}
Tensor on_meta(const Tensor& x) {
  const Device meta{Backend::Meta};
  return Tensor::empty(std::array{x.numel()}, x.dtype(), meta)
      .as_strided(x.sizes(), x.strides(), 0);
}
template <typename Change>
std::vector<Given> with_tensors(std::vector<Given> given, const Change& change) {
  for (Given& one : given) {
    if (one.value.is_tensor()) one.value = change(one.value.to_tensor());
    if (!one.value.is_list() || one.value.to_list().empty()) continue;
    if (!one.value.to_list()[0].is_tensor()) continue;
    std::vector<Tensor> changed;
    for (const Value& item : one.value.to_list()) changed.push_back(change(item.to_tensor()));
    one.value = tensors(changed);
  }
  return given;
}
std::string geometry(const std::vector<Value>& results) {
  std::string text;
  for (const Value& result : results) {
    if (!result.is_tensor()) continue;
    const Tensor x = result.to_tensor();
    text += describe(x) + " strides";
    for (std::size_t i = 0; i < x.sizes().size(); ++i) {
      if (x.sizes()[i] > 1) text += ' ' + std::to_string(x.strides()[i]);
    }
    text += "; ";
  }
  return text;
}

TEST(KernelsMeta, EveryOperatorGivesOnMetaWhatItGivesOnTheCpu) {
  int rows = 0;
  for (const OperatorName& name : operators()) {
    if (is_in(kElements, name)) continue;
    const Operator& op = registry().require(name);
    for (const bool in_order : {true, false}) {
      // view and the like refuse what is in another order.
      std::vector<Given> given = plain_call(op);
      if (!in_order) given = with_tensors(given, turned);
      const std::vector<Given> meta = with_tensors(given, on_meta);
      std::string expected;
      try {
        expected = geometry(call_aten(bare(name), given));
      } catch (const Error&) {
        EXPECT_FALSE(in_order) << op.declaration();
        continue;
      }
      if (expected.empty()) continue;
      std::string found;
      EXPECT_NO_THROW(found = geometry(call_aten(bare(name), meta))) << op.declaration();
      EXPECT_EQ(found, expected) << op.declaration();
      ++rows;
    }
  }
  EXPECT_GT(rows, 200);
}

}  // namespace
}  // namespace opyard::test_kernels_meta
