// text/file_check.cpp: FileCheck: parsing expectations, and searching a text for them.
#include "opyard/jit/file_check.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

enum class Rule { Find, Next, Same, Not, Count, Dag };

struct Expectation {
  Rule rule;
  std::size_t count = 1;
  std::string_view text;
  std::size_t line;        // counted from 1
  std::string_view whole;  // "CHECK-NEXT: text"
};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

[[noreturn]] void refuse_check(std::size_t line, std::string_view whole, std::string_view why) {
  fail(ErrorKind::BadValue, fmt::format("line {} of the expectations: '{}' {}", line, whole, why));
}

Rule read_rule(std::string_view word, Expectation& to) {
  if (word.empty()) return Rule::Find;
  if (word == "-NEXT") return Rule::Next;
  if (word == "-SAME") return Rule::Same;
  if (word == "-NOT") return Rule::Not;
  if (word == "-DAG") return Rule::Dag;
  constexpr std::string_view kCount = "-COUNT-";
  if (word.starts_with(kCount)) {
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + kCount.size(), end, to.count);
    if (error == std::errc() && stop == end && to.count > 0) return Rule::Count;
  }
  refuse_check(
      to.line, to.whole,
      "is none of CHECK, CHECK-NEXT, CHECK-SAME, CHECK-NOT, CHECK-DAG and CHECK-COUNT-n with "
      "an n above 0");
}

std::vector<Expectation> read(std::string_view text) {
  std::vector<Expectation> all;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    const std::size_t begin = line.find("CHECK");
    if (begin == std::string_view::npos) continue;
    Expectation one{
        .rule = Rule::Find, .text = {}, .line = number, .whole = trimmed(line.substr(begin))};
    const std::size_t colon = one.whole.find(':');
    if (colon == std::string_view::npos) refuse_check(number, one.whole, "has no ':'");
    one.text = trimmed(one.whole.substr(colon + 1));
    one.rule = read_rule(one.whole.substr(5, colon - 5), one);
    if (one.text.empty())
      refuse_check(number, one.whole, "expects nothing; write what is looked for");
    if (all.empty() && (one.rule == Rule::Next || one.rule == Rule::Same)) {
      refuse_check(number, one.whole, "is the first one; there is no line before it");
    }
    all.push_back(one);
  }
  if (all.empty()) fail(ErrorKind::BadValue, "the expectations have no line with CHECK");
  return all;
}

struct Place {
  std::size_t begin;
  std::size_t end;
};

class Search {
 public:
  Search(std::string_view text, const std::vector<Expectation>& all) : text_(text), all_(all) {}

  std::string run() {
    for (at_ = 0; at_ < all_.size() && fault_.empty();) {
      if (all_[at_].rule == Rule::Dag) {
        find_group();
      } else if (all_[at_].rule == Rule::Not) {
        nots_.push_back(&all_[at_++]);
      } else {
        find(all_[at_++]);
      }
    }
    if (fault_.empty()) check_nots(text_.size());
    return std::move(fault_);
  }

 private:
  std::size_t line_end(std::size_t from) const {
    return std::min(text_.find('\n', from), text_.size());
  }

  // Where an expectation may be.
  Place range_of(Rule rule) const {
    if (rule == Rule::Same) return {last_, line_end(last_)};
    if (rule != Rule::Next) return {last_, text_.size()};
    const std::size_t begin = std::min(line_end(last_) + 1, text_.size());
    return {begin, line_end(begin)};
  }

  std::size_t look(std::string_view wanted, Place where) const {
    const std::size_t found = text_.substr(0, where.end).find(wanted, where.begin);
    return found;
  }

  void find(const Expectation& one) {
    for (std::size_t i = 0; i < one.count; ++i) {
      const Place where = range_of(one.rule);
      const std::size_t found = look(one.text, where);
      if (found == std::string_view::npos) {
        const char* const place = one.rule == Rule::Next   ? "is not in the next line"
                                  : one.rule == Rule::Same ? "is not in the rest of this line"
                                                           : "is not in what follows";
        std::string what = place;
        if (one.rule == Rule::Count) what += fmt::format(", after {} of {}", i, one.count);
        return miss(one, what, where.begin);
      }
      check_nots(found);
      if (!fault_.empty()) return;
      last_ = found + one.text.size();
    }
  }

  // A group of CHECK-DAG lines: each takes the first place that no other has.
  void find_group() {
    std::vector<Place> taken;
    std::size_t first = text_.size();
    std::size_t last = last_;
    for (; at_ < all_.size() && all_[at_].rule == Rule::Dag; ++at_) {
      const Expectation& one = all_[at_];
      std::size_t from = last_;
      std::size_t found = look(one.text, {from, text_.size()});
      for (std::size_t i = 0; found != std::string_view::npos && i < taken.size(); ++i) {
        if (found >= taken[i].end || found + one.text.size() <= taken[i].begin) continue;
        from = found + 1;
        found = look(one.text, {from, text_.size()});
        i = std::size_t(-1);  // from the first again
      }
      if (found == std::string_view::npos) return miss(one, "is not in what follows", last_);
      taken.push_back({found, found + one.text.size()});
      first = std::min(first, found);
      last = std::max(last, found + one.text.size());
    }
    check_nots(first);
    last_ = last;
  }

  void check_nots(std::size_t until) {
    for (const Expectation* const one : nots_) {
      const std::size_t found = look(one->text, {last_, until});
      if (found != std::string_view::npos) {
        miss(*one, "is there", found);
        break;
      }
    }
    nots_.clear();
  }

  // The text with a mark below the line where the search began.
  void miss(const Expectation& one, std::string_view what, std::size_t place) {
    const std::size_t begin = place == 0 ? 0 : text_.rfind('\n', place - 1) + 1;
    const std::size_t end = line_end(place);
    fault_ = fmt::format("line {} of the expectations: '{}' {}\n{}\n{}^ from here\n{}", one.line,
                         one.whole, what, text_.substr(0, end), std::string(place - begin, ' '),
                         end < text_.size() ? text_.substr(end + 1) : "");
  }

  const std::string_view text_;
  const std::vector<Expectation>& all_;
  std::size_t at_ = 0;
  std::size_t last_ = 0;  // behind what was found last
  std::vector<const Expectation*> nots_;
  std::string fault_;
};

}  // namespace

std::string find_mismatch(std::string_view text, std::string_view expectations) {
  const std::vector<Expectation> all = read(expectations);
  return Search(text, all).run();
}

}  // namespace opyard::jit
