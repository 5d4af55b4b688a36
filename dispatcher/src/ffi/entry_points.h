// ffi/entry_points.h: precompiled entry points in place of libffi closures.
//
// A closure of libffi costs 10 ns before anything of ours runs (bench row closure). These are
// compiled in: each takes all the registers that can hold arguments and passes them to a handler
// with a context of its own. There are a few dozen; a caller that finds none left makes a closure.
//
// Depends on: ffi/c_words.h.
#pragma once

#include "ffi/c_words.h"

namespace opyard::ffi {

// Runs a call whose words are in the first two rows; see [Registers] in ffi/c_signature.h. What a
// function returns goes to `result`, integers as wide as a register.
using EntryHandler = void (*)(const void* context, const Word* words, Out& result);

// A function of this signature that calls the handler, and returns what it leaves. Null if all
// are in use, and for a signature that does not fit: with words on the stack, or a complex result.
// Any thread.
void* take_entry_point(const CSignature& signature, EntryHandler handler,
                       const void* context) noexcept;

// Its callers get an error from now on, until it is taken for another use. Does nothing for
// any other function.
void give_back_entry_point(const CSignature& signature, void* function) noexcept;

}  // namespace opyard::ffi
