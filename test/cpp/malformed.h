// test/cpp/malformed.h: reading test/schemas/malformed.txt.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace opyard {

struct Malformed {
  int line;  // where the entry begins
  std::string text;
  std::string message;
};

// \xNN is a byte, \t a tab, \\ a backslash.
inline std::string unescaped(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    const char kind = line.at(++i);
    if (kind == 'x') {
      out += char(std::stoi(line.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += kind == 't' ? '\t' : kind;
    }
  }
  return out;
}

// The test fails for a line that is none of the three kinds and for an entry without both parts.
inline std::vector<Malformed> read_malformed(const std::string& path) {
  std::vector<Malformed> entries;
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path << " cannot be read";
  int number = 0;
  bool in_text = false;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#') {
      in_text = false;
      continue;
    }
    const bool is_text = line.front() == '>';
    EXPECT_TRUE(is_text || line.front() == '|') << path << ":" << number;
    const std::string rest = line.size() > 2 ? line.substr(2) : "";
    if (is_text && !in_text) {
      entries.push_back({number, unescaped(rest), ""});
    } else if (is_text) {
      entries.back().text += '\n' + unescaped(rest);
    } else if (entries.empty()) {
      ADD_FAILURE() << path << ":" << number << ": a message without a text";
    } else {
      entries.back().message += (in_text ? "" : "\n") + rest;
    }
    in_text = is_text;
  }
  for (const Malformed& entry : entries) {
    EXPECT_FALSE(entry.message.empty()) << path << ":" << entry.line << " expects no message";
  }
  return entries;
}

}  // namespace opyard
