// test/fuzz/mutator.cpp: mutator of texts, word by word, so that many stay schemas.
//
// libFuzzer changes bytes. Most of what that makes of a schema is refused at the first wrong
// byte, and what is behind is never reached: with it alone the planted defect was not found in
// a million inputs. So every second input is changed in words instead: one is replaced by another
// of its sort, a phrase is put in, a range is taken out, doubled or moved.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

enum class Sort { Name, Number, Text, Symbol };

struct Word {
  Sort sort;
  std::string text;
};

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

Word next_word(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  const char c = text[at];
  const auto upto = [&](std::size_t end, Sort sort) {
    at = std::min(end, text.size());
    return Word{sort, std::string(text.substr(begin, at - begin))};
  };
  if (in_name(c)) {
    while (at < text.size() && (in_name(text[at]) || (text[at] == '.' && c >= '0' && c <= '9')))
      ++at;
    return upto(at, c >= '0' && c <= '9' ? Sort::Number : Sort::Name);
  }
  if (c == '"') return upto(text.substr(0, text.find('"', at + 1)).size() + 1, Sort::Text);
  for (const std::string_view symbol : {"...", "->", "::"}) {
    if (text.substr(at).starts_with(symbol)) return upto(at + symbol.size(), Sort::Symbol);
  }
  return upto(at + 1, Sort::Symbol);
}

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      ++at;
    } else {
      words.push_back(next_word(text, at));
    }
  }
  return words;
}

std::string joined(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    if (!text.empty() && in_name(text.back()) && in_name(word.text.front())) text += ' ';
    text += word.text;
  }
  return text;
}

constexpr const char* kNames[] = {"Tensor",
                                  "int",
                                  "float",
                                  "bool",
                                  "str",
                                  "Scalar",
                                  "complex",
                                  "SymInt",
                                  "Device",
                                  "ScalarType",
                                  "Layout",
                                  "Any",
                                  "MemoryFormat",
                                  "number",
                                  "t",
                                  "t1",
                                  "None",
                                  "True",
                                  "False",
                                  "inf",
                                  "nan",
                                  "Mean",
                                  "cpu",
                                  "strided",
                                  "a",
                                  "b",
                                  "c",
                                  "x",
                                  "y",
                                  "z",
                                  "ns",
                                  "out",
                                  "Dict",
                                  "Union",
                                  "Future",
                                  "NoneType",
                                  "Generator",
                                  "Dimname",
                                  "QScheme",
                                  "default",
                                  "long",
                                  "SymFloat",
                                  "Stream",
                                  "Storage",
                                  "contiguous_format"};
constexpr const char* kNumbers[] = {"0",
                                    "1",
                                    "2",
                                    "3",
                                    "10",
                                    "255",
                                    "256",
                                    "0.5",
                                    "1.",
                                    "1e5",
                                    "1e999",
                                    "2147483647",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "1j"};
constexpr const char* kTexts[] = {"\"\"",  "\"a\"", "\"cuda:1\"", "\"\\n\\x7f\\\"\"",
                                  "\"é\"", "'a'"};
constexpr const char* kPhrases[] = {"?",
                                    "[]",
                                    "[2]",
                                    "[1, 2]",
                                    "[None]",
                                    "!",
                                    "(a!)",
                                    "(b)",
                                    "(a|b)",
                                    "(a -> *)",
                                    "(a! -> b)",
                                    "=1",
                                    "=None",
                                    "=\"a\"",
                                    "=[]",
                                    "=-1",
                                    "=1.5",
                                    "=True",
                                    "*, ",
                                    ", *",
                                    ", ...",
                                    "...",
                                    ", Tensor y",
                                    ", int z=1",
                                    ", str[] s=[\"a\"]",
                                    "int[2] n=1, ",
                                    "(int, Tensor) p, ",
                                    "Union(int, str) u, ",
                                    "Dict(str, Tensor) d, ",
                                    "Tensor? o=None, ",
                                    "(Tensor, int)",
                                    "-> ()",
                                    ".ov",
                                    "ns::",
                                    "# c\n",
                                    "\n",
                                    "+2j",
                                    "-",
                                    "(",
                                    ")",
                                    "[",
                                    "]",
                                    ","};

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string mutate(std::string_view text) {
    std::vector<Word> words = words_of(text);
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) change(words);
    return joined(words);
  }

 private:
  std::size_t below(std::size_t count) { return std::size_t(random_() % count); }
  template <std::size_t N>
  std::string one_of(const char* const (&texts)[N]) {
    return texts[below(N)];
  }

  std::string another(Sort sort) {
    switch (sort) {
      case Sort::Name:
        return below(3) == 0 ? "n" + std::to_string(below(20)) : one_of(kNames);
      case Sort::Number:
        return below(2) == 0 ? std::to_string(below(300)) : one_of(kNumbers);
      case Sort::Text:
        return one_of(kTexts);
      case Sort::Symbol:
        break;
    }
    return one_of(kPhrases);
  }

  void change(std::vector<Word>& words) {
    if (words.empty() || below(3) == 0) return put_in(words, words_of(one_of(kPhrases)));
    const std::size_t at = below(words.size());
    const auto begin = words.begin() + std::ptrdiff_t(at);
    const auto end = begin + std::ptrdiff_t(1 + below(std::min<std::size_t>(words.size() - at, 6)));
    switch (below(4)) {
      case 0:
        words.erase(begin, end);
        return;
      case 1:
        return put_in(words, std::vector<Word>(begin, end));
      default:
        *begin = Word{begin->sort, another(begin->sort)};
        return;
    }
  }

  void put_in(std::vector<Word>& words, const std::vector<Word>& more) {
    words.insert(words.begin() + std::ptrdiff_t(below(words.size() + 1)), more.begin(), more.end());
  }

  std::mt19937 random_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text = Mutator(seed).mutate({reinterpret_cast<const char*>(data), size});
  if (text.size() > most || text.empty()) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
