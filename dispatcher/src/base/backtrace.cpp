// base/backtrace.cpp: C++ backtrace of this thread as text.
//
// Names come from the dynamic symbol tables alone, so a function that is hidden in its library is
// shown as the library and an offset, as addr2line takes them.
#include "opyard/base/backtrace.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/backtrace_text.h"

namespace opyard {
namespace {

constexpr std::string_view kHeading = "\nC++ backtrace, innermost function first:";

bool asked_in_environment() noexcept {
  const char* const value = std::getenv("OPYARD_SHOW_CPP_STACKTRACES");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

// Asked at the first need: an error may be made before the globals of this file are.
enum class Shown : char { Unknown, No, Yes };
constinit std::atomic<Shown> shown{Shown::Unknown};

constexpr Shown shown_if(bool yes) noexcept { return yes ? Shown::Yes : Shown::No; }

bool is_shown() noexcept {
  Shown known = shown.load(std::memory_order_relaxed);
  if (known == Shown::Unknown) {
    const Shown wanted = shown_if(asked_in_environment());
    if (shown.compare_exchange_strong(known, wanted, std::memory_order_relaxed)) known = wanted;
  }
  return known == Shown::Yes;
}

std::string name_of_frame(void* address) {
  Dl_info found{};
  if (dladdr(address, &found) == 0) return fmt::format("{}", address);
  if (found.dli_sname != nullptr) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> demangled_name(
        abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, &status), &std::free);
    return demangled_name ? demangled_name.get() : found.dli_sname;
  }
  const auto offset = static_cast<char*>(address) - static_cast<char*>(found.dli_fbase);
  return fmt::format("{}+{:#x}", found.dli_fname, offset);
}

}  // namespace

bool show_backtraces(bool show) noexcept {
  is_shown();
  return shown.exchange(shown_if(show), std::memory_order_relaxed) == Shown::Yes;
}

std::string_view without_backtrace(std::string_view text) noexcept {
  return text.substr(0, text.find(kHeading));
}

std::string detail::with_backtrace(std::string message) {
  if (!is_shown() || message.find(kHeading) != std::string::npos) {
    return message;
  }
  constexpr int kSkipped = 2;  // this function and the constructor of the error
  void* frames[64];
  const int count = backtrace(frames, int(std::size(frames)));
  message += kHeading;
  for (int i = kSkipped; i < count; ++i) {
    message += fmt::format("\n  #{} {}", i - kSkipped, name_of_frame(frames[i]));
  }
  return message;
}

std::string detail::add_line(std::string_view text, std::string_view line) {
  const std::string_view message = without_backtrace(text);
  return fmt::format("{}\n{}{}", message, line, text.substr(message.size()));
}

}  // namespace opyard
