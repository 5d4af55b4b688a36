// files/foreign.cpp: detection of foreign file formats, by first bytes and names in archives.
#include "files/foreign.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace opyard::jit {
namespace {

using namespace std::string_view_literals;

struct ForeignFormat {
  std::string_view mark;
  std::string_view text;
};

constexpr std::string_view kTorchSave =
    "PyTorch's archive of torch.save(); load it with torch.load(), and write its tensors with "
    "opyard.save(state_dict, path)";

// By the bytes that a file begins with; the first that fits.
constexpr std::array kForeignFiles = {
    ForeignFormat{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46"sv, kTorchSave},  // of before 1.6
    ForeignFormat{"\x80\x02"sv, "a pickle, and pickles are not read"sv},
    ForeignFormat{"\x80\x03"sv, "a pickle, and pickles are not read"sv},
    ForeignFormat{"\x80\x04\x95"sv, "a pickle, and pickles are not read"sv},
    ForeignFormat{"\x80\x05\x95"sv, "a pickle, and pickles are not read"sv},
    ForeignFormat{"\x93NUMPY"sv,
                  "an array of NumPy; read it with opyard.from_numpy(numpy.load(path))"sv},
    ForeignFormat{"\x89HDF\r\n"sv, "a file of HDF5, which is not read"sv},
    ForeignFormat{"GGUF"sv, "a model in GGUF, which is not read"sv},
    ForeignFormat{"\x1f\x8b"sv, "compressed by gzip; decompress it first"sv},
};

// By a name in an archive; the first that fits.
constexpr std::array kForeignArchives = {
    ForeignFormat{
        "/archive_format"sv,
        "PyTorch's archive of torch.export.save(), a model; opyard.jit.load() reads it"sv},
    ForeignFormat{"serialized_exported_program.json"sv,
                  "an exported program of PyTorch before 2.7; export the model again with "
                  "torch.export.save() of PyTorch 2.9 or newer, which opyard.jit.load() reads"sv},
    ForeignFormat{"/constants.pkl"sv,
                  "PyTorch's archive of torch.jit.save(); export the model with "
                  "torch.export.save() instead, which opyard.jit.load() reads"sv},
    ForeignFormat{"/data.pkl"sv, kTorchSave},
    ForeignFormat{".npy"sv, "an archive of NumPy's arrays; read it with numpy.load()"sv},
    ForeignFormat{""sv, "a zip archive of something else"sv},
};

// The names in an archive are at its end.
constexpr std::size_t kMostDirectory = std::size_t{1} << 20;

}  // namespace

std::string describe_foreign(const FileBytes& file) {
  const std::string_view bytes = file.bytes();
  if (bytes.starts_with("PK\x03\x04"sv) || bytes.starts_with("PK\x05\x06"sv)) {
    const std::string_view names =
        bytes.substr(bytes.size() - std::min(bytes.size(), kMostDirectory));
    for (const ForeignFormat& each : kForeignArchives) {
      if (names.find(each.mark) != names.npos) return std::string(each.text);
    }
  }
  for (const ForeignFormat& each : kForeignFiles) {
    if (bytes.starts_with(each.mark)) return std::string(each.text);
  }
  return {};
}

}  // namespace opyard::jit
