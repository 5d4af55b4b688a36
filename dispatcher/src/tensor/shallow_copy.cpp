// tensor/shallow_copy.cpp: shallow copies, by the interpreter's function or here.
#include "opyard/tensor/shallow_copy.h"

#include "opyard/interpreter/interpreter.h"
#include "opyard/keys/local.h"

namespace opyard {

Tensor copy_by_class(const Tensor& tensor) {
  if (__builtin_expect(!tensor.keys().has(DispatchKey::Python), 1)) return {};
  const TensorImpl& impl = *tensor.impl();
  Interpreter* const interpreter = impl.object_link().tag();
  if (interpreter == nullptr || local_keys().exclude.has(DispatchKey::Python)) return {};
  Tensor made;
  interpreter->detach(impl, made);
  OPYARD_CHECK(!made.same(tensor), BadReturn,
               "detach gave the tensor that it was asked to copy, " + describe(tensor) +
                   "; __opyard_dispatch__ of its class has to give another one for aten::detach");
  return made;
}

Tensor shallow_copy(const Tensor& tensor) {
  Tensor made = copy_by_class(tensor);
  return made.defined() ? made : tensor.alias();
}

}  // namespace opyard
