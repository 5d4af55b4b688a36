// test/fuzz/exported.cpp: fuzzer of archives of torch.export.save(): loaded or refused.
//
// A change of an archive's byte is seen by its checksum, and little behind that is reached. So
// bytes that begin as a program, "{", or as a pickle, "\x80", are put into an archive in which all
// else is right; others are the archive.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "memory_file.h"
#include "opyard/registry/library.h"

namespace opyard::fuzz {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

// What the programs of the corpus call; it is never run.
void define_operators() {
  static const Library library = [] {
    Library made(LibraryKind::Fragment, "aten");
    for (const char* const schema :
         {"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
          "clone(Tensor self, *, int? memory_format=None) -> Tensor",
          "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
          "detach(Tensor self) -> Tensor", "gt.Scalar(Tensor self, Scalar other) -> Tensor",
          "item(Tensor self) -> Scalar", "mul.Tensor(Tensor self, Tensor other) -> Tensor",
          "mul.Scalar(Tensor self, Scalar other) -> Tensor",
          "reshape(Tensor self, SymInt[] shape) -> Tensor",
          "select.int(Tensor self, int dim, SymInt index) -> Tensor", "sin(Tensor self) -> Tensor",
          "sub.Tensor(Tensor self, Tensor other) -> Tensor",
          "sum(Tensor self, *, int? dtype=None) -> Tensor",
          "sym_size.int(Tensor self, int dim) -> SymInt",
          "zeros(SymInt[] size, *, int? dtype=None, int? layout=None, Device? device=None, bool? "
          "pin_memory=None) -> Tensor"}) {
      made.def(schema);
    }
    return made;
  }();
}

template <typename T>
void append(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(T));
}

std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= std::uint8_t(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

// What both headers of an entry have, from the version that reads it on.
std::string header_of(const std::string& name, const std::string& contents, std::size_t room) {
  std::string header;
  for (int i = 0; i < 5; ++i) append<std::uint16_t>(header, 0);
  append(header, crc_of(contents));
  append(header, std::uint32_t(contents.size()));
  append(header, std::uint32_t(contents.size()));
  append(header, std::uint16_t(name.size()));
  append(header, std::uint16_t(room));
  return header;
}

// Stored, each at a multiple of 64.
std::string archive_of(const Entries& entries) {
  std::string archive, directory;
  for (const auto& [name, contents] : entries) {
    const std::uint32_t place = std::uint32_t(archive.size());
    const std::size_t room = 64 - (place + 30 + name.size()) % 64;
    archive += "PK\x03\x04" + header_of(name, contents, room) + name + std::string(room, '\0');
    archive += contents;
    directory += "PK\x01\x02";
    append<std::uint16_t>(directory, 0);
    directory += header_of(name, contents, 0);
    directory.append(2 + 2 + 2 + 4, '\0');
    append(directory, place);
    directory += name;
  }
  std::string end = "PK\x05\x06";
  append<std::uint32_t>(end, 0);
  append(end, std::uint16_t(entries.size()));
  append(end, std::uint16_t(entries.size()));
  append(end, std::uint32_t(directory.size()));
  append(end, std::uint32_t(archive.size()));
  append<std::uint16_t>(end, 0);
  return archive + directory + end;
}

// With one weight and one buffer, of the names that the corpus has.
Entries around(std::string program) {
  const auto weight = [](const char* sizes, const char* strides) {
    return std::string(R"({"path_name":"w","is_param":true,"use_pickle":false,"tensor_meta":)") +
           R"({"dtype":7,"requires_grad":true,"device":{"type":"cpu","index":null},"layout":7,)" +
           R"("storage_offset":{"as_int":0},"sizes":[)" + sizes + R"(],"strides":[)" + strides +
           "]}}";
  };
  return {{"m/archive_format", "pt2"},
          {"m/archive_version", "0"},
          {"m/byteorder", "little"},
          {"m/models/m.json", std::move(program)},
          {"m/data/weights/w", std::string(12, '\0')},
          {"m/data/weights/model_weights_config.json",
           R"({"config":{"weight":)" + weight(R"({"as_int":3})", R"({"as_int":1})") +
               R"(,"factor":)" + weight("", "") + "}}"}};
}

// One input, of three floats, which is given back.
constexpr const char* kSame =
    R"({"graph_module":{"graph":{"inputs":[{"as_tensor":{"name":"x"}}],"outputs":[{)"
    R"("as_tensor":{"name":"x"}}],"nodes":[],"tensor_values":{"x":{"dtype":7,"sizes":[{)"
    R"("as_int":3}],"requires_grad":false,"device":{"type":"cpu","index":null},"strides":[{)"
    R"("as_int":1}],"storage_offset":{"as_int":0},"layout":7}},"sym_int_values":{},)"
    R"("sym_bool_values":{}},"signature":{"input_specs":[{"user_input":{"arg":{"as_tensor":{)"
    R"("name":"x"}}}}],"output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"x"}}}}]},)"
    R"("module_call_graph":[{"fqn":"","signature":{"inputs":[],"outputs":[],"in_spec":"[1, {)"
    R"(\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{)"
    R"(\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{)"
    R"(\"type\": null, \"context\": null, \"children_spec\": []}]}, {)"
    R"(\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",)"
    R"("out_spec":"[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",)"
    R"("forward_arg_names":["x"]}}]},"opset_version":{"aten":10},"range_constraints":{},)"
    R"("schema_version":{"major":8,"minor":14}})";

std::string whole_archive(std::string_view bytes) {
  if (bytes.starts_with('{')) return archive_of(around(std::string(bytes)));
  if (!bytes.starts_with('\x80')) return std::string(bytes);
  Entries entries = around(kSame);
  entries.emplace_back("m/data/sample_inputs/m.pt",
                       archive_of({{"archive/data.pkl", std::string(bytes)},
                                   {"archive/data/0", std::string(12, '\1')}}));
  return archive_of(entries);
}

}  // namespace

bool exported(std::string_view bytes) {
  define_operators();
  const std::optional<jit::Model> model = load_bytes(whole_archive(bytes));
  if (!model) return false;
  check_model(*model);
  return true;
}

}  // namespace opyard::fuzz
