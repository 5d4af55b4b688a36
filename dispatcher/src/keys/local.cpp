// keys/local.cpp: the thread's block, born with the defaults and with ThreadEntry.
#include "opyard/keys/local.h"

namespace opyard::detail {

__thread LocalBlock local_block = {kDefaultLocalKeys.include.raw() | kThreadEntryBit,
                                   ~kDefaultLocalKeys.exclude.raw(), 0};

}  // namespace opyard::detail
