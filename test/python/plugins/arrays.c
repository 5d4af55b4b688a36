/* test/python/plugins/arrays.c: a library of arrays that is not Opyard, as an extension module of its own.
 *
 * Its arrays are float32 in one dimension or more, row-major. Their type has DLPack's exchange table, and
 * nothing else by which they could be exchanged. Nothing of Opyard is in here: the structs are written down after
 * DLPack's specification.
 *
 *   Array(values, shape=None, read_only=False)
 *   Older, Subclassable      the same with the table under its older name; one that may have subclasses
 *   array.fail               None, an exception that the table raises, "quietly" or "nothing"
 *   array.exports              whether the table exports the array although it fails to give it away
 *   array.set(i, value)
 *   array.move()             its values are in other memory from now on
 *   counts()                 (structs handed out, structs given back)
 *
 * and what a consumer does with the table of any type:
 *
 *   describe(array)          asks, describes, gives back
 *   borrow(array)            the same without owning
 *   remake(type, array)      through the tables of both
 *   allocate(type, shape, code, bits)   an array of that type on memory that it allocated
 *   refuse(type, ndim)       what the allocator says to so many dimensions
 *   stream(type, device)     whether its current stream is none; that of DLPack's device type, or the CPU's
 *   buffer(object, flags)    asks for a buffer and gives it back; an exception that is set beside one is an error
 *   hold(array)              a capsule that owns the struct
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

typedef struct {
  int32_t type, id;
} Device;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} ElementType;
typedef struct {
  void* data;
  Device device;
  int32_t ndim;
  ElementType element;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} Description;
typedef struct Managed {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct Managed*);
  uint64_t flags;
  Description array;
} Managed;
typedef struct Table {
  uint32_t major, minor;
  struct Table* older;
  int (*allocate)(Description*, Managed**, void*, void (*)(void*, const char*, const char*));
  int (*from_object)(void*, Managed**);
  int (*to_object)(Managed*, void**);
  int (*borrow)(void*, Description*);
  int (*stream)(int32_t, int32_t, void**);
} Table;

enum { kMostDims = 8 };

/* What the arrays and the structs that were handed out share. */
typedef struct {
  int owners;
  float values[];
} Memory;

typedef struct {
  PyObject_HEAD
  Memory* memory;   /* ours, or null */
  Managed* managed; /* of another library, or null */
  float* values;
  int32_t ndim;
  int64_t shape[kMostDims], strides[kMostDims];
  int read_only;
  char exports;
  PyObject* fail;
} Array;

typedef struct {
  Managed managed;
  Memory* memory;
  int64_t shape[kMostDims], strides[kMostDims];
} Export;

static PyTypeObject *array_type, *older_type, *subclassable_type;
static long handed_out, given_back;

static void release(Memory* memory) {
  if (memory != NULL && --memory->owners == 0) free(memory);
}

static void delete_export(Managed* managed) {
  Export* export = managed->context;
  release(export->memory);
  free(export);
  ++given_back;
}

static void row_major(int32_t ndim, const int64_t* shape, int64_t* strides) {
  int64_t step = 1;
  for (int32_t i = ndim; i-- > 0; step *= shape[i]) strides[i] = step;
}

static Managed* make_export(Memory* memory, float* values, int32_t ndim, const int64_t* shape, const int64_t* strides,
                            int read_only) {
  Export* export = calloc(1, sizeof *export);
  for (int32_t i = 0; i < ndim; ++i) {
    export->shape[i] = shape[i];
    export->strides[i] = strides[i];
  }
  export->memory = memory;
  if (memory != NULL) ++memory->owners;
  export->managed = (Managed){1, 3, export, delete_export, read_only ? 1 : 0,
                              {values, {1, 0}, ndim, {2, 32, 1}, export->shape, export->strides, 0}};
  ++handed_out;
  return &export->managed;
}

/* ---- the table ---- */

static int from_object(void* object, Managed** out) {
  Array* array = object;
  if (array->fail == Py_None) {
    *out = make_export(array->memory, array->values, array->ndim, array->shape, array->strides, array->read_only);
    return 0;
  }
  if (!PyUnicode_Check(array->fail)) {
    PyErr_SetObject((PyObject*)Py_TYPE(array->fail), array->fail);
    return -1;
  }
  *out = NULL;
  return PyUnicode_CompareWithASCIIString(array->fail, "quietly") == 0 ? -1 : 0;
}

static Array* new_array(PyTypeObject* type) {
  Array* array = (Array*)type->tp_alloc(type, 0);
  if (array != NULL) {
    Py_INCREF(Py_None);
    array->fail = Py_None;
  }
  return array;
}

static int make_from(PyTypeObject* type, Managed* managed, void** out) {
  Array* array = managed->array.ndim > kMostDims || managed->array.element.bits != 32 ? NULL : new_array(type);
  if (array == NULL) {
    if (managed->deleter != NULL) managed->deleter(managed);
    if (PyErr_Occurred() == NULL) PyErr_SetString(PyExc_BufferError, "only float32 of up to 8 dimensions");
    return -1;
  }
  array->managed = managed;
  array->values = (float*)((char*)managed->array.data + managed->array.byte_offset);
  array->ndim = managed->array.ndim;
  for (int32_t i = 0; i < array->ndim; ++i) {
    array->shape[i] = managed->array.shape[i];
    array->strides[i] = managed->array.strides[i];
  }
  array->read_only = (managed->flags & 1) != 0;
  *out = array;
  return 0;
}
static int to_object(Managed* managed, void** out) { return make_from(array_type, managed, out); }
static int to_older(Managed* managed, void** out) { return make_from(older_type, managed, out); }

static int borrow_object(void* object, Description* out) {
  Array* array = object;
  if (array->fail != Py_None && !array->exports) {
    PyErr_SetString(PyExc_RuntimeError, "an array that fails is not exported");
    return -1;
  }
  *out = (Description){array->values, {1, 0}, array->ndim, {2, 32, 1}, array->shape, array->strides, 0};
  return 0;
}

static int allocate_memory(Description* wanted, Managed** out, void* context,
                           void (*set_error)(void*, const char*, const char*)) {
  int64_t count = 1, strides[kMostDims];
  if (wanted->ndim > kMostDims) {
    set_error(context, "ValueError", "too many dimensions");
    return -1;
  }
  for (int32_t i = 0; i < wanted->ndim; ++i) count *= wanted->shape[i];
  row_major(wanted->ndim, wanted->shape, strides);
  Memory* memory = calloc(1, sizeof *memory + (size_t)count * sizeof(float));
  *out = make_export(memory, memory->values, wanted->ndim, wanted->shape, strides, 0);
  return 0;
}

static int current_stream(int32_t type, int32_t id, void** out) {
  (void)type;
  (void)id;
  *out = NULL;
  return 0;
}

static Table table = {1, 3, NULL, allocate_memory, from_object, to_object, borrow_object, current_stream};
static Table older_table = {1, 3, NULL, allocate_memory, from_object, to_older, NULL, current_stream};

/* ---- the type ---- */

static PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"values", "shape", "read_only", NULL};
  PyObject *values, *shape = Py_None;
  int read_only = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Op", names, &values, &shape, &read_only)) return NULL;
  PyObject* list = PySequence_List(values);
  if (list == NULL) return NULL;
  const Py_ssize_t count = PyList_GET_SIZE(list);
  Array* array = new_array(type);
  if (array != NULL) {
    array->memory = calloc(1, sizeof(Memory) + (size_t)count * sizeof(float));
    array->memory->owners = 1;
    array->values = array->memory->values;
    array->read_only = read_only;
    for (Py_ssize_t i = 0; i < count; ++i) array->values[i] = (float)PyFloat_AsDouble(PyList_GET_ITEM(list, i));
    array->ndim = shape == Py_None ? 1 : (int32_t)PyTuple_GET_SIZE(shape);
    array->shape[0] = count;
    for (int32_t i = 0; shape != Py_None && i < array->ndim; ++i) {
      array->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    }
    row_major(array->ndim, array->shape, array->strides);
  }
  Py_DECREF(list);
  if (PyErr_Occurred()) Py_CLEAR(array);
  return (PyObject*)array;
}

static void deallocate(PyObject* self) {
  Array* array = (Array*)self;
  PyTypeObject* type = Py_TYPE(self);
  release(array->memory);
  if (array->managed != NULL && array->managed->deleter != NULL) array->managed->deleter(array->managed);
  Py_CLEAR(array->fail);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject* list_level(const Array* array, int32_t level, const float* at) {
  if (level == array->ndim) return PyFloat_FromDouble(*at);
  PyObject* list = PyList_New(array->shape[level]);
  for (int64_t i = 0; list != NULL && i < array->shape[level]; ++i) {
    PyObject* item = list_level(array, level + 1, at + i * array->strides[level]);
    if (item == NULL) Py_CLEAR(list);
    else PyList_SET_ITEM(list, i, item);
  }
  return list;
}
static PyObject* to_list(PyObject* self, PyObject* unused) {
  (void)unused;
  return list_level((Array*)self, 0, ((Array*)self)->values);
}
static PyObject* set_value(PyObject* self, PyObject* args) {
  Py_ssize_t i;
  double value;
  if (!PyArg_ParseTuple(args, "nd", &i, &value)) return NULL;
  ((Array*)self)->values[i] = (float)value;
  Py_RETURN_NONE;
}
static PyObject* move_values(PyObject* self, PyObject* unused) {
  (void)unused;
  Array* array = (Array*)self;
  size_t bytes = sizeof(float);
  for (int32_t i = 0; i < array->ndim; ++i) bytes *= (size_t)array->shape[i];
  Memory* memory = calloc(1, sizeof *memory + bytes);
  if (memory == NULL) return PyErr_NoMemory();
  memory->owners = 1;
  memcpy(memory->values, array->values, bytes);
  release(array->memory);
  array->memory = memory;
  array->values = memory->values;
  Py_RETURN_NONE;
}
static PyObject* get_address(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((Array*)self)->values);
}

static PyMethodDef methods[] = {{"tolist", to_list, METH_NOARGS, NULL},
                                {"set", set_value, METH_VARARGS, NULL},
                                {"move", move_values, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {{"address", get_address, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef members[] = {{"fail", T_OBJECT, offsetof(Array, fail), 0, NULL},
                                {"exports", T_BOOL, offsetof(Array, exports), 0, NULL},
                                {"read_only", T_INT, offsetof(Array, read_only), READONLY, NULL},
                                {NULL, 0, 0, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_new, make},           {Py_tp_dealloc, deallocate}, {Py_tp_methods, methods},
                              {Py_tp_getset, properties},  {Py_tp_members, members},    {0, NULL}};
static PyType_Spec array_spec = {"opyard_test_arrays.Array", sizeof(Array), 0, Py_TPFLAGS_DEFAULT, slots};
static PyType_Spec older_spec = {"opyard_test_arrays.Older", sizeof(Array), 0, Py_TPFLAGS_DEFAULT, slots};
static PyType_Spec subclassable_spec = {"opyard_test_arrays.Subclassable", sizeof(Array), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

/* ---- a consumer of tables ---- */

static Table* table_of(PyObject* type) {
  PyObject* capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  if (capsule == NULL) return NULL;
  Table* found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  Py_DECREF(capsule);
  return found;
}

static PyObject* tuple_of(int32_t count, const int64_t* words) {
  PyObject* tuple = PyTuple_New(count);
  for (int32_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(words[i]));
  return tuple;
}
static PyObject* describe_array(const Description* d, unsigned long long flags) {
  return Py_BuildValue("{s:K,s:(ii),s:(iii),s:N,s:N,s:K}", "data", (unsigned long long)(uintptr_t)d->data + d->byte_offset,
                       "device", d->device.type, d->device.id, "dtype", d->element.code, d->element.bits,
                       d->element.lanes, "shape", tuple_of(d->ndim, d->shape), "strides", tuple_of(d->ndim, d->strides),
                       "flags", flags);
}

static PyObject* describe(PyObject* module, PyObject* object) {
  (void)module;
  Managed* managed = NULL;
  Table* from = table_of((PyObject*)Py_TYPE(object));
  if (from == NULL || from->from_object(object, &managed) != 0) return NULL;
  PyObject* described = describe_array(&managed->array, managed->flags);
  if (managed->deleter != NULL) managed->deleter(managed);
  return described;
}
static PyObject* borrow(PyObject* module, PyObject* object) {
  (void)module;
  Description exported;
  Table* from = table_of((PyObject*)Py_TYPE(object));
  return from == NULL || from->borrow(object, &exported) != 0 ? NULL : describe_array(&exported, 0);
}
static PyObject* remake(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *type, *object;
  Managed* managed = NULL;
  void* made = NULL;
  if (!PyArg_ParseTuple(args, "OO", &type, &object)) return NULL;
  Table *from = table_of((PyObject*)Py_TYPE(object)), *to = table_of(type);
  if (from == NULL || to == NULL || from->from_object(object, &managed) != 0) return NULL;
  return to->to_object(managed, &made) == 0 ? made : NULL;
}

typedef struct {
  char kind[64], message[256];
} Failure;
static void note(void* context, const char* kind, const char* message) {
  Failure* failure = context;
  snprintf(failure->kind, sizeof failure->kind, "%s", kind);
  snprintf(failure->message, sizeof failure->message, "%s", message);
}

static PyObject* allocate(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *type, *shape;
  int code = 2, bits = 32, lanes = 1, device = 1;
  if (!PyArg_ParseTuple(args, "OO!|iiii", &type, &PyTuple_Type, &shape, &code, &bits, &lanes, &device)) return NULL;
  Table* found = table_of(type);
  if (found == NULL) return NULL;
  int64_t sizes[kMostDims] = {0};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape) && i < kMostDims; ++i) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
  }
  Description wanted = {NULL, {device, 0}, (int32_t)PyTuple_GET_SIZE(shape),
                        {(uint8_t)code, (uint8_t)bits, (uint16_t)lanes}, sizes, NULL, 0};
  Managed* managed = NULL;
  Failure failure = {"", ""};
  int status;
  Py_BEGIN_ALLOW_THREADS
  status = found->allocate(&wanted, &managed, &failure, note);
  Py_END_ALLOW_THREADS
  if (status != 0) return Py_BuildValue("ss", failure.kind, failure.message);
  void* made = NULL;
  return found->to_object(managed, &made) == 0 ? made : NULL;
}

static PyObject* stream(PyObject* module, PyObject* args) {
  (void)module;
  void* current = &table;
  PyObject* type = NULL;
  int device = 1;
  if (!PyArg_ParseTuple(args, "O|i", &type, &device)) return NULL;
  Table* found = table_of(type);
  if (found == NULL || found->stream(device, 0, &current) != 0) return NULL;
  return PyBool_FromLong(current == NULL);
}
static PyObject* buffer(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* object = NULL;
  int flags = 0;
  Py_buffer view;
  if (!PyArg_ParseTuple(args, "Oi", &object, &flags)) return NULL;
  if (PyObject_GetBuffer(object, &view, flags) != 0) return NULL;
  if (PyErr_Occurred() != NULL) {
    PyErr_SetString(PyExc_AssertionError, "a buffer came, and an exception is set");
    return NULL;
  }
  PyBuffer_Release(&view);
  Py_RETURN_NONE;
}
static PyObject* version(PyObject* module, PyObject* type) {
  (void)module;
  Table* found = table_of(type);
  return found == NULL ? NULL : Py_BuildValue("IIO", found->major, found->minor, found->older == NULL ? Py_True : Py_False);
}

static void drop_held(PyObject* capsule) {
  Managed* managed = PyCapsule_GetPointer(capsule, "held");
  if (managed->deleter != NULL) managed->deleter(managed);
}
static PyObject* hold(PyObject* module, PyObject* object) {
  (void)module;
  Managed* managed = NULL;
  Table* from = table_of((PyObject*)Py_TYPE(object));
  if (from == NULL || from->from_object(object, &managed) != 0) return NULL;
  return PyCapsule_New(managed, "held", drop_held);
}

static PyObject* counts(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return Py_BuildValue("ll", handed_out, given_back);
}

static PyMethodDef functions[] = {{"describe", describe, METH_O, NULL},
                                  {"borrow", borrow, METH_O, NULL},
                                  {"remake", remake, METH_VARARGS, NULL},
                                  {"allocate", allocate, METH_VARARGS, NULL},
                                  {"stream", stream, METH_VARARGS, NULL},
                                  {"buffer", buffer, METH_VARARGS, NULL},
                                  {"version", version, METH_O, NULL},
                                  {"hold", hold, METH_O, NULL},
                                  {"counts", counts, METH_NOARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

static PyTypeObject* add(PyObject* module, PyType_Spec* spec, const char* name, Table* offered) {
  PyTypeObject* type = (PyTypeObject*)PyType_FromSpec(spec);
  PyObject* capsule = type == NULL ? NULL : PyCapsule_New(offered, "dlpack_exchange_api", NULL);
  if (capsule == NULL || PyObject_SetAttrString((PyObject*)type, name, capsule) < 0) return NULL;
  Py_DECREF(capsule);
  return PyModule_AddType(module, type) < 0 ? NULL : type;
}
static int fill(PyObject* module) {
  array_type = add(module, &array_spec, "__dlpack_c_exchange_api__", &table);
  older_type = add(module, &older_spec, "__c_dlpack_exchange_api__", &older_table);
  subclassable_type = add(module, &subclassable_spec, "__dlpack_c_exchange_api__", &table);
  return array_type == NULL || older_type == NULL || subclassable_type == NULL ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "opyard_test_arrays", NULL, 0, functions, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_opyard_test_arrays(void) { return PyModuleDef_Init(&definition); }
