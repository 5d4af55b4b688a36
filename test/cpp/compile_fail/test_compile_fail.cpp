// test_compile_fail.cpp: compile errors of kernels whose types no schema can express, and of
// kernels whose names are overloaded. Suspect opyard/detail/registry/refusals.h.
//
// The compiler reads compile_fail/kernels.cpp once. GCC names the line of that file before the
// error it leads to, Clang after it; either way each sentence is found at the case's own line.
// compile_fail/overloaded_names.cpp is read once for each of its cases.
#include <gtest/gtest.h>
#include <stdio.h>

#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "opyard/detail/registry/refusals.h"

namespace opyard::test_compile_fail {
namespace {

using Sentences = std::map<int, std::vector<std::string>>;  // by line

std::vector<std::string> lines_of_compiler(const std::string& arguments) {
  const std::string command = OPYARD_TEST_COMPILER " " + arguments + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
  std::vector<std::string> lines;
  std::string line;
  for (int c = 0; output != nullptr && (c = fgetc(output.get())) != EOF;) {
    if (c != '\n') {
      line += char(c);
    } else {
      lines.push_back(std::exchange(line, ""));
    }
  }
  return lines;
}

Sentences read_sentences(const std::vector<std::string>& lines) {
  // "…kernels.cpp:12:3:   required from here" or "…kernels.cpp:12:3: note: in instantiation of …"
  const std::regex place("[^:]*kernels\\.cpp:([0-9]+):.*(required from here|requested here)");
  const std::regex failed(".*error: static assertion failed(?: due to requirement '.*')?: (.*)");
  const bool place_comes_first = [&] {
    for (const std::string& line : lines) {
      if (std::regex_match(line, place)) return true;
      if (std::regex_match(line, failed)) return false;
    }
    return true;
  }();
  Sentences sentences;
  int at = 0;
  std::string sentence;
  for (const std::string& line : lines) {
    std::smatch match;
    if (std::regex_match(line, match, place)) {
      at = std::stoi(match[1]);
      if (!place_comes_first && !sentence.empty()) {
        sentences[at].push_back(std::exchange(sentence, ""));
      }
    } else if (std::regex_match(line, match, failed)) {
      sentence = match[1];
      if (place_comes_first) sentences[at].push_back(sentence);
    }
  }
  return sentences;
}

const std::vector<std::string>& compiler_lines() {
  static const std::vector<std::string> lines = lines_of_compiler(OPYARD_TEST_SNIPPET);
  return lines;
}
const Sentences& sentences() {
  static const Sentences all = read_sentences(compiler_lines());
  return all;
}

// The lines of the cases, by their names.
const std::map<std::string, int>& cases() {
  static const std::map<std::string, int> all = [] {
    std::map<std::string, int> found;
    std::ifstream file(OPYARD_TEST_SNIPPET);
    const std::regex kernel("KERNEL\\((\\w+),.*");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      std::smatch match;
      if (std::regex_match(line, match, kernel)) found[match[1]] = number;
    }
    return found;
  }();
  return all;
}

// What the compiler says of a case; empty where it says nothing.
std::string said_of(const std::string& name) {
  const auto at = cases().find(name);
  if (at == cases().end()) return "there is no case " + name;
  const auto found = sentences().find(at->second);
  if (found == sentences().end()) return "";
  std::string all;
  for (const std::string& sentence : found->second) all += (all.empty() ? "" : "\n") + sentence;
  return all;
}

#define OPYARD_TYPE_FAULT(name, text) constexpr const char* k##name = text;
OPYARD_TYPE_FAULTS(OPYARD_TYPE_FAULT)
#undef OPYARD_TYPE_FAULT
constexpr const char* kWritten =
    "a kernel can only write to a Tensor& it is given; write T or const T& for any other "
    "argument, and List<T> or Dict<K, V> for a container that it changes";
constexpr const char* kView =
    "a kernel cannot return a view of memory that may end with it; write std::string for a "
    "std::string_view and std::vector for a span";

TEST(CompileFail, D10_WhatIsAllowedCompiles) {
  for (const char* name : {"Fine", "FineKeys", "FineKinds", "FineResults"}) {
    EXPECT_EQ(said_of(name), "");
  }
  for (const auto& [line, all] : sentences()) {
    EXPECT_EQ(all.size(), 1u) << "line " << line << " says more than one thing";
  }
  EXPECT_EQ(sentences().size() + 4, cases().size()) << "each other case is refused";
}

TEST(CompileFail, D10_EverySentenceHasACase) {
  std::vector<std::string> said;
  for (const auto& [line, all] : sentences()) said.insert(said.end(), all.begin(), all.end());
#define OPYARD_TYPE_FAULT(name, text) \
  EXPECT_NE(std::find(said.begin(), said.end(), text), said.end()) << #name;
  OPYARD_TYPE_FAULTS(OPYARD_TYPE_FAULT)
#undef OPYARD_TYPE_FAULT
}

TEST(CompileFail, D10_FloatIsRefused) {
  EXPECT_EQ(said_of("Float"),
            "a kernel cannot take or return float; write double, which is the schema's float");
  EXPECT_EQ(said_of("LongDouble"), kLongDouble);
}

TEST(CompileFail, D10_IntIsRefused) {
  EXPECT_EQ(said_of("Int"), "a kernel cannot take or return this integer type; write std::int64_t");
}

TEST(CompileFail, D10_OtherIntegersAreRefused) {
  EXPECT_EQ(said_of("UnsignedLong"), kInteger);
  EXPECT_EQ(said_of("LongLong"), kInteger);
  EXPECT_EQ(said_of("Char"), kCharacter);
}

TEST(CompileFail, D10_ComplexOfFloatIsRefused) { EXPECT_EQ(said_of("ComplexFloat"), kComplex); }

TEST(CompileFail, D10_PointersAreRefused) {
  EXPECT_EQ(said_of("Text"), kText);
  EXPECT_EQ(said_of("TensorPointer"), kTensorPointer);
  EXPECT_EQ(said_of("Pointer"), kPointer);
  EXPECT_EQ(said_of("FunctionPointer"), kFunction);
  EXPECT_EQ(said_of("SharedPointer"), kSmartPointer);
}

TEST(CompileFail, D10_AGeneratorOfABackendIsRefused) {
  EXPECT_EQ(said_of("OwnGenerator"), kCounted);
}

TEST(CompileFail, D10_UnorderedMapIsRefused) {
  EXPECT_EQ(said_of("UnorderedMap"),
            "a kernel cannot take or return a map of the standard library; write Dict<K, V>");
  EXPECT_EQ(said_of("Map"), kMap);
}

TEST(CompileFail, D10_OtherContainersAreRefused) {
  EXPECT_EQ(said_of("Set"), kSet);
  EXPECT_EQ(said_of("Deque"), kSequence);
  EXPECT_EQ(said_of("MutableSpan"), kSpan);
  EXPECT_EQ(said_of("SpanOfBool"), kSpanOfBool);
  EXPECT_EQ(said_of("Pair"), kPair);
  EXPECT_EQ(said_of("Variant"), kVariant);
}

TEST(CompileFail, D10_WhatNoSchemaKnowsIsRefused) {
  EXPECT_EQ(said_of("Function"), kFunction);
  EXPECT_EQ(said_of("Own"), kOther);
}

TEST(CompileFail, D10_AKeySetBehindOtherArgumentsIsRefused) {
  EXPECT_EQ(said_of("LateKeySet"), kKeySet);
}

TEST(CompileFail, D10_TypesInsideOthersAreRefused) {
  EXPECT_EQ(said_of("VectorOfShort"), kInteger);
  EXPECT_EQ(said_of("OptionalUnsigned"), kInteger);
  EXPECT_EQ(said_of("DictOfSignedChar"), kInteger);
  EXPECT_EQ(said_of("DictKeyDevice"),
            "the keys of a Dict are bool, std::int64_t, double, std::complex<double>, std::string "
            "or Tensor");
}

TEST(CompileFail, D10_AVectorOfSpansIsRefused) {
  EXPECT_EQ(said_of("VectorOfSpans"),
            "a list cannot hold spans, since no one would own what they show; write "
            "std::vector<std::vector<T>>");
  EXPECT_EQ(said_of("TupleOfSpans"),
            "a tuple cannot hold spans, since no one would own what they show; write "
            "std::vector<T>");
}

TEST(CompileFail, D10_AReferenceToChangeIsRefused) {
  EXPECT_EQ(said_of("MutableText"), kWritten);
  EXPECT_EQ(said_of("MutableVector"), kWritten);
  EXPECT_EQ(said_of("MovedTensor"),
            "a kernel cannot take an rvalue reference; write T or const T&");
}

TEST(CompileFail, D10_ResultsAreRefusedAsArgumentsAre) {
  EXPECT_EQ(said_of("ResultOfUnsignedShort"), kInteger);
  EXPECT_EQ(said_of("ResultOfTextPointer"), kText);
  EXPECT_EQ(said_of("ResultOfUniquePointer"), kSmartPointer);
}

TEST(CompileFail, D10_AResultThatIsAViewIsRefused) {
  EXPECT_EQ(said_of("ResultOfView"), kView);
  EXPECT_EQ(said_of("ResultOfSpan"), kView);
  EXPECT_EQ(said_of("ResultOfViews"), kView);
}

TEST(CompileFail, D10_AReferenceToAnythingButATensorIsRefused) {
  EXPECT_EQ(said_of("ResultByReference"),
            "a kernel can return a reference to a tensor only; write T for any other result");
  EXPECT_EQ(said_of("ResultTupleOfReferences"),
            "a tuple of results can hold values and Tensor&, no other references");
}

// What the compiler says of a case of overloaded_names.cpp, and how often it says the sentence.
struct Said {
  std::string all;
  int sentences = 0;
  int errors = 0;
};
Said said_of_overloaded(int number) {
  Said said;
  const std::string which = "-DOPYARD_CASE=" + std::to_string(number);
  for (const std::string& line : lines_of_compiler(which + " " OPYARD_TEST_OVERLOADED)) {
    said.all += line + "\n";
    if (line.find("error:") == std::string::npos) continue;
    ++said.errors;
    const bool helps = line.find("using namespace opyard") != std::string::npos &&
                       line.find("give the kernel another name") != std::string::npos &&
                       line.find("write ::name") != std::string::npos;
    if (helps) ++said.sentences;
  }
  return said;
}

TEST(CompileFail, NamesThatAreNotOverloadedCompile) {
  const Said said = said_of_overloaded(0);
  EXPECT_EQ(said.all, "");
}

TEST(CompileFail, AnOverloadedNameSaysWhatToWriteWhereverAKernelIsNamed) {
  constexpr int kCases = 8;
  for (int number = 1; number <= kCases; ++number) {
    const Said said = said_of_overloaded(number);
    EXPECT_EQ(said.sentences, 1) << "case " << number << ":\n" << said.all;
    EXPECT_LE(said.errors, 2) << "case " << number << ":\n" << said.all;
  }
  EXPECT_EQ(said_of_overloaded(kCases + 1).errors, 0) << "there are more cases than are tried";
}

}  // namespace
}  // namespace opyard::test_compile_fail
