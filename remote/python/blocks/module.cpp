// blocks/module.cpp: the extension module opyard._blocks: recorders of workers, and their blocks.
//
// Python sends blocks: a recorder's Sender calls functions of Python, from whatever thread, and
// holds the GIL for that time alone. Recording never comes here.
#include "opyard/detail/bind/extension.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opyard/detail/bind/classes.h"
#include "opyard/detail/bind/refused_calls.h"
#include "opyard/detail/bind/signatures.h"
#include "opyard/jit/print.h"
#include "opyard/remote/recorder.h"
#include "opyard/tensor/make.h"

namespace opyard::blocks {
namespace {

namespace py = pybind11;

using python::table;
using python::take_result;
using remote::Answer;
using remote::Arg;
using remote::Block;
using remote::Recorder;

// A Python object that C++ holds, and lets go of on any thread.
class Held {
 public:
  explicit Held(const py::object& object) : table_(table()), object_(Py_NewRef(object.ptr())) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { table_.drop(&table_, object_); }
  const PythonTable& table_;
  PyObject* const object_;
};

struct SharedRecorder {
  CountedPtr<Recorder> recorder;
};
struct SharedBlock {
  std::shared_ptr<Block> block;
};

std::vector<std::int64_t> ints_of(const py::handle& object) {
  std::vector<std::int64_t> ints;
  for (const py::handle each : object) ints.push_back(each.cast<std::int64_t>());
  return ints;
}

constexpr std::size_t kFewBytes = 4096;  // of elements: as bytes in a pickle they cost least

// None for a tensor with more, else ("elements", dtype, sizes, bytes).
py::object elements_of(const py::object& object) {
  const Tensor& tensor = require_tensor(table(), object.ptr());
  const std::size_t bytes = std::size_t(tensor.numel()) * item_size(tensor.dtype());
  if (bytes > kFewBytes || !tensor.device().is_cpu()) return py::none();
  const Tensor rows = contiguous(tensor);
  py::tuple sizes(rows.sizes().size());
  for (std::size_t i = 0; i < rows.sizes().size(); ++i) sizes[i] = py::int_(rows.sizes()[i]);
  const auto* const data = bytes == 0 ? "" : static_cast<const char*>(rows.raw());
  return py::make_tuple("elements", std::int64_t(rows.dtype()), sizes, py::bytes(data, bytes));
}

Tensor tensor_of(DType dtype, const std::vector<std::int64_t>& sizes, const py::bytes& elements) {
  Tensor tensor = Tensor::empty(sizes, dtype);
  const std::string_view bytes = elements;
  if (bytes.size() != std::size_t(tensor.numel()) * item_size(dtype)) {
    fail(ErrorKind::Internal, "a worker answered with another number of elements than sizes say");
  }
  if (!bytes.empty()) std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
  return tensor;
}

// ("tensor", number, dtype, sizes, strides, offset), what elements_of() gives, ("list", answers) or
// ("value", value).
Answer answer_of(const PythonTable& known, const py::handle& object) {
  const auto parts = py::reinterpret_borrow<py::tuple>(object);
  const auto kind = parts[0].cast<std::string>();
  Answer answer;
  if (kind == "tensor") {
    answer.kind = Answer::Kind::Tensor;
    answer.number = parts[1].cast<std::uint64_t>();
    answer.dtype = require_dtype(parts[2].cast<std::int64_t>());
    answer.sizes = ints_of(parts[3]);
    answer.strides = ints_of(parts[4]);
    answer.offset = parts[5].cast<std::int64_t>();
  } else if (kind == "elements") {
    answer.value = tensor_of(require_dtype(parts[1].cast<std::int64_t>()), ints_of(parts[2]),
                             py::reinterpret_borrow<py::bytes>(parts[3]));
  } else if (kind == "list") {
    answer.kind = Answer::Kind::List;
    for (const py::handle each : parts[1]) answer.items.push_back(answer_of(known, each));
  } else {
    answer.value = require_value(known, *base_type(TypeKind::Any), py::object(parts[1]).ptr(),
                                 "an answer of a worker");
  }
  return answer;
}

// `send`, `wait` and `refuse` are functions of Python.
class PythonSender final : public remote::Sender {
 public:
  PythonSender(const py::object& send, const py::object& wait, const py::object& refuse)
      : send_(send), wait_(wait), refuse_(refuse) {}

  void send(Recorder&) override { call(send_); }
  void refuse(Recorder&) override { call(refuse_); }
  std::vector<Answer> wait(Recorder&, std::uint64_t block) override {
    const HoldPython python(wait_.table_);
    return opyard::carry_exceptions([&] {
      const py::int_ serial(block);
      const py::object given = py::reinterpret_steal<py::object>(require_object(
          wait_.table_,
          python::in_python([&] { return PyObject_CallOneArg(wait_.object_, serial.ptr()); })));
      std::vector<Answer> answers;
      for (const py::handle each : given) answers.push_back(answer_of(wait_.table_, each));
      return answers;
    });
  }

 private:
  static void call(const Held& function) {
    const HoldPython python(function.table_);
    py::reinterpret_steal<py::object>(require_object(
        function.table_, python::in_python([&] { return PyObject_CallNoArgs(function.object_); })));
  }
  const Held send_, wait_, refuse_;
};

Held* finder = nullptr;  // stays, as what the key registers does

CountedPtr<Recorder> find_worker(std::int16_t worker) {
  const HoldPython python(finder->table_);
  return opyard::carry_exceptions([&] {
    const py::int_ index(worker);
    const py::object found = py::reinterpret_steal<py::object>(require_object(
        finder->table_,
        python::in_python([&] { return PyObject_CallOneArg(finder->object_, index.ptr()); })));
    return found.cast<const SharedRecorder&>().recorder;
  });
}

// ---- Parts of a block

py::object to_python(const Value& value) {
  const PythonTable& known = table();
  return take_result(known.from_value(&known, nullptr, &value));
}

// What is here of the inputs, and None for a worker's values.
py::list values_of(const SharedBlock& self) {
  py::list values;
  for (const Block::Input& input : self.block->inputs) {
    values.append(input.memory ? py::object(py::none()) : to_python(input.here));
  }
  return values;
}

// Pairs of words: the position of an input, and the number of the worker's value.
py::bytes refs_of(const SharedBlock& self) {
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < self.block->inputs.size(); ++i) {
    const Block::Input& input = self.block->inputs[i];
    if (!input.memory) continue;
    words.push_back(i);
    words.push_back(input.memory->number);
  }
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint64_t)};
}

py::bytes outputs_of(const SharedBlock& self) {
  std::vector<std::uint64_t> numbers;
  for (const Block::Output& output : self.block->outputs) numbers.push_back(output.number);
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint64_t)};
}

py::object tail_argument(const Block& block, const Arg& arg, const py::object& output) {
  switch (arg.kind) {
    case Arg::Kind::Value:
      return output(arg.index);
    case Arg::Kind::Constant:
      return to_python(block.constants[arg.index]);
    case Arg::Kind::Undefined:
      return py::none();
    case Arg::Kind::List:
      break;
  }
  py::list items;
  for (std::uint32_t i = 0; i < arg.count; ++i) {
    items.append(tail_argument(block, block.arguments[arg.index + i], output));
  }
  return items;
}

// None, the number of an output, or (operator, arguments, keyword arguments, number of the first
// result). `output` gives what an output is written as.
py::object tail_of(const SharedBlock& self, const py::object& output) {
  const Block& block = *self.block;
  switch (block.tail.kind) {
    case Block::Tail::Kind::None:
      return py::none();
    case Block::Tail::Kind::Give:
      return py::int_(block.tail.output);
    case Block::Tail::Kind::Call:
      break;
  }
  py::list arguments;
  py::dict named;
  for (std::size_t i = 0; i < block.tail.arguments.size(); ++i) {
    const Argument& argument = block.tail.op->schema().arguments[i];
    const py::object value = tail_argument(block, block.tail.arguments[i], output);
    if (argument.keyword_only) {
      named[py::str(argument.name)] = value;
    } else {
      arguments.append(value);
    }
  }
  const PythonTable& known = table();
  return py::make_tuple(take_result(to_object(known, *block.tail.op)), arguments, named,
                        block.tail.first_number);
}

std::string label_of(const SharedBlock& self) {
  const Block& block = *self.block;
  if (block.tail.kind == Block::Tail::Kind::Call) return to_string(block.tail.op->name());
  if (block.calls.empty()) return "reading a tensor";
  std::string label = to_string(block.calls.front().op->name());
  if (block.calls.size() > 1) {
    label = "a block of " + std::to_string(block.calls.size()) + " operators from " + label +
            " to " + to_string(block.calls.back().op->name());
  }
  return label;
}

void add_blocks(py::module_& module) {
  py::class_<SharedBlock> block(module, "Block");
  block.def_property_readonly("serial", [](const SharedBlock& self) { return self.block->serial; })
      .def_property_readonly("calls",
                             [](const SharedBlock& self) { return self.block->calls.size(); })
      .def_property_readonly("key",
                             [](const SharedBlock& self) { return py::bytes(self.block->key); })
      .def_property_readonly(
          "expected", [](const SharedBlock& self) { return py::bytes(self.block->expected()); })
      .def_property_readonly("label", &label_of)
      .def("text", [](const SharedBlock& self) { return jit::to_string(*self.block->graph()); })
      .def("values", &values_of)
      .def("refs", &refs_of)
      .def("outputs", &outputs_of)
      .def("tail", &tail_of, py::arg("output"));
  python::refuse_new(block, "a Recorder makes them");
  python::refuse_pickling(block);
}

std::unique_ptr<SharedRecorder> new_recorder(int worker, const py::object& send,
                                             const py::object& wait, const py::object& refuse) {
  Device device = parse_device("remote");
  device.index = std::int16_t(worker);
  return std::make_unique<SharedRecorder>(SharedRecorder{
      make_counted<Recorder>(make_counted<PythonSender>(send, wait, refuse), device)});
}

void add_recorders(py::module_& module) {
  py::class_<SharedRecorder> recorder(module, "Recorder");
  recorder
      .def(py::init(&new_recorder), py::arg("worker"), py::arg("send"), py::arg("wait"),
           py::arg("refuse"))
      .def("flush", opyard::python_call([](SharedRecorder& self) { self.recorder->flush(); }))
      .def("take",
           [](SharedRecorder& self) -> py::object {
             auto block = self.recorder->take();
             return block == nullptr ? py::object(py::none())
                                     : py::cast(SharedBlock{std::move(block)});
           })
      .def(
          "sent",
          [](SharedRecorder& self, const SharedBlock& block) { self.recorder->sent(*block.block); },
          py::arg("block"))
      .def("answered", [](SharedRecorder& self) { self.recorder->answered(); })
      .def("take_dropped",
           [](SharedRecorder& self) {
             py::list numbers;
             for (const std::uint64_t each : self.recorder->take_dropped()) numbers.append(each);
             return numbers;
           })
      .def("wait_for_pause",
           [](SharedRecorder& self) {
             const CountedPtr<Recorder> held = self.recorder;
             const WithoutPython without(table());
             return held->wait_for_pause();
           })
      .def("close", [](SharedRecorder& self) { self.recorder->close(); })
      .def_property_readonly("recorded",
                             [](const SharedRecorder& self) { return self.recorder->recorded(); })
      .def_property_readonly("ended",
                             [](const SharedRecorder& self) { return self.recorder->ended(); });
  python::make_in_new(recorder);
  python::refuse_pickling(recorder);
}

// As Block.expected has it, of tensors that are here.
py::bytes geometry_of(const py::list& tensors) {
  std::string text;
  for (const py::handle each : tensors) {
    remote::describe_geometry(require_tensor(table(), each.ptr()), text);
  }
  return {text.data(), text.size()};
}

// (dtype, sizes, strides, offset)
py::tuple describe(const py::object& object) {
  const Tensor& tensor = require_tensor(table(), object.ptr());
  py::list sizes, strides;
  for (const std::int64_t each : tensor.sizes()) sizes.append(each);
  for (const std::int64_t each : tensor.strides()) strides.append(each);
  return py::make_tuple(std::int64_t(tensor.dtype()), sizes, strides, tensor.storage_offset());
}

std::string explain(const py::object& overload) {
  const PythonTable& known = table();
  const Operator* const op = known.unwrap_operator(&known, overload.ptr());
  if (op == nullptr) throw py::error_already_set();
  return remote::explain_recording(*op);
}

void register_key(const py::object& find) {
  delete std::exchange(finder, new Held(find));
  remote::register_key(&find_worker);
}

}  // namespace
}  // namespace opyard::blocks

PYBIND11_MODULE(_blocks, module, pybind11::multiple_interpreters::per_interpreter_gil()) {
  module.doc() = "Calls on tensors of workers, recorded into blocks.";
  opyard::python::use_table_of_errors();
  opyard::blocks::add_blocks(module);
  opyard::blocks::add_recorders(module);
  module.def("geometry", &opyard::blocks::geometry_of, pybind11::arg("tensors"));
  module.def("elements", &opyard::blocks::elements_of, pybind11::arg("tensor"));
  module.def("describe", &opyard::blocks::describe, pybind11::arg("tensor"));
  module.def("explain", &opyard::blocks::explain, pybind11::arg("overload"));
  module.def("register_key", opyard::python_call(&opyard::blocks::register_key),
             pybind11::arg("find"));
  opyard::python::add_signatures(module);
  opyard::python::name_refusals(module);
}
