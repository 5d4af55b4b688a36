// test_messages.cpp: protects the texts that people act on, whole, against test/messages.txt.
// Suspect the source that raises the error.
//
// A case provokes one message; the file says its kind and text. Both sides are complete: a case
// without a text fails, and so does a text without a case. To add a message, add a case here and
// write the text into the file by hand: what you write down is what a person will read.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "../folder.h"
#include "../one_of_each.h"
#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/detail/base/mutex.h"
#include "opyard/detail/keys/named_keys.h"
#include "opyard/ffi/c_function.h"
#include "opyard/inspect/inspect.h"
#include "opyard/keys/alias_keys.h"
#include "opyard/plugin/plugin.h"
#include "opyard/registry/library.h"
#include "opyard/value/deep_copy.h"
#include "opyard/value/dict.h"
#include "opyard/value/hash.h"
#include "opyard/value/list.h"
#include "opyard/value/scalar.h"

namespace opyard::test_messages {

struct Nobody : Object {};
struct Other : Object {};

namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

struct Message {
  std::string kind;
  std::string text;
};
using Messages = std::map<std::string, Message>;

const std::string kFile = std::string(kTestFolder) + "/messages.txt";

// Blocks that begin with "== name Kind"; lines before the first block are for the reader.
Messages read_messages(const std::string& file) {
  std::ifstream stream(file);
  Messages messages;
  Message* current = nullptr;
  std::string line;
  while (std::getline(stream, line)) {
    if (line.rfind("== ", 0) == 0) {
      const std::size_t space = line.rfind(' ');
      current = &messages[line.substr(3, space - 3)];
      *current = {line.substr(space + 1), ""};
    } else if (current != nullptr) {
      current->text += line + "\n";
    }
  }
  for (auto& [name, message] : messages) {
    while (!message.text.empty() && message.text.back() == '\n') message.text.pop_back();
  }
  return messages;
}

// What the cases share.
struct Subjects {
  const CaughtWarnings warnings;
  const Registration f = define("t::f(Tensor x) -> Tensor", "registered at f.cpp:1");
  const Registration f_cpu = implement("t::f", K::CPU, echo("f"), "registered at f.cpp:2");
  const Registration two = define("t::two(Tensor x, int n, *, str mode=\"a\") -> (Tensor, int)",
                                  "registered at two.cpp:1");
  const Registration implicit = define("t::both(Tensor x) -> Tensor", "registered at both.cpp:1");
  const Registration both_math =
      implement("t::both", K::CompositeImplicitAutograd, echo("math"), "registered at both.cpp:2");
  const Registration both_sparse =
      implement("t::both", K::SparseCPU, echo("sparse"), "registered at both.cpp:3");
  const Registration lone = implement("t::lone", K::CPU, echo("lone"), "registered at lone.cpp:1");
  const Tensor x = tensor_with({K::CPU});

  static TypedOperator<Unary> unary(const char* name) {
    return registry().require(name).typed<Unary>();
  }
  static void call_boxed(const char* name, std::vector<Value> arguments) {
    Stack stack;
    for (Value& argument : arguments) stack.push(std::move(argument));
    registry().require(name).call_boxed(stack);
  }
};

void serve_by_c(const char* name, const char* file, const char* symbol) {
  Library library(LibraryKind::Fragment, "t");
  impl_c(library, name, file, symbol);
}
// A C function of a status, for the operator t::c.
Kernel returns_its_argument() {
  int (*const function)(std::int64_t) = [](std::int64_t n) { return int(n); };
  return c_kernel(registry().require("t::c"), reinterpret_cast<const void*>(function),
                  "f of libdemo.so");
}

using Case = std::function<void(const Subjects&)>;

const std::map<std::string, Case>& cases() {
  using S = Subjects;
  static const std::map<std::string, Case> all = {
      // A call that goes nowhere.
      {"call/no kernel", [](const S& s) { s.unary("t::f").call(tensor_with({K::XLA})); }},
      {"call/no kernel with autograd",
       [](const S& s) { s.unary("t::f").call(tensor_with({K::XLA, K::AutogradXLA})); }},
      {"call/no key", [](const S& s) { s.unary("t::f").call(Tensor()); }},
      {"call/all excluded",
       [](const S& s) {
         const ExcludeDispatchKeyGuard exclude(DispatchKeySet(K::Dense));
         s.unary("t::f").call(s.x);
       }},
      {"call/ambiguous",
       [](const S& s) { s.unary("t::both").call(tensor_with({K::SparseCPU, K::AutogradOther})); }},
      {"call/gone",
       [](const S& s) {
         Registration op = define("t::gone(Tensor x) -> Tensor");
         const auto handle = s.unary("t::gone");
         op.undo();
         handle.call(s.x);
       }},
      {"call/wrong kind", [](const S& s) { s.call_boxed("t::f", {Value(3)}); }},
      {"call/wrong kind behind others",
       [](const S& s) { s.call_boxed("t::two", {Value(s.x), Value(2.5), Value("a")}); }},
      {"call/too few values", [](const S& s) { s.call_boxed("t::two", {Value(s.x)}); }},
      {"call/at a layer of many keys",
       [](const S& s) {
         Stack stack;
         stack.push(Value(s.x));
         registry().require("t::f").call_boxed_at(K::Dense, stack);
       }},
      {"call/another signature",
       [](const S&) { registry().require("t::f").typed<Tensor(Tensor)>(); }},
      {"call/signature against the schema",
       [](const S&) { registry().require("t::f").typed<std::int64_t(const Tensor&)>(); }},
      {"call/too many results",
       [](const S& s) {
         const Registration kernel = implement(
             "t::f", K::Meta, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
               stack.push(Value(1));
             }),
             "registered at bad.cpp:1");
         s.call_boxed("t::f", {Value(tensor_with({K::Meta}))});
       }},
      {"call/wrong result",
       [](const S& s) {
         const Registration kernel = implement(
             "t::f", K::Meta, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
               stack.pop();
               stack.push(Value("text"));
             }),
             "registered at bad.cpp:2");
         s.call_boxed("t::f", {Value(tensor_with({K::Meta}))});
       }},
      {"call/a result that is no argument",
       [](const S&) {
         const Registration op = define("t::refer(Tensor x) -> Tensor");
         const Registration kernel = implement(
             "t::refer", K::CPU, Kernel::boxed([](const Operator&, DispatchKeySet, Stack& stack) {
               stack.drop(1);
               stack.push(Value(tensor_with({K::CPU})));
             }));
         registry()
             .require("t::refer")
             .typed<const Tensor&(const Tensor&)>()
             .call(tensor_with({K::CPU}));
       }},

      // Looking for operators.
      {"find/nothing", [](const S&) { registry().require("t::nope"); }},
      {"find/kernels only", [](const S&) { registry().require("t::lone"); }},
      {"find/computed of nothing",
       [](const S&) { inspect::is_fallthrough({"t::nope", ""}, K::CPU); }},
      {"find/computed of an alias",
       [](const S&) { inspect::has_computed_kernel({"t::f", ""}, K::Autograd); }},

      // Registering.
      {"register/twice",
       [](const S&) { define("t::f(Tensor x) -> Tensor", "registered at g.cpp:9"); }},
      {"register/another signature",
       [](const S&) {
         implement("t::f", K::Meta, Kernel::from([](Tensor x) -> Tensor { return x; }),
                   "registered at g.cpp:3");
       }},
      {"register/another number of arguments",
       [](const S&) {
         implement("t::f", K::Meta,
                   Kernel::from([](const Tensor& x, std::int64_t) -> Tensor { return x; }),
                   "registered at g.cpp:4");
       }},
      {"register/another type",
       [](const S&) {
         implement("t::two", K::CPU, Kernel::from([](const Tensor& x, double, std::string_view) {
                     return std::tuple<Tensor, std::int64_t>(x, 1);
                   }),
                   "registered at g.cpp:5");
       }},
      {"register/at a layer of many keys", [](const S&) { implement("t::f", K::Dense, echo("")); }},
      {"register/at no key", [](const S&) { implement("t::f", K(500), echo("")); }},
      {"register/a moved kernel",
       [](const S&) {
         Kernel kernel = echo("");
         const Kernel taken = std::move(kernel);
         implement("t::f", K::Meta, std::move(kernel));
       }},
      {"register/a null kernel", [](const S&) { Kernel::boxed(nullptr); }},
      {"register/a second fallback",
       [](const S&) {
         const Registration first =
             registry().implement_fallback(K::XLA, boxed_echo(""), "registered at a.cpp:1");
         registry().implement_fallback(K::XLA, boxed_echo(""), "registered at b.cpp:2");
       }},
      {"register/an unboxed fallback",
       [](const S&) { registry().implement_fallback(K::XLA, echo(""), ""); }},
      {"register/a fallback at an alias",
       [](const S&) { registry().implement_fallback(K::Autograd, boxed_echo(""), ""); }},
      {"register/a reporter of what is gone",
       [](const S& s) {
         Registration op = define("t::gone(Tensor x) -> Tensor");
         const Operator& gone = s.unary("t::gone").op();
         op.undo();
         registry().set_missing_kernel_reporter(gone, {});
       }},

      // Libraries.
      {"library/no namespace", [](const S&) { Library(LibraryKind::Def, "a b"); }},
      {"library/wildcard that defines", [](const S&) { Library(LibraryKind::Fragment, "_"); }},
      {"library/key that defines", [](const S&) { Library(LibraryKind::Def, "u", K::CPU); }},
      {"library/second definer",
       [](const S&) {
         const Library first(LibraryKind::Def, "u", std::nullopt, "u.cpp", 1);
         const Library second(LibraryKind::Def, "u", std::nullopt, "u.cpp", 2);
       }},
      {"library/def in impl",
       [](const S&) { Library(LibraryKind::Impl, "u", K::CPU, "u.cpp", 3).def("f() -> ()"); }},
      {"library/another namespace",
       [](const S&) { Library(LibraryKind::Fragment, "u").def("v::f() -> ()"); }},
      {"library/another key",
       [](const S&) { Library(LibraryKind::Impl, "t", K::CPU).impl("f", K::CUDA, echo("")); }},
      {"library/fallback of one namespace",
       [](const S&) { Library(LibraryKind::Impl, "t", K::CPU).fallback(boxed_echo("")); }},
      {"library/fallback without a key",
       [](const S&) { Library(LibraryKind::Impl, "_").fallback(boxed_echo("")); }},
      {"library/name without types",
       [](const S&) { Library(LibraryKind::Fragment, "u").def("f", boxed_echo("")); }},
      {"library/moved from",
       [](const S&) {
         Library library(LibraryKind::Fragment, "u");
         const Library taken = std::move(library);
         library.def("f() -> ()");
       }},

      // Keys.
      {"keys/unknown name", [](const S&) { parse_dispatch_key("Cpu"); }},
      {"keys/alias in a set", [](const S&) { static_cast<void>(DispatchKeySet(K::Autograd)); }},
      {"keys/no backend key", [](const S&) { autograd_key_of(K::Python); }},
      {"keys/past the end", [](const S&) { ++DispatchKeySet().begin(); }},
      {"keys/name that is taken", [](const S&) { register_backend("cuda"); }},
      {"keys/name that is none", [](const S&) { register_layer("a b", LayerGap::OnTop); }},
      {"keys/backend that cannot be renamed",
       [](const S&) { rename_backend(Backend::CPU, "foo"); }},

      // Values and tensors.
      {"value/another kind", [](const S& s) { Value(s.x).to_int(); }},
      {"value/stack too small",
       [](const S&) {
         Stack stack;
         stack.push(Value(1));
         stack.top(3);
       }},
      {"value/no number", [](const S&) { Scalar(Value("text")); }},
      {"value/kind that is none", [](const S&) { require_kind(5); }},
      {"value/symbolic where a number is needed",
       [](const S&) { Reasoner::symbol("n", 5).expect_int(); }},
      {"value/null pointer", [](const S&) { Value(CountedPtr<Storage>()); }},
      {"value/tuple of another length",
       [](const S&) { Value::tuple({Value(1)}).to<std::pair<double, double>>(); }},
      {"value/hash of a list", [](const S&) { hash_of(Value::list({})); }},
      {"value/copy of what cannot be copied", [](const S&) { deep_copy(some_capsule()); }},
      {"value/list index past the end",
       [](const S&) { List<std::int64_t>(Value::list({Value(1), Value(2)})).get(3); }},
      {"value/dict without the key", [](const S&) { Dict<std::string, double>().at("b"); }},
      {"value/no key of a dict", [](const S&) { Value::dict({{Value::list({}), Value(1)}}); }},
      {"value/class that is not registered", [](const S&) { Value(make_counted<Nobody>()); }},
      {"value/name without a namespace", [](const S&) { register_class<Nobody>("Counter"); }},
      {"value/name that is taken",
       [](const S&) {
         counter_type();
         register_class<Nobody>("test.Counter");
       }},
      {"value/object of another class",
       [](const S&) {
         counter_type();
         register_class<Other>("test.Other");
         Value(make_counted<Counter>()).to<CountedPtr<Other>>();
       }},
      {"value/member that an enum has not", [](const S&) { require_member(color_type(), "Grey"); }},
      {"tensor/undefined", [](const S&) { Tensor().sizes(); }},
      {"tensor/another dtype", [](const S& s) { s.x.data<std::int64_t>(); }},
      {"tensor/dimension out of range", [](const S& s) { s.x.size(4); }},
      {"tensor/negative size",
       [](const S&) {
         const std::int64_t sizes[] = {2, -3};
         Tensor::empty(sizes);
       }},
      {"tensor/too many elements",
       [](const S&) {
         const std::int64_t sizes[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
         Tensor::empty(sizes);
       }},
      {"tensor/view out of its storage",
       [](const S& s) {
         const std::int64_t sizes[] = {9};
         const std::int64_t strides[] = {1};
         s.x.as_strided(sizes, strides, 0);
       }},
      {"tensor/no allocator",
       [](const S&) {
         const std::int64_t sizes[] = {1};
         Tensor::empty(sizes, DType::Float32, Device{Backend::CUDA, 0});
       }},
      {"tensor/number of no dtype", [](const S&) { require_dtype(77); }},
      {"tensor/number of no layout", [](const S&) { require_layout(9); }},
      {"tensor/device of no backend", [](const S&) { parse_device("gpu"); }},
      {"tensor/device with a wrong index", [](const S&) { parse_device("cuda:x"); }},

      // C functions. Others are in test_c_function_errors.cpp.
      {"c function/no signature",
       [](const Subjects&) {
         const Registration op = define("t::c(Tensor x, Scalar n) -> Tensor");
         c_prototype(registry().require("t::c"));
       }},
      {"c function/a view",
       [](const Subjects&) {
         const Registration op = define("t::c(Tensor(a) x) -> Tensor(a)");
         c_prototype(registry().require("t::c"));
       }},
      {"c function/no operator", [](const Subjects&) { serve_by_c("nope", "libm.so.6", "cos"); }},
      {"c function/missing file",
       [](const Subjects&) {
         const Registration op = define("t::c(float x) -> float");
         serve_by_c("c", "/no/such/library.so", "cos");
       }},
      {"c function/missing function",
       [](const Subjects&) {
         const Registration op = define("t::c(float x) -> float");
         serve_by_c("c", "libm.so.6", "cosinus");
       }},
      {"c function/status",
       [](const Subjects& s) {
         const Registration op = define("t::c(int n) -> ()");
         const Registration kernel = implement("t::c", std::nullopt, returns_its_argument());
         s.call_boxed("t::c", {Value(6)});
       }},
      {"c function/no status",
       [](const Subjects& s) {
         const Registration op = define("t::c(int n) -> ()");
         const Registration kernel = implement("t::c", std::nullopt, returns_its_argument());
         s.call_boxed("t::c", {Value(1000)});
       }},
      {"c function/another schema",
       [](const Subjects& s) {
         Registration op = define("t::c(int n) -> ()");
         const Registration kernel = implement("t::c", std::nullopt, returns_its_argument());
         op.undo();
         const Registration other = define("t::c(str n) -> ()");
         s.call_boxed("t::c", {Value("text")});
       }},
      {"c function/zero byte in a text",
       [](const Subjects& s) {
         const Registration op = define("t::c(str n) -> ()");
         const Registration kernel = implement("t::c", std::nullopt, returns_its_argument());
         s.call_boxed("t::c", {Value(std::string_view("a\0b", 3))});
       }},
      {"c function/another type",
       [](const Subjects&) {
         const Registration op = define("t::c(float x) -> float");
         c_function(registry().require("t::c")).as<int(double)>();
       }},
      {"c function/no form", [](const Subjects&) { parse_c_form("void"); }},

      // Plugins.
      {"plugin/no path", [](const S&) { load_library(""); }},
      {"plugin/missing file", [](const S&) { load_library("/no/such/plugin.so"); }},
      {"plugin/not loaded", [](const S&) { unload_library("/no/such/plugin.so"); }},
  };
  return all;
}

TEST(Messages, EachIsWhatTheFileSays) {
  const Messages written = read_messages(kFile);
  ASSERT_FALSE(written.empty()) << "no messages in " << kFile;
  const Subjects subjects;
  for (const auto& [name, provoke] : cases()) {
    SCOPED_TRACE(name);
    const Thrown thrown = thrown_by([&] { provoke(subjects); });
    const auto found = written.find(name);
    if (found == written.end()) {
      ADD_FAILURE() << "not in the file:\n== " << name << " " << name_of(thrown.kind) << "\n"
                    << thrown.text;
      continue;
    }
    EXPECT_EQ(name_of(thrown.kind), found->second.kind);
    EXPECT_EQ(thrown.text, found->second.text);
  }
  inspect::check_invariants();
}

TEST(Messages, TheFileHasNoneThatNobodyProvokes) {
  for (const auto& [name, message] : read_messages(kFile)) {
    EXPECT_TRUE(name.rfind("python/", 0) == 0 || cases().contains(name)) << name;
  }
}

TEST(Messages, TheReaderSeesADifference) {
  const std::string file = testing::TempDir() + "messages.txt";
  std::ofstream(file)
      << "for the reader\n== one BadValue\na text\n of two lines\n\n== two Internal\n";
  const Messages messages = read_messages(file);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages.at("one").kind, "BadValue");
  EXPECT_EQ(messages.at("one").text, "a text\n of two lines");
  EXPECT_EQ(messages.at("two").text, "");
}

}  // namespace
}  // namespace opyard::test_messages
