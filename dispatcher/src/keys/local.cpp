// keys/local.cpp: thread-local key sets: defaults, guards, ThreadEntry.
#include "opyard/keys/local.h"

namespace opyard::detail {

static_assert((kDefaultLocalKeys.exclude.raw() & DispatchKeySet::kBackendBits) == 0);

__thread LocalBlock local_block = {kDefaultLocalKeys.include.raw() | kThreadEntryBit,
                                   ~kDefaultLocalKeys.exclude.raw(),
                                   0,
                                   0,
                                   0,
                                   0,
                                   0};

}  // namespace opyard::detail
