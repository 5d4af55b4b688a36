/* c_api_layout.c: frozen layouts that C programs have compiled in. Compiled as C99, C++17 and C++20; nothing runs.
 *
 * Promises to plugins that were compiled last year. When a line stops building, do not edit the line:
 * raise OPYARD_C_ABI, then write down what is new. A field that is added at the end of a struct
 * that begins with its size changes that struct's LAYOUT_SIZE alone, and adds a line. */
#include "opyard/c_api.h"

#include <stddef.h>

/* An array of -1 elements where the claim is wrong: C99 has no static assertions. */
#define CLAIM_2(line, claim) typedef char opyard_claim_##line[(claim) ? 1 : -1]
#define CLAIM_1(line, claim) CLAIM_2(line, claim)
#define CLAIM(claim) CLAIM_1(__LINE__, claim)
#define LAYOUT_SIZE(type, bytes) CLAIM(sizeof(type) == (bytes))
#define LAYOUT_OFFSET(type, field, bytes) CLAIM(offsetof(type, field) == (bytes))

#if defined(__LP64__)

CLAIM(OPYARD_C_ABI == 1);

LAYOUT_SIZE(opyard_version_info, 24);
LAYOUT_OFFSET(opyard_version_info, bytes, 0);
LAYOUT_OFFSET(opyard_version_info, abi, 8);
LAYOUT_OFFSET(opyard_version_info, major, 12);
LAYOUT_OFFSET(opyard_version_info, minor, 16);
LAYOUT_OFFSET(opyard_version_info, patch, 20);

LAYOUT_SIZE(opyard_value, 16);
LAYOUT_OFFSET(opyard_value, kind, 0);
LAYOUT_OFFSET(opyard_value, reserved, 1);
LAYOUT_OFFSET(opyard_value, as, 8);
LAYOUT_SIZE(opyard_device, 4);
LAYOUT_OFFSET(opyard_device, backend, 0);
LAYOUT_OFFSET(opyard_device, index, 2);

LAYOUT_SIZE(opyard_local_keys, 16);
LAYOUT_OFFSET(opyard_local_keys, include, 0);
LAYOUT_OFFSET(opyard_local_keys, exclude, 8);

LAYOUT_SIZE(opyard_exception, 40);
LAYOUT_OFFSET(opyard_exception, bytes, 0);
LAYOUT_OFFSET(opyard_exception, interpreter, 8);
LAYOUT_OFFSET(opyard_exception, object, 16);
LAYOUT_OFFSET(opyard_exception, release, 24);
LAYOUT_OFFSET(opyard_exception, restore, 32);

LAYOUT_SIZE(opyard_kernel, 40);
LAYOUT_OFFSET(opyard_kernel, bytes, 0);
LAYOUT_OFFSET(opyard_kernel, function, 8);
LAYOUT_OFFSET(opyard_kernel, context, 16);
LAYOUT_OFFSET(opyard_kernel, destroy, 24);
LAYOUT_OFFSET(opyard_kernel, flags, 32);
LAYOUT_SIZE(opyard_task, 32);
LAYOUT_OFFSET(opyard_task, bytes, 0);
LAYOUT_OFFSET(opyard_task, function, 8);
LAYOUT_OFFSET(opyard_task, context, 16);
LAYOUT_OFFSET(opyard_task, destroy, 24);

LAYOUT_SIZE(opyard_definition, 32);
LAYOUT_OFFSET(opyard_definition, bytes, 0);
LAYOUT_OFFSET(opyard_definition, doc, 8);
LAYOUT_OFFSET(opyard_definition, tags, 16);
LAYOUT_OFFSET(opyard_definition, tag_count, 24);

LAYOUT_SIZE(opyard_block, 56);
LAYOUT_OFFSET(opyard_block, bytes, 0);
LAYOUT_OFFSET(opyard_block, kind, 8);
LAYOUT_OFFSET(opyard_block, name_space, 16);
LAYOUT_OFFSET(opyard_block, key, 24);
LAYOUT_OFFSET(opyard_block, run, 32);
LAYOUT_OFFSET(opyard_block, file, 40);
LAYOUT_OFFSET(opyard_block, line, 48);

LAYOUT_SIZE(opyard_device_functions, 80);
LAYOUT_OFFSET(opyard_device_functions, bytes, 0);
LAYOUT_OFFSET(opyard_device_functions, name, 8);
LAYOUT_OFFSET(opyard_device_functions, context, 16);
LAYOUT_OFFSET(opyard_device_functions, allocate, 24);
LAYOUT_OFFSET(opyard_device_functions, release, 32);
LAYOUT_OFFSET(opyard_device_functions, copy, 40);
LAYOUT_OFFSET(opyard_device_functions, current_stream, 48);
LAYOUT_OFFSET(opyard_device_functions, wait, 56);
LAYOUT_OFFSET(opyard_device_functions, synchronise, 64);
LAYOUT_OFFSET(opyard_device_functions, exchange_device, 72);

LAYOUT_SIZE(opyard_c_plugin, 40);
LAYOUT_OFFSET(opyard_c_plugin, bytes, 0);
LAYOUT_OFFSET(opyard_c_plugin, abi, 8);
LAYOUT_OFFSET(opyard_c_plugin, version_major, 12);
LAYOUT_OFFSET(opyard_c_plugin, version_minor, 16);
LAYOUT_OFFSET(opyard_c_plugin, version_patch, 20);
LAYOUT_OFFSET(opyard_c_plugin, count, 24);
LAYOUT_OFFSET(opyard_c_plugin, blocks, 32);

LAYOUT_SIZE(DLDevice, 8);
LAYOUT_SIZE(DLDataType, 4);
LAYOUT_SIZE(DLTensor, 48);
LAYOUT_OFFSET(DLTensor, data, 0);
LAYOUT_OFFSET(DLTensor, device, 8);
LAYOUT_OFFSET(DLTensor, ndim, 16);
LAYOUT_OFFSET(DLTensor, dtype, 20);
LAYOUT_OFFSET(DLTensor, shape, 24);
LAYOUT_OFFSET(DLTensor, strides, 32);
LAYOUT_OFFSET(DLTensor, byte_offset, 40);
LAYOUT_SIZE(DLManagedTensorVersioned, 80);
LAYOUT_OFFSET(DLManagedTensorVersioned, version, 0);
LAYOUT_OFFSET(DLManagedTensorVersioned, manager_ctx, 8);
LAYOUT_OFFSET(DLManagedTensorVersioned, deleter, 16);
LAYOUT_OFFSET(DLManagedTensorVersioned, flags, 24);
LAYOUT_OFFSET(DLManagedTensorVersioned, dl_tensor, 32);

#endif

/* Numbers that are written into programs. */
CLAIM(OPYARD_OK == 0);
CLAIM(OPYARD_ERROR_Internal == 1);
CLAIM(OPYARD_ERROR_OutOfMemory == 2);
CLAIM(OPYARD_ERROR_NoKernel == 3);
CLAIM(OPYARD_ERROR_BadArgument == 4);
CLAIM(OPYARD_ERROR_BadValue == 5);
CLAIM(OPYARD_ERROR_BadShape == 6);
CLAIM(OPYARD_ERROR_BadIndex == 7);
CLAIM(OPYARD_ERROR_BadSchema == 8);
CLAIM(OPYARD_ERROR_BadRegistration == 9);
CLAIM(OPYARD_ERROR_NotFound == 10);
CLAIM(OPYARD_ERROR_BadSignature == 11);
CLAIM(OPYARD_ERROR_BadReturn == 12);
CLAIM(OPYARD_ERROR_OperatorGone == 13);
CLAIM(OPYARD_ERROR_InterpreterGone == 14);
CLAIM(OPYARD_ERROR_BadPlugin == 15);
CLAIM(OPYARD_ERROR_Unsupported == 16);
CLAIM(OPYARD_ERROR_Python == 17);
CLAIM(OPYARD_ERROR_Foreign == 18);
CLAIM(OPYARD_ERROR_BadFuture == 19);
CLAIM(OPYARD_ERROR_Cancelled == 20);
CLAIM(OPYARD_ERROR_TimedOut == 21);
CLAIM(OPYARD_ERROR_BadGraph == 22);

CLAIM(OPYARD_KIND_None == 0);
CLAIM(OPYARD_KIND_Bool == 1);
CLAIM(OPYARD_KIND_Int == 2);
CLAIM(OPYARD_KIND_Double == 3);
CLAIM(OPYARD_KIND_Device == 4);
CLAIM(OPYARD_KIND_Tensor == 32);
CLAIM(OPYARD_KIND_String == 33);
CLAIM(OPYARD_KIND_List == 34);
CLAIM(OPYARD_KIND_Tuple == 35);
CLAIM(OPYARD_KIND_PyObject == 36);
CLAIM(OPYARD_KIND_Future == 38);
CLAIM(OPYARD_KIND_Storage == 39);
CLAIM(OPYARD_KIND_Generator == 40);
CLAIM(OPYARD_KIND_Capsule == 41);
CLAIM(OPYARD_KIND_Object == 42);
CLAIM(OPYARD_KIND_Dict == 43);
CLAIM(OPYARD_KIND_Complex == 44);
CLAIM(OPYARD_KIND_Stream == 45);
CLAIM(OPYARD_KIND_Enum == 46);

CLAIM(OPYARD_DEFINE == 0);
CLAIM(OPYARD_FRAGMENT == 1);
CLAIM(OPYARD_IMPLEMENT == 2);
CLAIM(OPYARD_KERNEL_OVERRIDE == 1);
CLAIM(OPYARD_KERNEL_FALLTHROUGH == 2);
CLAIM(OPYARD_KERNEL_RELEASES_GIL == 4);

/* Each function again: one that is declared otherwise in the header than here does not compile in C. */
#ifdef __cplusplus
extern "C" {
#endif
int opyard_set_error(int status, const char* message);
const char* opyard_last_error(void);
int opyard_last_status(void);
void opyard_clear_error(void);
int opyard_version(opyard_version_info* info);
void opyard_retain(const void* object);
void opyard_release(const void* object);
opyard_error* opyard_take_error(void);
int opyard_restore_error(const opyard_error* error);
int opyard_error_status(const opyard_error* error);
const char* opyard_error_text(const opyard_error* error);
int opyard_error_exception(const opyard_error* error, opyard_exception* exception);
int opyard_set_exception(int status, const char* message, const opyard_exception* exception);
int opyard_to_bool(opyard_value value, bool* result);
int opyard_to_int(opyard_value value, int64_t* result);
int opyard_to_double(opyard_value value, double* result);
int opyard_to_complex(opyard_value value, double result[2]);
int opyard_to_string(opyard_value value, const char** text, size_t* bytes);
int opyard_to_tensor(opyard_value value, opyard_tensor** tensor);
int opyard_to_capsule(opyard_value value, const char* name, void** pointer);
int opyard_size(opyard_value value, size_t* size);
int opyard_item(opyard_value value, size_t index, opyard_value* item);
int opyard_next_entry(opyard_value dict, size_t* position, opyard_value* key, opyard_value* item);
int opyard_value_text(opyard_value value, char* buffer, size_t capacity, size_t* bytes);
int opyard_stack_create(opyard_stack** stack);
void opyard_stack_destroy(opyard_stack* stack);
size_t opyard_stack_size(const opyard_stack* stack);
opyard_value opyard_get(const opyard_stack* stack, size_t index);
int opyard_push(opyard_stack* stack, opyard_value value);
int opyard_push_none(opyard_stack* stack);
int opyard_push_bool(opyard_stack* stack, bool value);
int opyard_push_int(opyard_stack* stack, int64_t value);
int opyard_push_double(opyard_stack* stack, double value);
int opyard_push_complex(opyard_stack* stack, double real, double imaginary);
int opyard_push_string(opyard_stack* stack, const char* text, size_t bytes);
int opyard_push_device(opyard_stack* stack, const char* device);
int opyard_push_tensor(opyard_stack* stack, opyard_tensor* tensor);
int opyard_push_capsule(opyard_stack* stack, void* pointer, const char* name, void* context,
    void (*deleter)(void* context));
int opyard_pack_list(opyard_stack* stack, size_t count);
int opyard_pack_tuple(opyard_stack* stack, size_t count);
int opyard_pack_dict(opyard_stack* stack, size_t count);
void opyard_drop(opyard_stack* stack, size_t count);
int opyard_tensor_empty(const int64_t* sizes, size_t dims, DLDataType dtype, const char* device,
    opyard_tensor** tensor);
int opyard_tensor_from_dlpack(DLManagedTensorVersioned* managed, opyard_tensor** tensor);
int opyard_tensor_to_dlpack(const opyard_tensor* tensor, DLManagedTensorVersioned** managed);
int opyard_tensor_view(const opyard_tensor* tensor, bool write, DLTensor* view);
int opyard_tensor_device(const opyard_tensor* tensor, opyard_device* device);
uint64_t opyard_tensor_keys(const opyard_tensor* tensor);
int opyard_register_device(const char* backend, const opyard_device_functions* functions);
int opyard_tensor_copy(opyard_tensor* to, const opyard_tensor* from);
int opyard_synchronise(opyard_device device);
int opyard_keys_of(const char* name, uint64_t* keys);
int opyard_keys_below(const char* name, uint64_t* keys);
uint64_t opyard_keys_without(uint64_t keys, uint64_t taken);
int opyard_keys_text(uint64_t keys, char* buffer, size_t capacity, size_t* bytes);
opyard_local_keys opyard_include_keys(uint64_t keys);
opyard_local_keys opyard_exclude_keys(uint64_t keys);
void opyard_restore_keys(opyard_local_keys former);
int opyard_find_operator(const char* name, const opyard_operator** op);
const char* opyard_operator_schema(const opyard_operator* op);
size_t opyard_operator_arguments(const opyard_operator* op);
size_t opyard_operator_results(const opyard_operator* op);
int opyard_push_defaults(const opyard_operator* op, opyard_stack* stack, size_t given);
int opyard_call(const opyard_operator* op, opyard_stack* stack);
int opyard_redispatch(const opyard_operator* op, uint64_t keys, opyard_stack* stack);
int opyard_call_at(const opyard_operator* op, const char* key, opyard_stack* stack);
int opyard_library_create(const opyard_block* block, opyard_library** library);
void opyard_library_destroy(opyard_library* library);
int opyard_define(opyard_library* library, const char* schema, const opyard_definition* options);
int opyard_implement(opyard_library* library, const char* name, const char* key, const opyard_kernel* kernel);
int opyard_implement_function(opyard_library* library, const char* name, const char* key,
    opyard_function function, const char* shown);
int opyard_composite(opyard_library* library, const char* schema, const char* body, const opyard_definition* options);
int opyard_derivative(opyard_library* library, const char* name, size_t count, const char* const* of,
    const char* const* texts);
int opyard_fallback(opyard_library* library, const opyard_kernel* kernel);
int opyard_thread_count(int* count);
int opyard_set_thread_count(int count);
int opyard_parallel_for(int64_t begin, int64_t end, int64_t grain, opyard_range_function function, void* context);
int opyard_start_task(const opyard_task* task, opyard_stack* stack);
int opyard_wait(opyard_value future, opyard_stack* stack);
int opyard_load_library(const char* path);
int opyard_unload_library(const char* path, size_t* in_use);
int opyard_load_environment_libraries(void);
int opyard_warn(const char* message);
#ifdef __cplusplus
}
#endif

/* A plugin macro that is used in each of the languages, and a function to make this no empty file. */
static int nothing(opyard_library* library) { return library == NULL ? OPYARD_OK : OPYARD_OK; }
OPYARD_C_LIBRARY(layout, nothing)
