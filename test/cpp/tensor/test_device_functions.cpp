// test_device_functions.cpp: protects devices that plugins bring: where memory comes from and goes back
// to, and that copies are done later and elsewhere.
// Suspect dispatcher/src/tensor/device_functions.cpp.
#include "opyard/tensor/device_functions.h"

#include <gtest/gtest.h>

#include <array>

#include "../simulated_device.h"
#include "../thrown_by.h"
#include "opyard/c_api.h"

namespace opyard::test_device_functions {
namespace {

constexpr Device kThere{Backend::PrivateUse1, 0};
constexpr std::array<std::int64_t, 1> kFour{4};

// Lives as long as the process, as a device does.
SimulatedDevice& device() {
  static SimulatedDevice simulated;
  return simulated;
}

Tensor here(float value) {
  const Tensor tensor = Tensor::empty(kFour);
  for (int i = 0; i < 4; ++i) tensor.mutable_data<float>()[i] = value;
  return tensor;
}

class DeviceFunctions : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device_functions(Backend::PrivateUse1)) {
      EXPECT_THROWN(Tensor::empty(kFour, DType::Float32, kThere), Unsupported,
                    "there is no allocator for device privateuse1:0; memory can be taken on cpu, "
                    "and tensors without memory can be made on meta");
    }
    register_device(Backend::PrivateUse1, device().functions("simulated"));
    SimulatedDevice::current = 0;
    SimulatedDevice::device = 0;
  }
};

TEST_F(DeviceFunctions, MemoryComesFromTheDeviceAndGoesBackToIt) {
  EXPECT_EQ(device().blocks(), 0u);
  {
    const Tensor there = Tensor::empty(kFour, DType::Float32, kThere);
    EXPECT_EQ(there.device(), kThere);
    EXPECT_TRUE(there.keys().has_backend(Backend::PrivateUse1));
    const Tensor view = there.alias();
    EXPECT_EQ(device().blocks(), 1u);
  }
  EXPECT_EQ(device().blocks(), 0u);
  const std::array<std::int64_t, 1> none{0};
  EXPECT_EQ(Tensor::empty(none, DType::Float32, kThere).raw(), nullptr);
  const std::array<std::int64_t, 1> many{1 << 22};
  EXPECT_THROWN(Tensor::empty(many, DType::Float32, kThere), OutOfMemory,
                "device privateuse1:0 has no 16777216 bytes left");
}

TEST_F(DeviceFunctions, TheCurrentDeviceIsMeantWhereNoneIsNamed) {
  const Device any{Backend::PrivateUse1, -1};
  {
    const DeviceGuard guard(Device{Backend::PrivateUse1, 3});
    EXPECT_EQ(Tensor::empty(kFour, DType::Float32, any).device().index, 3);
  }
  EXPECT_EQ(Tensor::empty(kFour, DType::Float32, any).device().index, 0);
}

TEST_F(DeviceFunctions, ACopyIsDoneLaterAndIsThereAfterSynchronising) {
  const Tensor x = here(7);
  const Tensor there = Tensor::empty(kFour, DType::Float32, kThere);
  const Tensor y = here(0);
  device().hold_back(0);
  copy_elements(there, x);
  copy_elements(y, there);
  EXPECT_EQ(y.data<float>()[0], 0) << "who does not wait sees what was there before";
  device().let_go(0);
  synchronise(current_stream(kThere));
  EXPECT_EQ(y.data<float>()[3], 7);
}

TEST_F(DeviceFunctions, AStreamThatDoesNotWaitReadsTooEarly) {
  const Tensor first = here(1);
  const Tensor second = here(2);
  const Tensor there = Tensor::empty(kFour, DType::Float32, kThere);
  copy_elements(there, first);
  synchronise(current_stream(kThere));
  const auto read_on_stream_two = [&](bool waits) {
    device().hold_back(1);
    SimulatedDevice::current = 1;
    copy_elements(there, second);
    SimulatedDevice::current = 2;
    const Tensor y = here(0);
    if (waits) wait(Stream{kThere, 2}, Stream{kThere, 1});
    copy_elements(y, there);
    if (waits) device().let_go(1);
    synchronise(Stream{kThere, 2});
    const float seen = y.data<float>()[0];
    if (!waits) device().let_go(1);
    synchronise(Stream{kThere, 1});
    return seen;
  };
  EXPECT_EQ(read_on_stream_two(false), 1) << "the fault is seen each time";
  const Tensor reset = here(1);
  copy_elements(there, reset);
  synchronise(Stream{kThere, 2});
  EXPECT_EQ(read_on_stream_two(true), 2);
}

TEST_F(DeviceFunctions, WhatCannotBeCopiedIsRefused) {
  const Tensor there = Tensor::empty(kFour, DType::Float32, kThere);
  const std::array<std::int64_t, 1> five{5};
  EXPECT_THROWN(copy_elements(there, Tensor::empty(five)), BadShape,
                "a tensor of sizes [4] cannot take the elements of [5]");
  EXPECT_THROWN(copy_elements(there, Tensor::empty(kFour, DType::Int32)), BadArgument,
                "a float32 tensor cannot take the elements of a int32 one");
  EXPECT_THROWN(wait(Stream{kThere, 0}, Stream{Device{Backend::PrivateUse1, 1}, 0}), BadArgument,
                "stream 0 on privateuse1:0 cannot wait for stream 0 on privateuse1:1: they are of "
                "two devices");
  EXPECT_THROWN(current_stream(Device{Backend::CUDA, 0}), Unsupported,
                "the backend of device cuda:0 has no device functions; load the plugin that brings "
                "them, or call register_device()");
  copy_elements(here(1), here(2));  // on the CPU it needs no device
  synchronise(current_stream(Device{}));
}

TEST_F(DeviceFunctions, OneNameServesABackendAndReplacesItself) {
  const Tensor former = Tensor::empty(kFour, DType::Float32, kThere);
  static SimulatedDevice again;
  register_device(Backend::PrivateUse1, again.functions("simulated"));
  {
    const Tensor there = Tensor::empty(kFour, DType::Float32, kThere);
    EXPECT_EQ(again.blocks(), 1u);
    EXPECT_EQ(device().blocks(), 1u) << "memory goes back to where it came from";
  }
  EXPECT_EQ(again.blocks(), 0u);
  EXPECT_THROWN(
      register_device(Backend::PrivateUse1, again.functions("other")), BadRegistration,
      "PrivateUse1 has device functions of simulated already; other cannot serve it, too");
  EXPECT_EQ(thrown_by([&] { register_device(Backend::CPU, again.functions("c")); }).kind,
            ErrorKind::BadRegistration);
  opyard_device_functions broken = again.functions("simulated");
  broken.wait = nullptr;
  EXPECT_EQ(thrown_by([&] { register_device(Backend::PrivateUse1, broken); }).kind,
            ErrorKind::BadArgument);
}

TEST_F(DeviceFunctions, TheyServeProgramsInC) {
  const opyard_device_functions functions = device().functions("simulated");
  EXPECT_EQ(opyard_register_device("PrivateUse1", &functions), OPYARD_OK) << opyard_last_error();
  EXPECT_EQ(opyard_register_device("AutogradCPU", &functions), OPYARD_ERROR_BadValue);
  opyard_clear_error();
  opyard_tensor* there = nullptr;
  opyard_tensor* back = nullptr;
  const DLDataType float32 = {2, 32, 1};
  ASSERT_EQ(opyard_tensor_empty(kFour.data(), 1, float32, "privateuse1:0", &there), OPYARD_OK);
  ASSERT_EQ(opyard_tensor_empty(kFour.data(), 1, float32, nullptr, &back), OPYARD_OK);
  const Tensor x = here(9);
  auto* const from = reinterpret_cast<opyard_tensor*>(static_cast<Counted*>(x.impl().get()));
  EXPECT_EQ(opyard_tensor_copy(there, from), OPYARD_OK);
  EXPECT_EQ(opyard_tensor_copy(back, there), OPYARD_OK);
  opyard_device where{};
  EXPECT_EQ(opyard_tensor_device(there, &where), OPYARD_OK);
  EXPECT_EQ(opyard_synchronise(where), OPYARD_OK);
  DLTensor view{};
  EXPECT_EQ(opyard_tensor_view(back, false, &view), OPYARD_OK);
  EXPECT_EQ(static_cast<const float*>(view.data)[2], 9);
  EXPECT_EQ(opyard_tensor_view(there, false, &view), OPYARD_ERROR_Unsupported);
  opyard_clear_error();
  opyard_release(there);
  opyard_release(back);
}

}  // namespace
}  // namespace opyard::test_device_functions
