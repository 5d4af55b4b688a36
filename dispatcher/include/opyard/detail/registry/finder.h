// opyard/detail/registry/finder.h: finders of operators that are not defined.
//
// Libraries are loaded when one of their operators is first wanted. A look-up in C++ or C that
// finds nothing asks the finder, once, and looks again: Registry::require() by itself, code that
// asks for names in other ways by load_operators(). The plugin of an interpreter sets one,
// which loads what the interpreter's packages bring; a program without one loads its libraries
// itself.
//
// Depends on: base/export.h.
#pragma once

#include <string>
#include <string_view>

#include "opyard/base/export.h"

namespace opyard {

// Called on the thread that looks up, with no lock of Opyard's held; not again on a thread that it
// runs on. `name` is "ns::name". May raise, which the look-up then does.
using OperatorFinder = void (*)(std::string_view name);

// Null for none. The function stays mapped for the life of the process.
OPYARD_API void set_operator_finder(OperatorFinder finder) noexcept;

// Has the finder load what brings "ns::name". False if nothing was asked: there is no finder, or it
// runs on this thread already. Raises what the finder does.
OPYARD_API bool load_operators(std::string_view name);
// Whether there is a finder; a program without one may have to be told of its libraries.
OPYARD_API bool has_operator_finder() noexcept;

// The operator "ns::name", of those of the same namespace that are defined now, that is nearly
// called so; empty if there is none. Any thread.
OPYARD_API std::string near_operator(std::string_view name);
// Whether an operator of the namespace is defined now.
OPYARD_API bool has_operators_of(std::string_view name_space);

}  // namespace opyard
