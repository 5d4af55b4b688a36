/* c_functions.c: a C library of no one's, which knows DLPack and how to fail, for test_c_function. */
#define _POSIX_C_SOURCE 200809L

#include <complex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opyard/ffi/c_dlpack.h"
#include "opyard/ffi/c_error.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int c_counter = 7;
EXPORT const double c_table[] = {1.0, 2.0};

/* Numbers. */
EXPORT int64_t c_add(int64_t a, int64_t b) { return a + b; }
EXPORT bool c_both(bool a, bool b) { return a && b; }
EXPORT double c_mixed(int64_t a, double x, bool b, double y) { return (double)a * x + (b ? y : -y); }
EXPORT double complex c_turn(double complex z, double scale) { return z * I * scale; }
EXPORT int64_t c_nothing(void) { return 42; }
EXPORT int64_t c_seven(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g) {
  return a + 10 * (b + 10 * (c + 10 * (d + 10 * (e + 10 * (f + 10 * g)))));
}
EXPORT double c_nine(double a, double b, double c, double d, double e, double f, double g, double h,
                     double i, bool negative) {
  const double sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
  return negative ? -sum : sum;
}
EXPORT double c_twenty(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, bool g,
                       double h, double i, double j, double k, double l, double m, double n, double o,
                       double p, double q, const char* r, const int64_t* s, int64_t t, bool u,
                       int64_t v) {
  const double sum = h + 2 * i + 3 * j + 4 * k + 5 * l + 6 * m + 7 * n + 8 * o + 9 * p + 10 * q;
  const double more = (double)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + (g ? 7 : 0));
  return sum + 1000 * more + 1e6 * (double)strlen(r) + 1e7 * (double)(s[0] + t) + (u ? 1e9 : 0) +
         1e10 * (double)v;
}
EXPORT double complex c_five(double complex a, double complex b, double complex c, double complex d,
                             double complex e) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e;
}

/* The trapezoidal rule: what a numerical library offers. */
EXPORT double c_integrate(double (*f)(double), double a, double b, int64_t steps) {
  const double width = (b - a) / (double)steps;
  double sum = (f(a) + f(b)) / 2;
  for (int64_t i = 1; i < steps; ++i) sum += f(a + (double)i * width);
  return sum * width;
}

/* Tensors. */
static int64_t count(const DLTensor* x) {
  int64_t elements = 1;
  for (int i = 0; i < x->ndim; ++i) elements *= x->shape[i];
  return elements;
}
static int require_float64(const DLTensor* x) {
  if (x->dtype.code == kDLFloat && x->dtype.bits == 64) return OPYARD_OK;
  return opyard_set_error(OPYARD_ERROR_BadArgument, "this function computes in float64");
}
/* Of one dimension, with a stride. */
EXPORT double c_sum(const DLTensor* x) {
  double sum = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) sum += ((const double*)x->data)[i * x->strides[0]];
  return sum;
}
EXPORT int c_scale(DLTensor* x, double factor) {
  const int status = require_float64(x);
  if (status != OPYARD_OK) return status;
  for (int64_t i = 0; i < count(x); ++i) ((double*)x->data)[i] *= factor;
  return OPYARD_OK;
}
EXPORT void c_scale_void(DLTensor* x, double factor) { c_scale(x, factor); }

typedef struct {
  DLManagedTensorVersioned managed;
  int64_t shape[1];
  double data[];
} OneDimension;
static int64_t c_alive = 0;
EXPORT int64_t c_tensors_alive(void) { return c_alive; }
static void delete_tensor(DLManagedTensorVersioned* self) {
  --c_alive;
  free(self->manager_ctx);
}
static DLManagedTensorVersioned* new_tensor(int64_t elements) {
  OneDimension* made = calloc(1, sizeof(OneDimension) + (size_t)elements * sizeof(double));
  ++c_alive;
  made->shape[0] = elements;
  made->managed.version.major = 1;
  made->managed.manager_ctx = made;
  made->managed.deleter = delete_tensor;
  made->managed.dl_tensor.data = made->data;
  made->managed.dl_tensor.device.device_type = kDLCPU;
  made->managed.dl_tensor.ndim = 1;
  made->managed.dl_tensor.dtype.code = kDLFloat;
  made->managed.dl_tensor.dtype.bits = 64;
  made->managed.dl_tensor.dtype.lanes = 1;
  made->managed.dl_tensor.shape = made->shape;
  return &made->managed;
}
EXPORT int c_add_tensors(const DLTensor* x, const DLTensor* y, double alpha,
                         DLManagedTensorVersioned** result) {
  const int status = require_float64(x);
  if (status != OPYARD_OK) return status;
  *result = new_tensor(x->shape[0]);
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    ((double*)(*result)->dl_tensor.data)[i] =
        ((const double*)x->data)[i] + alpha * ((const double*)y->data)[i];
  }
  return OPYARD_OK;
}
EXPORT int c_bad_tensor(int64_t how, DLManagedTensorVersioned** first,
                        DLManagedTensorVersioned** second) {
  *first = new_tensor(2);
  if (how == 0) return OPYARD_OK; /* the second stays null */
  *second = new_tensor(2);
  if (how == 1) (*second)->dl_tensor.ndim = -1;
  if (how == 2) (*second)->dl_tensor.dtype.bits = 7;
  if (how == 3) (*second)->version.major = 9;
  if (how == 4) (*second)->dl_tensor.data = NULL;
  return OPYARD_OK;
}
EXPORT double c_sum_all(const DLTensor* const* tensors, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (tensors[i] != NULL) sum += c_sum(tensors[i]);
  }
  return sum;
}
EXPORT int64_t c_which_are_there(const DLTensor* x, const double* scale, const char* text,
                                 const int64_t* sizes, int64_t sizes_size, const void* context) {
  return (x != NULL) + 2 * (scale != NULL) + 4 * (text != NULL) + 8 * (sizes != NULL) +
         16 * (context != NULL) + 100 * sizes_size;
}

/* Texts and lists. */
EXPORT int c_greet(const char* name, char** result) {
  *result = malloc(strlen(name) + 8);
  sprintf(*result, "Hello, %s", name);
  return OPYARD_OK;
}
EXPORT int64_t c_length(const char* text) { return (int64_t)strlen(text); }
EXPORT int64_t c_total_length(const char* const* texts, int64_t size) {
  int64_t total = 0;
  for (int64_t i = 0; i < size; ++i) total += texts[i] == NULL ? 1000 : (int64_t)strlen(texts[i]);
  return total;
}
EXPORT double c_dot(const double* a, int64_t a_size, const double* b, int64_t b_size) {
  double sum = 0;
  for (int64_t i = 0; i < a_size && i < b_size; ++i) sum += a[i] * b[i];
  return sum;
}
EXPORT int64_t c_count_true(const bool* flags, int64_t size) {
  int64_t total = 0;
  for (int64_t i = 0; i < size; ++i) total += flags[i];
  return total;
}
EXPORT int c_divide(int64_t a, int64_t b, int64_t* quotient, int64_t* remainder, bool* exact) {
  if (b == 0) return opyard_set_error(OPYARD_ERROR_BadValue, "division by zero");
  *quotient = a / b;
  *remainder = a % b;
  *exact = a % b == 0;
  return OPYARD_OK;
}
EXPORT int c_range(int64_t size, int64_t** numbers, int64_t* numbers_size) {
  *numbers_size = size;
  if (size <= 0) return OPYARD_OK;
  *numbers = malloc((size_t)size * sizeof(int64_t));
  for (int64_t i = 0; i < size; ++i) (*numbers)[i] = i;
  return OPYARD_OK;
}
EXPORT int c_null_list(int64_t size, int64_t** numbers, int64_t* numbers_size) {
  *numbers = NULL;
  *numbers_size = size;
  return OPYARD_OK;
}
EXPORT int c_null_text(char** result) {
  *result = NULL;
  return OPYARD_OK;
}
EXPORT int c_devices(const char* device, char** same) {
  *same = malloc(strlen(device) + 1);
  strcpy(*same, device);
  return OPYARD_OK;
}

/* Failures. */
EXPORT int c_status(int64_t status, int64_t* first, int64_t* second) {
  *first = 1;
  *second = 2;
  return (int)status;
}
EXPORT double c_root(double x) {
  if (x < 0) opyard_set_error(OPYARD_ERROR_BadValue, "root of a negative number");
  return x / 2;
}
EXPORT int64_t c_forgives(double (*f)(double)) {
  f(1.0);
  const int status = opyard_last_status();
  opyard_clear_error();
  return status;
}

/* Callbacks from elsewhere: on a thread of C's own, and at the end of the process. */
typedef struct {
  double (*function)(double);
  double number;
} Callback;
static void* run_callback(void* context) {
  Callback* const callback = context;
  callback->number = callback->function(callback->number);
  const char* const error = opyard_last_error();
  if (error != NULL) fprintf(stderr, "on a thread of C: %s\n", error);
  return NULL;
}
EXPORT double c_on_a_thread(double (*function)(double), double x) {
  Callback callback = {function, x};
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_callback, &callback) != 0) abort();
  pthread_join(thread, NULL);
  return callback.number;
}
static double (*function_at_exit)(double) = NULL;
static void call_at_exit(void) {
  const double number = function_at_exit(1.0);
  const char* const error = opyard_last_error();
  printf("at exit: %g, %s\n", number, error == NULL ? "no error" : error);
}
EXPORT void c_at_exit(double (*function)(double)) {
  function_at_exit = function;
  atexit(call_at_exit);
}
static void* call_until_gone(void* context) {
  double (*function)(double) = ((Callback*)context)->function;
  for (;;) {
    function(1.0);
    if (opyard_last_status() == OPYARD_ERROR_InterpreterGone) return NULL;
    opyard_clear_error();
  }
}
/* Calls the function on a thread that no one waits for, as long as Python lives. */
EXPORT void c_keep_calling(double (*function)(double)) {
  static Callback callback;
  callback.function = function;
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_until_gone, &callback) != 0) abort();
  pthread_detach(thread);
}
