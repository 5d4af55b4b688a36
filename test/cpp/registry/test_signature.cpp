// test_signature.cpp: protects the agreement of kernels, schemas and handles on C++ types.
// Suspect dispatcher/src/registry/signature.cpp.
//
// A handle calls through every kernel that comes later without a check, so that no two C++
// signatures may ever meet at one operator.
#include <gtest/gtest.h>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_signature {
namespace {

using K = DispatchKey;
using Unary = Tensor(const Tensor&);

Kernel two_arguments() {
  return Kernel::from([](const Tensor& x, std::int64_t) -> Tensor { return x; });
}
Kernel by_value() {
  return Kernel::from([](Tensor x) -> Tensor { return x; });
}

// What is registered for an operator, as text.
std::string state_of(std::string_view name) {
  inspect::check_invariants();
  return dump(name) + dump_table(name);
}

TEST(Signature, B24_KernelsOfOneOperatorAgreeOnTheirCppSignature) {
  const Registration op = define("t::agree(Tensor x) -> Tensor");
  const Registration a = implement("t::agree", K::CPU, echo("a"), "registered at a.cpp:1");
  const std::string before = state_of("t::agree");
  EXPECT_THROWN(implement("t::agree", K::Meta, by_value(), "registered at b.cpp:2"),
                BadRegistration,
                "Mismatch in kernel C++ signatures\n  operator: t::agree(Tensor x) -> Tensor\n"
                "  kernel 1: opyard::Tensor (opyard::Tensor const&)\n    dispatch key: CPU\n"
                "    registered at a.cpp:1\n"
                "  kernel 2: opyard::Tensor (opyard::Tensor)\n    dispatch key: Meta\n"
                "    registered at b.cpp:2");
  EXPECT_EQ(state_of("t::agree"), before);
  const Registration boxed = implement("t::agree", K::Meta, boxed_echo("boxed"));
  EXPECT_EQ(who_ran("t::agree", {K::Meta}), "boxed") << "a boxed kernel agrees with all";
}

TEST(Signature, B24_TheCatchAllIsCalledThat) {
  const Registration all =
      implement("t::catch_all", std::nullopt, echo(""), "registered at a.cpp:1");
  EXPECT_THROWN(implement("t::catch_all", K::CPU, by_value(), "registered at b.cpp:2"),
                BadRegistration,
                "Mismatch in kernel C++ signatures\n  operator: t::catch_all\n"
                "  kernel 1: opyard::Tensor (opyard::Tensor const&)\n"
                "    dispatch key: (catch all)\n    registered at a.cpp:1\n"
                "  kernel 2: opyard::Tensor (opyard::Tensor)\n    dispatch key: CPU\n"
                "    registered at b.cpp:2");
}

TEST(Signature, B24_TheSignatureSurvivesItsKernelWhileTheDefinitionLives) {
  const Registration op = define("t::survives(Tensor x) -> Tensor");
  implement("t::survives", K::CPU, echo("")).undo();
  EXPECT_THROWN(implement("t::survives", K::CPU, by_value(), "registered at b.cpp:2"),
                BadRegistration,
                "t::survives: the C++ signature of this operator is opyard::Tensor (opyard::Tensor "
                "const&), and that of the kernel registered at b.cpp:2 is opyard::Tensor "
                "(opyard::Tensor)");
}

TEST(Signature, B25_AKernelThatContradictsTheSchemaIsRefusedInBothOrders) {
  const auto message = [](const char* name) {
    return std::string("A kernel's C++ types do not match the operator's schema.\n  operator: ") +
           name + "\n  schema: " + name +
           "(Tensor x) -> Tensor\n    registered at def.cpp:1\n"
           "  kernel: (Tensor _0, int _1) -> Tensor _0\n    registered at b.cpp:2\n"
           "  reason: The number of arguments is different. 1 vs 2.\n"
           "  a kernel of this schema: Tensor " +
           std::string(name).substr(3) + "(const Tensor& x)";
  };
  const Registration op = define("t::def_first(Tensor x) -> Tensor");
  const std::string before = state_of("t::def_first");
  EXPECT_THROWN(implement("t::def_first", K::CPU, two_arguments(), "registered at b.cpp:2"),
                BadRegistration, message("t::def_first"));
  EXPECT_EQ(state_of("t::def_first"), before);

  const Registration kernel =
      implement("t::impl_first", K::CPU, two_arguments(), "registered at b.cpp:2");
  const std::string dangling = state_of("t::impl_first");
  EXPECT_THROWN(define("t::impl_first(Tensor x) -> Tensor"), BadRegistration,
                message("t::impl_first"));
  EXPECT_EQ(state_of("t::impl_first"), dangling);
}

TEST(Signature, B25_TheReasonNamesPositionAndTypes) {
  const auto reason = [](const char* schema, Kernel kernel) {
    const Registration op = define(schema);
    const std::string name(schema, std::string_view(schema).find('('));
    const std::string text = thrown_by([&] { implement(name, K::CPU, std::move(kernel)); }).text;
    const std::size_t begin = text.find("reason: ");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(reason("t::r(Tensor x, Tensor y) -> Tensor", two_arguments()),
            "reason: Type mismatch in argument 2: Tensor vs int");
  EXPECT_EQ(reason("t::r(Tensor x) -> int", echo("")),
            "reason: Type mismatch in return 1: int vs Tensor");
  EXPECT_EQ(reason("t::r(Tensor x) -> (Tensor, Tensor)", echo("")),
            "reason: The number of returns is different. 2 vs 1.");
  EXPECT_EQ(reason("t::r(Tensor? x) -> Tensor", echo("")),
            "reason: Type mismatch in argument 1: Tensor? vs Tensor");
}

std::tuple<Tensor, std::vector<std::int64_t>, std::string> takes_all(
    const Tensor& a, std::optional<Tensor>, std::int64_t, double, bool, std::complex<double>,
    std::string_view, opyard::Scalar, opyard::SymInt, opyard::DType, opyard::Device, opyard::Layout,
    opyard::MemoryFormat, opyard::IntSpan, std::span<const Tensor>, std::optional<std::string>) {
  return {a, {}, {}};
}

TEST(Signature, TheFunctionThatASchemaAsksForIsWrittenOutAndIsTaken) {
  const std::string schema =
      "t::takes_all(Tensor a, Tensor? b, int c, float d, bool e, complex f, str g, Scalar h, "
      "SymInt i, ScalarType j, Device k, Layout l, MemoryFormat m, int[] n, Tensor[] o, str? p) -> "
      "(Tensor, int[], str)";
  const Registration op = define(schema);
  const std::string text = thrown_by([] { implement("t::takes_all", K::CPU, echo("")); }).text;
  EXPECT_EQ(text.substr(text.find("  a kernel of")),
            "  a kernel of this schema: std::tuple<Tensor, std::vector<std::int64_t>, std::string> "
            "takes_all(const Tensor& a, std::optional<Tensor> b, std::int64_t c, double d, bool e, "
            "std::complex<double> f, std::string_view g, opyard::Scalar h, opyard::SymInt i, "
            "opyard::DType j, opyard::Device k, opyard::Layout l, opyard::MemoryFormat m, "
            "opyard::IntSpan n, std::span<const Tensor> o, std::optional<std::string> p)");
  const Registration kernel = implement("t::takes_all", K::CPU, Kernel::from(&takes_all));
  const Registration writes = define("t::writes_(Tensor(a!) x) -> Tensor(a!)");
  const std::string other =
      thrown_by([] { implement("t::writes_", K::CPU, two_arguments()); }).text;
  EXPECT_NE(other.find("schema: Tensor& writes_(const Tensor& x)"), std::string::npos) << other;
  const Registration any = define("t::takes_any(Any x) -> Tensor");
  const std::string without = thrown_by([] { implement("t::takes_any", K::CPU, echo("")); }).text;
  EXPECT_EQ(without.find("a kernel of this schema"), std::string::npos) << without;
}

TEST(Signature, B25_AnInactiveKernelIsCheckedAsWell) {
  const CaughtWarnings warnings;
  const Registration wrong = implement("t::below", K::CPU, two_arguments());
  const Registration boxed = implement("t::below", K::CPU, boxed_echo(""));
  EXPECT_EQ(thrown_by([] { define("t::below(Tensor x) -> Tensor"); }).kind,
            ErrorKind::BadRegistration);
}

TEST(Signature, D11_AHandleOfAnotherSignatureIsRefused) {
  const Registration op = define("t::handle(Tensor x) -> Tensor");
  const Registration kernel = implement("t::handle", K::CPU, echo("cpu"));
  const Operator& handle = registry().require("t::handle");
  EXPECT_THROWN(static_cast<void>(handle.typed<Tensor(Tensor)>()), BadSignature,
                "Tried to call t::handle with a wrong C++ signature.\n"
                "  correct signature: opyard::Tensor (opyard::Tensor const&)\n"
                "  called as:         opyard::Tensor (opyard::Tensor)");
  EXPECT_THROWN(
      static_cast<void>(handle.typed<Tensor(const Tensor&, double)>()), BadSignature,
      "t::handle cannot be called as opyard::Tensor (opyard::Tensor const&, double). The "
      "number of arguments is different. 1 vs 2.\n"
      "Declaration: t::handle(Tensor x) -> Tensor\nIn C++: Tensor handle(const Tensor& x)");
  EXPECT_THROWN(static_cast<void>(handle.typed<void(const Tensor&)>()), BadSignature,
                "t::handle cannot be called as void (opyard::Tensor const&). The number of returns "
                "is different. 1 vs 0.\nDeclaration: t::handle(Tensor x) -> Tensor\n"
                "In C++: Tensor handle(const Tensor& x)");
  const Tensor x = tensor_with({K::CPU});
  EXPECT_TRUE(handle.typed<Unary>().call(x).same(x));
}

TEST(Signature, AHandleFixesTheSignatureForKernelsThatComeLater) {
  const Registration op = define("t::fixed(Tensor x) -> Tensor");
  const auto handle = registry().require("t::fixed").typed<Unary>();
  EXPECT_EQ(thrown_by([] { implement("t::fixed", K::CPU, by_value()); }).kind,
            ErrorKind::BadRegistration);
  const Registration kernel = implement("t::fixed", K::CPU, echo("right"));
  static_cast<void>(handle.call(tensor_with({K::CPU})));
  EXPECT_EQ(last_ran, "right");
}

TEST(Signature, B24_AndIsForgottenWithTheDefinitionWhereNoHandleWasMade) {
  {
    const Registration op = define("t::forgets(Tensor x) -> Tensor");
    const Registration kernel = implement("t::forgets", K::CPU, echo(""));
  }
  const Registration op = define("t::forgets(Tensor x) -> Tensor");
  const Registration kernel = implement("t::forgets", K::CPU, by_value());
  EXPECT_TRUE(registry()
                  .require("t::forgets")
                  .typed<Tensor(Tensor)>()
                  .call(tensor_with({K::CPU}))
                  .defined());
}

TEST(Signature, AHandleFromAFormerLifeForbidsAnotherSignatureNow) {
  {
    const Registration op = define("t::reborn(Tensor x) -> Tensor");
    static_cast<void>(registry().require("t::reborn").typed<Unary>());
  }
  const Registration kernel = implement("t::reborn", K::CPU, by_value(), "registered at b.cpp:2");
  const std::string text =
      thrown_by([] { static_cast<void>(define("t::reborn(Tensor x) -> Tensor")); }).text;
  EXPECT_TRUE(
      text.starts_with("t::reborn(Tensor x) -> Tensor was defined before with the C++ "
                       "signature opyard::Tensor (opyard::Tensor const&) (of a typed "
                       "handle, with the types of "))
      << text;
  EXPECT_NE(text.find("test_registry), and handles to it may still be in use"), std::string::npos)
      << "the owner is named: " << text;
  EXPECT_TRUE(
      text.ends_with("its kernel registered at b.cpp:2 now has opyard::Tensor (opyard::Tensor)"));
}

TEST(Signature, ARefusedHandleOrKernelFixesNothing) {
  const Registration op = define("t::open(Tensor x) -> Tensor");
  const Operator& handle = registry().require("t::open");
  EXPECT_EQ(thrown_by([&] { static_cast<void>(handle.typed<Tensor(double)>()); }).kind,
            ErrorKind::BadSignature);
  EXPECT_EQ(thrown_by([&] { implement("t::open", K::CPU, two_arguments()); }).kind,
            ErrorKind::BadRegistration);
  const Registration kernel = implement("t::open", K::CPU, by_value());
  EXPECT_TRUE(handle.typed<Tensor(Tensor)>().call(tensor_with({K::CPU})).defined());
}

}  // namespace
}  // namespace opyard::test_signature
