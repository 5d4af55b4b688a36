/* test/bench/cpp/floors.c: the floors of the Python rows, as an extension module of its own.
 *
 * The cheapest code on CPython 3.11 that does each job at all: no schema, no message, one argument.
 * Nothing of Opyard is in here, and nothing of here is in Opyard.
 *
 *   Wrapper            owns one counted object; memory from a free list of one
 *   Wrapper.alias()    a fresh object on the same memory, and a fresh wrapper
 *   Native(f)          an operator with vectorcall whose kernel is a C function, reached by pointer
 *   Call(function)     an operator with vectorcall whose kernel is a Python function
 *   Handled(handler)   an operator with vectorcall that asks a Python handler of the argument's class
 *   repeat(...)        a C loop over a Python function
 *   exchange(*arrays)  what __dlpack__ costs for each: ask, take over, give back
 *   by_table(*arrays)  the same by the exchange table of their type, which is looked up once
 *   by_buffer(*arrays) the same by the buffer protocol
 *   capture(), forget() a profile function that stores a time and an address for each event, on this thread
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stdatomic.h>
#include <stdint.h>
#include <structmember.h>

/* What a wrapper owns. As large as a small tensor is, counted as a tensor is. */
typedef struct Object {
  _Atomic uint32_t owners;
  struct Object* memory; /* the object whose memory this one shares, or null */
  int64_t geometry[12];  /* offset, number, and five sizes and strides */
} Object;

typedef Object* (*Kernel)(Object*);

typedef struct {
  PyObject_HEAD
  Object* object;
} Wrapper;

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Kernel kernel;       /* of Native */
  PyObject* function;  /* of Call */
} Operator;

static PyTypeObject* wrapper_type;
static Wrapper* free_wrapper;
static Object* free_object;
static Object* stored; /* what the kernel returns */
static PyObject* classes; /* a tuple of the wrapper's type */

/* ---- counted objects ---- */

static Object* retain(Object* object) {
  atomic_fetch_add_explicit(&object->owners, 1, memory_order_relaxed);
  return object;
}

/* A last owner need not count: no one else can see the object. */
static void release(Object* object) {
  if (atomic_load_explicit(&object->owners, memory_order_acquire) != 1 &&
      atomic_fetch_sub_explicit(&object->owners, 1, memory_order_acq_rel) != 1) {
    return;
  }
  if (object->memory != NULL) release(object->memory);
  if (free_object == NULL) {
    free_object = object;
  } else {
    free(object);
  }
}

static Object* new_object(void) {
  Object* object = free_object;
  if (object != NULL) {
    free_object = NULL;
  } else {
    object = malloc(sizeof *object);
    if (object == NULL) return NULL;
  }
  object->owners = 1;
  object->memory = NULL;
  return object;
}

static Object* new_view(Object* of) {
  Object* view = new_object();
  if (view == NULL) return NULL;
  view->memory = retain(of);
  memcpy(view->geometry, of->geometry, sizeof view->geometry);
  return view;
}

/* ---- Wrapper ---- */

/* Takes over an owner. */
static PyObject* wrap(Object* object) {
  Wrapper* wrapper = free_wrapper;
  if (wrapper != NULL) {
    free_wrapper = NULL;
    Py_SET_REFCNT(wrapper, 1);
  } else {
    wrapper = PyObject_New(Wrapper, wrapper_type);
    if (wrapper == NULL) return NULL;
  }
  wrapper->object = object;
  return (PyObject*)wrapper;
}

static void wrapper_dealloc(PyObject* self) {
  release(((Wrapper*)self)->object);
  if (free_wrapper == NULL) {
    free_wrapper = (Wrapper*)self; /* its reference to the type waits with it */
    return;
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject* wrapper_new(PyTypeObject* type, PyObject* args, PyObject* names) {
  (void)type, (void)args, (void)names;
  Object* object = new_object();
  if (object == NULL) return PyErr_NoMemory();
  memset(object->geometry, 0, sizeof object->geometry);
  return wrap(object);
}

static PyObject* wrapper_alias(PyObject* self, PyObject* unused) {
  (void)unused;
  Object* view = new_view(((Wrapper*)self)->object);
  return view == NULL ? PyErr_NoMemory() : wrap(view);
}

static PyMethodDef wrapper_methods[] = {{"alias", wrapper_alias, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot wrapper_slots[] = {{Py_tp_new, wrapper_new},
                                      {Py_tp_dealloc, wrapper_dealloc},
                                      {Py_tp_methods, wrapper_methods},
                                      {0, NULL}};
static PyType_Spec wrapper_spec = {"floors.Wrapper", sizeof(Wrapper), 0, Py_TPFLAGS_DEFAULT, wrapper_slots};

/* ---- operators ---- */

static int is_one_wrapper(PyObject* const* args, size_t flags, PyObject* names) {
  return PyVectorcall_NARGS(flags) == 1 && names == NULL && Py_IS_TYPE(args[0], wrapper_type);
}

static PyObject* refuse(void) {
  PyErr_SetNone(PyExc_TypeError);
  return NULL;
}

static PyObject* call_native(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  if (!is_one_wrapper(args, flags, names)) return refuse();
  Object* result = ((Operator*)self)->kernel(((Wrapper*)args[0])->object);
  return result == NULL ? PyErr_NoMemory() : wrap(result);
}

/* The same objects that came in, in the array that they came in. */
static PyObject* call_python(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  if (!is_one_wrapper(args, flags, names)) return refuse();
  PyObject* result = PyObject_Vectorcall(((Operator*)self)->function, args, flags, NULL);
  if (result != NULL && !Py_IS_TYPE(result, wrapper_type)) {
    Py_DECREF(result);
    return refuse();
  }
  return result;
}

/* The same with any number of them, and with names, which the function checks. */
static PyObject* call_python_many(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  for (Py_ssize_t i = 0; i < PyVectorcall_NARGS(flags); ++i) {
    if (!Py_IS_TYPE(args[i], wrapper_type)) return refuse();
  }
  PyObject* result = PyObject_Vectorcall(((Operator*)self)->function, args, flags, names);
  if (result != NULL && !Py_IS_TYPE(result, wrapper_type)) {
    Py_DECREF(result);
    return refuse();
  }
  return result;
}

/* The handler gets the operator, the classes, and the arguments in a tuple. */
static PyObject* call_handled(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  if (!is_one_wrapper(args, flags, names)) return refuse();
  PyObject* packed = PyTuple_Pack(1, args[0]);
  if (packed == NULL) return NULL;
  PyObject* array[5] = {NULL, (PyObject*)wrapper_type, self, classes, packed};
  PyObject* result = PyObject_Vectorcall(((Operator*)self)->function, array + 1,
                                         4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
  Py_DECREF(packed);
  return result;
}

static Object* pass_stored(Object* object) {
  (void)object;
  return retain(stored);
}

static void operator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((Operator*)self)->function);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Operator, vectorcall), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
static PyType_Slot operator_slots[] = {{Py_tp_call, PyVectorcall_Call},
                                       {Py_tp_dealloc, operator_dealloc},
                                       {Py_tp_members, operator_members},
                                       {0, NULL}};
static PyType_Spec operator_spec = {"floors.Operator", sizeof(Operator), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    operator_slots};
static PyTypeObject* operator_type;

static PyObject* make_operator(vectorcallfunc call, Kernel kernel, PyObject* function) {
  Operator* made = PyObject_New(Operator, operator_type);
  if (made == NULL) return NULL;
  made->vectorcall = call;
  made->kernel = kernel;
  made->function = function;
  Py_XINCREF(function);
  return (PyObject*)made;
}

/* ---- the module's functions ---- */

static PyObject* native(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return make_operator(call_native, pass_stored, NULL);
}

static PyObject* python(PyObject* module, PyObject* function) {
  (void)module;
  return make_operator(call_python, NULL, function);
}

static PyObject* python_many(PyObject* module, PyObject* function) {
  (void)module;
  return make_operator(call_python_many, NULL, function);
}

static PyObject* handled(PyObject* module, PyObject* handler) {
  (void)module;
  return make_operator(call_handled, NULL, handler);
}

/* repeat(function, wrapper, times): what C++ pays that holds the GIL. The object has a live wrapper;
   the result is taken out of its own. */
static PyObject* repeat(PyObject* module, PyObject* const* args, Py_ssize_t count) {
  (void)module;
  if (count != 3 || !Py_IS_TYPE(args[1], wrapper_type)) return refuse();
  const long times = PyLong_AsLong(args[2]);
  for (long i = 0; i < times; ++i) {
    PyObject* array[2] = {NULL, args[1]};
    Py_INCREF(args[1]);
    PyObject* result =
        PyObject_Vectorcall(args[0], array + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(args[1]);
    if (result == NULL) return NULL;
    if (!Py_IS_TYPE(result, wrapper_type)) {
      Py_DECREF(result);
      return refuse();
    }
    Object* object = retain(((Wrapper*)result)->object);
    Py_DECREF(result);
    release(object);
  }
  Py_RETURN_NONE;
}

/* The head of a DLManagedTensorVersioned: enough to give it back. */
typedef struct Versioned {
  uint32_t version[2];
  void* context;
  void (*deleter)(struct Versioned*);
  uint64_t flags;
} Versioned;

/* The functions of an exchange table, by their places. */
typedef struct {
  void* header[2];
  void* allocator;
  int (*from_object)(void*, Versioned**);
} Table;

static PyObject* dlpack_name;
static PyObject* version;       /* (1, 0) */
static PyObject* version_names; /* ("max_version",) */

static int exchange_one(PyObject* array) {
  PyObject* arguments[] = {array, version};
  PyObject* capsule = PyObject_VectorcallMethod(dlpack_name, arguments, 1, version_names);
  if (capsule == NULL) return -1;
  Versioned* managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (managed == NULL || PyCapsule_SetName(capsule, "used_dltensor_versioned") < 0) {
    Py_DECREF(capsule);
    return -1;
  }
  Py_DECREF(capsule);
  if (managed->deleter != NULL) managed->deleter(managed);
  return 0;
}

static PyObject* exchange(PyObject* module, PyObject* const* arrays, Py_ssize_t count) {
  (void)module;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (exchange_one(arrays[i]) < 0) return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject* by_table(PyObject* module, PyObject* const* arrays, Py_ssize_t count) {
  static PyTypeObject* type;
  static Table* table;
  (void)module;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (Py_TYPE(arrays[i]) != type) {
      PyObject* capsule = PyObject_GetAttrString((PyObject*)Py_TYPE(arrays[i]), "__dlpack_c_exchange_api__");
      if (capsule == NULL) return NULL;
      table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
      type = Py_TYPE(arrays[i]);
      Py_DECREF(capsule);
      if (table == NULL) return NULL;
    }
    Versioned* managed;
    if (table->from_object(arrays[i], &managed) != 0) return NULL;
    if (managed->deleter != NULL) managed->deleter(managed);
  }
  Py_RETURN_NONE;
}

static PyObject* by_buffer(PyObject* module, PyObject* const* arrays, Py_ssize_t count) {
  (void)module;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_buffer view;
    if (PyObject_GetBuffer(arrays[i], &view, PyBUF_FULL_RO) < 0) return NULL;
    PyBuffer_Release(&view);
  }
  Py_RETURN_NONE;
}

/* ---- profiles ---- */

#if defined(__x86_64__)
#include <x86intrin.h>
static uint64_t read_clock(void) { return __rdtsc(); }
#else
#include <time.h>
static uint64_t read_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif

/* Events go round in memory of a block's size. No one reads them: volatile, so that the compiler stores them. */
static volatile struct { uint64_t time; void* what; } events[4096];
static unsigned next_event;

static void store_event(void* what) {
  events[next_event].time = read_clock();
  events[next_event].what = what;
  next_event = (next_event + 1) % 4096;
}

#if PY_VERSION_HEX < 0x030C0000
static int on_event(PyObject* self, PyFrameObject* frame, int what, PyObject* argument) {
  (void)self;
  if (what == PyTrace_CALL || what == PyTrace_RETURN) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    store_event(code);
    Py_DECREF(code);
  } else if (what == PyTrace_C_CALL || what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION) {
    store_event(((PyCFunctionObject*)argument)->m_ml);
  }
  return 0;
}

static PyObject* capture(PyObject* module, PyObject* none) {
  (void)module;
  (void)none;
  PyEval_SetProfile(on_event, NULL);
  Py_RETURN_NONE;
}

static PyObject* forget(PyObject* module, PyObject* none) {
  (void)module;
  (void)none;
  PyEval_SetProfile(NULL, NULL);
  Py_RETURN_NONE;
}
#else
/* Callbacks of sys.monitoring are objects with vectorcall, which get (code, offset, callable, …). */
typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
} Callback;

static PyObject* on_code(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  (void)self, (void)flags, (void)names;
  store_event(args[0]);
  Py_RETURN_NONE;
}
static PyObject* on_c(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  (void)self, (void)flags, (void)names;
  store_event(args[2]);
  Py_RETURN_NONE;
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Callback, vectorcall), Py_READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
static PyType_Slot callback_slots[] = {{Py_tp_call, PyVectorcall_Call}, {Py_tp_members, callback_members}, {0, NULL}};
static PyType_Spec callback_spec = {"floors.Callback", sizeof(Callback), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, callback_slots};

/* The tool is number 5, which no one takes by convention. */
static int set_tool(int on) {
  static const char* const kNames[] = {"PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD",
                                       "PY_UNWIND", "CALL", "C_RETURN", "C_RAISE"};
  static PyTypeObject* type;
  PyObject* monitoring = PySys_GetObject("monitoring");
  PyObject* names = PyObject_GetAttrString(monitoring, "events");
  long all = 0;
  if (type == NULL) type = (PyTypeObject*)PyType_FromSpec(&callback_spec);
  if (names == NULL || type == NULL) return -1;
  if (on) {
    PyObject* taken = PyObject_CallMethod(monitoring, "use_tool_id", "is", 5, "floors");
    if (taken == NULL) return -1;
    Py_DECREF(taken);
  }
  for (int i = 0; i < 9; ++i) {
    PyObject* event = PyObject_GetAttrString(names, kNames[i]);
    if (event == NULL) return -1;
    if (i < 7) all |= PyLong_AsLong(event);
    PyObject* callback = Py_None;
    if (on) {
      callback = (PyObject*)PyObject_New(Callback, type);
      ((Callback*)callback)->vectorcall = i < 6 ? on_code : on_c;
    }
    PyObject* former = PyObject_CallMethod(monitoring, "register_callback", "iOO", 5, event, callback);
    Py_DECREF(event);
    if (on) Py_DECREF(callback);
    if (former == NULL) return -1;
    Py_DECREF(former);
  }
  Py_DECREF(names);
  PyObject* done = PyObject_CallMethod(monitoring, "set_events", "il", 5, on ? all : 0L);
  if (done == NULL) return -1;
  Py_DECREF(done);
  if (!on) Py_XDECREF(PyObject_CallMethod(monitoring, "free_tool_id", "i", 5));
  return PyErr_Occurred() == NULL ? 0 : -1;
}

static PyObject* capture(PyObject* module, PyObject* none) {
  (void)module;
  (void)none;
  if (set_tool(1) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject* forget(PyObject* module, PyObject* none) {
  (void)module;
  (void)none;
  if (set_tool(0) < 0) return NULL;
  Py_RETURN_NONE;
}
#endif

static PyMethodDef functions[] = {{"native", native, METH_NOARGS, NULL},
                                  {"python", python, METH_O, NULL},
                                  {"python_many", python_many, METH_O, NULL},
                                  {"handled", handled, METH_O, NULL},
                                  {"repeat", (PyCFunction)(void (*)(void))repeat, METH_FASTCALL, NULL},
                                  {"exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL, NULL},
                                  {"by_table", (PyCFunction)(void (*)(void))by_table, METH_FASTCALL, NULL},
                                  {"by_buffer", (PyCFunction)(void (*)(void))by_buffer, METH_FASTCALL, NULL},
                                  {"capture", capture, METH_NOARGS, NULL},
                                  {"forget", forget, METH_NOARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static int fill(PyObject* module) {
  wrapper_type = (PyTypeObject*)PyType_FromSpec(&wrapper_spec);
  operator_type = (PyTypeObject*)PyType_FromSpec(&operator_spec);
  stored = calloc(1, sizeof *stored);
  dlpack_name = PyUnicode_InternFromString("__dlpack__");
  version = Py_BuildValue("(ii)", 1, 0);
  version_names = Py_BuildValue("(s)", "max_version");
  if (wrapper_type == NULL || operator_type == NULL || stored == NULL || dlpack_name == NULL || version == NULL ||
      version_names == NULL) {
    return -1;
  }
  stored->owners = 1;
  classes = PyTuple_Pack(1, wrapper_type);
  if (classes == NULL) return -1;
  return PyModule_AddType(module, wrapper_type);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "floors", NULL, 0, functions, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_floors(void) { return PyModuleDef_Init(&definition); }
