// test_schema_malformed.cpp: protects the messages for texts that are no schemas, in whole: each
// entry of test/schemas/malformed.txt is refused with the words and the mark that it gives.
// Suspect dispatcher/src/schema/parse.cpp.
#include <gtest/gtest.h>

#include <set>

#include "../folder.h"
#include "../malformed.h"
#include "../thrown_by.h"
#include "opyard/schema/parse.h"

namespace opyard::test_schema_malformed {
namespace {

const std::string kFile = std::string(kTestFolder) + "/schemas/malformed.txt";

TEST(SchemaMalformed, C18_X9_EachTextIsRefusedWithItsWholeMessage) {
  const std::vector<Malformed> entries = read_malformed(kFile);
  EXPECT_GE(entries.size(), 200u);
  std::set<std::string> texts;
  for (const auto& [line, text, message] : entries) {
    SCOPED_TRACE("malformed.txt:" + std::to_string(line));
    EXPECT_TRUE(texts.insert(text).second) << "the text is in the file twice";
    const Thrown thrown = thrown_by([&] { parse_schema(text); });
    EXPECT_EQ(thrown.kind, ErrorKind::BadSchema);
    EXPECT_EQ(thrown.text, message);
  }
}

// The list is read as it is meant: places of the data and of the message are the same.
TEST(SchemaMalformed, X9_ThePlacesInTheMessagesAreThoseOfTheFaults) {
  for (const auto& [line, text, message] : read_malformed(kFile)) {
    SCOPED_TRACE("malformed.txt:" + std::to_string(line));
    std::size_t from = 0;
    for (const SchemaFault& fault : find_schema_faults(text)) {
      const std::string head = std::to_string(fault.line) + ":" + std::to_string(fault.column) +
                               ": " + fault.message + "\n";
      const std::size_t at = message.find(head, from);
      ASSERT_NE(at, std::string::npos) << head;
      from = at + head.size();
      EXPECT_LE(fault.begin, fault.end);
      EXPECT_LE(fault.end, text.size());
    }
    EXPECT_GT(from, 0u);
  }
}

}  // namespace
}  // namespace opyard::test_schema_malformed
