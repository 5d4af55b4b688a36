// sampler/sampled_codes.cpp: reading code objects by copies.
#include "sampler/sampled_codes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "opyard/detail/python/traced_python.h"
#include "opyard/profiler/names.h"
#include "tracer/code_keys.h"

namespace opyard::python {
namespace {

constexpr std::size_t kBytesOfUnit = 2;
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostLines = std::size_t{1} << 20;  // bytes of a table of lines

// As UTF-8; a half of a surrogate pair becomes "?".
std::string to_utf8(const std::string& units, std::size_t width) {
  std::string text;
  for (std::size_t n = 0; n < units.size(); n += width) {
    std::uint32_t c = 0;
    std::memcpy(&c, units.data() + n, width);
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = '?';
    if (c < 0x80) {
      text += char(c);
      continue;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static constexpr unsigned char kFirst[] = {0, 0xC0, 0xE0, 0xF0};
    text += char(kFirst[more] | c >> (6 * more));
    for (int at = more; at-- > 0;) text += char(0x80 | (c >> (6 * at) & 0x3F));
  }
  return text;
}

std::optional<std::string> read_text(Address object) {
  PyASCIIObject head;
  if (!read_value(object, head)) return std::nullopt;
  if (head.ob_base.ob_type != &PyUnicode_Type || head.state.compact == 0) return std::nullopt;
  const auto length = std::size_t(head.length);
  if (head.length < 0 || length > kMostText) return std::nullopt;
  const bool is_ascii = head.state.ascii != 0;
  const std::size_t width = head.state.kind;
  if (width != 1 && width != 2 && width != 4) return std::nullopt;
  const std::size_t offset = is_ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
  std::string bytes(length * width, '\0');
  if (!read_memory(object + offset, bytes.data(), bytes.size())) return std::nullopt;
  return is_ascii ? std::optional(std::move(bytes)) : to_utf8(bytes, width);
}

std::optional<std::vector<unsigned char>> read_bytes(Address object) {
  PyVarObject head;
  if (!read_value(object, head)) return std::nullopt;
  const auto size = std::size_t(head.ob_size);
  if (head.ob_base.ob_type != &PyBytes_Type || head.ob_size < 0 || size > kMostLines) {
    return std::nullopt;
  }
  std::vector<unsigned char> bytes(size);
  const Address begin = object + offsetof(PyBytesObject, ob_sval);
  if (size > 0 && !read_memory(begin, bytes.data(), size)) return std::nullopt;
  return bytes;
}

SampledCode::Identity identity_of(const CodeCopy& copy) {
  const std::size_t size =
      kLayout.code_units == OPYARD_NO_OFFSET ? kLayout.code_instructions : kLayout.code_units;
  return {copy.at<Address>(kLayout.code_qualified), copy.at<Address>(kLayout.code_file),
          copy.at<Address>(kLayout.code_lines), copy.at<std::uint64_t>(size),
          copy.at<int>(kLayout.code_first_line)};
}

bool find_instructions(Address address, const CodeCopy& copy, SampledCode& code) {
  if (kLayout.code_units != OPYARD_NO_OFFSET) {
    code.instructions = address + kLayout.code_instructions;
    code.bytes = copy.at<std::uint64_t>(kLayout.code_units) * kBytesOfUnit;
    return true;
  }
  PyVarObject head;
  const auto object = copy.at<Address>(kLayout.code_instructions);
  if (!read_value(object, head) || head.ob_base.ob_type != &PyBytes_Type) return false;
  code.instructions = object + offsetof(PyBytesObject, ob_sval);
  code.bytes = std::size_t(head.ob_size);
  return true;
}

// Tables of lines: in 3.10 pairs of bytes, so many bytes of instructions and so many lines on.
template <typename Add>
void for_each_pair(const std::vector<unsigned char>& table, std::int32_t line, const Add& add) {
  constexpr int kNoLine = -128;
  std::uint32_t begin = 0;
  for (std::size_t n = 0; n + 1 < table.size(); n += 2) {
    const auto delta = static_cast<signed char>(table[n + 1]);
    if (delta != kNoLine) line += delta;
    if (table[n] != 0) add(begin, delta == kNoLine ? 0 : line);
    begin += table[n];
  }
}

// From 3.11 on entries of several bytes, the first of which has a bit that no other has.
template <typename Add>
void for_each_location(const std::vector<unsigned char>& table, std::int32_t line, const Add& add) {
  std::uint32_t begin = 0;
  for (std::size_t n = 0; n < table.size();) {
    const unsigned head = table[n++];
    const unsigned kind = head >> 3 & 15;
    std::int32_t delta = 0;
    if (kind >= 10 && kind <= 12) delta = std::int32_t(kind) - 10;
    if (kind == 13 || kind == 14) {  // a signed number of six bits a byte
      std::uint32_t number = 0;
      for (unsigned shift = 0; n < table.size() && shift < 30; shift += 6) {
        const unsigned byte = table[n++];
        number |= (byte & 63) << shift;
        if ((byte & 64) == 0) break;
      }
      delta = (number & 1) != 0 ? -std::int32_t(number >> 1) : std::int32_t(number >> 1);
    }
    while (n < table.size() && (table[n] & 128) == 0) ++n;
    line += delta;
    add(begin, kind == 15 ? 0 : line);
    begin += ((head & 7) + 1) * std::uint32_t(kBytesOfUnit);
  }
}

}  // namespace

std::int32_t SampledCode::line_at(std::size_t offset) const noexcept {
  const auto after =
      std::upper_bound(lines.begin(), lines.end(), offset,
                       [](std::size_t wanted, const Lines& one) { return wanted < one.begin; });
  return after == lines.begin() ? 0 : (after - 1)->line;
}

// As hide() of the tracer's module has marked it.
bool SampledCodes::is_hidden(const CodeCopy& copy) const noexcept {
  const auto extra = copy.at<Address>(kLayout.code_extra);
  if (extra == 0 || word_index_ < 0) return false;
  Py_ssize_t count = 0;
  std::uintptr_t word = 0;
  if (!read_value(extra + offsetof(CodeWords, count), count) || count <= word_index_) return false;
  const std::size_t at = offsetof(CodeWords, words) + std::size_t(word_index_) * sizeof(void*);
  return read_value(extra + at, word) && CodeWord{word}.has(CodeFlag::Hidden);
}

bool SampledCodes::read(Address address, const CodeCopy& copy, SampledCode& code) const {
  std::optional<std::string> text = read_text(copy.at<Address>(kLayout.code_text));
  std::optional<std::string> qualified = read_text(copy.at<Address>(kLayout.code_qualified));
  std::optional<std::string> file = read_text(copy.at<Address>(kLayout.code_file));
  const auto table = read_bytes(copy.at<Address>(kLayout.code_lines));
  if (!text || !qualified || !file || !table) return false;
  if (!find_instructions(address, copy, code)) return false;
  const int first_line = copy.at<int>(kLayout.code_first_line);
  const auto add = [&](std::uint32_t begin, std::int32_t line) {
    if (code.lines.empty() || code.lines.back().line != line) code.lines.push_back({begin, line});
  };
  if (kLayout.lines_are_pairs != 0) {
    for_each_pair(*table, first_line, add);
  } else {
    for_each_location(*table, first_line, add);
  }
  profiler::Name name;
  name.text = std::move(*text);
  name.qualified = std::move(*qualified);
  name.file = file->empty() ? "<unknown>" : std::move(*file);
  name.line = first_line;
  name.kind = "code";
  code.key = profiler::add_name(std::move(name));
  code.is_hidden = is_hidden(copy);
  return true;
}

const SampledCode* SampledCodes::find(Address address, const CodeCopy& copy) {
  if (copy.at<PyTypeObject*>(offsetof(PyObject, ob_type)) != &PyCode_Type) return nullptr;
  const SampledCode::Identity identity = identity_of(copy);
  const auto known = codes_.find(address);
  if (known != codes_.end() && known->second.identity == identity) return &known->second;
  SampledCode code;
  code.identity = identity;
  if (!read(address, copy, code)) return nullptr;
  if (codes_.size() >= most_) {  // a program that makes code all the time: begin anew
    codes_.clear();
    bytes_ = 0;
  }
  bytes_ += sizeof(SampledCode) + 32 + code.lines.size() * sizeof(SampledCode::Lines);
  return &(codes_[address] = std::move(code));
}

}  // namespace opyard::python
