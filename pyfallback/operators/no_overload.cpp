// operators/no_overload.cpp: errors of calls that no overload of an operator takes.
//
//   aten::mul() Expected a value of type 'Tensor' or 'Scalar' for argument 'other' but instead
//   found type 'str'.
//   Value: 'a'
//   Declaration: aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
//   Overloaded operator invoked from Python failed to match any schema; the other is Scalar.
#include "operators/no_overload.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "objects/values/integer.h"
#include "operators/overload.h"
#include "opyard/schema/choose_overload.h"

namespace opyard::python {
namespace {

struct Candidate {
  const CallPlan& plan;
  const ArgumentMismatch& mismatch;
};

bool is_of_value(const ArgumentMismatch& mismatch) {
  return mismatch.kind == ArgumentMismatch::Kind::Type ||
         mismatch.kind == ArgumentMismatch::Kind::Range;
}

// How many of the arguments that were given by position fitted.
std::size_t fitted(const Candidate& candidate, const GivenArguments& given) {
  using enum ArgumentMismatch::Kind;
  const ArgumentMismatch& mismatch = candidate.mismatch;
  const std::size_t by_position = std::size_t(given.count);
  if (mismatch.kind == TooMany) {  // those are not known to fit; the others may have names
    const std::vector<Argument>& arguments = candidate.plan.op().schema().arguments;
    const bool takes_more = std::ranges::any_of(arguments, &Argument::keyword_only);
    return takes_more ? candidate.plan.count_by_position() : 0;
  }
  return std::min(mismatch.position, by_position);
}

// Whether a value that is no tensor was given for the dimensions, which is likelier than for
// another operand.
bool is_for_dimensions(const Candidate& each) {
  return is_of_value(each.mismatch) && each.plan.blamed(each.mismatch) == "dim";
}

// The one that has most of the names that were given, then that most arguments by position fit;
// among equals one that takes so many by position, then that for dimensions, then one of which
// something more is known to say, then one for which enough arguments were given, then the first.
Candidate likeliest(std::span<const Candidate> candidates, const GivenArguments& given) {
  const std::size_t count = std::size_t(given.count + given.named());
  const auto rank = [&](const Candidate& each) {
    const bool has_more =
        each.mismatch.kind == ArgumentMismatch::Kind::Range ||
        (is_of_value(each.mismatch) ? each.mismatch.has_details()
                                    : !each.plan.advice(each.mismatch, given.names).empty());
    const std::size_t fitting = fitted(each, given);
    return std::tuple(each.plan.count_known(given.names), fitting,
                      fitting == 0 || each.mismatch.kind != ArgumentMismatch::Kind::TooMany,
                      is_for_dimensions(each), has_more, each.plan.takes_no_fewer_than(count));
  };
  const Candidate* best = &candidates.front();
  for (const Candidate& each : candidates) {
    if (rank(each) > rank(*best)) best = &each;
  }
  return *best;
}

// The types that would have been taken for the argument that is to blame, by any of them.
std::string wanted_types(std::span<const Candidate> candidates, const Candidate& best) {
  std::string types;
  for (const Candidate& each : candidates) {
    if (!is_of_value(each.mismatch) || each.mismatch.position != best.mismatch.position ||
        each.plan.blamed(each.mismatch) != best.plan.blamed(best.mismatch)) {
      continue;
    }
    const std::string type = each.plan.wanted_type(each.mismatch);
    if (types.find(type) == std::string::npos) types += (types.empty() ? "" : " or ") + type;
  }
  return types;
}

std::string names_of_others(std::span<const Candidate> candidates, const Candidate& best) {
  std::vector<std::string> names;
  for (const Candidate& each : candidates) {
    if (&each.plan != &best.plan) names.push_back(each.plan.op().name().overload);
  }
  return list_other_overloads(std::move(names));
}

}  // namespace

void refuse_all(std::span<PyObject* const> overloads, std::span<const ArgumentMismatch> mismatches,
                const GivenArguments& given) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < overloads.size(); ++i) {
    candidates.push_back({plan_of(overloads[i]), mismatches[i]});
  }
  const Candidate best = likeliest(candidates, given);
  const bool is_value = is_of_value(best.mismatch);
  const std::string types = is_value ? wanted_types(candidates, best) : "";
  const bool of_one_type = is_value && types == best.plan.wanted_type(best.mismatch);
  std::string reason = best.plan.reason(best.mismatch, given.names, types);
  if (is_value && !best.mismatch.has_details()) {
    reason += "\nValue: " + shown(best.mismatch.given);
  }
  fail(ErrorKind::BadArgument,
       fmt::format("{}\nDeclaration: {}{}\nOverloaded operator invoked from Python failed to match "
                   "any schema; {}.",
                   reason, best.plan.op().declaration(),
                   best.plan.advice(best.mismatch, given.names, of_one_type),
                   names_of_others(candidates, best)));
}

}  // namespace opyard::python
