// tensor/dlpack.cpp: DLPack import and export.
//
// Overview. Nothing in a foreign struct is believed before it was checked: the struct may come
// from a library with a defect, or from no library at all. What cannot be checked is whether
// the memory is as large as the shape says; that remains the producer's word.
//
// [Ownership] A struct that was handed to from_dlpack() is ours from the first line on. It is
// held by an Owned until Tensor::adopt() takes it over together with the duty to call the
// deleter, which that function honours on its own failures too. So there is one holder at
// every moment, and the deleter runs once on every path.
//
// [Versions] A struct of another major version has another layout past its deleter. Only
// version and deleter are read of it.
#include "opyard/tensor/dlpack.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "opyard/tensor/dlpack_exchange.h"
#include "tensor/dlpack_view.h"

namespace opyard {
namespace {

using dlpack::DLDataType;
using dlpack::DLDevice;
using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

// One line of dtypes.def, as DLPack sees it.
struct ElementType {
  DType dtype;
  std::uint8_t code;
  std::uint8_t bits;
  std::size_t alignment;
};

constexpr ElementType kElementTypes[] = {
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) \
  {DType::name, dlpack, bits, alignof(type)},
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
};

// See [Ownership].
template <typename Managed>
class Owned {
 public:
  explicit Owned(Managed* managed) noexcept : managed_(managed) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (managed_ != nullptr) give_back(managed_);
  }

  [[nodiscard]] Managed* release() noexcept { return std::exchange(managed_, nullptr); }

  static void give_back(void* context) {
    auto* managed = static_cast<Managed*>(context);
    if (managed->deleter != nullptr) managed->deleter(managed);
  }

 private:
  Managed* managed_;
};

const char* device_kind(std::int32_t type) {
  switch (type) {
    case dlpack::kCUDA:
      return "CUDA";
    case 4:
      return "OpenCL";
    case 7:
      return "Vulkan";
    case 8:
      return "Metal";
    case 10:
      return "ROCm";
    case 13:
      return "CUDA managed memory";
    case 14:
      return "oneAPI";
    default:
      return "an unknown kind";
  }
}

Device require_device(DLDevice device) {
  using namespace dlpack;
  if (device.device_type == kCPU || device.device_type == kCUDAHost ||
      device.device_type == kROCMHost) {
    return {Backend::CPU, -1};
  }
  fail(ErrorKind::Unsupported,
       fmt::format("a foreign array is on DLPack device type {} ({}); accepted is memory that the "
                   "CPU can read, so copy the array to the CPU first",
                   device.device_type, device_kind(device.device_type)));
}

std::string accepted_types() {
  std::string text;
  for (const ElementType& type : kElementTypes) {
    text += text.empty() ? "" : ", ";
    text += name_of(type.dtype);
  }
  return text;
}

const ElementType& require_element_type(DLDataType dtype) {
  if (dtype.lanes != 1) {
    fail(ErrorKind::Unsupported,
         fmt::format(
             "the elements of a foreign array have {} lanes; accepted is 1 lane, so make the "
             "lanes a dimension of the array",
             dtype.lanes));
  }
  for (const ElementType& type : kElementTypes) {
    if (type.code == dtype.code && type.bits == dtype.bits) return type;
  }
  fail(ErrorKind::Unsupported,
       fmt::format("the elements of a foreign array have DLPack type code {} with {} bits; convert "
                   "the array to one of {} first",
                   dtype.code, dtype.bits, accepted_types()));
}

IntSpan require_sizes(const DLTensor& array) {
  if (array.ndim < 0 || array.ndim > dlpack::kMaxDims) {
    fail(ErrorKind::BadShape,
         fmt::format("a foreign array claims {} dimensions; accepted are 0 to {}", array.ndim,
                     dlpack::kMaxDims));
  }
  if (array.ndim == 0) return {};
  if (array.shape == nullptr) {
    fail(ErrorKind::BadValue,
         fmt::format("a foreign array claims {} dimensions and brings no shape", array.ndim));
  }
  return {array.shape, std::size_t(array.ndim)};
}

// The address of the first element, aligned to it; any address if there are no elements.
void* require_data(const DLTensor& array, const ElementType& type, std::int64_t numel) {
  if (numel == 0) return nullptr;
  if (array.data == nullptr) {
    fail(ErrorKind::BadValue, fmt::format("a foreign array of {} elements brings no data", numel));
  }
  std::uintptr_t address = 0;
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(array.data), array.byte_offset,
                             &address)) {
    fail(ErrorKind::BadValue, fmt::format("a foreign array begins {} bytes past its data, which is "
                                          "outside the address space",
                                          array.byte_offset));
  }
  if (address % type.alignment != 0) {
    fail(ErrorKind::BadValue,
         fmt::format("the data of a foreign array of {} is not aligned to {} bytes; copy the array "
                     "first",
                     name_of(type.dtype), type.alignment));
  }
  return reinterpret_cast<void*>(address);
}

// `release` gives what the tensor is to give back with `deleter`; not called if the array is
// refused.
template <typename Release>
Tensor adopt(const DLTensor& array, bool read_only, Storage::Deleter deleter,
             const Release& release) {
  const Device device = require_device(array.device);
  const ElementType& type = require_element_type(array.dtype);
  const IntSpan sizes = require_sizes(array);
  void* const data = require_data(array, type, count_elements(sizes));
  DimVector strides;
  if (array.strides == nullptr) {
    strides = contiguous_strides(sizes);
  } else {
    strides.assign({array.strides, sizes.size()});
  }
  return Tensor::adopt(data, sizes, strides, type.dtype, device, release(), deleter, read_only);
}

template <typename Managed>
Tensor take_over(Owned<Managed> owned, const DLTensor& array, bool read_only) {
  return adopt(array, read_only, Owned<Managed>::give_back, [&] { return owned.release(); });
}

// What an exported struct keeps alive. Nothing stops a consumer from writing to shape and strides,
// so these are copies; up to five dimensions are stored in place.
template <typename Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  CountedPtr<Storage> storage;  // an owner of its own, so that the tensor does not grow meanwhile
  DimVector sizes;
  DimVector strides;

  explicit Exported(const Tensor& t)
      : tensor(t), storage(t.impl()->storage()), sizes(t.sizes()), strides(t.strides()) {}

  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    deallocate(memory, bytes);
  }
  static void give_back(Managed* managed) { delete static_cast<Exported*>(managed->manager_ctx); }
};

// Consumers end the process over such strides, or refuse them.
void require_forward(const Tensor& tensor) {
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.stride(dim) >= 0 || tensor.size(dim) < 2) continue;
    fail(ErrorKind::Unsupported,
         fmt::format("{} has stride {} in dimension {} and cannot be handed to another library, "
                     "which have no strides below zero; hand out a copy, as clone() makes one",
                     describe(tensor), tensor.stride(dim), dim));
  }
}

template <typename Managed>
Managed* hand_out(const Tensor& tensor) {
  const DLDevice device = dlpack_device_of(tensor);
  require_forward(tensor);
  auto* exported = new Exported<Managed>(tensor);
  DLTensor& array = exported->managed.dl_tensor;
  array.data = tensor.impl()->data();
  array.device = device;
  array.ndim = std::int32_t(exported->sizes.size());
  array.shape = exported->sizes.data();
  array.strides = exported->strides.data();
  array.byte_offset = 0;
  for (const ElementType& type : kElementTypes) {
    if (type.dtype == tensor.dtype()) array.dtype = {type.code, type.bits, 1};
  }
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = &Exported<Managed>::give_back;
  return &exported->managed;
}

// What a caller handed along with a deleter, until a storage has it.
class HandedExport {
 public:
  HandedExport(void* context, Storage::Deleter deleter) noexcept
      : context_(context), deleter_(deleter) {}
  HandedExport(const HandedExport&) = delete;
  HandedExport& operator=(const HandedExport&) = delete;
  ~HandedExport() {
    if (deleter_ != nullptr) deleter_(context_);
  }
  [[nodiscard]] void* release() noexcept {
    deleter_ = nullptr;
    return context_;
  }

 private:
  void* const context_;
  Storage::Deleter deleter_;
};

void require_version(dlpack::DLPackVersion version) {
  if (version.major == dlpack::kMajorVersion) return;
  fail(ErrorKind::Unsupported,
       fmt::format(
           "a foreign array comes in DLPack version {}.{}; accepted is version {}, which its "
           "library offers where __dlpack__ is called with max_version",
           version.major, version.minor, dlpack::kMajorVersion));
}

bool is_read_only(const DLManagedTensorVersioned& managed) {
  return (managed.flags & dlpack::kReadOnly) != 0;
}

void require_managed(const void* managed) {
  OPYARD_CHECK(managed != nullptr, BadArgument,
               "a null pointer was given where a DLPack struct was expected");
}

}  // namespace

Tensor from_dlpack(DLManagedTensor* managed) {
  require_managed(managed);
  return take_over(Owned(managed), managed->dl_tensor, false);
}

Tensor from_dlpack(DLManagedTensorVersioned* managed) {
  require_managed(managed);
  Owned owned(managed);
  require_version(managed->version);
  return take_over(Owned(owned.release()), managed->dl_tensor, is_read_only(*managed));
}

Tensor adopt_dlpack(const DLTensor& array, bool read_only, void* context,
                    Storage::Deleter deleter) {
  HandedExport handed(context, deleter);
  return adopt(array, read_only, deleter, [&] { return handed.release(); });
}

Tensor adopt_dlpack(const DLManagedTensor& managed, void* context, Storage::Deleter deleter) {
  return adopt_dlpack(managed.dl_tensor, false, context, deleter);
}

Tensor adopt_dlpack(const DLManagedTensorVersioned& managed, void* context,
                    Storage::Deleter deleter) {
  HandedExport handed(context, deleter);
  require_version(managed.version);
  return adopt(managed.dl_tensor, is_read_only(managed), deleter, [&] { return handed.release(); });
}

void borrow_dlpack(const Tensor& tensor, DLTensor& out) {
  dlpack_device_of(tensor);  // raises for an undefined tensor and for other devices
  view_as_dlpack(tensor, out);
}

Tensor empty_dlpack(const DLTensor& prototype) {
  const Device device = require_device(prototype.device);
  const ElementType& type = require_element_type(prototype.dtype);
  return Tensor::empty(require_sizes(prototype), type.dtype, device);
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  if (tensor.defined() && tensor.impl()->storage()->read_only()) {
    fail(
        ErrorKind::BadValue,
        fmt::format("the memory of {} is read-only, which DLPack's legacy form cannot say; ask for "
                    "the versioned form, or hand out a copy, as clone() makes one",
                    describe(tensor)));
  }
  return hand_out<DLManagedTensor>(tensor);
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor) {
  DLManagedTensorVersioned* managed = hand_out<DLManagedTensorVersioned>(tensor);
  managed->version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  managed->flags = tensor.impl()->storage()->read_only() ? dlpack::kReadOnly : 0;
  return managed;
}

DLDevice dlpack_device_of(const Tensor& tensor) {
  const Device device = tensor.device();
  if (device.is_cpu()) return {dlpack::kCPU, 0};
  fail(ErrorKind::Unsupported,
       fmt::format("{} is on {} and cannot be handed to another library; only memory of the cpu is "
                   "exchanged",
                   describe(tensor), to_string(device)));
}

Tensor borrow_dlpack(const DLTensor& array, bool read_only) {
  return adopt(array, read_only, nullptr, []() -> void* { return nullptr; });
}

}  // namespace opyard
