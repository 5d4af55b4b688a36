// test_c_error.cpp: protects the thread's error as C sees it.
// Suspect dispatcher/src/ffi/c_error.cpp.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "opyard/base/error.h"
#include "opyard/ffi/c_dlpack.h"
#include "opyard/ffi/c_error.h"
#include "opyard/tensor/dlpack.h"

namespace opyard::test_c_error {
namespace {

TEST(CError, IsKeptForItsThreadUntilItIsCleared) {
  EXPECT_EQ(opyard_last_error(), nullptr);
  EXPECT_EQ(opyard_last_status(), OPYARD_OK);
  EXPECT_EQ(opyard_set_error(OPYARD_ERROR_BadShape, "too long"), OPYARD_ERROR_BadShape);
  EXPECT_STREQ(opyard_last_error(), "too long");
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_BadShape);
  std::thread([] { EXPECT_EQ(opyard_last_error(), nullptr); }).join();
  opyard_clear_error();
  EXPECT_EQ(opyard_last_error(), nullptr);
}

TEST(CError, IsTheOneThatCxxTakes) {
  opyard_set_error(OPYARD_ERROR_BadIndex, "past the end");
  const std::optional<Error> error = take_error();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::BadIndex);
  EXPECT_STREQ(error->what(), "past the end");
  EXPECT_EQ(opyard_last_status(), OPYARD_OK);
  guarded([] { fail(ErrorKind::NoKernel, "from C++"); });
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_NoKernel);
  EXPECT_STREQ(opyard_last_error(), "from C++");
  opyard_clear_error();
}

TEST(CError, AStatusThatIsNoneIsKeptAsForeign) {
  EXPECT_EQ(opyard_set_error(77, nullptr), 77);
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_Foreign);
  EXPECT_STREQ(opyard_last_error(), "");
  EXPECT_EQ(opyard_set_error(-1, "x"), -1);
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_Foreign);
  EXPECT_EQ(opyard_set_error(OPYARD_OK, "x"), OPYARD_OK);
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_Internal);
  opyard_clear_error();
}

TEST(CErrorDeathTest, MayBeSetWhenTheObjectsOfItsThreadAreGone) {
  EXPECT_EXIT(
      {
        std::atexit([] {
          opyard_set_error(OPYARD_ERROR_BadIndex, "at the very end");
          std::fputs(opyard_last_error(), stderr);
        });
        opyard_set_error(OPYARD_ERROR_BadShape, "before");
        std::exit(0);
      },
      testing::ExitedWithCode(0), "at the very end");
}

TEST(CError, HasAStatusForEveryKind) {
#define OPYARD_ERROR_KIND(name, python, meaning)        \
  opyard_set_error(OPYARD_ERROR_##name, meaning);       \
  EXPECT_EQ(opyard_last_status(), OPYARD_ERROR_##name); \
  EXPECT_EQ(take_error().value().kind(), ErrorKind::name);
#include "opyard/base/error_kinds.def"
#undef OPYARD_ERROR_KIND
}

// The two declarations of DLPack's structs are one layout.
static_assert(sizeof(::DLTensor) == sizeof(dlpack::DLTensor));
static_assert(offsetof(::DLTensor, dtype) == offsetof(dlpack::DLTensor, dtype));
static_assert(offsetof(::DLTensor, strides) == offsetof(dlpack::DLTensor, strides));
static_assert(offsetof(::DLTensor, byte_offset) == offsetof(dlpack::DLTensor, byte_offset));
static_assert(sizeof(::DLManagedTensorVersioned) == sizeof(dlpack::DLManagedTensorVersioned));
static_assert(offsetof(::DLManagedTensorVersioned, deleter) ==
              offsetof(dlpack::DLManagedTensorVersioned, deleter));
static_assert(offsetof(::DLManagedTensorVersioned, dl_tensor) ==
              offsetof(dlpack::DLManagedTensorVersioned, dl_tensor));

}  // namespace
}  // namespace opyard::test_c_error
