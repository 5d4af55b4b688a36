// layouts.cpp: frozen layouts that C++ plugins of one minor version have compiled in. Nothing runs.
//
// A plugin that was built against another libopyard of the same minor version reads these from its
// own code. When a line stops building, do not edit the line within a minor version: the next one
// may change it. What a line is for is said in the header of the type.
#include "opyard/detail/registry/register_call.h"
#include "opyard/keys/local.h"
#include "opyard/registry/kernel.h"
#include "opyard/tensor/tensor_impl.h"

namespace opyard {

static_assert(sizeof(detail::LocalBlock) == 32, "of a small reserve that all libraries share");
static_assert(sizeof(Value) == 16);
static_assert(sizeof(Kernel) == 8);
static_assert(sizeof(RegisterCall) == 24);
static_assert(sizeof(Record) <= 128, "two cache lines");
static_assert(sizeof(Operator) <= 1088,
              "the table and one more cache line for each thing that is read with it");
static_assert(sizeof(Argument) <= 80, "three to five for each operator");
static_assert(sizeof(TensorImpl) == 192, "three cache lines");
static_assert(sizeof(Storage) == 88);

}  // namespace opyard
