// files/npy.cpp: reading and writing .npy files, and parsing their headers.
#include "opyard/models/npy.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "files/file_bytes.h"
#include "files/file_dtypes.h"
#include "opyard/base/error.h"
#include "opyard/tensor/make.h"

namespace opyard::jit {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 65'536;
constexpr std::size_t kMostDims = 64;

// The header from behind 'name': on.
std::string_view behind(std::string_view header, std::string_view name, const std::string& path) {
  const std::string quoted = fmt::format("'{}':", name);
  const std::size_t at = header.find(quoted);
  OPYARD_CHECK(at != header.npos && header.find(quoted, at + 1) == header.npos, BadValue,
               fmt::format("{}: the header does not say '{}' once", path, name));
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

DType read_dtype(std::string_view header, const std::string& path) {
  std::string_view text = behind(header, "descr", path);
  const std::size_t end = text.starts_with('\'') ? text.find('\'', 1) : text.npos;
  OPYARD_CHECK(end != text.npos, Unsupported,
               fmt::format("{} holds records; one dtype for all elements is read", path));
  text = text.substr(1, end - 1);
  if (const auto dtype = find_dtype_by(&FileDType::npy, text)) return *dtype;
  fail(ErrorKind::Unsupported,
       fmt::format("{} has elements of the kind '{}', which is not read; save it as another dtype "
                   "with ndarray.astype()",
                   path, text));
}

bool read_order(std::string_view header, const std::string& path) {
  const std::string_view text = behind(header, "fortran_order", path);
  OPYARD_CHECK(text.starts_with("True") || text.starts_with("False"), BadValue,
               fmt::format("{}: 'fortran_order' is neither True nor False", path));
  return text.starts_with("True");
}

// "(3, 4)", "(3,)", "()".
DimVector read_sizes(std::string_view header, const std::string& path) {
  std::string_view text = behind(header, "shape", path);
  const std::size_t end = text.find(')');
  OPYARD_CHECK(text.starts_with('(') && end != text.npos, BadValue,
               fmt::format("{}: 'shape' is no tuple", path));
  text = text.substr(1, end - 1);
  DimVector sizes;
  while (!text.empty()) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    OPYARD_CHECK(error == std::errc() && sizes.size() < kMostDims, BadValue,
                 fmt::format("{}: 'shape' has what is no size, or over {}", path, kMostDims));
    sizes.push_back(size);
    text.remove_prefix(std::size_t(next - text.data()));
    const std::size_t skipped = text.find_first_not_of(" ,");
    OPYARD_CHECK(skipped != 0, BadValue, fmt::format("{}: 'shape' has no comma", path));
    text.remove_prefix(std::min(skipped, text.size()));
  }
  return sizes;
}

// Where the bytes begin, and the header between the lengths and them.
std::pair<std::string_view, std::size_t> npy_header(std::string_view bytes,
                                                    const std::string& path) {
  OPYARD_CHECK(bytes.size() >= 10 && bytes.starts_with(kNpyMagic), BadValue,
               fmt::format("{} is no .npy file: it begins with other bytes", path));
  const unsigned version = std::uint8_t(bytes[6]);
  OPYARD_CHECK(version >= 1 && version <= 3, Unsupported,
               fmt::format("{} is of version {}, and versions 1 to 3 are read", path, version));
  const std::size_t width = version == 1 ? 2 : 4;
  OPYARD_CHECK(bytes.size() >= 8 + width, BadValue, fmt::format("{} is cut off", path));
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i) {
    length |= std::size_t(std::uint8_t(bytes[8 + i])) << (8 * i);
  }
  const std::size_t begin = 8 + width;
  OPYARD_CHECK(length <= kMostHeader && length <= bytes.size() - begin, BadValue,
               fmt::format("{} has a header of {} bytes, and {} are there; at most {} are read",
                           path, length, bytes.size() - begin, kMostHeader));
  return {bytes.substr(begin, length), begin + length};
}

}  // namespace

Tensor load_npy(const std::string& path) {
  const CountedPtr<FileBytes> file = FileBytes::open(path, FileAccess::Read);
  const auto [header, begin] = npy_header(file->bytes(), path);
  const DType dtype = read_dtype(header, path);
  const DimVector sizes = read_sizes(header, path);
  const std::size_t wanted = byte_count(path, dtype, sizes);
  const std::size_t there = file->bytes().size() - begin;
  OPYARD_CHECK(
      wanted == there, BadValue,
      fmt::format("{} has {} bytes of elements, and its sizes need {}", path, there, wanted));
  if (!read_order(header, path)) return file->tensor_at(begin, there, dtype, sizes);
  DimVector strides;
  std::int64_t stride = 1;
  for (const std::int64_t size : sizes) {
    strides.push_back(stride);
    stride *= size;
  }
  // NumPy pads the header so that the elements can be used where they are; others may not.
  if (begin % item_size(dtype) == 0) {
    return file->strided_at(path, begin, there, dtype, sizes, strides);
  }
  return FileBytes::copy(file->bytes().substr(begin), path)
      ->strided_at(path, 0, there, dtype, sizes, strides);
}

void save_npy(const Tensor& tensor, const std::string& path) {
  require_elements("save_npy", tensor);
  const std::string_view descr = find_file_dtype(tensor.dtype())->npy;
  OPYARD_CHECK(!descr.empty(), Unsupported,
               fmt::format("save_npy: NumPy has no {}; convert the tensor to float32",
                           name_of(tensor.dtype())));
  const Tensor rows = contiguous(tensor);
  const IntSpan sizes = rows.sizes();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                  fmt::join(sizes.begin(), sizes.end(), ", "), sizes.size() == 1 ? "," : "");
  header.append(63 - (kNpyMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string begin(kNpyMagic);
  begin += {'\1', '\0', char(header.size() & 0xFF), char(header.size() >> 8)};
  begin += header;
  const std::size_t bytes = std::size_t(rows.numel()) * item_size(rows.dtype());
  std::vector<std::string_view> pieces = {begin};
  if (bytes > 0) pieces.emplace_back(static_cast<const char*>(rows.raw()), bytes);
  write_file(path, pieces);
}

}  // namespace opyard::jit
