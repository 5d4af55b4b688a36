// test_device.cpp: protects the text of devices. Suspect dispatcher/src/tensor/device.cpp.
#include "opyard/tensor/device.h"

#include <gtest/gtest.h>

#include "../thrown_by.h"

namespace opyard::test_device {
namespace {

TEST(Device, TextIsTheBackendInLowerCaseAndTheIndexWhereThereIsOne) {
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string(Device{Backend::CUDA, 1}), "cuda:1");
  EXPECT_EQ(to_string(Device{Backend::PrivateUse1, 0}), "privateuse1:0");
}

TEST(Device, EveryTextParsesBack) {
  for (int i = 0; i < kBackendCount; ++i) {
    for (const int index : {-1, 0, 1, 10, 32767}) {
      const Device device{Backend(i), std::int16_t(index)};
      EXPECT_EQ(parse_device(to_string(device)), device) << to_string(device);
    }
  }
}

TEST(Device, ATextWithoutABackendIsRefused) {
  EXPECT_THROWN(parse_device("gpu:0"), BadValue,
                "'gpu:0' names no device; write a backend and an index where it needs one, as in "
                "'cpu' or 'cuda:1'. The backends are cpu, cuda, xla, meta, lazy and those that no "
                "plugin has named");
  for (const char* text : {"", "CPU", "cpu ", ":1", " cuda", "cp", "cpuu"}) {
    EXPECT_EQ(thrown_by([&] { parse_device(text); }).kind, ErrorKind::BadValue) << text;
  }
}

TEST(Device, AMalformedIndexIsRefused) {
  EXPECT_THROWN(
      parse_device("cuda:"), BadValue,
      "'cuda:' has no valid device index; after the colon comes a number from 0 to 32767");
  for (const char* text : {"cuda:-1", "cuda:+1", "cuda:01", "cuda:1 ", "cuda:1:2", "cuda:x",
                           "cuda:32768", "cuda:99999999999999999999", "cuda: 1", "cuda:1.0"}) {
    EXPECT_EQ(thrown_by([&] { parse_device(text); }).kind, ErrorKind::BadValue) << text;
  }
}

}  // namespace
}  // namespace opyard::test_device
