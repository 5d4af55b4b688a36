// base/backtrace_text.h: the backtrace in the text of an error.
//
// Depends on: nothing else of ours.
#pragma once

#include <string>
#include <string_view>

namespace opyard::detail {

// The message, with the caller's backtrace below it if that is wanted and it has none yet.
std::string with_backtrace(std::string message);
// The text with one more line, above the backtrace.
std::string add_line(std::string_view text, std::string_view line);

}  // namespace opyard::detail
