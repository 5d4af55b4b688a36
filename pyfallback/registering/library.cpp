// registering/library.cpp: _C.Library: registering from Python.
//
// [Shared] A registration runs code of users: warning filters, listeners, finalizers of kernels
// that it replaces. Any of them may close the same library. So a registration holds a share of
// the library; closing it ends what is registered at once, and what is just being registered ends
// with the last share.
//
// [Ending] A library is shown to Python's collector with the functions of its kernels from the
// moment on when its interpreter is closed: see operators/gc_visible_functions.h. What is collected
// then is unregistered.
#include "registering/library.h"

#include <cstdlib>
#include <memory>

#include "kernels/next_kernel.h"
#include "kernels/python_kernel.h"
#include "objects/tensor/leak_check.h"
#include "objects/values/key_set.h"
#include "opyard/ffi/c_function.h"
#include "opyard/registry/composite.h"
#include "opyard/registry/exclusive.h"
#include "opyard/registry/library.h"
#include "runtime/gil.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

struct LibraryObject {
  PyObject_HEAD Runtime* runtime;
  std::shared_ptr<Library> library;  // null once reset
  GcVisibleFunctions functions;
};

LibraryObject& library_object(PyObject* self) { return *reinterpret_cast<LibraryObject*>(self); }

// See [Shared].
std::shared_ptr<Library> library_of(PyObject* self) {
  std::shared_ptr<Library> library = library_object(self).library;
  OPYARD_CHECK(library != nullptr, BadRegistration, "this library has ended already");
  return library;
}

LibraryKind parse_kind(std::string_view kind) {
  if (kind == "DEF") return LibraryKind::Def;
  if (kind == "FRAGMENT") return LibraryKind::Fragment;
  if (kind == "IMPL") return LibraryKind::Impl;
  fail(ErrorKind::BadValue,
       "Unsupported kind: " + std::string(kind) + "; a library is DEF, FRAGMENT or IMPL");
}

std::optional<DispatchKey> parse_key(PyObject* key) {
  const bool none =
      key == nullptr || key == Py_None || (PyUnicode_Check(key) && PyUnicode_GET_LENGTH(key) == 0);
  if (none) return std::nullopt;
  return to_dispatch_key(key);
}

// For PyArg_ParseTuple's "O&": where something is registered, into a std::string. The name of a
// file need not be text to Python; what has no UTF-8 form is shown by its escapes, as in
// tracebacks.
int convert_location(PyObject* object, void* location) noexcept {
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a source location must be a str, not %s",
                 Py_TYPE(object)->tp_name);
    return 0;
  }
  const Owned bytes = Owned::steal(PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace"));
  if (!bytes) return 0;
  try {
    static_cast<std::string*>(location)->assign(PyBytes_AS_STRING(bytes.get()));
    return 1;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return 0;
  }
}

// "file:line" in two.
std::pair<std::string, int> parse_location(const std::string& location) {
  const std::size_t colon = location.rfind(':');
  if (colon == std::string::npos) return {location, 0};
  return {location.substr(0, colon), std::atoi(location.c_str() + colon + 1)};
}

// Library(ns, kind, key, location)
PyObject* make_library(PyTypeObject* type, PyObject* args, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* name_space = nullptr;
    PyObject* kind = nullptr;
    PyObject* key = nullptr;
    std::string location;
    if (PyArg_ParseTuple(args, "OOOO&", &name_space, &kind, &key, convert_location, &location) ==
        0) {
      throw PythonErrorSet();
    }
    const auto [file, line] = parse_location(location);
    auto library = std::make_shared<Library>(
        parse_kind(require_text(kind, "the kind of a library")),
        std::string(require_text(name_space, "the namespace of a library")), parse_key(key), file,
        line, runtime_of(type).tag);
    const Owned object = checked(type->tp_alloc(type, 0));
    LibraryObject& made = library_object(object.get());
    new (&made.library) std::shared_ptr<Library>(std::move(library));
    new (&made.functions) GcVisibleFunctions();
    made.runtime = &runtime_of(type);
    if (leak_check != nullptr) {
      leak_check->add(LeakCheck::Kind::Library, object.get(),
                      std::string(PyUnicode_AsUTF8(name_space)) + " " + PyUnicode_AsUTF8(kind) +
                          ", made at " + location);
    }
    return Owned::share(object.get()).release();
  });
}

// What define() gives, made before anything is defined: if there is no memory for it nothing is.
Owned schema_full_name(const Library& library, std::string_view schema) {
  OperatorName name = parse_schema(schema).name;
  if (name.name_space().empty()) name.name = library.name_space() + "::" + name.name;
  return to_text(to_string(name));
}

std::vector<std::string> names_of_tags(PyObject* tags) {
  std::vector<std::string> names;
  require_stack();
  const Owned items = checked(PySequence_Fast(tags, "tags must be a sequence of str"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    names.emplace_back(require_text(PySequence_Fast_GET_ITEM(items.get(), i), "a tag"));
  }
  return names;
}

// What `define` registers; gives its full name, which is made before: nothing may fail behind it.
template <typename Define>
PyObject* defined(PyObject* self, PyObject* schema, PyObject* tags, const std::string& location,
                  const Define& define) {
  const std::string_view text = require_text(schema, "a schema");
  std::vector<std::string> names = names_of_tags(tags);
  const auto library = library_of(self);
  library->set_source_location(location);
  Owned result = schema_full_name(*library, text);
  const OperatorName name = define(*library, text, std::move(names));
  if (leak_check != nullptr) leak_check->note(self, to_string(name));
  return result.release();
}

// composite(schema, body, tags, location, doc) -> full name
PyObject* define_composite(PyObject* self, PyObject* args) {
  return enter_from_python([&] {
    PyObject* schema = nullptr;
    PyObject* body = nullptr;
    PyObject* tags = nullptr;
    std::string location;
    const char* doc = nullptr;
    if (PyArg_ParseTuple(args, "OOOO&s", &schema, &body, &tags, convert_location, &location,
                         &doc) == 0) {
      throw PythonErrorSet();
    }
    const std::string of_body(require_text(body, "a body"));
    return defined(
        self, schema, tags, location,
        [&](opyard::Library& library, std::string_view text, std::vector<std::string> names) {
          return composite(library, text, of_body, std::move(names), doc);
        });
  });
}

// define(schema, conservative, tags, location, doc) -> full name
PyObject* define(PyObject* self, PyObject* args) {
  return enter_from_python([&] {
    PyObject* schema = nullptr;
    int conservative = 0;
    PyObject* tags = nullptr;
    std::string location;
    const char* doc = nullptr;
    if (PyArg_ParseTuple(args, "OpOO&s", &schema, &conservative, &tags, convert_location, &location,
                         &doc) == 0) {
      throw PythonErrorSet();
    }
    const auto analysis =
        conservative != 0 ? AliasAnalysis::Conservative : AliasAnalysis::FromSchema;
    return defined(
        self, schema, tags, location,
        [&](opyard::Library& library, std::string_view text, std::vector<std::string> names) {
          return library.def(text, std::move(names), analysis, doc);
        });
  });
}

ResultRule parse_rule(std::string_view rule) {
  if (rule.empty()) return ResultRule::Any;
  if (rule == "fresh") return ResultRule::Fresh;
  if (rule == "first") return ResultRule::FirstArgument;
  if (rule == "out") return ResultRule::OutArguments;
  fail(ErrorKind::BadValue,
       "no rule for results is called " + std::string(rule) + "; there are fresh, first and out");
}

constexpr int kWithKeyset = 1;  // what a function gets before the arguments
constexpr int kWithNext = 2;

Kernel make_kernel(LibraryObject& library, PyObject* function, DispatchKey key, int wants,
                   ResultRule rule) {
  if (function == Py_None) return Kernel::fallthrough();
  const bool with_keyset = (wants & kWithKeyset) != 0;
  if ((wants & kWithNext) == 0) {
    return make_python_kernel(*library.runtime, function,
                              {.with_keyset = with_keyset, .rule = rule, .key = key},
                              library.functions.add());
  }
  OPYARD_CHECK(rule == ResultRule::Any, BadRegistration,
               "a kernel that takes call_next has no rule for its results");
  return make_next_kernel(*library.runtime, function, with_keyset, library.functions.add());
}

constexpr int kWarns = 0;  // if another library's kernel would be covered
constexpr int kMeant = 1;
constexpr int kRefused = 2;
constexpr int kOnlyAsked = 3;  // refused likewise; else nothing is registered

// impl(name, function or None for fallthrough, key, wants, covering, location, rule="")
PyObject* implement(PyObject* self, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    const char* name = nullptr;
    Py_ssize_t name_size = 0;
    PyObject* function = nullptr;
    PyObject* key = nullptr;
    int wants = 0;
    int covering = kWarns;
    std::string location;
    const char* rule = "";
    if (PyArg_ParseTuple(args, "s#OOiiO&|s", &name, &name_size, &function, &key, &wants, &covering,
                         convert_location, &location, &rule) == 0) {
      throw PythonErrorSet();
    }
    const ResultRule result_rule = parse_rule(rule);
    const auto library = library_of(self);
    library->set_source_location(location);
    const ExclusiveKernels exclusive(covering == kOnlyAsked ? Exclusive::OnlyAsked
                                     : covering == kRefused ? Exclusive::Yes
                                                            : Exclusive::No);
    const std::optional<DispatchKey> given = parse_key(key);
    const DispatchKey at =
        given.value_or(library->key().value_or(DispatchKey::CompositeImplicitAutograd));
    library->implement({name, std::size_t(name_size)}, given,
                       make_kernel(library_object(self), function, at, wants, result_rule),
                       covering == kMeant);
    Py_RETURN_NONE;
  });
}

// impl_c(name, file as bytes, symbol, key, form, override, location, releases_gil=False)
PyObject* implement_in_c(PyObject* self, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    const char* name = nullptr;
    const char* file = nullptr;
    const char* symbol = nullptr;
    Py_ssize_t name_size = 0;
    Py_ssize_t file_size = 0;
    Py_ssize_t symbol_size = 0;
    PyObject* key = nullptr;
    const char* form = nullptr;
    int override = 0;
    std::string location;
    int released = 0;
    if (PyArg_ParseTuple(args, "s#y#s#OspO&|p", &name, &name_size, &file, &file_size, &symbol,
                         &symbol_size, &key, &form, &override, convert_location, &location,
                         &released) == 0) {
      throw PythonErrorSet();
    }
    const std::string_view op_name(name, std::size_t(name_size));
    const std::string path(file, std::size_t(file_size));
    const std::string function(symbol, std::size_t(symbol_size));
    const CForm c_form = parse_c_form(form);
    const Operator& op = detail::require_for_c(*library_of(self), op_name);
    const void* address = nullptr;
    {
      const ReleaseGil release;  // opening a library may take long, and runs code of its own
      address = detail::require_c_function(op, path, function);
    }
    const auto library = library_of(self);  // it may have been unregistered meanwhile
    library->set_source_location(location);
    library->implement(op_name, parse_key(key),
                       c_kernel(op, address, detail::show_c_function(path, function), c_form,
                                released != 0 ? Gil::Released : Gil::Held),
                       override != 0);
    Py_RETURN_NONE;
  });
}

// fallback(function or None for fallthrough, with_keyset, location)
PyObject* fallback(PyObject* self, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    PyObject* function = nullptr;
    int with_keyset = 0;
    std::string location;
    if (PyArg_ParseTuple(args, "OpO&", &function, &with_keyset, convert_location, &location) == 0) {
      throw PythonErrorSet();
    }
    const auto library = library_of(self);
    library->set_source_location(location);
    library->fallback(
        function == Py_None
            ? Kernel::fallthrough()
            : make_python_kernel(*library_object(self).runtime, function,
                                 {.with_keyset = with_keyset != 0,
                                  .with_op = true,
                                  .key = library->key().value_or(DispatchKey::Undefined)},
                                 library_object(self).functions.add()));
    Py_RETURN_NONE;
  });
}

// derivative(name, [(of, text), ...], location)
PyObject* derivative(PyObject* self, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    const char* name = nullptr;
    PyObject* pairs = nullptr;
    std::string location;
    if (PyArg_ParseTuple(args, "sO!O&", &name, &PyList_Type, &pairs, convert_location, &location) ==
        0) {
      throw PythonErrorSet();
    }
    std::vector<Formula> formulas;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); ++i) {
      const char* of = nullptr;
      const char* text = nullptr;
      if (PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "ss", &of, &text) == 0)
        throw PythonErrorSet();
      formulas.push_back({of, text});
    }
    const auto library = library_of(self);
    library->set_source_location(location);
    library->derivative(name, std::move(formulas));
    Py_RETURN_NONE;
  });
}

// set_python_module(module, context)
PyObject* set_python_module(PyObject* self, PyObject* args) {
  return enter_from_python([&]() -> PyObject* {
    const char* module = nullptr;
    std::string context;
    if (PyArg_ParseTuple(args, "sO&", &module, convert_location, &context) == 0) {
      throw PythonErrorSet();
    }
    library_of(self)->set_python_module(module, context);
    Py_RETURN_NONE;
  });
}

void take_back(PyObject* self) noexcept {
  const auto library = std::exchange(library_object(self).library, nullptr);
  if (library != nullptr) library->reset();
}

PyObject* begin_reload(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    library_of(self)->begin_reload();
    Py_RETURN_NONE;
  });
}

PyObject* end_reload(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    library_of(self)->end_reload();
    Py_RETURN_NONE;
  });
}

PyObject* reset(PyObject* self, PyObject*) {
  return enter_from_python([&]() -> PyObject* {
    take_back(self);
    Py_RETURN_NONE;
  });
}

// See [Ending]. One that is being made has no runtime yet.
int traverse_library(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const LibraryObject& library = library_object(self);
  if (library.runtime == nullptr || !library.runtime->gate.closed()) return 0;
  return library.functions.visit(visit, arg);
}

int clear_library(PyObject* self) {
  take_back(self);
  return 0;
}

void deallocate_library(PyObject* self) {
  PyObject_GC_UnTrack(self);
  take_back(self);
  if (leak_check != nullptr) leak_check->remove(self);
  std::destroy_at(&library_object(self).functions);
  std::destroy_at(&library_object(self).library);
  free_object(self);
}

PyMethodDef library_methods[] = {
    {"define", define, METH_VARARGS, "define(schema, conservative, tags, location, doc)"},
    {"composite", define_composite, METH_VARARGS, "composite(schema, body, tags, location, doc)"},
    {"impl", implement, METH_VARARGS,
     "impl(name, function, key, wants, override, location, rule='')"},
    {"impl_c", implement_in_c, METH_VARARGS,
     "impl_c(name, file, symbol, key, form, override, location, releases_gil=False)"},
    {"fallback", fallback, METH_VARARGS, "fallback(function, with_keyset, location)"},
    {"derivative", derivative, METH_VARARGS, "derivative(name, formulas, location)"},
    {"set_python_module", set_python_module, METH_VARARGS, "set_python_module(module, context)"},
    {"begin_reload", begin_reload, METH_NOARGS,
     "begin_reload(): what is registered from here on replaces what was registered"},
    {"end_reload", end_reload, METH_NOARGS,
     "end_reload(): unregisters what was not registered again"},
    {"reset", reset, METH_NOARGS, "reset(): takes every registration back"},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot library_slots[] = {
    {Py_tp_doc, const_cast<char*>("Library(ns, kind, key, location): see opyard.library.Library.")},
    {Py_tp_new, slot(make_library)},
    {Py_tp_traverse, slot(traverse_library)},
    {Py_tp_clear, slot(clear_library)},
    {Py_tp_dealloc, slot(deallocate_library)},
    {Py_tp_methods, library_methods},
    {0, nullptr}};

PyType_Spec library_spec = {"opyard._C.Library", sizeof(LibraryObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, library_slots};

}  // namespace

void take_back_libraries(const Runtime& runtime) {
  std::vector<Owned> libraries;
  for (const void* const each : leak_check->objects(LeakCheck::Kind::Library)) {
    auto* const library = static_cast<PyObject*>(const_cast<void*>(each));
    if (Py_TYPE(library) == runtime.library_type) libraries.push_back(Owned::share(library));
  }
  for (const Owned& library : libraries) take_back(library.get());
}

void add_library_type(Runtime& runtime, PyObject* module) {
  add_type(module, library_spec, runtime.library_type);
}

}  // namespace opyard::python
