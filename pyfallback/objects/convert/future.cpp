// objects/convert/future.cpp: the Future type as a whole, the life of a wrapper, and collecting futures.
//
// [Identity] As with tensors: a wrapper owns its future, and the future's object link points back
// to it without owning. A dying wrapper empties the link before anything else can run.
//
// [Cycles] A future can lead back to its wrapper: by a callback, by its value, by the traceback of
// its exception. What is behind the C++ object is shown to the collector as the wrapper's own
// if no one else owns it: if every count on the way is one. Otherwise it is not shown, and
// what leads nowhere else is still not taken for garbage. Clearing lets the future go. (Another
// thread can only make itself an owner through a weak pointer; it finds a future that is still
// whole, or none.)
#include "objects/convert/future.h"

#include <structmember.h>

#include <new>
#include <string>

#include "objects/values/dtype.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/value/future_collect.h"
#include "runtime/gil.h"
#include "runtime/hooks.h"
#include "runtime/keywords.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// Levels of containers that are looked into for the collector.
constexpr int kDepth = 64;

// See [Cycles]. `owners` is how many the wrapper knows of.
int visit_value(const Value& value, std::uint32_t owners, int depth, visitproc visit, void* arg) {
  if (!is_heap(value.kind()) || value.object_unchecked() == nullptr) return 0;
  if (value.object_unchecked()->owner_count() != owners || depth == 0) return 0;
  const auto go_on = [&](const Value& inner) {
    return visit_value(inner, 1, depth - 1, visit, arg);
  };
  if (value.is_foreign()) {
    return visit(static_cast<PyObject*>(value.to_foreign().object), arg);
  }
  if (value.is_list() || value.is_tuple()) {
    for (const Value& item : value.items_unchecked()) {
      if (const int stop = go_on(item)) return stop;
    }
  } else if (value.is_dict()) {
    const DictObject& dict = value.to_dict();
    for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
      if (const int stop = go_on(dict.value_at(at))) return stop;
    }
  }
  return 0;
}

int visit_result(const FutureParts& parts, visitproc visit, void* arg) {
  const FutureObject& future = *parts.future;
  if (future.has_value()) {
    const Value& value = future.value();
    const bool held_twice = value.identical(parts.container_value) && is_heap(value.kind());
    return visit_value(value, held_twice ? 2 : 1, kDepth, visit, arg);
  }
  const Error* const error = future.find_error();
  if (error == nullptr || !error->carried() || error->carried()->owner_count() != 1) return 0;
  PyObject* const exception = find_exception(*error->carried());
  return exception == nullptr ? 0 : visit(exception, arg);
}

int traverse_future(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const FutureParts& parts = parts_of(self);
  Py_VISIT(parts.container);
  Py_VISIT(parts.exception);
  if (!parts.future || parts.future->owner_count() != 1) return 0;
  for (const CountedPtr<FutureCallback>& callback : parts.callbacks) {
    if (callback->owner_count() > 2) continue;
    Py_VISIT(callback->function);
    Py_VISIT(callback->context);
  }
  return parts.future->completed() ? visit_result(parts, visit, arg) : 0;
}

// Empties the link and gives what the wrapper had, for the caller to let go.
FutureParts take_parts(PyObject* self) noexcept {
  FutureParts& parts = parts_of(self);
  if (parts.future) parts.future->object_link().set_object_with_lock_held(nullptr);
  return std::exchange(parts, FutureParts());
}

void let_go(FutureParts parts) noexcept {
  Py_CLEAR(parts.container);
  Py_CLEAR(parts.exception);
}

int clear_future(PyObject* self) {
  if (parts_of(self).future && parts_of(self).future->owner_count() != 1) return 0;
  let_go(take_parts(self));
  return 0;
}

// See [Identity]. Letting go may run anything, so it comes last.
void deallocate_future(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* const wrapper = reinterpret_cast<FutureWrapper*>(self);
  FutureParts parts = take_parts(self);
  if (wrapper->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  wrapper->parts.~FutureParts();
  free_object(self);
  let_go(std::move(parts));
}

std::vector<Device> to_devices(Runtime& runtime, PyObject* given) {
  std::vector<Device> devices;
  if (given == Py_None) return devices;
  const Owned items =
      checked(PySequence_Fast(given, "Future: devices must be a list of devices, or None"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
    devices.push_back(is_device(runtime, item) ? reinterpret_cast<DeviceObject*>(item)->device
                                               : parse_device(require_text(item, "a device")));
  }
  return devices;
}

PyObject* make_future(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return enter_from_python([&]() -> PyObject* {
    static const char* const names[] = {"devices", nullptr};
    PyObject* devices = Py_None;
    if (!parse_keywords(args, kwargs, "|O:Future", names, &devices)) {
      throw PythonErrorSet();
    }
    Runtime& runtime = runtime_of(type);
    return wrap(runtime, make_counted<FutureObject>(CountedPtr<const FutureElement>(),
                                                    to_devices(runtime, devices)))
        .release();
  });
}

PyObject* represent_future(PyObject* self) {
  return enter_from_python([&] {
    const CountedPtr<FutureObject>& future = parts_of(self).future;
    return to_text("<opyard.futures.Future, " +
                   (future ? future->text().substr(sizeof "<future, " - 1) : "cleared>"))
        .release();
  });
}

PyObject* done(PyObject* self, PyObject*) {
  return enter_from_python([&] { return PyBool_FromLong(future_of(self)->completed() ? 1 : 0); });
}
PyObject* cancelled(PyObject* self, PyObject*) {
  return enter_from_python([&] { return PyBool_FromLong(future_of(self)->cancelled() ? 1 : 0); });
}

// What opyard/futures.py has of the type.
PyObject* ask_hook(PyObject* self, const char* name) {
  return enter_from_python(
      [&] { return PyObject_CallOneArg(require_hook(runtime_of(Py_TYPE(self)), name), self); });
}
PyObject* await(PyObject* self) { return ask_hook(self, hook::await_future); }
PyObject* as_concurrent(PyObject* self, PyObject*) {
  return ask_hook(self, hook::concurrent_future);
}

std::vector<CountedPtr<FutureObject>> to_futures(Runtime& runtime, PyObject* given,
                                                 const char* function) {
  require_stack();
  const Owned items = checked(PySequence_Fast(given, "expected a list of futures"));
  std::vector<CountedPtr<FutureObject>> futures;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_future(runtime, item)) {
      fail(ErrorKind::BadArgument, std::string(function) + " takes a list of futures, but item " +
                                       std::to_string(i) + " is of type '" +
                                       Py_TYPE(item)->tp_name + "'");
    }
    futures.push_back(future_of(item));
  }
  return futures;
}

template <typename Collect>
PyObject* collect(PyObject* module, PyObject* given, const char* name,
                  const Collect& collect_them) {
  return enter_from_python([&] {
    Runtime& runtime = runtime_of_module(module);
    const std::vector<CountedPtr<FutureObject>> futures = to_futures(runtime, given, name);
    CountedPtr<FutureObject> collected;
    {
      const ReleaseGil release;
      collected = collect_them(futures);
    }
    return wrap(runtime, std::move(collected)).release();
  });
}
PyObject* all_of(PyObject* module, PyObject* futures) {
  return collect(module, futures, "collect_all()", &collect_all);
}
PyObject* any_of(PyObject* module, PyObject* futures) {
  return collect(module, futures, "collect_any()", &collect_any);
}

PyMemberDef future_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FutureWrapper, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyMethodDef future_methods[] = {
    {"done", done, METH_NOARGS,
     "done($self, /)\n--\n\nWhether it is completed, with a result or an exception."},
    {"cancelled", cancelled, METH_NOARGS, "cancelled($self, /)\n--\n\nWhether it was cancelled."},
    {"wait", method(future_method::wait), METH_VARARGS | METH_KEYWORDS,
     "wait($self, /, timeout=None)\n--\n\nWaits until it is completed, at most so many seconds, "
     "and gives the result or raises the exception. Raises TimeoutError."},
    {"value", future_method::value, METH_NOARGS,
     "value($self, /)\n--\n\nThe result, or raises the exception. Raises RuntimeError if it is not "
     "completed."},
    {"exception", future_method::exception, METH_NOARGS,
     "exception($self, /)\n--\n\nThe exception, or None if there is a result. Raises RuntimeError "
     "if it is "
     "not completed."},
    {"set_result", future_method::set_result, METH_O,
     "set_result($self, result, /)\n--\n\nCompletes it. Raises RuntimeError if it is completed "
     "already."},
    {"set_exception", future_method::set_exception, METH_O,
     "set_exception($self, exception, /)\n--\n\nCompletes it with an exception, or with one of "
     "this class."},
    {"cancel", future_method::cancel, METH_NOARGS,
     "cancel($self, /)\n--\n\nCompletes it with CancelledError; whether it was not completed "
     "before."},
    {"then", future_method::then, METH_O,
     "then($self, callback, /)\n--\n\nA new future of what callback(this future) gives or raises, "
     "once it is completed."},
    {"add_done_callback", future_method::add_done_callback, METH_O,
     "add_done_callback($self, callback, /)\n--\n\nCalls callback(this future) once it is "
     "completed. What it raises goes to sys.unraisablehook."},
    {"as_concurrent", as_concurrent, METH_NOARGS,
     "as_concurrent($self, /)\n--\n\nA concurrent.futures.Future that is completed as this one "
     "is."},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef future_functions[] = {
    {"collect_all", all_of, METH_O,
     "collect_all(futures, /)\n--\n\nA Future of the list of them, once all are completed."},
    {"collect_any", any_of, METH_O,
     "collect_any(futures, /)\n--\n\nA Future of what the first to be completed gives."},
    {nullptr, nullptr, 0, nullptr}};

namespace {

PyType_Slot future_slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "Future(devices=None)\n--\n\nA result that is not there yet, shared with C++. "
                    "See opyard.futures.")},
    {Py_tp_new, slot(make_future)},
    {Py_tp_dealloc, slot(deallocate_future)},
    {Py_tp_traverse, slot(traverse_future)},
    {Py_tp_clear, slot(clear_future)},
    {Py_tp_repr, slot(represent_future)},
    {Py_tp_methods, future_methods},
    {Py_tp_members, future_members},
    {Py_am_await, slot(await)},
    {0, nullptr}};

PyType_Spec future_spec = {"opyard.futures.Future", sizeof(FutureWrapper), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, future_slots};

}  // namespace

CountedPtr<FutureObject> future_of(PyObject* self) {
  const CountedPtr<FutureObject>& future = parts_of(self).future;
  OPYARD_CHECK(future, BadFuture,
               "the garbage collector has cleared this future, since nothing but itself led to it");
  return future;
}

Owned wrap(Runtime& runtime, CountedPtr<FutureObject> future) {
  ObjectLink& place = future->object_link();
  if (void* const live = place.object(runtime.tag)) {
    return Owned::share(static_cast<PyObject*>(live));
  }
  if (place.status(runtime.tag) != LinkStatus::TaggedByUs) place.claim(runtime.tag);
  Owned object = require(runtime, runtime.future_type->tp_alloc(runtime.future_type, 0));
  // The collector ran before this, if at all.
  auto* const wrapper = reinterpret_cast<FutureWrapper*>(object.get());
  new (&wrapper->parts) FutureParts();
  if (void* const live = place.object(runtime.tag)) {  // made by a finaliser that the collector ran
    return Owned::share(static_cast<PyObject*>(live));
  }
  wrapper->parts.future = std::move(future);
  place.set_object_with_lock_held(wrapper);
  return object;
}

void add_future_type(Runtime& runtime, PyObject* module) {
  add_type(module, future_spec, runtime.future_type);
}

}  // namespace opyard::python
