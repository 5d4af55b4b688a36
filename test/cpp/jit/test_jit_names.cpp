// test_jit_names.cpp: protects finding values by name: against a map of the standard library, and
// what the names of a text mean in its blocks.
// Suspect jit/src/ir/name_table.cpp and jit/src/text/value_names.cpp.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "../thrown_by.h"
#include "opyard/jit/graph.h"
#include "opyard/jit/parse.h"
#include "opyard/jit/print.h"

namespace opyard::jit::test_jit_names {
namespace {

std::vector<std::string> some_names() {
  std::vector<std::string> names = {"", "x", "x.1", std::string(300, 'y')};
  for (int i = 0; i < 400; ++i) names.push_back("v" + std::to_string(i));
  // All of them want the same place among sixteen.
  for (int i = 0; i < 200; ++i) names.push_back("weight" + std::to_string(i) + ".1");
  return names;
}

TEST(NameTable, H1_FindsWhatAMapFinds) {
  const std::vector<std::string> names = some_names();
  const GraphPtr graph = make_graph();
  std::vector<Value*> values;
  for (int i = 0; i < 8; ++i) values.push_back(graph->add_input());
  NameTable table;
  std::map<std::string_view, Value*> expected;
  std::mt19937 random(7);
  EXPECT_EQ(table.find("x"), nullptr);
  table.erase("x");
  for (int step = 0; step < 20000; ++step) {
    const std::string& name = names[random() % names.size()];
    // Filled, then emptied, and so on.
    const bool adds = (step / 2500) % 2 == 0 ? random() % 4 != 0 : random() % 4 == 0;
    Value* const value = adds ? values[random() % values.size()] : nullptr;
    table.set(name, value);
    if (value != nullptr) {
      expected[name] = value;
    } else {
      expected.erase(name);
    }
    ASSERT_EQ(table.size(), expected.size());
    if (step % 100 != 0) continue;
    for (const std::string& each : names) {
      const auto found = expected.find(each);
      ASSERT_EQ(table.find(each), found == expected.end() ? nullptr : found->second) << each;
    }
  }
  std::map<std::string_view, Value*> seen;
  table.for_each([&](std::string_view name, Value* value) { seen[name] = value; });
  EXPECT_EQ(seen, expected);
  table.clear();
  EXPECT_EQ(table.find("v1"), nullptr);
}

TEST(NameTable, H1_ARoomThatWasMadeIsEnough) {
  NameTable table;
  table.reserve(100);
  const GraphPtr graph = make_graph();
  Value* const value = graph->add_input();
  const std::vector<std::string> names = some_names();
  for (int i = 0; i < 100; ++i) table.set(names[std::size_t(i)], value);
  EXPECT_EQ(table.size(), 100U);
}

TEST(GraphNames, H1_ANameThatIsTakenPassesOn) {
  const GraphPtr graph = make_graph();
  Value* const first = graph->add_input("x");
  Value* const second = graph->add_input("x");
  Value* const third = graph->add_input("x");
  EXPECT_EQ(first->debug_name(), "x.1");
  EXPECT_EQ(second->debug_name(), "x.2");
  EXPECT_EQ(graph->find_value("x"), third);
  EXPECT_EQ(graph->find_value("x.1"), first);
  // A name given by a view of another value's own.
  third->set_debug_name(first->debug_name());
  EXPECT_EQ(graph->find_value("x.1"), third);
  EXPECT_EQ(graph->find_value("x"), nullptr);
  EXPECT_EQ(graph->find_value(first->debug_name()), first);
  third->set_debug_name({});
  EXPECT_EQ(graph->find_value("x.1"), nullptr);
  EXPECT_EQ(graph->find_value(std::to_string(third->unique())), third);
  EXPECT_EQ(graph->find_value("0" + std::to_string(third->unique())), nullptr);
  lint(*graph);
}

TEST(GraphNames, H1_ANameHasABound) {
  const GraphPtr graph = make_graph();
  Value* const value = graph->add_input();
  value->set_debug_name(std::string(kLongestName, 'a'));
  EXPECT_EQ(thrown_by([&] { value->set_debug_name(std::string(kLongestName + 1, 'a')); }).kind,
            ErrorKind::BadValue);
  EXPECT_EQ(value->debug_name().size(), kLongestName);
}

// What a block names is forgotten behind it, and what it hid is seen again.
TEST(GraphNames, H13_BlocksHideNames) {
  const GraphPtr graph = parse_graph(R"(graph(%x : int, %c : bool):
  %r : int = prim::If(%c)
    block0():
      %x : int = aten::add(%x, %x)
      %y : int = aten::mul(%x, %x)
      -> (%y)
    block1():
      %y : int = aten::sub(%x, %x)
      -> (%y)
  %s : int = aten::add(%x, %r)
  return (%s)
)");
  const Node* const last = graph->outputs()[0]->node();
  EXPECT_EQ(last->input(0), graph->inputs()[0]);
  const Block* const taken = (*graph->nodes().begin())->blocks()[0];
  EXPECT_EQ(taken->outputs()[0]->node()->input(0), (*taken->nodes().begin())->output());
  EXPECT_EQ(to_string(*parse_graph(to_string(*graph))), to_string(*graph));
  EXPECT_THROW(parse_graph(R"(graph(%c : bool):
  %r : int = prim::If(%c)
    block0():
      %y : int = prim::Constant[value=1]()
      -> (%y)
    block1():
      -> (%y)
  return (%r)
)"),
               Error);
}

TEST(GraphNames, H13_TheNewestKeepsItsNumber) {
  const GraphPtr graph = parse_graph(R"(graph(%3 : int, %7 : int):
  %3 : int = aten::add(%7, %3)
  %4 : int = aten::add(%3, %3)
  return (%4)
)");
  const Value* const sum = graph->outputs()[0]->node()->input(0);
  EXPECT_EQ(sum->unique(), 3U);
  EXPECT_EQ(graph->inputs()[1]->unique(), 7U);
  EXPECT_EQ(graph->outputs()[0]->unique(), 4U);
  EXPECT_EQ(graph->inputs()[0]->unique(), 8U);
  lint(*graph);
}

}  // namespace
}  // namespace opyard::jit::test_jit_names
