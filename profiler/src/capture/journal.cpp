// profiler/capture/journal.cpp: the journal: names, threads and notes of a capture in files.
//
// [Child] The files of a child of fork() are made with its first event: most children run another
// program at once, and capture nothing.
#include "capture/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "capture/file_blocks.h"
#include "capture/file_writer.h"
#include "opyard/base/file_error.h"
#include "opyard/detail/profiler/files.h"
#include "opyard/profiler/names.h"

namespace opyard::profiler {
namespace {

// Of this process. Written while a session begins or ends, and in the child of a fork.
std::atomic<int> journal{-1};             // -1, too, once an entry did not fit
std::atomic<int> journal_file{-1};        // to be closed
std::atomic<bool> child_has_none{false};  // see [Child]
std::string* the_folder = nullptr;
std::string* the_program = nullptr;

class JournalEntry {
 public:
  explicit JournalEntry(JournalKind kind) : bytes_(4, '\0') { bytes_ += char(kind); }
  JournalEntry& number(std::uint64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  JournalEntry& text(std::string_view text) {
    number(text.size());
    bytes_ += text;
    return *this;
  }
  JournalEntry& pair(const ClockPair& pair) { return number(pair.ticks).number(pair.monotonic_ns); }
  const std::string& finish() {
    const auto size = std::uint32_t(bytes_.size() - 4);
    std::memcpy(bytes_.data(), &size, sizeof size);
    return bytes_;
  }

 private:
  std::string bytes_;
};

void close_journal() noexcept {
  journal.store(-1);
  const int file = journal_file.exchange(-1);
  if (file >= 0) ::close(file);
}

// What does not fit on the disk ends the journal: an entry in part would spoil all behind it.
void append_to_journal(const std::string& bytes) noexcept {
  const int file = journal.load();
  if (file < 0) return;
  ssize_t written = 0;
  do {
    written = ::write(file, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  if (written != ssize_t(bytes.size())) journal.store(-1);
}

JournalEntry name_entry(std::uint32_t key, const Name& name) {
  JournalEntry entry(JournalKind::Name);
  entry.number(key).number(std::uint64_t(name.line)).number(name.identity).number(name.group);
  entry.text(name.text).text(name.qualified).text(name.file).text(name.kind).text(name.extra);
  return entry;
}

// All that there are; one that comes meanwhile may be there twice.
void keep_all_names() {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::string piece;
  const std::uint32_t last = last_key();
  for (std::uint32_t key = 1; key <= last; ++key) {
    piece += name_entry(key, name_of(key)).finish();
    if (piece.size() >= kPiece || key == last) append_to_journal(std::exchange(piece, {}));
  }
}

void open_files() {
  const std::string stem = *the_folder + "/" + std::to_string(::getpid());
  int file = -1;
  std::string path;
  // A process's number may be given again while another one's files are there.
  for (int n = 0; file < 0; ++n) {
    path = stem + "-" + std::to_string(n);
    file = ::open((path + kJournalEnding).c_str(),
                  O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 && errno != EEXIST) {
      fail_file(errno, *the_folder, "a file for what is captured cannot be made in " + *the_folder);
    }
  }
  journal_file.store(file);
  journal.store(file);
  try {
    JournalEntry process(JournalKind::Process);
    process.number(kJournalVersion).number(std::uint64_t(::getpid()));
    process.number(std::uint64_t(::getppid())).number(std::uint64_t(clock_source));
    process.pair(first_clock_pair()).pair(read_clock_pair()).number(unix_time_ns());
    append_to_journal(process.text(*the_program).finish());
    keep_all_names();
    begin_file_blocks(MappedBlocks::create(path + kBlocksEnding));
  } catch (...) {
    close_journal();
    throw;
  }
}

class JournalWriter final : public FileWriter {
 public:
  void leave_files_of_parent() noexcept override {
    close_journal();
    child_has_none.store(true);
  }
  void before_new_block() noexcept override {
    if (!child_has_none.load(std::memory_order_relaxed)) return;
    if (!child_has_none.exchange(false)) return;
    try {
      open_files();
    } catch (const std::exception&) {  // then it is captured in memory, and no one looks there
    }
  }
  void keep_name(std::uint32_t key, const Name& name) noexcept override {
    if (journal.load(std::memory_order_relaxed) < 0) return;
    try {
      append_to_journal(name_entry(key, name).finish());
    } catch (const std::bad_alloc&) {  // a span without a name, then
    }
  }
};
constinit JournalWriter the_writer;

}  // namespace

bool writes_files() noexcept {
  the_writer.before_new_block();
  return journal.load() >= 0;
}

void begin_files(const std::string& folder, const std::string& program) {
  the_folder = new std::string(folder);  // never freed: a child may need them at any time
  the_program = new std::string(program);
  file_writer.store(&the_writer);
  open_files();
}

void end_files(const Capture& capture) {
  end_file_blocks();
  child_has_none.store(false);
  for (const ThreadName& thread : capture.thread_names) write_thread_name(thread);
  for (const auto& [text, number] : capture.notes) write_note(text, number);
  append_to_journal(JournalEntry(JournalKind::End).pair(capture.end).finish());
  close_journal();
}

void write_start_stacks(const std::vector<StartStack>& stacks) {
  for (const StartStack& stack : stacks) {
    JournalEntry entry(JournalKind::Stack);
    entry.number(stack.handle).number(std::uint64_t(stack.native_id)).number(stack.keys.size());
    for (std::size_t n = 0; n < stack.keys.size(); ++n) {
      entry.number(stack.keys[n]).number(std::uint64_t(stack.kinds[n]));
    }
    append_to_journal(entry.finish());
  }
}

void write_thread_name(const ThreadName& thread) {
  JournalEntry entry(JournalKind::Thread);
  entry.number(thread.handle).number(std::uint64_t(thread.native_id));
  append_to_journal(entry.text(thread.name).finish());
}

void write_note(const std::string& text, std::uint64_t number) {
  append_to_journal(JournalEntry(JournalKind::Note).number(number).text(text).finish());
}

}  // namespace opyard::profiler
