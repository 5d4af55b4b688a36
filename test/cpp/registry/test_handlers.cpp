// test_handlers.cpp: protects the way from the key Python to an interpreter's slot `dispatch`.
// Suspect dispatcher/src/registry/handlers.cpp.
#include "opyard/registry/handlers.h"

#include <gtest/gtest.h>

#include "../fake_interpreter.h"
#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/thread/modes.h"
#include "opyard/thread/thread_context.h"

namespace opyard::test_handlers {
namespace {

using K = DispatchKey;

std::string asked;
DispatchKeySet excluded;

// Says that it was asked, and answers with the argument.
InterpreterVTable answering(void (*dispatch)(Interpreter&, const Operator&, Stack&)) {
  InterpreterVTable table = FakeA::vtable();
  table.dispatch = dispatch;
  return table;
}
void answer(Interpreter& interpreter, const Operator& op, Stack& stack) {
  asked += static_cast<const char*>(interpreter.context());
  asked += "(" + to_string(op.name()) + ")";
  excluded = local_keys().exclude;
  const Value first = stack.top(op.schema().arguments.size())[0];
  stack.drop(op.schema().arguments.size());
  stack.push(first.is_list() ? first.items_unchecked()[0] : first);
}
const InterpreterVTable kTable = answering(&answer);

Interpreter* interpreter(const char* name) {
  return Interpreter::create(&kTable, const_cast<char*>(name));
}

class Handlers : public testing::Test {
 protected:
  Handlers() { asked.clear(); }
  ~Handlers() override { exchange_modes({}); }

  static Tensor tagged(Interpreter* tag) {
    const Tensor tensor = tensor_with({K::CPU, K::Python});
    tensor.impl()->object_link().claim(tag);
    return tensor;
  }
  static void enter(Interpreter* tag) {
    push_mode(make_counted<Mode>(InterpreterObject::steal(tag, &asked), ModePlace::User));
  }
  using Unary = Tensor(const Tensor&);

  const Registration f_ = define("t::f(Tensor x) -> Tensor");
  const Registration cpu_ = implement("t::f", K::CPU, echo("cpu"));
  const Operator& op_ = registry().require("t::f");
  const Tensor plain_ = tensor_with({K::CPU});
};

TEST_F(Handlers, E4_TheInnermostModeSaysWhichInterpreterIsAsked) {
  enter(interpreter("A"));
  enter(interpreter("B"));
  EXPECT_EQ(op_.typed<Unary>().call(plain_).impl(), plain_.impl());
  EXPECT_EQ(asked, "B(t::f)");
  Stack stack;
  stack.push(tagged(interpreter("C")));
  op_.call_boxed(stack);
  EXPECT_EQ(asked, "B(t::f)B(t::f)");
}

TEST_F(Handlers, E4_ElseTheFirstTensorWithTheKeyDoes) {
  const Registration g = define("t::g(Tensor[] x, Tensor y) -> Tensor");
  Stack stack;
  stack.push(Value::list({Value(plain_), Value(tagged(interpreter("A")))}));
  stack.push(tagged(interpreter("B")));
  registry().require("t::g").call_boxed(stack);
  EXPECT_EQ(asked, "A(t::g)");
  EXPECT_EQ(stack.size(), 1U);
}

TEST_F(Handlers, E4_WhereNobodyIsThereTheCallGoesOnBelow) {
  EXPECT_EQ(who_ran("t::f", {K::CPU, K::Python}), "cpu");
  const IncludeDispatchKeyGuard include{DispatchKeySet(K::Python)};
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "cpu");
  EXPECT_EQ(asked, "");
}

TEST_F(Handlers, F44_LayersAboveAreExcludedForThem) {
  const Tensor tensor = tagged(interpreter("A"));
  op_.typed<Unary>().call(tensor);
  EXPECT_TRUE(excluded.has_all(kLayersAboveHandlers));
  EXPECT_FALSE(excluded.has_any({K::Python, K::BackendSelect, K::Observe, K::PythonDispatcher}));
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
}

TEST_F(Handlers, E8_TheThreadSDispatcherGetsWhatIsBelowItsKey) {
  InterpreterVTable table = FakeA::vtable();
  table.python_dispatcher = [](Interpreter&, const Operator& op, DispatchKeySet keys,
                               Stack& stack) {
    asked += to_string(keys) + (local_keys().include.has(K::PythonDispatcher) ? "+" : "-");
    op.redispatch_boxed(keys, stack);
  };
  Interpreter* const tag = Interpreter::create(&table);
  EXPECT_EQ(exchange_thread_dispatcher(tag), nullptr);
  EXPECT_EQ(op_.typed<Unary>().call(plain_).impl(), plain_.impl());
  const ThreadContext context = ThreadContext::capture();
  EXPECT_EQ(exchange_thread_dispatcher(nullptr), tag);
  EXPECT_EQ(asked, "DispatchKeySet(CPU)+");
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
  {
    const ThreadContextScope scope(context);
    EXPECT_EQ(thread_dispatcher(), tag);
    EXPECT_TRUE(local_keys().include.has(K::PythonDispatcher));
  }
  EXPECT_EQ(thread_dispatcher(), nullptr);
  EXPECT_EQ(local_keys(), kDefaultLocalKeys);
  const IncludeDispatchKeyGuard by_hand{DispatchKeySet(K::PythonDispatcher)};
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "cpu") << "no one is there";
}

TEST_F(Handlers, AKernelAtTheKeyTakesItsPlace) {
  const Registration own = implement("t::f", K::Python, echo("own"));
  enter(interpreter("A"));
  EXPECT_EQ(who_ran("t::f", {K::CPU}), "own");
  EXPECT_EQ(asked, "");
}

TEST_F(Handlers, ItsRecordIsKnown) {
  EXPECT_TRUE(leads_to_handlers(op_.record(DispatchKeySet(K::Python))));
  EXPECT_FALSE(leads_to_handlers(op_.record(DispatchKeySet(K::CPU))));
}

TEST_F(Handlers, E12_AnInterpreterThatIsGoneRaises) {
  Interpreter* const tag = interpreter("A");
  enter(tag);
  tag->disarm();
  EXPECT_EQ(thrown_by([&] { op_.typed<Unary>().call(plain_); }).kind, ErrorKind::InterpreterGone);
  EXPECT_EQ(thread_modes().size(), 1U);
}

}  // namespace
}  // namespace opyard::test_handlers
