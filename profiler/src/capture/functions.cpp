// profiler/capture/functions.cpp: event source: backward functions.
//
// [Links] A mark that holds a function's identity and number is captured if it is made, again right
// before the call that it is of, and if a backward runs it, inside of the function's span. So a run
// is linked to the call, on whatever thread that was made; see profiler/links.h.
#include <new>

#include "opyard/observe/function_listener.h"
#include "opyard/profiler/names.h"
#include "opyard/profiler/session.h"

namespace opyard::profiler {
namespace {

std::uint32_t function_key_of(const ToldFunction& told) noexcept {
  const std::uint32_t known = told.note == nullptr ? 0 : told.note->load(std::memory_order_relaxed);
  if (__builtin_expect(known != 0, 1)) return known;
  try {
    Name name;
    name.text = told.name(told);
    name.kind = "function";
    const std::uint32_t key = add_name(std::move(name));
    if (told.note != nullptr) told.note->store(key, std::memory_order_relaxed);
    return key;
  } catch (const std::bad_alloc&) {
    return 0;  // an event without a name, then
  }
}

// See [Links].
void capture_link(const ToldFunction& told, bool before_call) noexcept {
  const Payload words{reinterpret_cast<std::uintptr_t>(told.identity), told.sequence};
  if (Stream* const stream = Stream::current()) {
    stream->append(event_of(MarkKind::Function), 0, before_call ? 1 : 0, &words, 1);
  }
}

void capture_function(const ToldFunction& told, FunctionMoment moment) noexcept {
  const SpanKind kind = SpanKind::Backward;
  switch (moment) {
    case FunctionMoment::Made:
    case FunctionMoment::Calls:
      return capture_link(told, moment == FunctionMoment::Calls);
    case FunctionMoment::Begins:
      append_event(enter_of(kind), function_key_of(told));
      return capture_link(told, false);
    case FunctionMoment::Ends:
      return append_event(exit_of(kind), function_key_of(told));
  }
}

// Functions belong to operators, and come with them.
bool wants_functions(const SessionOptions& options) { return options.operators; }
void start_functions(Window&, const SessionOptions&) {
  function_listener.store(&capture_function, std::memory_order_release);
}
void stop_functions(SourceReport&) { function_listener.store(nullptr, std::memory_order_release); }

constexpr Source kFunctionSource{"functions", wants_functions, start_functions, stop_functions};
[[maybe_unused]] const bool functions_registered = (register_source(&kFunctionSource), true);

}  // namespace
}  // namespace opyard::profiler
