// registering/finder.h: lazy loading of operators that C++ and C look up.
//
// Depends on: python/python.h.
#pragma once

namespace opyard::python {

// Sets the finder of opyard/detail/registry/finder.h, for the process. It asks the package of the
// interpreter that the thread is in, or of the first one, by the hook load_for; after the last one
// has ended it does nothing.
void offer_finder() noexcept;

}  // namespace opyard::python
