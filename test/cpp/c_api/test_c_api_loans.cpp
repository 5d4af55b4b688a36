// test_c_api_loans.cpp: protects memory that a C program lends to calls: nothing is allocated for it,
// and nothing leads to it when the loan has ended. Suspect dispatcher/src/tensor/loan.cpp.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "opyard/c_api.h"
#include "opyard/library.h"
#include "opyard/tensor/loan.h"
#include "opyard/tensor/make.h"

namespace opyard::test_c_api_loans {
namespace {

constexpr DLDataType kFloat = {kDLFloat, 32, 1};

std::string left() {
  const std::optional<Error> error = take_error();
  return error ? std::string(name_of(error->kind())) + ": " + error->what() : "nothing";
}

// Row-major memory, as a caller has it.
struct Array {
  std::vector<std::int64_t> sizes;
  std::vector<float> elements;
  DLTensor view() {
    return {
        elements.data(), {kDLCPU, 0}, std::int32_t(sizes.size()), kFloat, sizes.data(), nullptr, 0};
  }
};

class Loans : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(opyard_loan_create(&loan_), OPYARD_OK);
    ASSERT_EQ(opyard_stack_create(&stack_), OPYARD_OK);
  }
  void TearDown() override {
    opyard_stack_destroy(stack_);
    opyard_loan_destroy(loan_);
  }
  // Calls an operator of one tensor with the array, into `result`.
  int call(const char* name, Array& array, Array& result, bool read_only = true) {
    const opyard_operator* op = nullptr;
    EXPECT_EQ(opyard_find_operator(name, &op), OPYARD_OK) << left();
    const DLTensor given = array.view(), taken = result.view();
    opyard_tensor* tensor = nullptr;
    EXPECT_EQ(opyard_loan_begin(loan_, &given, read_only, &tensor), OPYARD_OK) << left();
    EXPECT_EQ(opyard_push_tensor(stack_, tensor), OPYARD_OK);
    const int status = opyard_call_into(op, stack_, &taken, 1);
    EXPECT_EQ(opyard_stack_size(stack_), 0u);
    EXPECT_EQ(opyard_loan_end(loan_), OPYARD_OK);
    return status;
  }

  opyard_loan* loan_ = nullptr;
  opyard_stack* stack_ = nullptr;
};

Tensor kept;  // what a kernel kept

Tensor keep(const Tensor& x) {
  kept = x;
  return empty_like(x);
}
Tensor keep_part(const Tensor& x) {
  kept = x.as_strided({{1}}, {{1}}, 1);
  return empty_like(x);
}
Tensor doubled(const Tensor& x) {
  Tensor made = empty_like(x);
  const float* const from = x.data<float>();
  float* const to = made.mutable_data<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = 2 * from[i];
  return made;
}
Tensor turned(const Tensor& x) {
  return doubled(x).as_strided({{x.size(1), x.size(0)}}, {{1, x.size(1)}}, 0);
}

std::int64_t number(const Tensor&) { return 1; }

OPYARD_LIBRARY(c_loans, m) {
  m.def("number(Tensor x) -> int");
  m.impl("number", DispatchKey::CPU, &number);
  m.def("keep(Tensor x) -> Tensor");
  m.impl("keep", DispatchKey::CPU, &keep);
  m.def("keep_part(Tensor x) -> Tensor");
  m.impl("keep_part", DispatchKey::CPU, &keep_part);
  m.def("doubled(Tensor x) -> Tensor");
  m.impl("doubled", DispatchKey::CPU, &doubled);
  m.def("turned(Tensor x) -> Tensor");
  m.impl("turned", DispatchKey::CPU, &turned);
}

TEST_F(Loans, ACallReadsAndWritesMemoryOfTheCaller) {
  Array x{{2, 3}, {0, 1, 2, 3, 4, 5}}, y{{2, 3}, std::vector<float>(6)}, z{{3, 2}, y.elements};
  ASSERT_EQ(call("c_loans::doubled", x, y), OPYARD_OK) << left();
  EXPECT_EQ(y.elements, (std::vector<float>{0, 2, 4, 6, 8, 10}));
  ASSERT_EQ(call("c_loans::turned", x, z), OPYARD_OK) << left();
  EXPECT_EQ(z.elements, (std::vector<float>{0, 6, 2, 8, 4, 10}));
}

TEST_F(Loans, TheTensorIsTheSameFromCallToCall) {
  Array x{{4}, {1, 2, 3, 4}}, y{{2, 2}, {5, 6, 7, 8}};
  const DLTensor first = x.view(), second = y.view();
  opyard_tensor *one = nullptr, *other = nullptr;
  ASSERT_EQ(opyard_loan_begin(loan_, &first, true, &one), OPYARD_OK);
  ASSERT_EQ(opyard_loan_end(loan_), OPYARD_OK);
  ASSERT_EQ(opyard_loan_begin(loan_, &second, true, &other), OPYARD_OK);
  EXPECT_EQ(one, other);
  DLTensor view{};
  ASSERT_EQ(opyard_tensor_view(other, false, &view), OPYARD_OK);
  EXPECT_EQ(view.data, y.elements.data());
  EXPECT_EQ(view.ndim, 2);
}

TEST_F(Loans, WhatAKernelKeepsHasACopyWhenTheLoanEnds) {
  // The second has more dimensions than the tensor of a loan keeps in place.
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{4}, std::vector<std::int64_t>{1, 2, 1, 2, 1, 1}}) {
    for (const char* name : {"c_loans::keep", "c_loans::keep_part"}) {
      Array x{sizes, {0, 1, 2, 3}}, y{sizes, std::vector<float>(4)};
      ASSERT_EQ(call(name, x, y), OPYARD_OK) << left();
      x.elements.assign(4, -1);
      const bool is_part = kept.numel() == 1;
      EXPECT_EQ(*kept.data<float>(), is_part ? 1 : 0);
      EXPECT_NE(kept.impl()->storage()->data(), x.elements.data());
      kept.mutable_data<float>()[0] = 9;  // of its own
      EXPECT_EQ(x.elements[0], -1);
      kept = Tensor();
    }
  }
}

// What the tape keeps with a storage, and a second storage that is for it.
struct History final : Counted {};

TEST_F(Loans, ASecondStorageIsMovedAsWell) {
  Array x{{2}, {3, 4}};
  const DLTensor array = x.view();
  Loan loan;
  {
    const Tensor lent = loan.begin(reinterpret_cast<const dlpack::DLTensor&>(array), true);
    lent.impl()->storage()->gradient_state().set(make_counted<History>());
    kept = Tensor(make_counted<TensorImpl>(lent.impl()->storage()->second(), DType::Float32,
                                           lent.sizes(), lent.strides(), 0, lent.keys()));
  }
  loan.end();
  x.elements = {0, 0};
  EXPECT_EQ(kept.data<float>()[1], 4);
  kept = Tensor();
}

TEST_F(Loans, MemoryIsWrittenOnlyIfItIsLentForThat) {
  Array x{{2}, {1, 2}};
  const DLTensor array = x.view();
  for (const bool read_only : {true, false}) {
    opyard_tensor* tensor = nullptr;
    ASSERT_EQ(opyard_loan_begin(loan_, &array, read_only, &tensor), OPYARD_OK);
    DLTensor view{};
    EXPECT_EQ(opyard_tensor_view(tensor, true, &view),
              read_only ? OPYARD_ERROR_BadValue : OPYARD_OK);
    ASSERT_EQ(opyard_loan_end(loan_), OPYARD_OK);
  }
}

TEST_F(Loans, OddArraysAreLentToo) {
  Array none{{2, 0}, {}}, nothing{{2, 0}, {}}, one{{}, {5}}, result{{}, {0}};
  ASSERT_EQ(call("c_loans::doubled", none, nothing), OPYARD_OK) << left();
  ASSERT_EQ(call("c_loans::doubled", one, result), OPYARD_OK) << left();
  EXPECT_EQ(result.elements[0], 10);
}

TEST_F(Loans, WrongUseIsAStatus) {
  Array x{{2}, {1, 2}}, y{{3}, {0, 0, 0}};
  EXPECT_EQ(call("c_loans::doubled", x, y), OPYARD_ERROR_BadShape);
  EXPECT_NE(left().find("a result is float32[2], and the memory for it float32[3]"),
            std::string::npos);
  const DLTensor array = x.view();
  opyard_tensor* tensor = nullptr;
  ASSERT_EQ(opyard_loan_begin(loan_, &array, true, &tensor), OPYARD_OK);
  EXPECT_EQ(opyard_loan_begin(loan_, &array, true, &tensor), OPYARD_ERROR_BadValue);
  ASSERT_EQ(opyard_loan_end(loan_), OPYARD_OK);
  EXPECT_EQ(opyard_loan_end(loan_), OPYARD_OK);
  EXPECT_EQ(opyard_loan_begin(loan_, nullptr, true, &tensor), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(opyard_loan_begin(nullptr, &array, true, &tensor), OPYARD_ERROR_BadArgument);
  EXPECT_EQ(opyard_loan_create(nullptr), OPYARD_ERROR_BadArgument);
  opyard_loan_destroy(nullptr);
  // What has no place is not made, or given back: the address sanitizer sees what would be lost.
  EXPECT_EQ(opyard_stack_create(nullptr), OPYARD_ERROR_BadArgument);
  ASSERT_EQ(opyard_loan_begin(loan_, &array, true, &tensor), OPYARD_OK);
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(opyard_tensor_to_dlpack(tensor, &managed), OPYARD_OK);
  EXPECT_EQ(opyard_tensor_from_dlpack(managed, nullptr), OPYARD_ERROR_BadArgument);
  ASSERT_EQ(opyard_loan_end(loan_), OPYARD_OK);

  const opyard_operator* op = nullptr;
  ASSERT_EQ(opyard_find_operator("c_loans::doubled", &op), OPYARD_OK);
  ASSERT_EQ(opyard_loan_begin(loan_, &array, true, &tensor), OPYARD_OK);
  for (const std::size_t count : {0, 2}) {
    ASSERT_EQ(opyard_push_tensor(stack_, tensor), OPYARD_OK);
    const std::array<DLTensor, 2> results = {array, array};
    EXPECT_EQ(opyard_call_into(op, stack_, results.data(), count), OPYARD_ERROR_BadArgument);
    EXPECT_EQ(opyard_stack_size(stack_), 0u);
  }
  ASSERT_EQ(opyard_loan_end(loan_), OPYARD_OK);
}

TEST_F(Loans, AResultThatIsNoTensorIsRefused) {
  Array x{{1}, {1}}, y{{1}, {0}};
  EXPECT_EQ(call("c_loans::number", x, y), OPYARD_ERROR_BadArgument);
  EXPECT_NE(left().find("result 0 is no tensor"), std::string::npos);
}

}  // namespace
}  // namespace opyard::test_c_api_loans
