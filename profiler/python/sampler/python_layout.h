// sampler/python_layout.h: memory layout of CPython's threads, frames and GIL.
//
// The one file of the sampler that knows versions of CPython is python_layout.c: it is C, since
// CPython's internal headers are. Everyone else reads copies of memory at these offsets.
//
// Depends on: nothing of ours.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPYARD_NO_OFFSET ((size_t)-1)

struct opyard_layout {
  // Of an interpreter: where the first of its thread states is named.
  size_t interpreter_threads;
  // Of a thread state.
  size_t thread_size;  // bytes from its begin that have all of the following
  size_t thread_next, thread_interpreter, thread_ident;
  size_t thread_native_id;  // or none
  size_t thread_frame;      // the innermost frame, or what names it: see frame_holder
  size_t frame_holder;      // in what thread_frame names, where the frame is; or none
  size_t thread_chunk;      // the piece of the stack in use; or none
  size_t thread_top;        // where the next frame would begin in it
  size_t thread_limit;      // where it ends
  // Of a frame.
  size_t frame_size;  // as thread_size
  size_t frame_code, frame_previous;
  size_t frame_instruction;           // a pointer into the code, or a number of code units
  int instruction_is_number;          // of which it is
  size_t frame_owner;                 // a byte; or none
  unsigned first_owner_without_code;  // owners from here on are no functions
  uintptr_t code_mask;                // bits of frame_code that are the address
  // Of a code object.
  size_t
      code_size;  // bytes from its begin that have all of the following; at most OPYARD_CODE_BYTES
  size_t code_text, code_qualified, code_file, code_first_line, code_lines, code_extra;
  size_t code_units;         // how many units its instructions have; or none: they are an object
  size_t code_instructions;  // where they begin, or where a bytes object of them is named
  int lines_are_pairs;       // the table of lines is as before 3.11
};
#define OPYARD_CODE_BYTES 256

extern const struct opyard_layout opyard_python_layout;

// Which thread state holds the GIL of an interpreter: whether it is held is an int at `locked`.
struct opyard_gil_place {
  const void* holder;  // null where there is no GIL
  const void* locked;
};
struct opyard_gil_place opyard_find_gil(const void* interpreter);

#ifdef __cplusplus
}
#endif
