// files/safetensors.cpp: reading and writing safetensors headers.
#include "opyard/models/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "files/file_bytes.h"
#include "files/file_dtypes.h"
#include "files/foreign.h"
#include "files/json.h"
#include "files/tensor_file.h"
#include "opyard/base/error.h"
#include "opyard/tensor/make.h"

namespace opyard::jit {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes in a file are little-endian");

constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeaderBytes = 100'000'000;
// What the data begins at a multiple of, so that elements of every dtype can be used in the map.
constexpr std::size_t kAlignment = 64;

std::string known_dtypes() {
  std::string names;
  for (const FileDType& each : kFileDTypes) {
    if (each.safetensors.empty()) continue;
    names += names.empty() ? "" : ", ";
    names += each.safetensors;
  }
  return names;
}

// What the header says of one tensor, checked by itself.
struct TensorEntry {
  std::string name;
  DType dtype;
  DimVector sizes;
  std::size_t begin;
  std::size_t end;
};

DType require_file_dtype(const std::string& name, const std::string& what) {
  if (const auto dtype = find_dtype_by(&FileDType::safetensors, std::string_view(name))) {
    return *dtype;
  }
  fail(ErrorKind::BadValue,
       fmt::format("{} has the dtype {}, which does not exist here; there are {}", what,
                   Json(name).dump(), known_dtypes()));
}

TensorEntry read_entry(const std::string& name, const Json& said, std::size_t data_bytes,
                       const std::string& what) {
  for (const auto& [member, value] : require_object(said, what).items()) {
    OPYARD_CHECK(member == "dtype" || member == "shape" || member == "data_offsets", BadValue,
                 fmt::format("{} has a member \"{}\"; dtype, shape and data_offsets are taken",
                             what, member));
  }
  TensorEntry entry = {name, {}, {}, 0, 0};
  entry.dtype =
      require_file_dtype(require_text(require_member(said, "dtype", what), what + ": dtype"), what);
  for (const Json& size : require_array(require_member(said, "shape", what), what + ": shape")) {
    entry.sizes.push_back(require_int(size, what + ": a size"));
  }
  const Json& place =
      require_array(require_member(said, "data_offsets", what), what + ": data_offsets");
  OPYARD_CHECK(place.size() == 2, BadValue,
               fmt::format("{} has {} data_offsets; begin and end are taken", what, place.size()));
  const std::int64_t begin = require_int(place[0], what + ": data_offsets");
  const std::int64_t end = require_int(place[1], what + ": data_offsets");
  OPYARD_CHECK(0 <= begin && begin <= end && std::uint64_t(end) <= data_bytes, BadValue,
               fmt::format("{} is at bytes {} to {}, and the data of the file has {}", what, begin,
                           end, data_bytes));
  entry.begin = std::size_t(begin);
  entry.end = std::size_t(end);
  const std::size_t bytes = byte_count(what, entry.dtype, entry.sizes);
  OPYARD_CHECK(bytes == entry.end - entry.begin, BadValue,
               fmt::format("{} of dtype {} and sizes {} has {} bytes, and its place has {}", what,
                           name_of(entry.dtype), describe_sizes(entry.sizes), bytes,
                           entry.end - entry.begin));
  return entry;
}

// In the order of their places, which leave no hole and do not overlap.
void check_places(std::vector<TensorEntry>& entries, std::size_t data_bytes,
                  const std::string& path) {
  std::stable_sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::size_t at = 0;
  for (const TensorEntry& entry : entries) {
    OPYARD_CHECK(
        entry.begin >= at, BadValue,
        fmt::format("{}: tensor \"{}\" at byte {} overlaps the one before it, which ends at "
                    "byte {}",
                    path, entry.name, entry.begin, at));
    OPYARD_CHECK(entry.begin == at, BadValue,
                 fmt::format("{}: bytes {} to {} belong to no tensor", path, at, entry.begin));
    at = entry.end;
  }
  OPYARD_CHECK(at == data_bytes, BadValue,
               fmt::format("{}: bytes {} to {} belong to no tensor", path, at, data_bytes));
}

// Other bytes than 0 and 1 are no bools: each operator would take them for something else.
void check_bools(const TensorEntry& entry, std::string_view data, const std::string& path) {
  if (entry.dtype != DType::Bool) return;
  const std::string_view bools = data.substr(entry.begin, entry.end - entry.begin);
  const auto other = std::ranges::find_if(bools, [](char byte) { return (byte & ~1) != 0; });
  OPYARD_CHECK(
      other == bools.end(), BadValue,
      fmt::format("{}: tensor \"{}\" of dtype bool has the byte {} at {}; 0 and 1 are taken", path,
                  entry.name, int(static_cast<unsigned char>(*other)), other - bools.begin()));
}

// A file of another format may begin as one of ours does: only what is refused is named.
[[noreturn]] OPYARD_COLD void refuse_file(const FileBytes& file, std::string text) {
  const std::string foreign = describe_foreign(file);
  fail(ErrorKind::BadValue,
       foreign.empty() ? std::move(text)
                       : fmt::format("{} is no safetensors file, but {}", file.path(), foreign));
}

std::string_view safetensors_header(const FileBytes& file) {
  const std::string_view bytes = file.bytes();
  if (bytes.size() < kLengthBytes) {
    refuse_file(file,
                fmt::format("{} is no safetensors file: it has {} bytes, and its header needs "
                            "more",
                            file.path(), bytes.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMostHeaderBytes) {
    refuse_file(file, fmt::format("{} is no safetensors file, or a broken one: a header of {} "
                                  "bytes, and at most {} are read",
                                  file.path(), length, kMostHeaderBytes));
  }
  if (length > bytes.size() - kLengthBytes) {
    refuse_file(file,
                fmt::format("{} is cut: its header has {} bytes, and behind the length are {}",
                            file.path(), length, bytes.size() - kLengthBytes));
  }
  return bytes.substr(kLengthBytes, std::size_t(length));
}

// ---- writing

std::string dtype_text(const NamedTensor& each) {
  const std::string_view known = find_file_dtype(each.tensor.dtype())->safetensors;
  if (!known.empty()) return std::string(known);
  fail(ErrorKind::Unsupported,
       fmt::format("save_tensors: tensor \"{}\" is of dtype {}, for which safetensors has no name",
                   each.name, name_of(each.tensor.dtype())));
}

void check_names(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& each : tensors) {
    OPYARD_CHECK(each.name != kMetadata, BadValue,
                 "save_tensors: no tensor can have the name \"__metadata__\"");
    OPYARD_CHECK(names.insert(each.name).second, BadValue,
                 fmt::format("save_tensors: the name \"{}\" is given twice", each.name));
    OPYARD_CHECK(each.tensor.defined(), BadValue,
                 fmt::format("save_tensors: tensor \"{}\" is undefined", each.name));
  }
}

std::string header_text(std::span<const NamedTensor> tensors, std::span<const std::size_t> order,
                        const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  const auto append = [&](const std::string& name, const nlohmann::ordered_json& value) {
    if (text.size() > 1) text += ',';
    text += nlohmann::ordered_json(name).dump() + ':' + value.dump();
  };
  try {
    if (!metadata.empty()) append(kMetadata, nlohmann::ordered_json(metadata));
    std::size_t at = 0;
    for (const std::size_t index : order) {
      const NamedTensor& each = tensors[index];
      const std::size_t end =
          at + std::size_t(each.tensor.numel()) * item_size(each.tensor.dtype());
      const IntSpan sizes = each.tensor.sizes();
      append(each.name, {{"dtype", dtype_text(each)},
                         {"shape", std::vector<std::int64_t>(sizes.begin(), sizes.end())},
                         {"data_offsets", std::vector<std::size_t>{at, end}}});
      at = end;
    }
  } catch (const Json::exception&) {
    fail(ErrorKind::BadValue,
         "save_tensors: names and metadata are texts of UTF-8, and one is not");
  }
  text += '}';
  text.append((kAlignment - (kLengthBytes + text.size()) % kAlignment) % kAlignment, ' ');
  OPYARD_CHECK(text.size() <= kMostHeaderBytes, BadValue,
               fmt::format("save_tensors: a header of {} bytes, and at most {} can be read again",
                           text.size(), kMostHeaderBytes));
  return text;
}

}  // namespace

TensorFile tensors_in(FileBytes& file) {
  const std::string& path = file.path();
  const std::string_view text = safetensors_header(file);
  const std::size_t data_begin = kLengthBytes + text.size();
  const std::size_t data_bytes = file.bytes().size() - data_begin;
  const std::string what = "the header of " + path;
  const Json header = parse_json(text, what);
  TensorFile read;
  std::vector<TensorEntry> entries;
  for (const auto& [name, said] : require_object(header, what).items()) {
    if (name == kMetadata) {
      for (const auto& [key, value] : require_object(said, what + ": __metadata__").items()) {
        read.metadata[key] = require_text(value, what + ": __metadata__: \"" + key + '"');
      }
    } else {
      entries.push_back(read_entry(name, said, data_bytes, path + ": tensor \"" + name + '"'));
    }
  }
  check_places(entries, data_bytes, path);
  for (TensorEntry& entry : entries) {
    check_bools(entry, file.bytes().substr(data_begin), path);
    read.tensors.push_back(
        {std::move(entry.name), file.tensor_at(data_begin + entry.begin, entry.end - entry.begin,
                                               entry.dtype, entry.sizes)});
  }
  return read;
}

TensorFile load_tensors(const std::string& path, FileAccess access) {
  return tensors_in(*FileBytes::open(path, access));
}

void save_tensors(const std::string& path, std::span<const NamedTensor> tensors,
                  const std::map<std::string, std::string>& metadata) {
  check_names(tensors);
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return item_size(tensors[a].tensor.dtype()) > item_size(tensors[b].tensor.dtype());
  });
  const std::string header = header_text(tensors, order, metadata);
  const std::uint64_t length = header.size();
  std::vector<std::string_view> pieces = {{reinterpret_cast<const char*>(&length), kLengthBytes},
                                          header};
  std::vector<Tensor> held;
  for (const std::size_t index : order) {
    require_elements("save_tensors", tensors[index].tensor);
    held.push_back(contiguous(tensors[index].tensor));
    const Tensor& tensor = held.back();
    const std::size_t bytes = std::size_t(tensor.numel()) * item_size(tensor.dtype());
    if (bytes > 0) pieces.emplace_back(static_cast<const char*>(tensor.raw()), bytes);
  }
  write_file(path, pieces);
}

}  // namespace opyard::jit
