// protocol/metadata_slots.cpp: what a tensor is like, where its Python class says so.
#include "protocol/slots.h"

namespace opyard::python {

bool slots::is_contiguous(Interpreter&, const TensorImpl&, MemoryFormat) {
  refuse_slot("is_contiguous");
}
bool slots::is_strides_like(Interpreter&, const TensorImpl&, MemoryFormat) {
  refuse_slot("is_strides_like");
}
bool slots::is_non_overlapping_and_dense(Interpreter&, const TensorImpl&) {
  refuse_slot("is_non_overlapping_and_dense");
}
void slots::device(Interpreter&, const TensorImpl&, Device&) { refuse_slot("device"); }
std::int64_t slots::dim(Interpreter&, const TensorImpl&) { refuse_slot("dim"); }
std::span<const std::int64_t> slots::strides(Interpreter&, const TensorImpl&) {
  refuse_slot("strides");
}
std::span<const std::int64_t> slots::sizes(Interpreter&, const TensorImpl&) {
  refuse_slot("sizes");
}
void slots::sym_sizes(Interpreter&, const TensorImpl&, std::span<const SymInt>&) {
  refuse_slot("sym_sizes");
}
Layout slots::layout(Interpreter&, const TensorImpl&) { refuse_slot("layout"); }
std::int64_t slots::numel(Interpreter&, const TensorImpl&) { refuse_slot("numel"); }
void slots::sym_numel(Interpreter&, const TensorImpl&, SymInt&) { refuse_slot("sym_numel"); }
void slots::sym_strides(Interpreter&, const TensorImpl&, std::span<const SymInt>&) {
  refuse_slot("sym_strides");
}
void slots::sym_storage_offset(Interpreter&, const TensorImpl&, SymInt&) {
  refuse_slot("sym_storage_offset");
}

}  // namespace opyard::python
