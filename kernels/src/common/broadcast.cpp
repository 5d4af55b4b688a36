// kernels/common/broadcast.cpp: the operands to blame, and refusals under the name that was called.
#include "common/broadcast.h"

#include <opyard/library.h>

#include <string>
#include <string_view>

namespace opyard::kernels {
namespace {

// What a class says of its sizes is asked by the kernels for it alone.
bool says_own_sizes(const Tensor& x) { return x.impl()->has_policy(TensorImpl::kCustomSizes); }

SizeClash clash_of(const Tensor& a, const Tensor& b) {
  if (says_own_sizes(a) || says_own_sizes(b)) return {};
  if (has_symbolic_sizes(a) || has_symbolic_sizes(b)) {
    return find_clash(sym_sizes(a), sym_sizes(b));
  }
  return find_clash(a.sizes(), b.sizes());
}
SizeClash misfit_of(const Tensor& source, const Tensor& target) {
  if (says_own_sizes(source) || says_own_sizes(target)) return {};
  if (has_symbolic_sizes(source) || has_symbolic_sizes(target)) {
    return find_misfit(sym_sizes(source), sym_sizes(target));
  }
  return find_misfit(source.sizes(), target.sizes());
}

// Refuses the first two operands that do not broadcast, if there are two.
void refuse_clashing(const char* op, std::span<const NamedTensor> operands) {
  const ClashingPair pair = find_clashing_pair(operands.size(), [&](std::size_t i, std::size_t j) {
    return clash_of(operands[i].tensor, operands[j].tensor);
  });
  if (!pair) return;
  const NamedTensor &a = operands[pair.first], &b = operands[pair.second];
  refuse_broadcast(op, {a.name, a.tensor}, {b.name, b.tensor}, pair.clash);
}

}  // namespace

void refuse_named(const Error& error, const std::string& op, const std::string& other) {
  const std::string_view text = error.what();
  if (error.carried() || !text.starts_with(other + ": ")) throw Error(error);
  throw Error(error.kind(), op + std::string(text.substr(other.size())));
}

void refuse_operands(const char* op, std::span<const NamedTensor> operands) {
  refuse_clashing(op, operands);
  refuse(ErrorKind::Internal, {op, ": operands that broadcast were refused"});
}

// Each fits each other exactly if all broadcast together.
void require_broadcast(const char* op, std::initializer_list<NamedTensor> operands) {
  for (const NamedTensor& each : operands) require_defined(op, each.name, each.tensor);
  refuse_clashing(op, {operands.begin(), operands.size()});
}

void require_expandable(const char* op, const NamedTensor& source, const NamedTensor& target) {
  require_defined(op, source.name, source.tensor);
  require_defined(op, target.name, target.tensor);
  if (const SizeClash misfit = misfit_of(source.tensor, target.tensor)) {
    refuse_misfit(op, {source.name, source.tensor}, {target.name, target.tensor}, misfit);
  }
}

void require_leading(const char* op, const NamedTensor& a, const NamedTensor& b) {
  const SymIntSpan left = sym_sizes(a.tensor), right = sym_sizes(b.tensor);
  if (left.size() <= 2 || right.size() <= 2) return;
  SizeClash clash = find_clash(left.first(left.size() - 2), right.first(right.size() - 2));
  if (!clash) return;
  clash.dim -= 2;
  refuse_broadcast(op, {a.name, a.tensor}, {b.name, b.tensor}, clash);
}

void require_expandable(const char* op, const NamedTensor& source, const char* target,
                        IntSpan sizes) {
  require_defined(op, source.name, source.tensor);
  if (const SizeClash misfit = find_misfit(source.tensor.sizes(), sizes)) {
    refuse_misfit(op, {source.name, source.tensor}, {target, sizes}, misfit);
  }
}

std::vector<SymInt> symbolic_broadcast(const char* op, std::span<const NamedTensor> operands) {
  std::vector<SymInt> sizes;
  for (const NamedTensor& each : operands) {
    auto joined = find_broadcast(SymIntSpan(sizes), sym_sizes(each.tensor));
    if (!joined) refuse_operands(op, operands);
    sizes = *std::move(joined);
  }
  return sizes;
}

ShownOperand shown_sizes(const char* name, SymIntSpan sizes) {
  std::string text;
  for (const SymInt& size : sizes) text += (text.empty() ? "[" : ", ") + to_string(size);
  return {name, text.empty() ? "[]" : text + "]", sizes.size()};
}

void call_named(const Operator& op, const Operator& other, Stack& stack) {
  try {
    other.call_boxed(stack);
  } catch (const Error& error) {
    refuse_named(error, to_string(op.name()), to_string(other.name()));
  }
}

}  // namespace opyard::kernels
