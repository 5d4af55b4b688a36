// exported/program.cpp: the archive of torch.export.save(): versions, weights, and the program in it.
#include "exported/program.h"

#include <map>
#include <optional>

#include <fmt/format.h>

#include "exported/example.h"
#include "files/file_dtypes.h"
#include "files/foreign.h"
#include "files/own_namespaces.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

constexpr const char* kExportAgain =
    "export the model again with torch.export.save() of PyTorch 2.9 or newer";
constexpr std::int64_t kSchemaVersion = 8;

// The folder that all entries are in: "model/".
std::string program_folder(const ZipArchive& archive) {
  for (const auto& [name, entry] : archive.entries()) {
    const std::size_t slash = name.find('/');
    if (slash != name.npos && name.substr(slash + 1) == "archive_format") {
      return name.substr(0, slash + 1);
    }
  }
  fail(ErrorKind::Unsupported,
       fmt::format("{} is no program of torch.export.save(), but {}", archive.file()->path(),
                   describe_foreign(*archive.file())));
}

std::string only_model(const ZipArchive& archive, const std::string& folder) {
  std::optional<std::string> found;
  const std::string models = folder + "models/";
  for (const auto& [name, entry] : archive.entries()) {
    if (!name.starts_with(models) || !name.ends_with(".json")) continue;
    OPYARD_CHECK(!found, Unsupported,
                 fmt::format("{} holds several programs, {} and {}; one is read",
                             archive.file()->path(), *found, name));
    found = name;
  }
  OPYARD_CHECK(
      found.has_value(), Unsupported,
      fmt::format("{} holds no program in {}; {}", archive.file()->path(), models, kExportAgain));
  return *found;
}

DimVector ints_of(const Json& sizes, const std::string& what) {
  DimVector numbers;
  for (const Json& size : require_array(sizes, what)) {
    numbers.push_back(require_int(require_member(size, "as_int", what), what));
  }
  return numbers;
}

// The weights by name that one of the two configurations lists.
class Weights {
 public:
  Weights(const ZipArchive& archive, std::string folder, const std::string& config)
      : archive_(archive), folder_(std::move(folder)) {
    const std::string name = folder_ + config;
    if (archive_.find(name) == nullptr) return;
    what_ = archive_.file()->path() + ": " + name;
    config_ = parse_json(archive_.text(name), what_);
    require_object(require_member(config_, "config", what_), what_);
  }

  // One tensor for names that share all of one: it is trained as one then.
  std::optional<Tensor> find(const std::string& name) {
    const Json* const config = find_member(config_, "config");
    const Json* const found = config == nullptr ? nullptr : find_member(*config, name.c_str());
    if (found == nullptr) return std::nullopt;
    const std::string what = archive_.file()->path() + ": weight \"" + name + '"';
    OPYARD_CHECK(!require_bool(require_member(*found, "use_pickle", what), what), Unsupported,
                 fmt::format("{} is pickled, and pickles are not read; {}", what, kExportAgain));
    const std::string& path = require_text(require_member(*found, "path_name", what), what);
    const Json& meta = require_member(*found, "tensor_meta", what);
    Tensor& tensor = tensors_[path + '\n' + meta.dump()];
    if (!tensor.defined()) tensor = read(path, meta, what);
    return tensor;
  }

 private:
  Tensor read(const std::string& path, const Json& meta, const std::string& what) const {
    const DType dtype = require_exported_dtype(require_member(meta, "dtype", what), what);
    const Json& device = require_member(require_member(meta, "device", what), "type", what);
    OPYARD_CHECK(require_text(device, what) == "cpu", Unsupported,
                 fmt::format("{} is on the device {}; move the program to the CPU, and {}", what,
                             device.dump(), kExportAgain));
    const DimVector sizes = ints_of(require_member(meta, "sizes", what), what + ": sizes");
    const DimVector strides = ints_of(require_member(meta, "strides", what), what + ": strides");
    const std::int64_t first = require_int(
        require_member(require_member(meta, "storage_offset", what), "as_int", what), what);
    const CountedPtr<FileBytes> entry = archive_.aligned(folder_ + path);
    const std::size_t bytes = entry->bytes().size();
    OPYARD_CHECK(first >= 0 && std::uint64_t(first) <= bytes / item_size(dtype), BadValue,
                 fmt::format("{} begins at element {} of {} bytes", what, first, bytes));
    const std::size_t skipped = std::size_t(first) * item_size(dtype);
    return entry->strided_at(what, skipped, bytes - skipped, dtype, sizes, strides);
  }

  const ZipArchive& archive_;
  const std::string folder_;
  std::string what_;
  Json config_;
  std::map<std::string, Tensor> tensors_;  // by their entry and what is said of them
};

void check_versions(const ZipArchive& archive, const std::string& folder, const Json& program,
                    const std::string& what) {
  const std::string version(archive.text(folder + "archive_version"));
  OPYARD_CHECK(
      archive.text(folder + "archive_format") == "pt2" && version == "0", Unsupported,
      fmt::format("{} is an archive of version {}, and version 0 is read; {}",
                  archive.file()->path(),
                  Json(version).dump(-1, ' ', true, Json::error_handler_t::replace), kExportAgain));
  const ZipEntry* const order = archive.find(folder + "byteorder");
  OPYARD_CHECK(
      order == nullptr || archive.text(folder + "byteorder") == "little", Unsupported,
      fmt::format("{} is of a machine with another order of bytes", archive.file()->path()));
  const std::int64_t schema = require_int(
      require_member(require_member(program, "schema_version", what), "major", what), what);
  OPYARD_CHECK(schema == kSchemaVersion, Unsupported,
               fmt::format("{} is of schema version {}, and {} is read; {}", what, schema,
                           kSchemaVersion, kExportAgain));
}

// The operators of ours that are called, those in blocks too.
void collect_own(const Block& block, std::vector<std::string>& names) {
  for (const Node* const node : block.nodes()) {
    if (is_own_namespace(node->kind().name_space())) {
      names.emplace_back(node->kind().qual_string());
    }
    for (const Block* const inner : node->blocks()) collect_own(*inner, names);
  }
}

}  // namespace

DType require_exported_dtype(const Json& number, const std::string& what) {
  if (const auto dtype =
          find_dtype_by(&FileDType::exported, require_int(number, what + ": dtype"))) {
    return *dtype;
  }
  fail(ErrorKind::Unsupported,
       fmt::format("{} has an element type of number {}, which does not exist here", what,
                   number.dump()));
}

Model load_exported(CountedPtr<FileBytes> file, const ModelOptions& options) {
  const ZipArchive archive(std::move(file));
  const std::string folder = program_folder(archive);
  const std::string name = only_model(archive, folder);
  const std::string what = archive.file()->path() + ": " + name;
  const Json program = parse_json(archive.text(name), what);
  check_versions(archive, folder, program, what);
  Model model = convert_program(program, what);
  Weights weights(archive, folder + "data/weights/", "model_weights_config.json");
  Weights constants(archive, folder + "data/constants/", "model_constants_config.json");
  for (StateTensor& each : model.state) {
    std::optional<Tensor> tensor = weights.find(each.name);
    if (!tensor) tensor = constants.find(each.name);
    OPYARD_CHECK(
        tensor.has_value(), BadValue,
        fmt::format("{}: the archive has no weight \"{}\"", archive.file()->path(), each.name));
    each.tensor = *tensor;
  }
  const std::string stem = name.substr(name.rfind('/') + 1, name.rfind('.') - name.rfind('/') - 1);
  model.example = read_example(archive, folder + "data/sample_inputs/" + stem + ".pt", model);
  if (options.untrusted) {
    std::vector<std::string> names = options.allowed;
    collect_own(*model.graph->block(), names);
    model.graph->restrict_to(std::move(names));
  }
  return model;
}

}  // namespace opyard::jit
