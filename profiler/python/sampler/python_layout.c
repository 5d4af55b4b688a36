// sampler/python_layout.c: the table of CPython versions for the sampler.
// What CPython's own headers do is CPython's.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define Py_BUILD_CORE 1
#include <Python.h>  // first: it sets feature macros that the C library's headers look at

#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interp_structs.h>
#include <internal/pycore_interpframe_structs.h>
#include <internal/pycore_runtime_structs.h>
#else
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif
#endif

#pragma GCC diagnostic pop

#include "sampler/python_layout.h"

#define END_OF(type, member) (offsetof(type, member) + sizeof(((type*)0)->member))

#if PY_VERSION_HEX >= 0x030B0000
typedef struct _PyInterpreterFrame Frame;
#define HEAD_OF_THREADS offsetof(PyInterpreterState, threads.head)
#else
typedef struct _frame Frame;
#define HEAD_OF_THREADS offsetof(PyInterpreterState, tstate_head)
#endif

const struct opyard_layout opyard_python_layout = {
    .interpreter_threads = HEAD_OF_THREADS,
    .thread_next = offsetof(PyThreadState, next),
    .thread_interpreter = offsetof(PyThreadState, interp),
    .thread_ident = offsetof(PyThreadState, thread_id),
    .frame_previous =
#if PY_VERSION_HEX >= 0x030B0000
        offsetof(Frame, previous),
#else
        offsetof(Frame, f_back),
#endif
    .code_mask = ~(uintptr_t)0
#if PY_VERSION_HEX >= 0x030E0000
                 & ~(uintptr_t)7  // a tagged reference
#endif
    ,
#if PY_VERSION_HEX >= 0x030D0000
    .frame_code = offsetof(Frame, f_executable),
    .frame_instruction = offsetof(Frame, instr_ptr),
    .thread_frame = offsetof(PyThreadState, current_frame),
    .frame_holder = OPYARD_NO_OFFSET,
#elif PY_VERSION_HEX >= 0x030B0000
    .frame_code = offsetof(Frame, f_code),
    .frame_instruction = offsetof(Frame, prev_instr),
    .thread_frame = offsetof(PyThreadState, cframe),
    .frame_holder = offsetof(_PyCFrame, current_frame),
#else
    .frame_code = offsetof(Frame, f_code),
    .frame_instruction = offsetof(Frame, f_lasti),
    .instruction_is_number = 1,
    .thread_frame = offsetof(PyThreadState, frame),
    .frame_holder = OPYARD_NO_OFFSET,
#endif
#if PY_VERSION_HEX >= 0x030B0000
    .thread_native_id = offsetof(PyThreadState, native_thread_id),
    .thread_chunk = offsetof(PyThreadState, datastack_chunk),
    .thread_top = offsetof(PyThreadState, datastack_top),
    .thread_limit = offsetof(PyThreadState, datastack_limit),
    .thread_size = END_OF(PyThreadState, datastack_limit),
    .frame_owner = offsetof(Frame, owner),
    .first_owner_without_code = 3,
    .frame_size = offsetof(Frame, localsplus),
#else
    .thread_native_id = OPYARD_NO_OFFSET,
    .thread_chunk = OPYARD_NO_OFFSET,
    .thread_size = END_OF(PyThreadState, thread_id),
    .frame_owner = OPYARD_NO_OFFSET,
    .frame_size = END_OF(Frame, f_lasti),
#endif
    .code_text = offsetof(PyCodeObject, co_name),
    .code_file = offsetof(PyCodeObject, co_filename),
    .code_first_line = offsetof(PyCodeObject, co_firstlineno),
    .code_lines = offsetof(PyCodeObject, co_linetable),
    .code_extra = offsetof(PyCodeObject, co_extra),
#if PY_VERSION_HEX >= 0x030B0000
    .code_qualified = offsetof(PyCodeObject, co_qualname),
    .code_units = offsetof(PyVarObject, ob_size),
    .code_instructions = offsetof(PyCodeObject, co_code_adaptive),
    .code_size = offsetof(PyCodeObject, co_code_adaptive),
#else
    .code_qualified = offsetof(PyCodeObject, co_name),
    .code_units = OPYARD_NO_OFFSET,
    .code_instructions = offsetof(PyCodeObject, co_code),
    .code_size = END_OF(PyCodeObject, co_extra),
    .lines_are_pairs = 1,
#endif
};

#if PY_VERSION_HEX >= 0x030B0000
_Static_assert(offsetof(PyCodeObject, co_code_adaptive) <= OPYARD_CODE_BYTES,
               "raise OPYARD_CODE_BYTES");
#else
_Static_assert(sizeof(PyCodeObject) <= OPYARD_CODE_BYTES, "raise OPYARD_CODE_BYTES");
#endif

struct opyard_gil_place opyard_find_gil(const void* interpreter) {
  struct opyard_gil_place place = {NULL, NULL};
#ifndef Py_GIL_DISABLED
#if PY_VERSION_HEX >= 0x030C0000
  const struct _gil_runtime_state* const gil = ((const PyInterpreterState*)interpreter)->ceval.gil;
#else
  const struct _gil_runtime_state* const gil = &_PyRuntime.ceval.gil;
  (void)interpreter;
#endif
  place.holder = &gil->last_holder;
  place.locked = &gil->locked;
#else
  (void)interpreter;
#endif
  return place;
}
