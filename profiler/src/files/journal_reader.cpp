// profiler/files/journal_reader.cpp: parser of journal entries.
#include "files/journal_reader.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace opyard::profiler {
namespace {

// Reads what an entry holds; what is missing is 0 and "".
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}
  std::uint64_t number() {
    std::uint64_t number = 0;
    if (left_.size() < sizeof number) return left_ = {}, 0;
    std::memcpy(&number, left_.data(), sizeof number);
    left_.remove_prefix(sizeof number);
    return number;
  }
  std::string text() {
    const std::uint64_t wanted = number();
    const std::size_t size = std::min<std::uint64_t>(wanted, left_.size());
    const std::string text(left_.substr(0, size));
    left_.remove_prefix(size);
    return text;
  }
  ClockPair pair() {
    const std::uint64_t ticks = number();
    return {ticks, number()};
  }
  bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

void read_process(Journal& journal, Fields& fields) {
  if (fields.number() != kJournalVersion) return;
  journal.process.id = std::int64_t(fields.number());
  journal.process.parent = std::int64_t(fields.number());
  journal.clock = fields.number();
  journal.process.capture.first_pair = fields.pair();
  journal.process.capture.begin = fields.pair();
  journal.process.capture.unix_begin_ns = fields.number();
  journal.process.program = to_valid_utf8(fields.text());
  // Its own code writes names of other threads when they begin; those that come count more.
  journal.process.capture.thread_names.push_back({0, journal.process.id, "MainThread"});
}

void read_name(Journal& journal, Fields& fields) {
  const std::uint64_t key = fields.number();
  Name name;
  name.line = std::int32_t(fields.number());
  name.identity = fields.number();
  journal.groups.push_back(fields.number());
  for (std::string* part : {&name.text, &name.qualified, &name.file, &name.kind, &name.extra}) {
    *part = fields.text();
  }
  journal.names.emplace_back(key, std::move(name));
}

void read_stack(Journal& journal, Fields& fields) {
  JournalStack stack;
  stack.handle = fields.number();
  stack.native_id = std::int64_t(fields.number());
  for (std::uint64_t left = fields.number(); left != 0 && !fields.is_at_end(); --left) {
    const std::uint64_t key = fields.number();
    stack.frames.push_back({key, fields.number()});
  }
  journal.stacks.push_back(std::move(stack));
}

// The same text again adds to its number.
void add_note(Capture& capture, std::string text, std::uint64_t number) {
  for (auto& [known, sum] : capture.notes) {
    if (known == text) {
      sum += number;
      return;
    }
  }
  capture.notes.emplace_back(std::move(text), number);
}

void read_entry(Journal& journal, JournalKind kind, Fields fields) {
  switch (kind) {
    case JournalKind::Process:
      return read_process(journal, fields);
    case JournalKind::Name:
      return read_name(journal, fields);
    case JournalKind::Stack:
      return read_stack(journal, fields);
    case JournalKind::Thread: {
      const std::uint64_t handle = fields.number();
      const auto native_id = std::int64_t(fields.number());
      journal.process.capture.thread_names.push_back(
          {handle, native_id, to_valid_utf8(fields.text())});
      return;
    }
    case JournalKind::Note: {
      const std::uint64_t number = fields.number();
      return add_note(journal.process.capture, to_valid_utf8(fields.text()), number);
    }
    case JournalKind::End:
      journal.end = fields.pair();
      journal.process.has_ended = true;
      return;
  }
}

std::string file_contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Journal read_journal(const std::filesystem::path& path) {
  Journal journal;
  journal.blocks = std::filesystem::path(path).replace_extension(kBlocksEnding);
  const std::string contents = file_contents(path);
  std::string_view left = contents;
  std::uint32_t size = 0;
  while (left.size() > sizeof size) {
    std::memcpy(&size, left.data(), sizeof size);
    left.remove_prefix(sizeof size);
    if (size == 0 || size > left.size()) break;
    read_entry(journal, JournalKind(left[0]), Fields(left.substr(1, size - 1)));
    left.remove_prefix(size);
  }
  return journal;
}

}  // namespace opyard::profiler
