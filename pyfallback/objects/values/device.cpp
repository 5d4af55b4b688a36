// objects/values/device.cpp: opyard.device, a place as a value: equal texts are equal devices.
#include "objects/values/dtype.h"
#include "objects/values/integer.h"
#include "runtime/keywords.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

#include <limits>
#include <optional>
#include <string>

namespace opyard::python {
namespace {

Device device_of(PyObject* self) noexcept { return reinterpret_cast<DeviceObject*>(self)->device; }

// The device that device("cuda:1") or device(other) means, without an index of its own.
Device require_device(const Runtime& runtime, PyObject* given) {
  if (is_device(runtime, given)) return device_of(given);
  return parse_device(require_text(given, "a device"));
}

std::int16_t require_index(Device device, PyObject* given) {
  if (device.index >= 0) {
    fail(ErrorKind::BadValue,
         "device: '" + to_string(device) +
             "' has an index already, and another one was given; leave one out");
  }
  if (PyIndex_Check(given) == 0) {
    fail(ErrorKind::BadArgument,
         std::string("device: the index must be an int, not ") + Py_TYPE(given)->tp_name);
  }
  constexpr std::int16_t kMost = std::numeric_limits<std::int16_t>::max();
  require_stack();
  const Owned number = checked(PyNumber_Index(given));
  const std::optional<std::int64_t> index = find_int64(number.get());
  if (!index || *index < 0 || *index > kMost) {
    fail(ErrorKind::BadValue, "device: the index is " + shown(number.get()) +
                                  "; accepted are 0 to " + std::to_string(kMost));
  }
  return std::int16_t(*index);
}

PyObject* make_device(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&]() -> PyObject* {
    static const char* const names[] = {"type", "index", nullptr};
    PyObject* place = nullptr;
    PyObject* index = Py_None;
    if (!parse_keywords(args, kwargs, "O|O:device", names, &place, &index)) {
      return nullptr;
    }
    Runtime& runtime = runtime_of(type);
    Device device = require_device(runtime, place);
    if (index != Py_None) device.index = require_index(device, index);
    return wrap(runtime, device).release();
  });
}

PyObject* device_str(PyObject* self) {
  return enter_from_python([&] { return to_text(to_string(device_of(self))).release(); });
}
PyObject* represent_device(PyObject* self) {
  return enter_from_python(
      [&] { return to_text("opyard.device('" + to_string(device_of(self)) + "')").release(); });
}

PyObject* compare_devices(PyObject* self, PyObject* other, int op) {
  if (Py_TYPE(self) != Py_TYPE(other) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of(self) == device_of(other)) == (op == Py_EQ) ? 1 : 0);
}

// Equal devices hash alike; -1 is CPython's word for failure and cannot come out.
Py_hash_t hash_device(PyObject* self) {
  const Device device = device_of(self);
  return (Py_hash_t(device.backend) << 17) + Py_hash_t(device.index) + 1000003;
}

PyObject* reduce_device(PyObject* self, PyObject*) {
  return enter_from_python([&] {
    const Owned text = to_text(to_string(device_of(self)));
    return Py_BuildValue("O(O)", reinterpret_cast<PyObject*>(Py_TYPE(self)), text.get());
  });
}

PyObject* get_type(PyObject* self, void*) {
  return enter_from_python(
      [&] { return to_text(to_string(Device{device_of(self).backend, -1})).release(); });
}
PyObject* get_index(PyObject* self, void*) {
  const std::int16_t index = device_of(self).index;
  if (index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(index);
}

PyMethodDef device_methods[] = {{"__reduce__", reduce_device, METH_NOARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

PyGetSetDef device_properties[] = {
    {"type", get_type, nullptr, "The backend's name in lower case, such as 'cpu'.", nullptr},
    {"index", get_index, nullptr, "The number of the device; None for the current one.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot device_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("device(type, index=None)\n--\n\n"
                       "Where a tensor's memory is: device('cpu'), device('cuda:1'), "
                       "device('cuda', 1). Raises ValueError for a text that names no device and "
                       "for a malformed or second index.")},
    {Py_tp_new, slot(make_device)},
    {Py_tp_dealloc, slot(free_object)},
    {Py_tp_str, slot(device_str)},
    {Py_tp_repr, slot(represent_device)},
    {Py_tp_hash, slot(hash_device)},
    {Py_tp_richcompare, slot(compare_devices)},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_properties},
    {0, nullptr}};

PyType_Spec device_spec = {"opyard.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT,
                           device_slots};

}  // namespace

Owned wrap(Runtime& runtime, Device device) {
  Owned object = require(runtime, runtime.device_type->tp_alloc(runtime.device_type, 0));
  reinterpret_cast<DeviceObject*>(object.get())->device = device;
  return object;
}

void add_device_type(Runtime& runtime, PyObject* module) {
  add_type(module, device_spec, runtime.device_type);
}

}  // namespace opyard::python
