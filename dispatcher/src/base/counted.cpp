// base/counted.cpp: the one home of Counted's vtable.
#include "opyard/base/counted.h"

namespace opyard {

Counted::~Counted() = default;

}  // namespace opyard
