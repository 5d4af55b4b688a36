// objects/values/key_set.cpp: the Python type of key sets.
#include "objects/values/key_set.h"

#include <functional>
#include <optional>

#include "objects/values/integer.h"
#include "opyard/detail/python/clear.h"
#include "runtime/hooks.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

DispatchKeySet& keys_of(PyObject* self) { return reinterpret_cast<KeySetObject*>(self)->keys; }

// DispatchKeySet(), DispatchKeySet(key), DispatchKeySet([key, …])
PyObject* make_key_set(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = runtime_of(type);
    PyObject* given = nullptr;
    if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) != 0) {
      fail(ErrorKind::BadArgument, "DispatchKeySet() takes no keyword arguments");
    }
    if (PyArg_ParseTuple(args, "|O:DispatchKeySet", &given) == 0) throw PythonErrorSet();
    DispatchKeySet keys;
    if (given != nullptr && (PyList_Check(given) || PyTuple_Check(given))) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given); ++i) {
        keys = keys.add(to_dispatch_key(PySequence_Fast_GET_ITEM(given, i)));
      }
    } else if (given != nullptr) {
      keys = to_key_set(runtime, given);
    }
    return wrap(runtime, keys).release();
  });
}

PyObject* from_raw(PyObject* type, PyObject* bits) {
  return enter_from_python([&]() -> PyObject* {
    const unsigned long long raw = PyLong_AsUnsignedLongLong(bits);
    if (raw == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
      if (!clear_if(PyExc_OverflowError)) throw PythonErrorSet();
      fail(ErrorKind::BadValue, "from_raw_repr: the bits are " + shown(bits) +
                                    "; a key set has 64 of them, so 0 to 18446744073709551615");
    }
    return wrap(runtime_of(reinterpret_cast<PyTypeObject*>(type)),
                DispatchKeySet(DispatchKeySet::RAW, raw))
        .release();
  });
}

// Both operands as sets, or nothing if one is neither a set nor a key.
template <typename Combine>
PyObject* combine(PyObject* left, PyObject* right, const Combine& combine_sets) {
  return enter_from_python([&]() -> PyObject* {
    const Runtime* known = find_runtime();
    if (known == nullptr || !is_key_set(*known, left) || !is_key_set(*known, right)) {
      Py_RETURN_NOTIMPLEMENTED;
    }
    return wrap(runtime_of(Py_TYPE(left)), combine_sets(keys_of(left), keys_of(right))).release();
  });
}
PyObject* unite(PyObject* a, PyObject* b) { return combine(a, b, std::bit_or<>()); }
PyObject* intersect(PyObject* a, PyObject* b) { return combine(a, b, std::bit_and<>()); }
PyObject* differ(PyObject* a, PyObject* b) { return combine(a, b, std::bit_xor<>()); }
PyObject* subtract(PyObject* a, PyObject* b) { return combine(a, b, std::minus<>()); }

PyObject* has(PyObject* self, PyObject* key) {
  return enter_from_python(
      [&] { return PyBool_FromLong(keys_of(self).has(to_dispatch_key(key)) ? 1 : 0); });
}
int contains(PyObject* self, PyObject* key) {
  return enter_from_python(-1, [&] { return keys_of(self).has(to_dispatch_key(key)) ? 1 : 0; });
}
PyObject* add(PyObject* self, PyObject* key) {
  return enter_from_python([&] {
    return wrap(runtime_of(Py_TYPE(self)), keys_of(self).add(to_dispatch_key(key))).release();
  });
}
PyObject* remove(PyObject* self, PyObject* key) {
  return enter_from_python([&] {
    return wrap(runtime_of(Py_TYPE(self)), keys_of(self).remove(to_dispatch_key(key))).release();
  });
}
PyObject* highest(PyObject* self, PyObject*) {
  return enter_from_python(
      [&] { return wrap(runtime_of(Py_TYPE(self)), keys_of(self).highest()).release(); });
}
PyObject* raw_repr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(keys_of(self).raw());
}

Py_ssize_t key_set_length(PyObject* self) {
  Py_ssize_t count = 0;
  for ([[maybe_unused]] const DispatchKey key : keys_of(self)) ++count;
  return count;
}

PyObject* iterate_key_set(PyObject* self) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = runtime_of(Py_TYPE(self));
    const Owned list = checked(PyList_New(0));
    for (const DispatchKey key : keys_of(self)) {
      if (PyList_Append(list.get(), wrap(runtime, key).get()) < 0) throw PythonErrorSet();
    }
    return PyObject_GetIter(list.get());
  });
}

PyObject* represent_key_set(PyObject* self) {
  return enter_from_python([&] { return to_text(to_string(keys_of(self))).release(); });
}

Py_hash_t hash_key_set(PyObject* self) {
  const auto value = Py_hash_t(std::hash<std::uint64_t>()(keys_of(self).raw()));
  return value == -1 ? -2 : value;
}

PyObject* compare_key_sets(PyObject* left, PyObject* right, int how) {
  if ((how != Py_EQ && how != Py_NE) || Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((keys_of(left) == keys_of(right)) == (how == Py_EQ) ? 1 : 0);
}

// By a function of a module: a bound method is pickled as a call of getattr(), which unpicklers
// that take a few names alone refuse.
PyObject* reduce_key_set(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    const Owned keys = checked(PyImport_ImportModule("opyard._core.keys"));
    const Owned make_again = checked(PyObject_GetAttrString(keys.get(), "key_set_of"));
    return Py_BuildValue("O(K)", make_again.get(),
                         static_cast<unsigned long long>(keys_of(self).raw()));
  });
}

PyMethodDef key_set_methods[] = {
    {"has", has, METH_O, "has($self, key, /)\n--\n\nWhether the key is a member."},
    {"add", add, METH_O, "add($self, key, /)\n--\n\nA new set with the key."},
    {"remove", remove, METH_O,
     "remove($self, key, /)\n--\n\nA new set without the key's layer; backends stay."},
    {"highest", highest, METH_NOARGS,
     "highest($self, /)\n--\n\nThe key that a call with this set takes first."},
    {"raw_repr", raw_repr, METH_NOARGS, "raw_repr($self, /)\n--\n\nThe 64 bits as an int."},
    {"from_raw_repr", from_raw, METH_O | METH_CLASS,
     "from_raw_repr($type, bits, /)\n--\n\nThe set of these bits."},
    {"__reduce__", reduce_key_set, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot key_set_slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "DispatchKeySet(keys=(), /)\n--\n\nA set of dispatch keys: none, one, or those "
                    "of a list; members are walked lowest first.")},
    {Py_tp_new, slot(make_key_set)},
    {Py_tp_dealloc, slot(free_object)},
    {Py_tp_repr, slot(represent_key_set)},
    {Py_tp_hash, slot(hash_key_set)},
    {Py_tp_iter, slot(iterate_key_set)},
    {Py_tp_richcompare, slot(compare_key_sets)},
    {Py_tp_methods, key_set_methods},
    {Py_nb_or, slot(unite)},
    {Py_nb_and, slot(intersect)},
    {Py_nb_xor, slot(differ)},
    {Py_nb_subtract, slot(subtract)},
    {Py_sq_contains, slot(contains)},
    {Py_sq_length, slot(key_set_length)},
    {0, nullptr}};

PyType_Spec key_set_spec = {"opyard.dispatch.DispatchKeySet", sizeof(KeySetObject), 0,
                            Py_TPFLAGS_DEFAULT, key_set_slots};

}  // namespace

DispatchKey to_dispatch_key(PyObject* object) {
  if (PyLong_Check(object)) {
    const std::optional<std::int64_t> number = find_int64(object);
    for (const DispatchKey key : all_dispatch_keys()) {
      if (number && std::int64_t(key) == *number) return key;
    }
    fail(ErrorKind::NotFound, "no dispatch key has the number " + shown(object));
  }
  return parse_dispatch_key(require_text(object, "a dispatch key"));
}

DispatchKeySet to_key_set(const Runtime& runtime, PyObject* object) {
  if (is_key_set(runtime, object)) return keys_of(object);
  return DispatchKeySet(to_dispatch_key(object));
}

Owned wrap(Runtime& runtime, DispatchKey key) {
  PyObject* const type = require_hook(runtime, hook::DispatchKey);
  return require(runtime, PyObject_CallFunction(type, "i", int(key)));
}

Owned wrap(Runtime& runtime, DispatchKeySet keys) {
  Owned object = require(runtime, runtime.key_set_type->tp_alloc(runtime.key_set_type, 0));
  keys_of(object.get()) = keys;
  return object;
}

void add_key_set_type(Runtime& runtime, PyObject* module) {
  add_type(module, key_set_spec, runtime.key_set_type);
}

}  // namespace opyard::python
