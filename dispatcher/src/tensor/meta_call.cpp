// tensor/meta_call.cpp: error for access to elements of a meta tensor, and the calls that it names.
#include "opyard/detail/tensor/meta_call.h"

#include <fmt/format.h>

namespace opyard::detail {
namespace {

constinit thread_local const MetaCall* innermost_meta_call = nullptr;

}  // namespace

MetaCall::MetaCall(const void* call, Describe describe) noexcept
    : call_(call), describe_(describe), outer_(innermost_meta_call) {
  innermost_meta_call = this;
}

MetaCall::~MetaCall() { innermost_meta_call = outer_; }

std::string MetaCall::describe_all() {
  std::string text;
  for (const MetaCall* call = innermost_meta_call; call != nullptr; call = call->outer_) {
    if (!text.empty()) text += ", called by ";
    text += call->describe_(call->call_);
  }
  return text;
}

void refuse_meta_elements(const char* what, const Tensor& x) {
  const std::string served = MetaCall::describe_all();
  fail(ErrorKind::Unsupported,
       fmt::format("{}{}{} of {} on meta, which has sizes and a dtype but no elements. A kernel "
                   "returns its results before it touches elements if opyard::is_meta(x), or the "
                   "operator gets a kernel of its own at Meta",
                   served, served.empty() ? "" : ": ", what, describe(x)));
}

}  // namespace opyard::detail
