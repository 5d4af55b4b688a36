// opyard/c_api.h: operators, kernels, values and tensors for programs in C99, and the promise across versions.
//
// A program that was compiled with this header runs with every later libopyard of the same
// OPYARD_C_ABI. To keep that promise
//   - functions are added and never changed; structs are passed by pointer, begin with their size,
//     and grow at the end: what an older program does not know counts as zero, and a field of a
//     later one that is not zero is refused (Unsupported);
//   - all else is opaque and passed by pointer: tensors and errors are counted
//     (opyard_retain, opyard_release), operators are for ever;
//   - opyard_value and opyard_local_keys are passed by value and stay as they are.
//
// A function that can fail gives an opyard_status and leaves the reason to opyard_last_error()
// (opyard/ffi/c_error.h); what it would have written through its last pointer is then untouched.
// No exception leaves any of them. A null pointer that has to lead somewhere is a BadArgument.
// Every function may be called on any thread; a stack, a loan and a library by one at a time.
//
//   static int twice(void* context, const opyard_operator* op, uint64_t keys, opyard_stack* stack) {
//     return opyard_push_int(stack, 2 * opyard_get(stack, 0).as.integer);
//   }
//   static int register_demo(opyard_library* library) {
//     const opyard_kernel kernel = {sizeof(kernel), twice, NULL, NULL, 0};
//     const int status = opyard_define(library, "twice(int n) -> int", NULL);
//     return status != OPYARD_OK ? status : opyard_implement(library, "twice", NULL, &kernel);
//   }
//   OPYARD_C_LIBRARY(demo, register_demo)
//
// Depends on: plugin/c_plugin.h, tensor/c_device.h, ffi/c_error.h, ffi/c_dlpack.h, value/kinds.def.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opyard/ffi/c_dlpack.h"
#include "opyard/ffi/c_error.h"
#include "opyard/plugin/c_plugin.h"
#include "opyard/tensor/c_device.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Version

// The library that runs. This function and the order of these fields never change.
typedef struct opyard_version_info {
  size_t bytes;  // sizeof(opyard_version_info), written by the caller
  uint32_t abi;  // its OPYARD_C_ABI
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
} opyard_version_info;

// Fills as many fields as the caller and the library both know; what only the caller knows is zero.
// Gives OPYARD_OK, or OPYARD_ERROR_BadArgument for a null pointer or a size that is none.
OPYARD_API int opyard_version(opyard_version_info* info);

// ---- Counted objects

// What a tensor and an error are is known to the library alone.
typedef struct opyard_tensor opyard_tensor;
typedef struct opyard_error opyard_error;

// Adds an owner to a tensor, an error or the object of a value, or takes one away. The last to let
// go ends the object, on whatever thread that is. Null is allowed.
OPYARD_API void opyard_retain(const void* object);
OPYARD_API void opyard_release(const void* object);

// ---- Errors as objects (what every function leaves behind is in ffi/c_error.h)

// An exception of another language that an error carries, so that the one that comes out of a call
// is the one that went in.
typedef struct opyard_exception {
  size_t bytes;             // sizeof(opyard_exception)
  const void* interpreter;  // whose it is: an address that is this interpreter's alone
  void* object;             // the exception in its language
  // Lets go of `object`, once, on whatever thread that is. May be null.
  void (*release)(void* object);
  // Raises the exception again in its language, whose lock the caller holds; gives 0 if it
  // cannot any more. May be null: others then see kind and text.
  int (*restore)(void* object);
} opyard_exception;

// Takes this thread's error: an object with one owner, the caller; null if there is none.
OPYARD_API opyard_error* opyard_take_error(void);
// Makes it this thread's error, on any thread, as often as wanted; gives its status. The caller
// still owns it. So what is called while one cleans up cannot put its own error in front.
OPYARD_API int opyard_restore_error(const opyard_error* error);
OPYARD_API int opyard_error_status(const opyard_error* error);
// Good as long as the error.
OPYARD_API const char* opyard_error_text(const opyard_error* error);
// What the error carries, borrowed: `release` is null. Fields past what the caller's size says are
// left out. Gives NotFound if it carries nothing, or nothing that can be shown.
OPYARD_API int opyard_error_exception(const opyard_error* error, opyard_exception* exception);
// As opyard_set_error(), with an exception, which the error owns from now on: `release` is called
// when the error is gone, also if this fails. The status is given back.
OPYARD_API int opyard_set_exception(int status, const char* message,
                                    const opyard_exception* exception);

// ---- Values

// 0 is None. Kinds from 32 on are pointers to counted objects.
enum opyard_kind {
#define OPYARD_VALUE_KIND(tag, name, printed) OPYARD_KIND_##name = tag,
#include "opyard/value/kinds.def"
  OPYARD_KIND_LIMIT = 256
};

// Where a tensor is: the position of a backend in keys.def, and an index, or -1 for the current
// one.
typedef struct opyard_device {
  uint8_t backend;
  int16_t index;
} opyard_device;

// An argument, a result or an element, borrowed: it owns nothing, and what it leads to lives as
// long as the place that it was read from keeps it.
typedef struct opyard_value {
  uint8_t kind;  // an opyard_kind: which field of `as` counts
  uint8_t reserved[7];
  union {
    bool boolean;          // Bool
    int64_t integer;       // Int
    double real;           // Double
    opyard_device device;  // Device
    void* object;          // kinds from 32 on; for Tensor an opyard_tensor*, null if undefined
  } as;
} opyard_value;

// Exactly this kind, else BadArgument. Texts and tensors are borrowed; a text ends with a zero
// byte, and `bytes`, which may be null, counts those before it.
OPYARD_API int opyard_to_bool(opyard_value value, bool* result);
OPYARD_API int opyard_to_int(opyard_value value, int64_t* result);
OPYARD_API int opyard_to_double(opyard_value value, double* result);
// Real and imaginary part.
OPYARD_API int opyard_to_complex(opyard_value value, double result[2]);
OPYARD_API int opyard_to_string(opyard_value value, const char** text, size_t* bytes);
// Null for an undefined tensor.
OPYARD_API int opyard_to_tensor(opyard_value value, opyard_tensor** tensor);
// The pointer of a capsule of this name; any name if `name` is null. BadValue for another name.
OPYARD_API int opyard_to_capsule(opyard_value value, const char* name, void** pointer);
// The number of elements or entries of a list, tuple or dict.
OPYARD_API int opyard_size(opyard_value value, size_t* size);
// An element of a list or tuple. BadIndex.
OPYARD_API int opyard_item(opyard_value value, size_t index, opyard_value* item);
// Walks a dict: from *position 0 on, gives an entry and moves *position behind it. NotFound at the
// end.
OPYARD_API int opyard_next_entry(opyard_value dict, size_t* position, opyard_value* key,
                                 opyard_value* item);
// The value as a person would write it, as snprintf() does: at most `capacity` bytes with a zero
// byte at the end, and the length of the whole text in *bytes. `buffer` may be null if
// `capacity` is 0.
OPYARD_API int opyard_value_text(opyard_value value, char* buffer, size_t capacity, size_t* bytes);

// ---- Stacks

// The values of a call. A kernel is given one that begins with its arguments and sees nothing
// below.
typedef struct opyard_stack opyard_stack;

OPYARD_API int opyard_stack_create(opyard_stack** stack);
OPYARD_API void opyard_stack_destroy(opyard_stack* stack);
OPYARD_API size_t opyard_stack_size(const opyard_stack* stack);

// The value at a position, counted from the bottom; None past the end. It may be used as long as
// it stays on the stack: pushing others moves it, but not what it leads to.
OPYARD_API opyard_value opyard_get(const opyard_stack* stack, size_t index);

// Put a value on top. Each takes an owner of its own of what it is given.
OPYARD_API int opyard_push(opyard_stack* stack, opyard_value value);
OPYARD_API int opyard_push_none(opyard_stack* stack);
OPYARD_API int opyard_push_bool(opyard_stack* stack, bool value);
OPYARD_API int opyard_push_int(opyard_stack* stack, int64_t value);
OPYARD_API int opyard_push_double(opyard_stack* stack, double value);
OPYARD_API int opyard_push_complex(opyard_stack* stack, double real, double imaginary);
// The text is copied.
OPYARD_API int opyard_push_string(opyard_stack* stack, const char* text, size_t bytes);
// "cpu", "cuda:1". BadValue.
OPYARD_API int opyard_push_device(opyard_stack* stack, const char* device);
// Null is the undefined tensor.
OPYARD_API int opyard_push_tensor(opyard_stack* stack, opyard_tensor* tensor);
// `deleter` is called with `context` when the last owner lets go, also if this fails; or it is
// null, and the pointer is borrowed.
OPYARD_API int opyard_push_capsule(opyard_stack* stack, void* pointer, const char* name,
                                   void* context, void (*deleter)(void* context));
// Put one value in the place of the topmost `count`, or, for a dict, of `count` keys each followed
// by its value. BadArgument if there are fewer; the stack is then as it was.
OPYARD_API int opyard_pack_list(opyard_stack* stack, size_t count);
OPYARD_API int opyard_pack_tuple(opyard_stack* stack, size_t count);
OPYARD_API int opyard_pack_dict(opyard_stack* stack, size_t count);
// Takes values off the top, as many as there are at most.
OPYARD_API void opyard_drop(opyard_stack* stack, size_t count);

// ---- Tensors

// A new tensor of uninitialised elements; the caller owns it. `device` may be null for cpu.
// BadShape, Unsupported for an element type or a device without memory, OutOfMemory.
OPYARD_API int opyard_tensor_empty(const int64_t* sizes, size_t dims, DLDataType dtype,
                                   const char* device, opyard_tensor** tensor);
// A tensor on the memory of someone else, which it takes over, also if this fails: the deleter
// of `managed` is called once. Raises what from_dlpack() of opyard/tensor/dlpack.h raises.
OPYARD_API int opyard_tensor_from_dlpack(DLManagedTensorVersioned* managed, opyard_tensor** tensor);
// The tensor for another library, which gives it back through its deleter.
OPYARD_API int opyard_tensor_to_dlpack(const opyard_tensor* tensor,
                                       DLManagedTensorVersioned** managed);
// The tensor as it is, borrowed: good as long as the tensor. To be written to only with `write`,
// which counts as a write to it, and raises BadValue if its memory is read-only. On cpu; for
// other devices use the device's own functions and opyard_tensor_device(). BadValue for an
// undefined tensor.
OPYARD_API int opyard_tensor_view(const opyard_tensor* tensor, bool write, DLTensor* view);
OPYARD_API int opyard_tensor_device(const opyard_tensor* tensor, opyard_device* device);
// The keys that it adds to a call.
OPYARD_API uint64_t opyard_tensor_keys(const opyard_tensor* tensor);

// Memory of the caller, lent to a call as a tensor. A loan keeps its tensor from call to call, so
// that nothing is allocated for an argument.
//
//   opyard_loan_begin(loan, &array, true, &tensor);     tensor is borrowed, until the loan ends
//   opyard_push_tensor(stack, tensor);
//   opyard_call_into(op, stack, &result, 1);
//   opyard_loan_end(loan);
//
// If a kernel has kept the tensor, or a view of it, the end of the loan gives what is kept a copy
// of the elements; so nothing leads to the memory then. A loan is used by one thread at a time.
typedef struct opyard_loan opyard_loan;

OPYARD_API int opyard_loan_create(opyard_loan** loan);
// Ends it before. Null is allowed.
OPYARD_API void opyard_loan_destroy(opyard_loan* loan);
// `array`, which is on cpu, is read only now; null strides are row-major order. Its elements are
// written to only if it is not `read_only`: an operator's argument that it writes, such as `out`.
// Raises what from_dlpack() of opyard/tensor/dlpack.h raises, BadValue if the loan has begun.
OPYARD_API int opyard_loan_begin(opyard_loan* loan, const DLTensor* array, bool read_only,
                                 opyard_tensor** tensor);
// OutOfMemory if what is kept needs a copy; the loan has ended, and that has no elements. No value
// of the caller's is the tensor any more. Nothing if the loan has not begun.
OPYARD_API int opyard_loan_end(opyard_loan* loan);

// Devices of a backend, "PrivateUse1"; copies; and the end of what a device has to do. As
// register_device(), copy_elements() and synchronise() of the current stream in
// opyard/tensor/device_functions.h.
OPYARD_API int opyard_register_device(const char* backend,
                                      const opyard_device_functions* functions);
OPYARD_API int opyard_tensor_copy(opyard_tensor* to, const opyard_tensor* from);
OPYARD_API int opyard_synchronise(opyard_device device);

// ---- Dispatch keys

// A set of keys is a number, of which the bits are not promised: make one from names. "CPU",
// "AutogradCPU", "Autograd" for all keys that the alias stands for; NotFound.
OPYARD_API int opyard_keys_of(const char* name, uint64_t* keys);
// Every key below this one, which is a layer or a key of one backend: what a layer's kernel
// redispatches with, by `keys & below`.
OPYARD_API int opyard_keys_below(const char* name, uint64_t* keys);
// Takes the layers of `taken` out of a set; backends stay.
OPYARD_API uint64_t opyard_keys_without(uint64_t keys, uint64_t taken);
// "DispatchKeySet(CPU, AutogradCPU)", as opyard_value_text().
OPYARD_API int opyard_keys_text(uint64_t keys, char* buffer, size_t capacity, size_t* bytes);

// The keys that this thread adds to every call, and those that it takes away.
typedef struct opyard_local_keys {
  uint64_t include;
  uint64_t exclude;
} opyard_local_keys;

// A scope: one of the first two, and at its end opyard_restore_keys() with what that gave, on the
// same thread.
OPYARD_API opyard_local_keys opyard_include_keys(uint64_t keys);
OPYARD_API opyard_local_keys opyard_exclude_keys(uint64_t keys);
OPYARD_API void opyard_restore_keys(opyard_local_keys former);

// ---- Operators

// For ever: one whose definition was unregistered raises OperatorGone when it is called.
typedef struct opyard_operator opyard_operator;

// "ns::name" or "ns::name.overload". NotFound.
OPYARD_API int opyard_find_operator(const char* name, const opyard_operator** op);
// "demo::twice(int n) -> int"
OPYARD_API const char* opyard_operator_schema(const opyard_operator* op);
OPYARD_API size_t opyard_operator_arguments(const opyard_operator* op);
OPYARD_API size_t opyard_operator_results(const opyard_operator* op);

// Pushes the arguments that the schema has behind those that are there: its defaults. `given` are
// on top already. BadArgument if one has none.
OPYARD_API int opyard_push_defaults(const opyard_operator* op, opyard_stack* stack, size_t given);

// Call with the arguments on top of the stack, which the results replace. Where it fails the
// arguments are gone. The first is a call like any other; the second goes on from a kernel with the
// keys that it is given, and looks neither at the arguments nor at the thread; the third goes to
// one key.
OPYARD_API int opyard_call(const opyard_operator* op, opyard_stack* stack);
OPYARD_API int opyard_redispatch(const opyard_operator* op, uint64_t keys, opyard_stack* stack);
OPYARD_API int opyard_call_at(const opyard_operator* op, const char* key, opyard_stack* stack);

// A call whose results are tensors, copied into memory of the caller: `results` has one for each,
// of its sizes and element type, on cpu. They leave the stack. To have no copy, lend the memory to
// an argument that the operator writes, such as `out`. BadArgument for another number of results or
// what is no tensor, BadShape for other sizes, and what opyard_loan_begin() raises for the memory.
OPYARD_API int opyard_call_into(const opyard_operator* op, opyard_stack* stack,
                                const DLTensor* results, size_t count);

// ---- Libraries and kernels

// A kernel. The stack begins with the arguments, which the schema has been held against; `keys` are
// those that the call goes with. It pushes its results on top and gives OPYARD_OK; the arguments
// are taken from below them, and stay good until then. Where it hands them on by
// opyard_redispatch(), what that leaves are its results. Any other status fails the call, with this
// thread's error if the kernel left one.
typedef int (*opyard_kernel_function)(void* context, const opyard_operator* op, uint64_t keys,
                                      opyard_stack* stack);

enum opyard_kernel_flags {
  OPYARD_KERNEL_OVERRIDE = 1,     // covers another library's kernel on purpose: no warning
  OPYARD_KERNEL_FALLTHROUGH = 2,  // no kernel: calls pass this key by; `function` is null
  // Runs with the lock of the interpreter released, if its caller holds it: it touches no object of
  // one.
  OPYARD_KERNEL_RELEASES_GIL = 4
};

typedef struct opyard_kernel {
  size_t bytes;  // sizeof(opyard_kernel)
  opyard_kernel_function function;
  void* context;
  // Called once with `context` when no call can use it any more, also if registering fails. May
  // be null.
  void (*destroy)(void* context);
  uint32_t flags;  // of opyard_kernel_flags
} opyard_kernel;

typedef struct opyard_definition {
  size_t bytes;             // sizeof(opyard_definition)
  const char* doc;          // for people; or null
  const char* const* tags;  // "pointwise", …; or null
  size_t tag_count;
} opyard_definition;

// A C function of any type; see opyard/ffi/c_function.h, [Signature].
typedef void (*opyard_function)(void);

// Makes a library as the block says, and runs the block. Where this fails nothing is registered.
OPYARD_API int opyard_library_create(const opyard_block* block, opyard_library** library);
// Unregisters all that it registered. Null is allowed.
OPYARD_API void opyard_library_destroy(opyard_library* library);

// Defines an operator. `options` may be null. BadSchema, BadRegistration.
OPYARD_API int opyard_define(opyard_library* library, const char* schema,
                             const opyard_definition* options);
// Registers a kernel at a key; if `key` is null at the library's, else at
// CompositeImplicitAutograd. Raises what Library::impl() of opyard/registry/library.h raises.
OPYARD_API int opyard_implement(opyard_library* library, const char* name, const char* key,
                                const opyard_kernel* kernel);
// Registers a C function of the operator's own signature ("double cosine(double x)"), which has to
// be defined. `shown` is what errors call it. Unsupported if the schema has no such signature.
OPYARD_API int opyard_implement_function(opyard_library* library, const char* name, const char* key,
                                         opyard_function function, const char* shown);
// Defines an operator whose kernel is the text of calls of others, as composite() of
// opyard/registry/composite.h; raises what that raises.
OPYARD_API int opyard_composite(opyard_library* library, const char* schema, const char* body,
                                const opyard_definition* options);
// Gives an operator a derivative: `texts[i]` is the gradient of the argument `of[i]`. Raises what
// Library::derivative() of opyard/registry/library.h raises.
OPYARD_API int opyard_derivative(opyard_library* library, const char* name, size_t count,
                                 const char* const* of, const char* const* texts);
// Registers a kernel for every operator at the library's key; in the namespace "_".
OPYARD_API int opyard_fallback(opyard_library* library, const opyard_kernel* kernel);

// ---- Threads: as opyard/pool/pool.h, opyard/pool/parallel_for.h and opyard/value/task.h

// The size of the process's pool. BadValue for what is no number from 1 to 1024.
OPYARD_API int opyard_thread_count(int* count);
OPYARD_API int opyard_set_thread_count(int count);

// Gives OPYARD_OK, or a status, with this thread's error if it has a text.
typedef int (*opyard_range_function)(void* context, int64_t begin, int64_t end);
// Calls the function with ranges that cover [begin, end) once, of at least `grain` each but for the
// last, on several threads; all calls have returned when it does. It fails as the first call that
// failed.
OPYARD_API int opyard_parallel_for(int64_t begin, int64_t end, int64_t grain,
                                   opyard_range_function function, void* context);

typedef struct opyard_task {
  size_t bytes;  // sizeof(opyard_task)
  // Pushes what the task gives, or nothing for None. Gives a status, as an opyard_range_function.
  int (*function)(void* context, opyard_stack* result);
  void* context;
  // Called once with `context` behind the function, or if it never runs. May be null.
  void (*destroy)(void* context);
} opyard_task;

// Runs the function on a thread of the pool, and pushes a future of what it gives.
OPYARD_API int opyard_start_task(const opyard_task* task, opyard_stack* stack);
// Waits for a future and pushes its value, or fails as what completes it did. A task that no thread
// has begun runs on this one. BadArgument for a value that is no future.
OPYARD_API int opyard_wait(opyard_value future, opyard_stack* stack);

// ---- Plugins and warnings

// As load_library() and unload_library() of opyard/plugin/plugin.h. `in_use`, which may be null, is
// the number of kernels that calls still under way keep alive.
OPYARD_API int opyard_load_library(const char* path);
OPYARD_API int opyard_unload_library(const char* path, size_t* in_use);
// As load_environment_libraries() there: loads what OPYARD_LIBRARIES names, once.
OPYARD_API int opyard_load_environment_libraries(void);

// Tells a person, where the host says: Python's filters, else the standard error stream. A host may
// make it an error.
OPYARD_API int opyard_warn(const char* message);

#ifdef __cplusplus
}
#endif
