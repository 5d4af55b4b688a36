// test_library.cpp: protects the kinds of libraries, and that the end of one unregisters everything.
// Suspect dispatcher/src/registry/library.cpp.
#include "opyard/inspect/inspect.h"
#include "opyard/registry/library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_library {
namespace {

using K = DispatchKey;

Tensor same(const Tensor& x) { return x; }
void boxed_same(const Operator&, DispatchKeySet, Stack&) {}

Library fragment(std::string name_space = "t") {
  return Library(LibraryKind::Fragment, std::move(name_space), std::nullopt, "frag.cpp", 3);
}
Library kernels(std::optional<K> key = K::CPU, std::string name_space = "t") {
  return Library(LibraryKind::Impl, std::move(name_space), key, "impl.cpp", 7);
}

TEST(Library, B1_TheThreeKinds) {
  Library def(LibraryKind::Def, "t", std::nullopt, "def.cpp", 1);
  def.def("f(Tensor x) -> Tensor");
  Library more = fragment();
  more.def("g(Tensor x) -> Tensor");
  Library impl = kernels();
  impl.impl("f", &same);
  EXPECT_EQ(def.kind(), LibraryKind::Def);
  EXPECT_EQ(impl.key(), K::CPU);
  EXPECT_EQ(more.name_space(), "t");
  EXPECT_EQ(inspect::names().size(), 2u);
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "nobody") << "a kernel that says nothing ran";
  EXPECT_EQ(dump("t::f"),
            "name: t::f\nschema: t::f(Tensor x) -> Tensor\ndebug: registered at def.cpp:1\n"
            "alias analysis kind: FROM_SCHEMA\n"
            "CPU: registered at impl.cpp:7 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]\n");
}

TEST(Library, B2_OneDefLibraryANamespaceAtATime) {
  {
    const Library first(LibraryKind::Def, "solo", std::nullopt, "a.cpp", 1);
    EXPECT_THROWN(
        Library(LibraryKind::Def, "solo", std::nullopt, "b.cpp", 2), BadRegistration,
        "Only one OPYARD_LIBRARY block can define the namespace solo; put all definitions "
        "into one block, or use OPYARD_LIBRARY_FRAGMENT for the others. Previous "
        "registration was registered at a.cpp:1; latest registration was registered at "
        "b.cpp:2");
    const Library other = fragment("solo");
    const Library impl = kernels(K::CPU, "solo");
  }
  const Library again(LibraryKind::Def, "solo");
  EXPECT_EQ(again.name_space(), "solo");
}

TEST(Library, B4_TheWildcardNamespaceHoldsFallbacksOnly) {
  EXPECT_THROWN(Library(LibraryKind::Def, "_"), BadRegistration,
                "OPYARD_LIBRARY(_): the namespace _ stands for all operators and can only hold "
                "fallbacks; use OPYARD_LIBRARY_IMPL(_, Key, m) for those");
  EXPECT_THROWN(Library(LibraryKind::Fragment, "_"), BadRegistration,
                "OPYARD_LIBRARY_FRAGMENT(_): the namespace _ stands for all operators and can only "
                "hold fallbacks; use OPYARD_LIBRARY_IMPL(_, Key, m) for those");
  EXPECT_THROWN(Library(LibraryKind::Impl, ""), BadRegistration,
                "\"\" is no namespace for a library: it takes letters, digits and underscores, and "
                "begins with "
                "no digit");
  Library all = kernels(K::CPU, "_");
  all.fallback(Kernel::boxed(&boxed_same));
  EXPECT_THROWN(all.impl("f", &same), BadRegistration,
                "impl(\"f\", ...): the namespace _ stands for all operators and can only hold "
                "fallbacks; use OPYARD_LIBRARY_IMPL(ns, Key, m) for kernels of one operator");
  EXPECT_THROWN(all.impl("t::f", &same), BadRegistration,
                "impl(\"t::f\", ...): the namespace _ stands for all operators and can only hold "
                "fallbacks; use OPYARD_LIBRARY_IMPL(ns, Key, m) for kernels of one operator");
}

TEST(Library, B5_ADefiningLibraryTakesNoKey) {
  EXPECT_THROWN(
      Library(LibraryKind::Def, "t", K::CPU), BadRegistration,
      "OPYARD_LIBRARY(t): a library that defines operators takes no dispatch key, but got "
      "CPU; use OPYARD_LIBRARY_IMPL for kernels of one key");
  EXPECT_THROWN(
      Library(LibraryKind::Fragment, "t", K::CPU), BadRegistration,
      "OPYARD_LIBRARY_FRAGMENT(t): a library that defines operators takes no dispatch key, "
      "but got CPU; use OPYARD_LIBRARY_IMPL for kernels of one key");
  const Library unclaimed(LibraryKind::Def, "t");  // a refused library claims nothing
}

TEST(Library, B6_AnImplLibraryDefinesNothing) {
  Library impl = kernels();
  EXPECT_THROWN(impl.def("foo(Tensor x) -> Tensor"), BadRegistration,
                "def(\"foo(Tensor x) -> Tensor\"): Cannot define an operator inside of an "
                "OPYARD_LIBRARY_IMPL block; put it into the OPYARD_LIBRARY block of its namespace. "
                "(registered at impl.cpp:7)");
  EXPECT_THROWN(
      impl.def("foo", &same), BadRegistration,
      "def(\"foo\"): Cannot define an operator inside of an OPYARD_LIBRARY_IMPL block; put "
      "it into the OPYARD_LIBRARY block of its namespace. (registered at impl.cpp:7)");
  EXPECT_THROWN(impl.def("foo(Tensor x) -> Tensor", &same), BadRegistration,
                "def(\"foo(Tensor x) -> Tensor\"): Cannot define an operator inside of an "
                "OPYARD_LIBRARY_IMPL block; put it into the OPYARD_LIBRARY block of its namespace. "
                "(registered at impl.cpp:7)");
  EXPECT_EQ(registry().find({"t::foo", ""}), nullptr);
}

TEST(Library, B7_AWrittenNamespaceMustBeTheLibrarys) {
  Library lib = fragment("tns");
  EXPECT_THROWN(lib.def("oth::foo(Tensor x) -> Tensor"), BadRegistration,
                "def(\"oth::foo\", ...): Explicitly provided namespace (oth) in operator name does "
                "not match namespace of enclosing OPYARD_LIBRARY_FRAGMENT block (tns).");
  EXPECT_EQ(to_string(lib.def("tns::foo(Tensor x) -> Tensor")), "tns::foo");
  EXPECT_EQ(to_string(lib.def("bar.out(Tensor x) -> Tensor")), "tns::bar.out") << "filled in";
  Library impl = kernels(K::CPU, "tns");
  EXPECT_THROWN(impl.impl("other::foo", &same), BadRegistration,
                "impl(\"other::foo\", ...): Explicitly provided namespace (other) in operator name "
                "does not match namespace of enclosing OPYARD_LIBRARY_IMPL block (tns).");
  impl.impl("tns::foo", &same);
  impl.impl("bar.out", &same);
}

TEST(Library, B8_AWrittenKeyMustBeTheLibrarys) {
  Library lib = fragment();
  lib.def("foo(Tensor x) -> Tensor");
  Library impl = kernels(K::CPU);
  EXPECT_THROWN(impl.impl("foo", K::CUDA, &same), BadRegistration,
                "impl(\"foo\", ...): Explicitly provided dispatch key (CUDA) is inconsistent with "
                "the dispatch key of the enclosing OPYARD_LIBRARY_IMPL block (CPU).");
  impl.impl("foo", K::CPU, &same);
  Library any = kernels(std::nullopt);
  any.impl("foo", K::CUDA, &same);
  any.impl("foo", &same);
  EXPECT_EQ(inspect::keys_with_kernel(registry().require("t::foo")),
            (std::vector<K>{K::CPU, K::CUDA, K::CompositeImplicitAutograd}));
}

TEST(Library, B9_WhereAFallbackMayStand) {
  const auto fallback = [](Library library) { library.fallback(Kernel::boxed(&boxed_same)); };
  EXPECT_THROWN(fallback(fragment()), BadRegistration,
                "fallback(...): a fallback serves all operators, not those of the namespace t; "
                "register it in OPYARD_LIBRARY_IMPL(_, Key, m)");
  EXPECT_THROWN(fallback(kernels()), BadRegistration,
                "fallback(...): a fallback serves all operators, not those of the namespace t; "
                "register it in OPYARD_LIBRARY_IMPL(_, Key, m)");
  EXPECT_THROWN(fallback(kernels(std::nullopt, "_")), BadRegistration,
                "fallback(...): this library has no dispatch key to serve; name one, as in "
                "OPYARD_LIBRARY_IMPL(_, Key, m)");
  EXPECT_THROWN(kernels(K::CPU, "_").fallback(Kernel::from(&same)), BadRegistration,
                "the fallback for CPU serves every operator and must be a boxed kernel or "
                "Kernel::fallthrough()");
}

TEST(Library, B10_ItsEndUndoesAllItRegisteredInAnyOrder) {
  const CaughtWarnings warnings;
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    std::vector<std::optional<Library>> libraries(4);
    libraries[0].emplace(LibraryKind::Def, "t");
    libraries[0]->def("f(Tensor x) -> Tensor");
    libraries[0]->impl("f", &same);
    libraries[1].emplace(kernels());
    libraries[1]->impl("f", &same);
    libraries[2].emplace(kernels());
    libraries[2]->override_kernel("f", K::CPU, &same);
    libraries[3].emplace(kernels(K::XLA, "_"));
    libraries[3]->fallback(Kernel::boxed(&boxed_same));
    for (const std::size_t i : order) {
      libraries[i].reset();
      inspect::check_invariants();
    }
    EXPECT_EQ(dump("t::f") + dump_table("t::f"), "");
    EXPECT_EQ(registry().find({"t::f", ""}), nullptr);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Library, B10_ResetDoesItEarlyAndMovingDoesNot) {
  Library lib = fragment();
  lib.def("early(Tensor x) -> Tensor");
  Library moved = std::move(lib);
  EXPECT_NE(registry().find({"t::early", ""}), nullptr);
  moved.reset();
  EXPECT_EQ(registry().find({"t::early", ""}), nullptr);
  moved.def("early(Tensor x) -> Tensor");
  EXPECT_NE(registry().find({"t::early", ""}), nullptr) << "it can be used again";
}

TEST(Library, B13_DefWithAKernelServesEveryBackend) {
  Library lib = fragment();
  EXPECT_EQ(to_string(lib.def("whole(Tensor x) -> Tensor", &same)), "t::whole");
  EXPECT_EQ(dump_table("t::whole").substr(0, 40), "Undefined: registered at frag.cpp:3 [mat");
}

// A schema that is made from C++ types says nothing of aliases, so no kind can be given with it: it
// would be FROM_SCHEMA in vain.
template <typename L>
concept TakesAKindWithAFunction =
    requires(L lib) { lib.def("inferred", &same, AliasAnalysis::FromSchema); };
template <typename L>
concept TakesAFunction = requires(L lib) { lib.def("inferred", &same); };

TEST(Library, B16_AnInferredSchemaIsConservative) {
  static_assert(TakesAFunction<Library>);
  static_assert(!TakesAKindWithAFunction<Library>);
  Library lib = fragment();
  lib.def("inferred", &same);
  const std::string text = dump("t::inferred");
  EXPECT_NE(text.find("\nalias analysis kind: CONSERVATIVE\n"), std::string::npos) << text;
}

TEST(Library, D8_ABoxedFunctionWithoutAKeySetIsAKernel) {
  Library lib = fragment();
  lib.def("plain(Tensor x) -> Tensor");
  lib.impl("plain", K::CPU, [](const Operator& op, Stack&) { last_ran = op.name().name; });
  EXPECT_EQ(who_ran("t::plain", {K::CPU}), "t::plain");
  EXPECT_THROWN(
      lib.def("bp", [](const Operator&, Stack&) {}), BadRegistration,
      "def(\"bp\"): a boxed kernel has no C++ types to make a schema from; write the whole "
      "schema");
}

TEST(Library, B15_ASchemaIsMadeFromACppFunction) {
  Library lib = fragment();
  lib.def("inferred", [](const Tensor& x, std::int64_t, const std::optional<Tensor>&, IntSpan) {
    return std::tuple<Tensor, double>(x, 1.);
  });
  EXPECT_EQ(
      dump("t::inferred"),
      "name: t::inferred\n"
      "schema: t::inferred(Tensor _0, int _1, Tensor? _2, int[] _3) -> (Tensor _0, float _1)\n"
      "debug: registered at frag.cpp:3\nalias analysis kind: CONSERVATIVE\n"
      "CompositeImplicitAutograd[alias]: registered at frag.cpp:3 :: (Tensor _0, int _1, "
      "Tensor? _2, int[] _3) -> (Tensor _0, float _1) [ boxed unboxed ]\n");
  EXPECT_THROWN(
      lib.def("bx", &boxed_same), BadRegistration,
      "def(\"bx\"): a boxed kernel has no C++ types to make a schema from; write the whole "
      "schema");
  EXPECT_EQ(dump("t::bx"), "");
}

TEST(Library, B14_ARefusedDefWithAKernelLeavesNoDefinition) {
  Library lib = fragment();
  EXPECT_EQ(thrown_by([&] { lib.def("both(Tensor x) -> int", &same); }).kind,
            ErrorKind::BadRegistration);
  EXPECT_EQ(dump("t::both"), "");
  EXPECT_EQ(thrown_by([&] { lib.def("both(Tensor x -> int"); }).kind, ErrorKind::BadSchema);
  EXPECT_EQ(dump("t::both"), "");
  lib.def("both(Tensor x) -> Tensor", &same);
}

TEST(Library, B17_NamesOfOperatorsAndOverloads) {
  Library lib = fragment();
  for (const char* name : {"f.default", "f.__init__", "f.", "3f", "f-g", "a::b::f", ".x"}) {
    EXPECT_EQ(thrown_by([&] { lib.def(std::string(name) + "(Tensor x) -> Tensor"); }).kind,
              ErrorKind::BadSchema)
        << name;
    EXPECT_EQ(thrown_by([&] { lib.impl(name, K::CPU, &same); }).kind, ErrorKind::BadSchema) << name;
  }
  EXPECT_TRUE(inspect::names().empty());
  lib.def("_f1.Tensor_2(Tensor x) -> Tensor");
}

TEST(Library, TheSameLibraryReplacesAndAnotherStacks) {
  const CaughtWarnings warnings;
  Library lib = fragment();
  lib.def("stack(Tensor x) -> Tensor");
  lib.impl("stack", K::CPU, echo("first"));
  lib.impl("stack", K::CPU, echo("second"));
  EXPECT_TRUE(warnings.texts().empty());
  EXPECT_EQ(who_ran("t::stack", {K::CPU}), "second");
  {
    Library other = kernels();
    other.override_kernel("stack", K::CPU, echo("other"));
    EXPECT_EQ(who_ran("t::stack", {K::CPU}), "other");
    EXPECT_TRUE(warnings.texts().empty());
  }
  EXPECT_EQ(who_ran("t::stack", {K::CPU}), "second");
  lib.impl("stack", K::CPU, echo("third"));
  EXPECT_EQ(dump("t::stack").find("inactive"), std::string::npos);
}

TEST(Library, ARefusedKernelTakesItsOwnDefinitionBackAndNoOther) {
  static Library* registering;
  Library lib = fragment();
  registering = &lib;
  const Registration first = implement("t::refused", K::CompositeImplicitAutograd, echo(""));
  const WarningHandler former = set_warning_handler([](const Warning&) {
    registering->def("meanwhile(Tensor x) -> Tensor");
    fail(ErrorKind::BadValue, "raised");
  });
  EXPECT_EQ(thrown_by([&] { lib.def("refused(Tensor x) -> Tensor", echo("")); }).kind,
            ErrorKind::BadValue);
  set_warning_handler(former);
  EXPECT_EQ(registry().find({"t::refused", ""}), nullptr);
  EXPECT_NE(registry().find({"t::meanwhile", ""}), nullptr);
}

TEST(Library, ANamespaceIsAnIdentifier) {
  for (const char* name : {"", "a b", "a::b", "1x", "a.b", "-", "\u00e9"}) {
    for (const LibraryKind kind : {LibraryKind::Def, LibraryKind::Fragment, LibraryKind::Impl}) {
      EXPECT_EQ(thrown_by([&] { Library(kind, name); }).kind, ErrorKind::BadRegistration) << name;
    }
  }
  EXPECT_THROWN(Library(LibraryKind::Def, "a b"), BadRegistration,
                "\"a b\" is no namespace for a library: it takes letters, digits and underscores, "
                "and begins with no digit");
  Library(LibraryKind::Fragment, "_x1");
}

TEST(Library, X10_OverloadsThatAcceptTheSameCallAreWarnedOf) {
  Library lib = fragment();
  lib.def("over.wide(Scalar n) -> Tensor");
  lib.def("over.other(Tensor x) -> Tensor");
  const CaughtWarnings caught;
  lib.def("over.none(str s) -> Tensor");
  EXPECT_TRUE(caught.texts().empty());
  lib.def("over.narrow(int n, *, bool? flag=None) -> Tensor");
  ASSERT_EQ(caught.texts().size(), 1u);
  EXPECT_NE(caught.texts()[0].find("over(int)\n  goes to: "), std::string::npos)
      << caught.texts()[0];
}

TEST(Library, X10_AHandlerThatThrowsLeavesNothingBehind) {
  Library lib = fragment();
  const OperatorName first = lib.def("over.a(int n) -> Tensor");
  const WarningHandler former =
      set_warning_handler([](const Warning& each) { fail(ErrorKind::BadValue, each.message); });
  const Thrown thrown = thrown_by([&] { lib.def("over.b(int n) -> Tensor"); });
  const Thrown with_kernel =
      thrown_by([&] { lib.def("over.b(Tensor x, int m) -> Tensor", &same); });
  set_warning_handler(former);
  EXPECT_EQ(thrown.kind, ErrorKind::BadValue);
  EXPECT_EQ(inspect::overloads(first.name), std::vector<std::string>{"a"});
  EXPECT_EQ(with_kernel.kind, ErrorKind::BadRegistration) << "of another C++ signature";
  inspect::check_invariants();
  lib.def("over.b(str s) -> Tensor");
}

TEST(Library, OneThatWasMovedFromRegistersNothing) {
  Library lib = fragment();
  Library moved = std::move(lib);
  const auto refused = [](const char* function) {
    return std::string(function) + ": this library was moved from and registers nothing any more";
  };
  EXPECT_THROWN(lib.def("f(Tensor x) -> Tensor"), BadRegistration, refused("def(...)"));
  EXPECT_THROWN(lib.impl("f", K::CPU, &same), BadRegistration, refused("impl(...)"));
  EXPECT_THROWN(lib.fallback(Kernel::fallthrough()), BadRegistration, refused("fallback(...)"));
  moved.def("f(Tensor x) -> Tensor");
}

TEST(Library, X5_FilledOnceMoreItReplacesInPlaceAndKeepsOperators) {
  Library library(LibraryKind::Def, "again");
  library.def("f(Tensor x) -> Tensor");
  library.def("g(Tensor x) -> Tensor");
  const auto unchanged = [](const Operator&, DispatchKeySet, Stack&) {};
  library.impl("f", DispatchKey::CPU, unchanged);
  library.impl("f", DispatchKey::Meta, unchanged);
  const Registry& registry = Registry::instance();
  const Operator& f = registry.require("again::f");

  library.begin_reload();
  EXPECT_TRUE(inspect::has_kernel_at({"again::f", ""}, DispatchKey::CPU)) << "until replaced";
  library.def("f(Tensor x) -> Tensor");
  library.impl("f", DispatchKey::CPU, unchanged);
  EXPECT_THROW(library.def("f(Tensor x) -> Tensor"), Error) << "twice in one filling";
  library.end_reload();
  EXPECT_EQ(&registry.require("again::f"), &f);
  EXPECT_TRUE(inspect::has_kernel_at({"again::f", ""}, DispatchKey::CPU));
  EXPECT_FALSE(inspect::has_kernel_at({"again::f", ""}, DispatchKey::Meta));
  EXPECT_EQ(registry.find({"again::g", ""}), nullptr);
  EXPECT_THROW(library.def("f(Tensor x) -> Tensor"), Error) << "after the filling";

  library.begin_reload();
  library.def("f(Tensor x, int n=1) -> Tensor");
  library.end_reload();
  EXPECT_NE(&registry.require("again::f"), &f);
  InlineStack<2> stack;
  stack.push(Value(Tensor::empty({})));
  EXPECT_THROW(f.call_boxed(stack), Error);
  library.reset();
  EXPECT_EQ(registry.find({"again::f", ""}), nullptr);
  inspect::check_invariants();
}

}  // namespace
}  // namespace opyard::test_library
