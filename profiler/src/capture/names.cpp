// profiler/capture/names.cpp: name table, and repair of invalid UTF-8.
#include "opyard/profiler/names.h"

#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "capture/file_writer.h"
#include "opyard/detail/base/mutex.h"

namespace opyard::profiler {
namespace {

struct Same {
  bool operator()(const Name* a, const Name* b) const {
    return a->text == b->text && a->line == b->line && a->identity == b->identity &&
           a->kind == b->kind && a->qualified == b->qualified && a->file == b->file &&
           a->extra == b->extra;
  }
};
struct Hash {
  std::size_t operator()(const Name* name) const {
    std::size_t hash = name->identity * 31 + std::size_t(name->line);
    for (const std::string* part : {&name->text, &name->qualified, &name->file, &name->kind}) {
      hash = hash * 1'000'003 ^ std::hash<std::string>()(*part);
    }
    return hash;
  }
};

struct Names {
  Mutex mutex{LockRank::ProfilerNames};
  std::deque<Name> list;  // never moves what it holds
  std::unordered_map<const Name*, std::uint32_t, Hash, Same> keys;
};

// Never freed: an exporter may ask for a name while the process ends.
Names& names() {
  static Names& all = *new Names;
  return all;
}

// The length of the UTF-8 sequence at the start of the text, or 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t n = 1; n < length; ++n) {
    if ((at(n) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what is beyond Unicode differ in the second byte.
  if (first == 0xE0 && at(1) < 0xA0) return 0;
  if (first == 0xED && at(1) >= 0xA0) return 0;
  if (first == 0xF0 && at(1) < 0x90) return 0;
  if (first == 0xF4 && at(1) >= 0x90) return 0;
  return length;
}

}  // namespace

std::string to_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

std::uint32_t add_name(Name name) {
  for (std::string* part : {&name.text, &name.qualified, &name.file, &name.kind}) {
    *part = to_valid_utf8(*part);
  }
  Names& all = names();
  const std::lock_guard lock(all.mutex);
  const auto found = all.keys.find(&name);
  if (found != all.keys.end()) return found->second;
  all.list.push_back(std::move(name));
  const auto key = std::uint32_t(all.list.size());
  try {
    all.keys.emplace(&all.list.back(), key);
  } catch (...) {
    all.list.pop_back();
    throw;
  }
  if (FileWriter* const writer = file_writer.load()) writer->keep_name(key, all.list.back());
  return key;
}

const Name& name_of(std::uint32_t key) {
  static const Name unknown{.text = "(unknown)",
                            .qualified = {},
                            .file = {},
                            .line = 0,
                            .kind = {},
                            .identity = 0,
                            .extra = {},
                            .group = 0};
  Names& all = names();
  const std::lock_guard lock(all.mutex);
  return key == 0 || key > all.list.size() ? unknown : all.list[key - 1];
}

std::uint32_t last_key() {
  Names& all = names();
  const std::lock_guard lock(all.mutex);
  return std::uint32_t(all.list.size());
}

}  // namespace opyard::profiler
