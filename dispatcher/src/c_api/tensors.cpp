// c_api/tensors.cpp: the C API of tensors.
#include <fmt/format.h>

#include "c_api/pointers.h"
#include "opyard/tensor/device_functions.h"
#include "opyard/tensor/dlpack.h"
#include "opyard/tensor/loan.h"

namespace opyard::c_api {
namespace {

DType dtype_of(DLDataType wanted) {
  if (wanted.lanes == 1) {
#define OPYARD_DTYPE(number, name, python, type, dlpack, width, ...) \
  if (wanted.code == (dlpack) && wanted.bits == (width)) return DType::name;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  fail(ErrorKind::Unsupported,
       fmt::format("no tensor has elements of DLPack code {}, {} bits and {} lanes", wanted.code,
                   wanted.bits, wanted.lanes));
}

DLDataType dl_type_of(DType dtype) {
  switch (dtype) {
#define OPYARD_DTYPE(number, name, python, type, dlpack, width, ...) \
  case DType::name:                                                  \
    return {dlpack, width, 1};
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return {};
}

Loan& loan_of(opyard_loan* loan) { return *reinterpret_cast<Loan*>(require(loan, "a loan")); }

}  // namespace
}  // namespace opyard::c_api

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

extern "C" {

int opyard_tensor_empty(const int64_t* sizes, size_t dims, DLDataType dtype, const char* device,
                        opyard_tensor** tensor) {
  return border([&] {
    require(tensor, "the place of the tensor");
    if (dims > 0) require(sizes, "the sizes");
    const Device where = device == nullptr ? Device{} : parse_device(device);
    *tensor = pointer_of(
        Tensor::empty(IntSpan(sizes, dims), c_api::dtype_of(dtype), where).release_impl());
  });
}

int opyard_tensor_from_dlpack(DLManagedTensorVersioned* managed, opyard_tensor** tensor) {
  return border([&] {
    // It is taken over whatever happens, and so before the place is looked at.
    Tensor made = from_dlpack(reinterpret_cast<dlpack::DLManagedTensorVersioned*>(managed));
    require(tensor, "the place of the tensor");
    *tensor = pointer_of(made.release_impl());
  });
}

int opyard_tensor_to_dlpack(const opyard_tensor* tensor, DLManagedTensorVersioned** managed) {
  return border([&] {
    require(managed, "the place of the struct");
    *managed = reinterpret_cast<DLManagedTensorVersioned*>(to_dlpack_versioned(tensor_of(tensor)));
  });
}

int opyard_tensor_view(const opyard_tensor* pointer, bool write, DLTensor* view) {
  return border([&] {
    require(view, "the place of the struct");
    const Tensor tensor = tensor_of(pointer);
    if (tensor.defined() && is_meta(tensor)) require_elements("opyard_tensor_view()", tensor);
    const dlpack::DLDevice device = dlpack_device_of(tensor);
    void* const data = write ? tensor.mutable_raw() : const_cast<void*>(tensor.raw());
    *view = {data,
             {DLDeviceType(device.device_type), device.device_id},
             std::int32_t(tensor.dim()),
             dl_type_of(tensor.dtype()),
             const_cast<std::int64_t*>(tensor.sizes().data()),
             const_cast<std::int64_t*>(tensor.strides().data()),
             0};
  });
}

int opyard_loan_create(opyard_loan** loan) {
  return border([&] {
    require(loan, "the place of the loan");
    *loan = reinterpret_cast<opyard_loan*>(new Loan);
  });
}

void opyard_loan_destroy(opyard_loan* loan) { delete reinterpret_cast<Loan*>(loan); }

int opyard_loan_begin(opyard_loan* loan, const DLTensor* array, bool read_only,
                      opyard_tensor** tensor) {
  return border([&] {
    require(tensor, "the place of the tensor");
    // The loan keeps the tensor; what is given here is borrowed.
    *tensor = pointer_of(loan_of(loan).begin(as_dlpack(array, "an array"), read_only).impl().get());
  });
}

int opyard_loan_end(opyard_loan* loan) {
  return border([&] { loan_of(loan).end(); });
}

int opyard_tensor_device(const opyard_tensor* tensor, opyard_device* device) {
  return border([&] {
    require(device, "the place of the device");
    const Device where = tensor_of(tensor).device();
    *device = {std::uint8_t(where.backend), where.index};
  });
}

int opyard_register_device(const char* backend, const opyard_device_functions* functions) {
  return border([&] {
    const DispatchKey key = parse_dispatch_key(require(backend, "the name of a backend"));
    const std::optional<Backend> found = backend_of(key);
    if (!found || DispatchKeySet(key) != DispatchKeySet(instance_of(DispatchKey::Dense, *found))) {
      fail(ErrorKind::BadValue, fmt::format("{} is no backend", backend));
    }
    register_device(*found, *require(functions, "an opyard_device_functions"));
  });
}

int opyard_tensor_copy(opyard_tensor* to, const opyard_tensor* from) {
  return border([&] { copy_elements(tensor_of(to), tensor_of(from)); });
}

int opyard_synchronise(opyard_device device) {
  return border([&] {
    if (device.backend >= kBackendCount) {
      fail(ErrorKind::BadValue, fmt::format("{} is the number of no backend", device.backend));
    }
    synchronise(current_stream(Device{Backend(device.backend), device.index}));
  });
}

uint64_t opyard_tensor_keys(const opyard_tensor* tensor) {
  return tensor == nullptr ? 0 : impl_of(tensor)->keys().raw();
}

}  // extern "C"
