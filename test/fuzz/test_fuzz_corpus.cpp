// test_fuzz_corpus.cpp: replays what the fuzzers begin with and what they have found before, so
// that every past crash is a test of every build.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "../cpp/folder.h"
#include "../cpp/malformed.h"
#include "entries.h"
#include "opyard/schema/parse.h"
#include "planted.h"

namespace opyard::fuzz {
namespace {

struct Entry {
  const char* name;
  bool (*run)(std::string_view bytes);
};
constexpr Entry kEntries[] = {
#define OPYARD_FUZZ_ENTRY(name, what) {#name, name},
#include "entries.def"
#undef OPYARD_FUZZ_ENTRY
};

const std::filesystem::path kFolder = std::filesystem::path(kTestFolder) / "fuzz";

struct Input {
  std::string name;
  std::string bytes;
};

std::vector<Input> corpus_of(const std::string& entry) {
  std::vector<Input> inputs;
  for (const auto& file : std::filesystem::directory_iterator(kFolder / "corpus" / entry)) {
    std::ifstream stream(file.path(), std::ios::binary);
    inputs.push_back({file.path().filename(), {std::istreambuf_iterator<char>(stream), {}}});
  }
  return inputs;
}

// What the entry throws, or nothing.
std::string complaint(const Entry& entry, const std::string& bytes) {
  try {
    entry.run(bytes);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(FuzzCorpus, EachInputIsTaken) {
  for (const Entry& entry : kEntries) {
    const std::vector<Input> inputs = corpus_of(entry.name);
    EXPECT_GE(inputs.size(), 4u) << "the corpus of " << entry.name;
    for (const auto& [name, bytes] : inputs) {
      EXPECT_EQ(complaint(entry, bytes), "") << "corpus/" << entry.name << "/" << name;
    }
  }
}

// All bytes, and all beginnings of all inputs: where a text ends, the parser must notice.
TEST(FuzzCorpus, EachBeginningOfEachInputIsTaken) {
  for (const Entry& entry : kEntries) {
    for (const auto& [name, bytes] : corpus_of(entry.name)) {
      for (std::size_t end = 0; end < std::min<std::size_t>(bytes.size(), 200); ++end) {
        EXPECT_EQ(complaint(entry, bytes.substr(0, end)), "")
            << "the first " << end << " bytes of corpus/" << entry.name << "/" << name;
      }
    }
  }
}

TEST(FuzzCorpus, TheMalformedSchemasAreTaken) {
  for (const Malformed& malformed : read_malformed(kFolder / ".." / "schemas" / "malformed.txt")) {
    EXPECT_EQ(complaint(kEntries[0], malformed.text), "") << "malformed.txt:" << malformed.line;
  }
}

TEST(FuzzCorpus, EveryCorpusHasAnEntry) {
  std::set<std::string> names;
  for (const Entry& entry : kEntries) names.insert(entry.name);
  for (const auto& folder : std::filesystem::directory_iterator(kFolder / "corpus")) {
    EXPECT_EQ(names.count(folder.path().filename()), 1u) << folder.path();
  }
}

// Else the fuzzers of files would look behind no refusal.
TEST(FuzzCorpus, FilesOfModelsAreRead) {
  for (const Entry& entry : kEntries) {
    if (entry.run != &exported && entry.run != &saved) continue;
    std::size_t read = 0;
    for (const auto& [name, bytes] : corpus_of(entry.name)) read += entry.run(bytes) ? 1 : 0;
    EXPECT_GE(read, 4U) << "of the corpus of " << entry.name;
  }
}

// Else the fuzzers would find the planted defect without looking for it.
TEST(FuzzCorpus, NoInputShowsThePlantedDefect) {
  for (const auto& [name, bytes] : corpus_of("round_trip")) {
    if (!find_schema_faults(bytes).empty()) continue;
    for (const Argument& argument : parse_schema(bytes).arguments) {
      EXPECT_FALSE(shows_planted_defect(argument)) << name;
    }
  }
}

// The replay itself can fail.
TEST(FuzzCorpus, AComplaintIsHeard) {
  const Entry entry{"wrong",
                    [](std::string_view) -> bool { throw std::logic_error("this is wrong"); }};
  EXPECT_EQ(complaint(entry, ""), "this is wrong");
}

}  // namespace
}  // namespace opyard::fuzz
