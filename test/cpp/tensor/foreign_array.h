// test/cpp/tensor/foreign_array.h: an array of a foreign library, which counts the calls of its deleter.
#pragma once

#include <cstdint>
#include <vector>

#include "opyard/tensor/dlpack.h"

namespace opyard {

// 2 x 3 elements of float32, described in both forms.
struct ForeignArray {
  alignas(64) float memory[6] = {0, 1, 2, 3, 4, 5};
  std::vector<std::int64_t> shape = {2, 3};
  std::vector<std::int64_t> strides = {3, 1};
  int deleted = 0;
  void* deleted_struct = nullptr;
  dlpack::DLManagedTensor legacy{};
  dlpack::DLManagedTensorVersioned versioned{};

  ForeignArray() {
    describe_array(legacy.dl_tensor);
    describe_array(versioned.dl_tensor);
    legacy.manager_ctx = versioned.manager_ctx = this;
    legacy.deleter = &ForeignArray::give_back<dlpack::DLManagedTensor>;
    versioned.deleter = &ForeignArray::give_back<dlpack::DLManagedTensorVersioned>;
    versioned.version = {1, 0};
  }
  ForeignArray(const ForeignArray&) = delete;
  ForeignArray& operator=(const ForeignArray&) = delete;

  void describe_array(dlpack::DLTensor& array) {
    array = {memory, {dlpack::kCPU, 0}, 2, {2, 32, 1}, shape.data(), strides.data(), 0};
  }
  template <typename Managed>
  static void give_back(Managed* managed) {
    auto* foreign = static_cast<ForeignArray*>(managed->manager_ctx);
    ++foreign->deleted;
    foreign->deleted_struct = managed;
  }
};

}  // namespace opyard
