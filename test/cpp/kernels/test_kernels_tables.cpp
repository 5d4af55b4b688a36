// test/cpp/kernels/test_kernels_tables.cpp: every dtype and every complex number, for every argument.
// Protects the argument checks that all operators of kernels/ share.
// Suspect kernels/src/common/check.cpp.
//
// The rows are generated: every operator that has a plain call (plain_calls.h), every dtype of
// dtypes.def, every argument that is a tensor or a Scalar. What has to be said by hand is whether
// an operator moves elements without looking at them (kMoves), so that it takes every dtype.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "../aten.h"
#include "../registering.h"
#include "plain_calls.h"

namespace opyard::test_kernels_tables {
namespace {

using namespace plain_calls;

struct Named {
  const char* name;
  DType dtype;
};
constexpr Named kDTypes[] = {
#define OPYARD_DTYPE(code, Name, python_name, type, dlpack, bits, ...) {#python_name, DType::Name},
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
};

Tensor zeros_of(const Tensor& like, DType dtype) {
  const Tensor zeros = Tensor::empty(like.sizes(), dtype);
  std::memset(zeros.impl()->data(), 0, std::size_t(zeros.numel()) * item_size(dtype));
  return zeros;
}

// Operators that take tensors of every dtype, all of one.
const std::set<std::string> kMoves = {
    "_to_copy",
    "alias",
    "as_strided",
    "cat",
    "clone",
    "contiguous",
    "copy_",
    "detach",
    "dim",
    "empty_like",
    "expand",
    "flatten",
    "gather",
    "index",
    "index_put_",
    "index_select",
    "is_contiguous",
    "is_non_overlapping_and_dense",
    "is_strides_like_format",
    "narrow",
    "numel",
    "permute",
    "reshape",
    "select",
    "size",
    "slice",
    "squeeze",
    "stack",
    "stride",
    "sym_numel",
    "sym_size",
    "sym_storage_offset",
    "sym_stride",
    "t",
    "to.prim_Device",
    "transpose",
    "unsqueeze",
    "view",
};

// Operators that compute in every number, and those that leave out complex ones.
const std::set<std::string> kNumbers = {"abs",
                                        "add.Tensor",
                                        "add_.Scalar",
                                        "addmm",
                                        "all",
                                        "cos",
                                        "div.Tensor",
                                        "dot",
                                        "eq.Tensor",
                                        "equal",
                                        "exp",
                                        "isnan",
                                        "log",
                                        "log1p",
                                        "logical_not",

                                        "mm",
                                        "mul.Tensor",
                                        "mul_.Tensor",
                                        "mv",
                                        "ne.Scalar",
                                        "neg",
                                        "pow.Tensor_Scalar",
                                        "reciprocal",
                                        "sigmoid",
                                        "sqrt",
                                        "sub.Tensor",
                                        "sum",
                                        "sum.dim_IntList",
                                        "tanh",
                                        "where.self"};
const std::set<std::string> kRealNumbers = {
    "amax",      "amin", "argmax",  "argmin",  "atan2",   "clamp", "erf",   "ge.Tensor",
    "lt.Scalar", "max",  "max.dim", "maximum", "minimum", "relu",  "relu_", "sign"};

Thrown called(const Operator& op, const std::vector<Given>& given) {
  return thrown_by([&] { call_aten(bare(op.name()), given); });
}

TEST(KernelTables, EveryOperatorHasAPlainCall) {
  const std::vector<OperatorName> all = operators();
  EXPECT_GT(all.size(), 100u);
  for (const OperatorName& name : all) {
    const Operator& op = registry().require(name);
    EXPECT_NO_THROW(call_aten(bare(name), plain_call(op))) << op.declaration();
  }
}

TEST(KernelTables, WhatMovesElementsTakesEveryDType) {
  std::set<std::string> seen;
  for (const OperatorName& name : operators()) {
    if (!is_in(kMoves, name)) continue;
    seen.insert(kMoves.count(bare(name)) > 0 ? bare(name) : without_overload(bare(name)));
    const Operator& op = registry().require(name);
    for (const auto& [dtype_name, dtype] : kDTypes) {
      std::vector<Given> given = plain_call(op);
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (is_index(given[i].name)) continue;
        Value& value = given[i].value;
        if (is_tensor(op.schema().arguments[i])) {
          value = zeros_of(value.to_tensor(), dtype);
        } else if (value.is_list() && !value.to_list().empty() && value.to_list()[0].is_tensor()) {
          value = tensors({zeros_of(square(), dtype), zeros_of(square(), dtype)});
        }
      }
      EXPECT_NO_THROW(call_aten(bare(name), given)) << dtype_name << ": " << op.declaration();
    }
  }
  EXPECT_EQ(seen, kMoves) << "a name that is no operator";
}

// One tensor of another dtype than the rest: answered, or refused by name.
TEST(KernelTables, EveryDTypeIsAnsweredOrRefusedByName) {
  int answered = 0, refused = 0;
  for (const OperatorName& name : operators()) {
    const Operator& op = registry().require(name);
    const std::vector<Argument>& arguments = op.schema().arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!is_tensor(arguments[i])) continue;
      for (const auto& [dtype_name, dtype] : kDTypes) {
        std::vector<Given> given = plain_call(op);
        given[i].value = zeros_of(given[i].value.to_tensor(), dtype);
        try {
          call_aten(bare(name), given);
          ++answered;
          if (!is_index(arguments[i].name)) continue;
          EXPECT_TRUE(dtype == DType::Int64 || dtype == DType::Int32)
              << dtype_name << " for " << arguments[i].name << ": " << op.declaration();
        } catch (const Error& error) {
          ++refused;
          const std::string row = std::string(dtype_name) + " for " + arguments[i].name + ": " +
                                  op.declaration() + "\n" + error.what();
          EXPECT_TRUE(error.kind() == ErrorKind::Unsupported ||
                      error.kind() == ErrorKind::BadArgument || error.kind() == ErrorKind::BadValue)
              << row;
          const bool is_divided = std::string(error.what()).find("zero") != std::string::npos;
          EXPECT_TRUE(is_divided || std::string(error.what()).find(dtype_name) != std::string::npos)
              << row;
        }
      }
    }
  }
  EXPECT_GT(answered, 2000);
  EXPECT_GT(refused, 500);
}

TEST(KernelTables, WhatComputesInNumbersTakesAllOfThem) {
  std::size_t found = 0;
  for (const OperatorName& name : operators()) {
    const bool takes_complex = kNumbers.count(bare(name)) > 0;
    if (!takes_complex && kRealNumbers.count(bare(name)) == 0) continue;
    ++found;
    const Operator& op = registry().require(name);
    for (const auto& [dtype_name, dtype] : kDTypes) {
      // Each kernel chooses whether it takes uint64, see test/python/values/test_unsigned.py.
      if (dtype == DType::Bool || dtype == DType::UInt64) continue;
      std::vector<Given> given = plain_call(op);
      for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string& argument = op.schema().arguments[i].name;
        if (!is_tensor(op.schema().arguments[i]) || is_index(argument)) continue;
        if (argument == "condition") continue;
        given[i].value = zeros_of(given[i].value.to_tensor(), dtype);
      }
      const std::string row = std::string(dtype_name) + ": " + op.declaration();
      if (takes_complex || !is_complex(dtype)) {
        EXPECT_NO_THROW(call_aten(bare(name), given)) << row;
      } else {
        EXPECT_EQ(called(op, given).kind, ErrorKind::Unsupported) << row;
      }
    }
  }
  EXPECT_EQ(found, kNumbers.size() + kRealNumbers.size()) << "a name that is no operator";
}

TEST(KernelTables, EveryScalarThatIsComplexIsAnsweredOrRefusedByName) {
  const Value complex(std::complex<double>(1, 1));
  int answered = 0, refused = 0;
  for (const OperatorName& name : operators()) {
    const Operator& op = registry().require(name);
    const std::vector<Argument>& arguments = op.schema().arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!is_scalar(arguments[i])) continue;
      std::vector<Given> given = plain_call(op);
      given[i].value = complex;
      try {
        call_aten(bare(name), given);
        ++answered;
      } catch (const Error& error) {
        ++refused;
        EXPECT_TRUE(error.kind() == ErrorKind::Unsupported ||
                    error.kind() == ErrorKind::BadArgument)
            << op.declaration() << "\n"
            << error.what();
        const std::string text = error.what();
        EXPECT_TRUE(text.find(arguments[i].name + " is 1.+1.j") != std::string::npos ||
                    text.find("complex64") != std::string::npos)
            << op.declaration() << "\n"
            << text;
      }
    }
  }
  EXPECT_GT(answered, 5);
  EXPECT_GT(refused, 20);
}

// Rows that no list above leads to: what is left of a quotient, and sizes that fit by half.
TEST(KernelTables, EdgesOfNumbersAndSizes) {
  EXPECT_EQ(aten("floor_divide", {i64({4}, {-6, -7, 6, 7}), i64({}, {3})}), "int64[4] -2 -3 2 2");
  EXPECT_EQ(aten("floor_divide", {f32({2}, {-0.F, 0}), f32({}, {3})}), "float32[2] -0 0");
  EXPECT_EQ(aten("abs", {i64({3}, {-3, 0, 3})}), "int64[3] 3 0 3");
  EXPECT_EQ(aten("clamp", {i64({2}, {1, 3}), Value(), 1.5}), "float32[2] 1 1.5");
  EXPECT_EQ(aten("equal", {f32({1}, {1}), f32({2}, {1, 1})}), "False");
  EXPECT_EQ(aten("equal", {f32({2}, {1, 1}), f32({1}, {1})}), "False");
  EXPECT_THROW(aten("_softmax", {i64({2}, {1, 2}), 0, false}), Error);
  EXPECT_THROW(aten("expand", {f32({3}, {1, 2, 3}), ints({2})}), Error);
  EXPECT_THROW(aten("index.Tensor", {f32({2}, {1, 2}), tensors({b8({3}, {true, true, false})})}),
               Error);
  const std::int64_t sizes[] = {2}, strides[] = {0};
  const Tensor expanded = f32({1}, {1}).as_strided(sizes, strides, 0);
  EXPECT_THROW(aten("add_.Tensor", {expanded, f32({2}, {1, 2})}), Error);
}

// An out that one of the factors reads is written to when all has been read.
TEST(KernelTables, AProductIntoEitherOfItsFactorsIsWhole) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4});
  const Tensor b = f32({2, 2}, {5, 6, 7, 8});
  const std::string product = show(aten_tensor("mm", {a, b}));
  const Tensor into_b = aten_tensor("clone", {b});
  EXPECT_EQ(aten("mm.out", {a, into_b, keyword("out", into_b)}), product);
  const Tensor into_a = aten_tensor("clone", {a});
  EXPECT_EQ(aten("mm.out", {into_a, b, keyword("out", into_a)}), product);
}

}  // namespace
}  // namespace opyard::test_kernels_tables
