// opyard/detail/thread/thread_dispatcher.h: an interpreter that dispatches a thread's calls itself.
//
// While a thread has one, the key PythonDispatcher is in its include set, and its slot leads to the
// interpreter's function `python_dispatcher` with what the call has below that key
// (registry/handlers.h). What runs then may call again, and those calls go there as well.
//
// Depends on: interpreter/interpreter.h, keys/local.h.
#pragma once

#include <cstdint>

#include "opyard/interpreter/interpreter.h"
#include "opyard/keys/local.h"

namespace opyard {

// Of this thread, or null.
OPYARD_API Interpreter* thread_dispatcher() noexcept;

// Puts another one in its place, null for none; gives the former.
OPYARD_API Interpreter* exchange_thread_dispatcher(Interpreter* interpreter) noexcept;

namespace detail {
// The bit of the key, if exchange_thread_dispatcher() put it into the include set.
OPYARD_API std::uint64_t key_added_by_dispatcher() noexcept;
}  // namespace detail

}  // namespace opyard
