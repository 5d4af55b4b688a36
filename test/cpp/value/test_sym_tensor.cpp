// test_sym_tensor.cpp: protects tensors whose sizes, strides, device and layout a class defines, or that
// are symbolic; and that all others are not asked anywhere else.
// Suspect dispatcher/src/value/sym_tensor.cpp.
#include "opyard/value/sym_tensor.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "../fake_interpreter.h"
#include "../symbolic.h"
#include "../thrown_by.h"
#include "opyard/tensor/memory_format.h"

namespace opyard::test_sym_tensor {
namespace {

constexpr std::int64_t kSizes[] = {2, 3};
constexpr std::int64_t kOtherSizes[] = {4, 5, 6};
constexpr std::int64_t kOtherStrides[] = {30, 6, 1};

// An interpreter whose class says the same of every tensor, and counts who asks.
std::map<std::string, int> asked;
const InterpreterVTable& describing() {
  static const InterpreterVTable table = [] {
    InterpreterVTable slots = FakeA::vtable();
    slots.sizes = [](Interpreter&, const TensorImpl&) {
      ++asked["sizes"];
      return IntSpan(kOtherSizes);
    };
    slots.strides = [](Interpreter&, const TensorImpl&) {
      ++asked["strides"];
      return IntSpan(kOtherStrides);
    };
    slots.dim = [](Interpreter&, const TensorImpl&) { return ++asked["dim"], std::int64_t{3}; };
    slots.numel = [](Interpreter&, const TensorImpl&) {
      return ++asked["numel"], std::int64_t{120};
    };
    slots.device = [](Interpreter&, const TensorImpl&, Device& result) {
      ++asked["device"];
      result = {Backend::CUDA, 7};
    };
    slots.layout = [](Interpreter&, const TensorImpl&) {
      return ++asked["layout"], Layout::Sparse;
    };
    slots.is_contiguous = [](Interpreter&, const TensorImpl&, MemoryFormat format) {
      return ++asked["is_contiguous"], format == MemoryFormat::ChannelsLast;
    };
    slots.is_strides_like = [](Interpreter&, const TensorImpl&, MemoryFormat format) {
      return ++asked["is_strides_like"], format == MemoryFormat::ChannelsLast;
    };
    slots.is_non_overlapping_and_dense = [](Interpreter&, const TensorImpl&) {
      return ++asked["is_non_overlapping_and_dense"], false;
    };
    slots.sym_sizes = [](Interpreter&, const TensorImpl&, SymIntSpan& result) {
      ++asked["sym_sizes"];
      result = sym_ints(kOtherSizes);
    };
    slots.sym_strides = [](Interpreter&, const TensorImpl&, SymIntSpan& result) {
      ++asked["sym_strides"];
      result = sym_ints(kOtherStrides);
    };
    slots.sym_numel = [](Interpreter&, const TensorImpl&, SymInt& result) {
      ++asked["sym_numel"];
      result = 120;
    };
    slots.sym_storage_offset = [](Interpreter&, const TensorImpl&, SymInt& result) {
      ++asked["sym_storage_offset"];
      result = 9;
    };
    return slots;
  }();
  return table;
}

Tensor with_policies(std::uint8_t policies) {
  const Tensor tensor = Tensor::empty(kSizes);
  tensor.impl()->object_link().claim(Interpreter::create(&describing()));
  tensor.impl()->set_policies(policies);
  asked.clear();
  return tensor;
}

std::vector<std::int64_t> ints(IntSpan words) { return {words.begin(), words.end()}; }

// Asks a tensor everything; gives who was asked for it.
std::string all_asked(const Tensor& tensor) {
  static_cast<void>(tensor.sizes());
  static_cast<void>(tensor.strides());
  static_cast<void>(tensor.dim());
  static_cast<void>(tensor.numel());
  static_cast<void>(tensor.storage_offset());
  static_cast<void>(tensor.device());
  static_cast<void>(tensor.layout());
  static_cast<void>(tensor.is_contiguous());
  static_cast<void>(is_strides_like(MemoryFormat::Contiguous, tensor));
  static_cast<void>(is_non_overlapping_and_dense(tensor));
  static_cast<void>(sym_sizes(tensor));
  static_cast<void>(sym_strides(tensor));
  static_cast<void>(sym_numel(tensor));
  static_cast<void>(sym_storage_offset(tensor));
  std::string names;
  for (const auto& [name, count] : asked) names += name + " ";
  return names;
}

TEST(SymTensor, E31_WithoutPoliciesNobodyIsAsked) { EXPECT_EQ(all_asked(with_policies(0)), ""); }

TEST(SymTensor, E31_EachPolicySaysWhatTheClassAnswers) {
  EXPECT_EQ(all_asked(with_policies(TensorImpl::kCustomStrides)),
            "is_contiguous is_non_overlapping_and_dense is_strides_like strides sym_strides ");
  EXPECT_EQ(all_asked(with_policies(TensorImpl::kCustomSizes)),
            "dim is_contiguous is_non_overlapping_and_dense is_strides_like numel sizes strides "
            "sym_numel sym_sizes sym_storage_offset sym_strides ");
  EXPECT_EQ(all_asked(with_policies(TensorImpl::kCustomDevice)), "device ");
  EXPECT_EQ(all_asked(with_policies(TensorImpl::kCustomLayout)), "layout ");
}

TEST(SymTensor, E31_WhatTheClassSaysIsWhatCallersGet) {
  const Tensor sized = with_policies(TensorImpl::kCustomSizes);
  EXPECT_EQ(ints(sized.sizes()), (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(sized.size(-1), 6);
  EXPECT_EQ(ints(sized.strides()), (std::vector<std::int64_t>{30, 6, 1}));
  EXPECT_EQ(sized.dim(), 3);
  EXPECT_EQ(sized.numel(), 120);
  EXPECT_FALSE(sized.is_contiguous());
  EXPECT_TRUE(is_contiguous_in(MemoryFormat::ChannelsLast, sized));
  EXPECT_TRUE(is_strides_like(MemoryFormat::ChannelsLast, sized));
  EXPECT_EQ(sym_storage_offset(sized).expect_int(), 9);
  EXPECT_EQ(ints(sized.impl()->own_sizes()), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(describe(sized), "float32[2, 3]") << "a message runs no code of a class";
  EXPECT_EQ(ints(sized.alias().sizes()), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(with_policies(TensorImpl::kCustomDevice).device(), (Device{Backend::CUDA, 7}));
  EXPECT_EQ(with_policies(TensorImpl::kCustomLayout).layout(), Layout::Sparse);
}

TEST(SymTensor, E31_APolicyNeedsAnInterpreter) {
  const Tensor tensor = Tensor::empty(kSizes);
  EXPECT_THROWN(tensor.impl()->set_policies(TensorImpl::kCustomDevice), BadArgument,
                "a tensor of which an interpreter's class defines parts needs an object of that "
                "interpreter first");
  EXPECT_EQ(tensor.impl()->policies(), 0);
}

TEST(SymTensor, E12_AfterTheInterpreterEndedItsPartsAreRefused) {
  const Tensor tensor = with_policies(TensorImpl::kCustomSizes);
  tensor.impl()->definer().disarm();
  EXPECT_THROWN(tensor.sizes(), InterpreterGone,
                "sizes: a tensor or an object was asked for what its interpreter defines, but that "
                "interpreter has ended; pass t.alias() to get a tensor on the same storage that "
                "needs none");
  EXPECT_EQ(ints(tensor.alias().sizes()), (std::vector<std::int64_t>{2, 3}));
}

TEST(SymTensor, E34_SizesOfAPlainTensorAreItsOwnWords) {
  const Tensor tensor = Tensor::empty(kSizes);
  EXPECT_EQ(static_cast<const void*>(sym_sizes(tensor).data()),
            static_cast<const void*>(tensor.sizes().data()));
  EXPECT_EQ(sym_numel(tensor).expect_int(), 6);
  EXPECT_EQ(sym_strides(tensor)[0].expect_int(), 3);
}

TEST(SymTensor, E9_PlainSizesOfASymbolicTensorAreRefused) {
  const Tensor tensor = Tensor::empty(kSizes);
  const SymInt n = Reasoner::symbol("n", 5);
  make_symbolic(tensor, {n, 3}, {3, 1}, 0);
  EXPECT_EQ(tensor.dim(), 2);
  EXPECT_EQ(to_string(sym_sizes(tensor)[0]), "n");
  EXPECT_EQ(to_string(sym_numel(tensor)), "(n * 3)");
  EXPECT_THROWN(tensor.sizes(), BadValue,
                "Cannot call sizes on a tensor with symbolic shapes/strides");
  EXPECT_THROWN(tensor.strides(), BadValue,
                "Cannot call strides on a tensor with symbolic shapes/strides");
  EXPECT_THROWN(tensor.numel(), BadValue,
                "Cannot call numel on a tensor with symbolic shapes/strides");
  EXPECT_THROWN(tensor.is_contiguous(), BadValue,
                "Cannot call is_contiguous on a tensor with symbolic shapes/strides");
  EXPECT_THROWN(tensor.storage_offset(), BadValue,
                "Cannot call storage_offset on a tensor with symbolic shapes/strides");
  EXPECT_EQ(describe(tensor), "float32[symbolic]");
  EXPECT_THROWN(make_symbolic(tensor, {n}, {1}, 0), BadShape,
                "1 symbolic sizes and 1 strides were given for a tensor of 2 dimensions");
}

TEST(SymTensor, EmptyTensorsOfSymbolicSizesAreRowMajor) {
  const SymInt n = Reasoner::symbol("n", 5);
  const Tensor made = empty_symbolic({2, n, 1, 3}, DType::Int64);
  EXPECT_EQ(to_string(sym_sizes(made)[1]), "n");
  EXPECT_EQ(to_string(sym_strides(made)[0]), to_string(SymInt(3) * n));
  EXPECT_EQ(sym_strides(made)[1].expect_int(), 3);
  EXPECT_EQ(made.dtype(), DType::Int64);
  EXPECT_TRUE(is_meta(made));
  const Tensor one = made.as_strided({}, {}, 0);  // a view without dimensions has an element
  EXPECT_EQ(one.dim(), 0);
  const Tensor plain = empty_symbolic({2, 0, 3}, DType::Float32);
  EXPECT_FALSE(plain.impl()->has_policy(TensorImpl::kSymbolic));
  EXPECT_EQ(plain.size(2), 3);
  EXPECT_EQ(thrown_by([&] { empty_symbolic({n, -1}, DType::Float32); }).kind, ErrorKind::BadShape);
}

TEST(SymTensor, E9_StridesLikeAFormat) {
  const std::int64_t sizes[] = {2, 3, 4, 5};
  const Tensor rows = Tensor::empty(sizes);
  const Tensor last = empty_in(MemoryFormat::ChannelsLast, sizes);
  EXPECT_TRUE(is_strides_like(MemoryFormat::Contiguous, rows));
  EXPECT_FALSE(is_strides_like(MemoryFormat::ChannelsLast, rows));
  EXPECT_TRUE(is_strides_like(MemoryFormat::ChannelsLast, last));
  EXPECT_FALSE(is_strides_like(MemoryFormat::ChannelsLast3d, last)) << "of five dimensions";
  const std::int64_t fewer[] = {2, 3, 2, 5};
  EXPECT_TRUE(
      is_strides_like(MemoryFormat::ChannelsLast, last.as_strided(fewer, last.strides(), 0)))
      << "gaps do not count";
}

}  // namespace
}  // namespace opyard::test_sym_tensor
