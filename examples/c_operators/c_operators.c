/* c_operators.c: a library of operators in plain C.
 *
 *   cops::clamp     numbers in and out, as a boxed kernel
 *   cops::dot       two tensors, read where they are
 *   cops::ramp      makes a tensor
 *   cops::hypot     an ordinary C function, called by its own signature
 *   cops::norm      calls another operator, which may have a kernel in any language
 *
 * and a layer, `Counter` of the caller's choice, that counts calls and passes them on.
 * README.md says how it is built, and use.py uses it. */
#include <math.h>
#include <opyard/c_api.h>

/* Failures: leave a text, and give its status back. */
static int refuse(const char* text) { return opyard_set_error(OPYARD_ERROR_BadValue, text); }

static int clamp(void* context, const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
  (void)context, (void)op, (void)keys;
  /* The schema has been held against the arguments: these are floats. */
  const double x = opyard_get(stack, 0).as.real;
  const double low = opyard_get(stack, 1).as.real;
  const double high = opyard_get(stack, 2).as.real;
  if (!(low <= high)) return refuse("clamp: low is above high");
  return opyard_push_double(stack, x < low ? low : x > high ? high : x);
}

/* A vector of float64, borrowed. */
static int vector_at(const opyard_stack* stack, size_t index, bool write, DLTensor* view) {
  opyard_tensor* tensor = NULL;
  int status = opyard_to_tensor(opyard_get(stack, index), &tensor);
  if (status == OPYARD_OK) status = opyard_tensor_view(tensor, write, view);
  if (status != OPYARD_OK) return status;
  if (view->ndim != 1 || view->dtype.code != kDLFloat || view->dtype.bits != 64)
    return refuse("this operator takes vectors of float64");
  return OPYARD_OK;
}

static double element(const DLTensor* view, int64_t i) {
  return ((const double*)view->data)[i * view->strides[0]];
}

static int dot(void* context, const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
  (void)context, (void)op, (void)keys;
  DLTensor x, y;
  double sum = 0;
  int status = vector_at(stack, 0, false, &x);
  if (status == OPYARD_OK) status = vector_at(stack, 1, false, &y);
  if (status != OPYARD_OK) return status;
  if (x.shape[0] != y.shape[0]) return refuse("dot: the vectors differ in length");
  for (int64_t i = 0; i < x.shape[0]; ++i) sum += element(&x, i) * element(&y, i);
  return opyard_push_double(stack, sum);
}

static int ramp(void* context, const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
  const int64_t n = opyard_get(stack, 0).as.integer;
  const DLDataType float64 = {2, 64, 1};
  opyard_tensor* made = NULL;
  DLTensor view;
  int status = opyard_tensor_empty(&n, 1, float64, NULL, &made);
  (void)context, (void)op, (void)keys;
  if (status != OPYARD_OK) return status;
  status = opyard_tensor_view(made, true, &view);
  for (int64_t i = 0; status == OPYARD_OK && i < n; ++i) ((double*)view.data)[i] = (double)i;
  if (status == OPYARD_OK) status = opyard_push_tensor(stack, made);
  opyard_release(made); /* the stack has an owner of its own */
  return status;
}

/* `context` is where the operator that this one calls was found. */
static int norm(void* context, const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
  const opyard_operator* const dot_op = (const opyard_operator*)context;
  int status = opyard_push(stack, opyard_get(stack, 0));
  (void)op, (void)keys;
  if (status == OPYARD_OK) status = opyard_push(stack, opyard_get(stack, 0));
  if (status == OPYARD_OK) status = opyard_call(dot_op, stack);
  if (status == OPYARD_OK) {
    const double square = opyard_get(stack, 1).as.real;
    opyard_drop(stack, 1);
    status = opyard_push_double(stack, sqrt(square));
  }
  return status;
}

/* A layer: counts, and passes every call on to the keys below its own. */
static int64_t counted = 0;
static uint64_t below_counter = 0;
static int count(void* context, const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
  (void)context;
  ++counted;
  return opyard_redispatch(op, keys & below_counter, stack);
}
static int64_t calls(void) { return counted; }

static int define(opyard_library* library, const char* schema, const char* name, opyard_kernel_function function,
                  const void* context) {
  opyard_kernel kernel = {sizeof(kernel), function, NULL, NULL, 0};
  int status = opyard_define(library, schema, NULL);
  kernel.context = (void*)context;
  if (status == OPYARD_OK) status = opyard_implement(library, name, "CompositeExplicitAutograd", &kernel);
  return status;
}

static int register_operators(opyard_library* library) {
  const opyard_operator* dot_op = NULL;
  int status = define(library, "clamp(float x, float low=0., float high=1.) -> float", "clamp", clamp, NULL);
  if (status == OPYARD_OK) status = define(library, "dot(Tensor x, Tensor y) -> float", "dot", dot, NULL);
  if (status == OPYARD_OK) status = define(library, "ramp(int n) -> Tensor", "ramp", ramp, NULL);
  if (status == OPYARD_OK) status = opyard_find_operator("cops::dot", &dot_op);
  if (status == OPYARD_OK) status = define(library, "norm(Tensor x) -> float", "norm", norm, dot_op);
  /* Functions of an operator's own signature need no glue. */
  if (status == OPYARD_OK) status = opyard_define(library, "hypot(float x, float y) -> float", NULL);
  if (status == OPYARD_OK)
    status = opyard_implement_function(library, "hypot", NULL, (opyard_function)(double (*)(double, double))hypot,
                                       "hypot of libm");
  if (status == OPYARD_OK) status = opyard_define(library, "calls() -> int", NULL);
  if (status == OPYARD_OK)
    status = opyard_implement_function(library, "calls", NULL, (opyard_function)calls, "calls of c_operators.c");
  return status;
}

static int register_layer(opyard_library* library) {
  const opyard_kernel kernel = {sizeof(kernel), count, NULL, NULL, 0};
  const int status = opyard_keys_below("AutogradCPU", &below_counter);
  return status != OPYARD_OK ? status : opyard_implement(library, "dot", "AutogradCPU", &kernel);
}

static const opyard_block blocks[] = {
    {sizeof(opyard_block), OPYARD_DEFINE, "cops", NULL, register_operators, __FILE__, __LINE__},
    {sizeof(opyard_block), OPYARD_IMPLEMENT, "cops", NULL, register_layer, __FILE__, __LINE__},
};
OPYARD_C_LIBRARIES(blocks)
