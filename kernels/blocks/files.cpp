// kernels/blocks/files.cpp: reading of files of operators, and places of faults.
#include "blocks/files.h"

#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "opyard/base/error.h"
#include "opyard/schema/parse.h"

namespace opyard::blocks {
namespace {

std::string at(const OperatorSource& source, std::uint32_t line, std::uint32_t column) {
  return source.path + ':' + std::to_string(line) + ':' + std::to_string(column) + ": ";
}

// Takes ":12" from the front.
bool take_number(std::string_view& text, std::uint32_t& number) {
  if (!text.starts_with(':')) return false;
  const char* const begin = text.data() + 1;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || end == begin) return false;
  text.remove_prefix(std::size_t(end - text.data()));
  return true;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Fault(path + ": cannot be read");
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  if (std::ifstream(path).good() && read_text(path) == text) return;
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) throw Fault(path + ": cannot be written");
}

void fail_at(const OperatorSource& source, const jit::PlacedText& text, std::string_view what) {
  throw Fault(at(source, text.line, text.column) + std::string(what));
}

void fail_inside(const OperatorSource& source, const jit::PlacedText& text,
                 std::string_view error) {
  // Behind the name of the operator, which has colons of its own.
  for (std::size_t i = error.find(':'); i < error.size(); i = error.find(':', i + 1)) {
    std::string_view rest = error.substr(i);
    std::uint32_t line = 0, column = 0;
    if (!take_number(rest, line) || !take_number(rest, column) || !rest.starts_with(": ")) continue;
    throw Fault(at(source, text.line + line - 1, line == 1 ? text.column + column - 1 : column) +
                std::string(error));
  }
  fail_at(source, text, error);
}

std::vector<OperatorSource> read_sources(const std::vector<std::string>& paths) {
  std::vector<OperatorSource> sources;
  std::map<std::string, std::string> places;  // of operators, by name
  for (const std::string& path : paths) {
    OperatorSource source;
    source.path = path;
    const std::string file = path.substr(path.rfind('/') + 1);
    source.shown = "kernels/operators/" + file;
    source.family = file.substr(0, file.find('.'));
    try {
      source.file = jit::parse_operator_file(read_text(path), path, jit::OperatorFileUse::Compiled);
    } catch (const Error& error) {
      throw Fault(error.what());
    }
    for (const jit::OperatorBlock& block : source.file.blocks) {
      const std::string name =
          source.file.name_space + "::" + to_string(parse_schema(block.schema.text).name);
      const std::string place = path + ':' + std::to_string(block.schema.line);
      const auto [known, is_new] = places.emplace(name, place);
      if (!is_new)
        fail_at(source, block.schema, name + " has a block already, in " + known->second);
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace opyard::blocks
