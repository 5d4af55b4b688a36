// test/fuzz/dlpack_import.cpp: fuzzer of DLPack import: a struct is refused and given back, or
// becomes a tensor that says of itself what the struct says, and is given back when that ends.
//
// The bytes choose every field of the struct; sizes and strides come last, as many as there are.
// Elements are never read: a struct cannot tell how much memory there is behind it.
#include "opyard/tensor/dlpack.h"

#include <array>
#include <cstring>

#include "entries.h"
#include "opyard/base/error.h"
#include "opyard/tensor/dlpack_exchange.h"
#include "opyard/tensor/tensor.h"
#include "utf8.h"

namespace opyard::fuzz {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using dlpack::DLTensor;

// More than a tensor may have dimensions: one that is read past them is seen by the address
// sanitizer.
constexpr std::size_t kNumbers = 65;

class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  // The next bytes as a number; zero behind their end.
  template <typename T>
  T take() {
    T value{};
    const std::size_t size = std::min(sizeof(T), bytes_.size());
    std::memcpy(&value, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return value;
  }
  // Small as a rule, and sometimes any.
  std::int64_t number() {
    const auto kind = take<std::uint8_t>();
    return kind < 0xf0 ? std::int64_t(kind % 8) - 1 : take<std::int64_t>();
  }

 private:
  std::string_view bytes_;
};

alignas(64) std::array<std::byte, 4096> memory;

struct Given {
  std::array<std::int64_t, kNumbers> sizes{};
  std::array<std::int64_t, kNumbers> strides{};
  DLTensor array{};
  bool has_deleter = true;
  int given_back = 0;

  explicit Given(Choices& choices) {
    const auto present = choices.take<std::uint8_t>();
    array.data = (present & 1) != 0 ? nullptr : memory.data() + choices.take<std::uint8_t>();
    array.shape = (present & 2) != 0 ? nullptr : sizes.data();
    array.strides = (present & 4) != 0 ? nullptr : strides.data();
    has_deleter = (present & 8) == 0;
    array.device = {choices.take<std::uint8_t>(), choices.take<std::int8_t>()};
    const auto dimensions = choices.take<std::uint8_t>();
    array.ndim = dimensions < 0xf0 ? dimensions % 6 : choices.take<std::int32_t>();
    array.dtype = {choices.take<std::uint8_t>(), choices.take<std::uint8_t>(),
                   choices.take<std::uint16_t>()};
    array.byte_offset = choices.take<std::uint8_t>();
    for (std::size_t i = 0; i < kNumbers; ++i) {
      sizes[i] = choices.number();
      strides[i] = choices.number();
    }
  }
};

template <typename Managed>
void give_back(Managed* managed) {
  ++static_cast<Given*>(managed->manager_ctx)->given_back;
}

void check(const Tensor& tensor, const Given& given) {
  const DLTensor& array = given.array;
  require(tensor.dim() == array.ndim, "as many dimensions");
  DLTensor borrowed{};
  borrow_dlpack(tensor, borrowed);
  require(std::memcmp(&borrowed.dtype, &array.dtype, sizeof(borrowed.dtype)) == 0,
          "the same elements");
  for (int i = 0; i < array.ndim; ++i) {
    require(borrowed.shape[i] == array.shape[i], "the same sizes");
    require(array.strides == nullptr || borrowed.strides[i] == array.strides[i],
            "the same strides");
  }
  require(array.strides != nullptr || tensor.is_contiguous(), "without strides, row by row");
  if (tensor.numel() > 0) {
    require(borrowed.data == static_cast<std::byte*>(array.data) + array.byte_offset,
            "the same memory");
  }
}

template <typename Managed>
void import(Managed& managed, Given& given) {
  managed.dl_tensor = given.array;
  managed.manager_ctx = &given;
  managed.deleter = given.has_deleter ? &give_back<Managed> : nullptr;
  try {
    const Tensor tensor = from_dlpack(&managed);
    require(given.given_back == 0, "a tensor owns its memory");
    check(tensor, given);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::Unsupported || error.kind() == ErrorKind::BadShape ||
                error.kind() == ErrorKind::BadValue,
            "what is refused is Unsupported, BadShape or BadValue");
    require(is_utf8(error.what()), "the message is text");
  }
  require(given.given_back == (given.has_deleter ? 1 : 0), "it is given back once");
}

}  // namespace

bool dlpack_import(std::string_view bytes) {
  Choices choices(bytes);
  const auto version = choices.take<std::uint8_t>();
  Given given(choices);
  if (version == 0) {
    DLManagedTensor managed{};
    import(managed, given);
  } else {
    DLManagedTensorVersioned managed{};
    managed.version = {version % 16U, 0};
    managed.flags = version < 128 ? 0 : dlpack::kReadOnly;
    import(managed, given);
  }
  return true;
}

}  // namespace opyard::fuzz
