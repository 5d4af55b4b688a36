// protocol/fake_slots.cpp: saying that an operator's fake kernel was not imported.
#include "protocol/slots.h"

namespace opyard::python {

void slots::throw_abstract_impl_not_imported_error(Interpreter&, const char*, const char*,
                                                   const char*) {
  refuse_slot("throw_abstract_impl_not_imported_error");
}

}  // namespace opyard::python
