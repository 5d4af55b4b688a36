// test_jit_graph.cpp: protects the structure of graphs: nodes and values, their edges, order and attributes.
// Suspect jit/src/ir/graph.cpp, node.cpp and node_edges.cpp.
#include <gtest/gtest.h>

#include "../thrown_by.h"
#include "opyard/jit/graph.h"
#include "opyard/jit/parse.h"
#include "opyard/jit/print.h"

namespace opyard::jit {

// Breaks what the graph's own functions keep.
struct TestAccess {
  static auto& uses(Value* value) { return value->uses_; }
  static auto& inputs(Node* node) { return node->inputs_; }
  static auto& outputs(Node* node) { return node->outputs_; }
  static std::uint64_t& unique(Value* value) { return value->unique_; }
  static std::size_t& offset(Value* value) { return value->offset_; }
  static std::string& name(Value* value) { return value->name_; }
  static Block*& block(Node* node) { return node->block_; }
  static std::int64_t& position(Node* node) { return node->position_; }
  static Node*& prev(Node* node) { return node->prev_; }
  static int& stage(Node* node) { return node->stage_; }
  static bool& destroyed(Node* node) { return node->destroyed_; }
  static std::vector<int>& output_stages(Graph& graph) { return graph.output_stages_; }
};
}  // namespace opyard::jit

namespace opyard::jit::test_jit_graph {
namespace {

const Symbol kAdd = Symbol::from_qual_string("aten::add");
const Symbol kRelu = Symbol::from_qual_string("aten::relu");

// %2 = relu(%x), %3 = add(%2, %x), return %3
struct Small {
  GraphPtr graph = make_graph();
  Value* x = graph->add_input("x");
  Node* relu = graph->append_node(graph->create(kRelu, {x}));
  Node* add = graph->append_node(graph->create(kAdd, {relu->output(), x}));
  Small() { graph->register_output(add->output()); }
  std::string text() const { return to_string(*graph); }
};

TEST(Graph, H1_OwnsNodesAndValues) {
  Small g;
  EXPECT_EQ(g.relu->kind().qual_string(), "aten::relu");
  EXPECT_EQ(g.x->uses().size(), 2U);
  EXPECT_EQ(g.x->uses()[1], (Use{g.add, 1}));
  EXPECT_EQ(g.relu->output()->uses()[0], (Use{g.add, 0}));
  EXPECT_EQ(g.relu->output()->node(), g.relu);
  EXPECT_FALSE(g.x->is_pullback());
  g.x->set_type(pullback_type());
  EXPECT_TRUE(g.x->is_pullback());
  EXPECT_EQ(g.x->printed_name(), "x");
  EXPECT_NE(g.relu->output()->unique(), g.x->unique());
}

TEST(Graph, H1_NamesAreUnique) {
  Small g;
  g.relu->output()->set_debug_name("x");
  EXPECT_EQ(g.x->debug_name(), "x.1");
  g.add->output()->set_debug_name("x");
  EXPECT_EQ(g.relu->output()->debug_name(), "x.2");
  EXPECT_THROWN(g.x->set_debug_name("12"), BadValue,
                "'12' is no name of a value; use letters, digits, '_', '.' and, inside, '-', not "
                "digits alone, "
                "and at most 1048576 bytes");
  EXPECT_EQ(g.graph->find_value("x.2"), g.relu->output());
  EXPECT_EQ(g.graph->find_value("nobody"), nullptr);
  lint(*g.graph);
}

TEST(Graph, H2_WhatIsAddedBelongsToTheCurrentStage) {
  Small g;
  EXPECT_EQ(g.graph->advance_stage(), 1);
  Value* const grad = g.graph->add_input("grad");
  Node* const later = g.graph->append_node(g.graph->create(kAdd, {grad, g.x}));
  g.graph->register_output(later->output());
  EXPECT_EQ(g.x->stage(), 0);
  EXPECT_EQ(grad->stage(), 1);
  EXPECT_EQ(later->output()->stage(), 1);
  EXPECT_EQ(g.graph->output_stage(0), 0);
  EXPECT_EQ(g.graph->output_stage(1), 1);
  lint(*g.graph);
  EXPECT_EQ(g.text(), R"(graph(%x : Tensor):
  %1 : Tensor = aten::relu(%x)
  %2 : Tensor = aten::add(%1, %x)
  return (%2)
stage 1(%grad : Tensor):
  %4 : Tensor = aten::add(%grad, %x)
  return (%4)
)");
}

TEST(Graph, H3_BlocksHaveSentinels) {
  Small g;
  EXPECT_EQ(g.graph->param_node()->kind(), prim::Param);
  EXPECT_EQ(g.graph->return_node()->kind(), prim::Return);
  EXPECT_EQ(g.graph->param_node()->next(), g.relu);
  EXPECT_EQ(g.graph->return_node()->prev(), g.add);
  Node* const branch = g.graph->append_node(g.graph->create(prim::If, {g.x}));
  Block* const inner = branch->add_block();
  EXPECT_EQ(inner->owning_node(), branch);
  EXPECT_EQ(inner->depth(), 1U);
  Node* const below = inner->append_node(g.graph->create(kRelu, {g.x}));
  inner->register_output(below->output());
  EXPECT_EQ(below->owning_node(), branch);
  branch->erase_block(0);
  EXPECT_TRUE(below->is_destroyed());
  EXPECT_EQ(g.x->uses().size(), 3U);
}

TEST(Graph, H4_OrderIsKeptThroughInsertionsAtOnePlace) {
  const GraphPtr graph = make_graph();
  Node* const first = graph->append_node(graph->create(kRelu, {}, 0));
  Node* const last = graph->append_node(graph->create(kRelu, {}, 0));
  // More than 40 halvings use up any gap: positions are given anew.
  Node* before = first;
  for (int i = 0; i < 200; ++i) {
    Node* const node = graph->create(kRelu, {}, 0)->insert_before(last);
    ASSERT_TRUE(before->is_before(node));
    ASSERT_TRUE(node->is_before(last));
    before = node;
  }
  for (int i = 0; i < 200; ++i) {
    Node* const node = graph->create(kRelu, {}, 0)->insert_after(first);
    ASSERT_TRUE(first->is_before(node));
    ASSERT_TRUE(node->is_before(node->next()));
    ASSERT_TRUE(node->is_after(first));
  }
  lint(*graph);
}

TEST(Graph, H4_OrderBetweenBlocks) {
  const GraphPtr graph = make_graph();
  Node* const before = graph->append_node(graph->create(kRelu, {}, 0));
  Node* const branch = graph->append_node(graph->create(prim::If, {}, 0));
  Node* const after = graph->append_node(graph->create(kRelu, {}, 0));
  Node* const left = branch->add_block()->append_node(graph->create(kRelu, {}, 0));
  Node* const right = branch->add_block()->append_node(graph->create(kRelu, {}, 0));
  EXPECT_TRUE(before->is_before(left));
  EXPECT_TRUE(left->is_before(right));
  EXPECT_FALSE(right->is_before(left));
  EXPECT_TRUE(branch->is_before(left));
  EXPECT_FALSE(left->is_before(branch));
  EXPECT_TRUE(right->is_before(after));
  EXPECT_FALSE(branch->is_before(branch));
}

TEST(Graph, H5_InputsCanBeChanged) {
  Small g;
  Value* const y = g.graph->add_input("y");
  g.add->add_input(y);
  g.add->insert_input(0, y);
  EXPECT_EQ(to_string(*g.add), "%2 : Tensor = aten::add(%y, %1, %x, %y)");
  EXPECT_EQ(g.add->replace_input(0, g.x), y);
  g.add->remove_input(3);
  EXPECT_EQ(to_string(*g.add), "%2 : Tensor = aten::add(%x, %1, %x)");
  g.add->replace_input_with(g.x, y);
  const std::size_t order[] = {2, 0, 1};
  g.add->permute_inputs(order);
  EXPECT_EQ(to_string(*g.add), "%2 : Tensor = aten::add(%y, %y, %1)");
  lint(*g.graph);
  EXPECT_THROWN(g.add->remove_input(7), BadIndex,
                "a 'aten::add' node with 3 inputs has none at position 7");
  const std::size_t twice[] = {0, 0, 1};
  EXPECT_THROWN(g.add->permute_inputs(twice), BadValue,
                "an order of 3 positions has each of 0 to 2 once");
  g.add->remove_all_inputs();
  EXPECT_FALSE(y->has_uses());
  lint(*g.graph);
}

TEST(Graph, H5_OutputsBlocksAndInputsOfTheGraph) {
  Small g;
  Value* const more = g.relu->add_output(base_type(TypeKind::Int));
  g.relu->insert_output(0)->set_debug_name("front");
  EXPECT_EQ(more->offset(), 2U);
  EXPECT_EQ(to_string(*g.relu), "%front : Tensor, %1 : Tensor, %3 : int = aten::relu(%x)");
  EXPECT_THROWN(g.relu->erase_output(1), BadValue,
                "%1 of the 'aten::relu' node cannot be erased: a 'aten::add' node uses it");
  g.relu->erase_output(0);
  g.relu->erase_output(1);
  EXPECT_TRUE(more->is_erased());
  EXPECT_EQ(g.graph->find_value("front"), nullptr);
  Value* const y = g.graph->insert_input(0, "y");
  EXPECT_EQ(g.graph->inputs()[0], y);
  EXPECT_EQ(g.x->offset(), 1U);
  const std::size_t order[] = {1, 0};
  g.graph->permute_inputs(order);
  EXPECT_EQ(g.graph->inputs()[0], g.x);
  g.graph->erase_input(1);
  EXPECT_THROWN(g.graph->erase_input(0), BadValue,
                "%x of the 'prim::Param' node cannot be erased: a 'aten::relu' node uses it");
  lint(*g.graph);
}

TEST(Graph, H2_H5_AnOutputThatIsTakenAwayTakesItsStageAlong) {
  const GraphPtr graph = parse_graph(
      "graph(%x : int):\n  return (%x)\nstage 1(%y : int):\n  return (%y)\nstage 2(%z : int):\n"
      "  return (%z)\n");
  graph->return_node()->remove_input(0);
  EXPECT_EQ(graph->output_stage(0), 1);
  EXPECT_EQ(graph->output_stage(1), 2);
  EXPECT_EQ(thrown_by([&] { graph->output_stage(2); }).kind, ErrorKind::BadIndex);
  lint(*graph);
}

TEST(Graph, H5_NodesAreMovedAndDestroyed) {
  Small g;
  EXPECT_THROWN(g.relu->destroy(), BadValue,
                "the 'aten::relu' node cannot be destroyed: %1 is used by a 'aten::add' node");
  Node* const neg = g.graph->prepend_node(g.graph->create(kRelu, {g.x}));
  EXPECT_EQ(g.graph->param_node()->next(), neg);
  neg->move_after(g.add);
  EXPECT_EQ(g.add->next(), neg);
  neg->move_before(g.relu);
  EXPECT_EQ(neg->next(), g.relu);
  g.relu->replace_all_uses_with(neg);
  EXPECT_FALSE(g.relu->has_uses());
  g.relu->destroy();
  EXPECT_TRUE(g.relu->is_destroyed());
  lint(*g.graph);
  EXPECT_THROWN(g.relu->add_input(g.x), BadValue, "this 'aten::relu' node was destroyed");
  EXPECT_THROWN(neg->insert_before(g.add), BadValue, "the node is in a block already; move it");
  Small other;
  EXPECT_THROWN(g.add->add_input(other.x), BadValue,
                "value %x belongs to another graph than the 'aten::add' node");
  EXPECT_EQ(g.graph->node_count(), 2U);
}

TEST(Graph, H5_UsesAreReplacedAfterANode) {
  Small g;
  Value* const y = g.graph->add_input("y");
  g.x->replace_all_uses_after(g.relu, y);
  EXPECT_EQ(g.relu->input(), g.x);
  EXPECT_EQ(g.add->input(1), y);
  g.x->replace_all_uses_with(y);
  EXPECT_EQ(g.relu->input(), y);
  EXPECT_FALSE(g.x->has_uses());
  lint(*g.graph);
}

TEST(Graph, H5_InsertPointAndCopy) {
  Small g;
  {
    const InsertPointGuard guard(g.add);
    g.graph->insert_constant(3);
  }
  g.graph->insert_constant(4);
  EXPECT_EQ(g.text(), R"(graph(%x : Tensor):
  %1 : Tensor = aten::relu(%x)
  %3 : int = prim::Constant[value=3]()
  %2 : Tensor = aten::add(%1, %x)
  %4 : int = prim::Constant[value=4]()
  return (%2)
)");
  const GraphPtr copy = g.graph->copy();
  EXPECT_EQ(to_string(*copy), g.text());
  g.x->set_debug_name("other");
  EXPECT_EQ(copy->inputs()[0]->debug_name(), "x");
  lint(*copy);
}

// Each graph holds the one below it twice: as many copies as graphs, not two to the power of them.
TEST(Graph, H5_GraphsThatAreSharedAreCopiedOnce) {
  const Symbol kind = Symbol::from_qual_string("my::twice");
  GraphPtr graph = make_graph();
  for (int level = 0; level < 100; ++level) {
    const GraphPtr outer = make_graph();
    for (int i = 0; i < 2; ++i) {
      outer->append_node(
          outer->create(kind, std::initializer_list<Value*>{}, 0)->g_(attr::Subgraph, graph));
    }
    graph = outer;
  }
  const GraphPtr copy = graph->copy();
  const Node* const first = *copy->nodes().begin();
  EXPECT_EQ(first->g(attr::Subgraph).get(), first->next()->g(attr::Subgraph).get());
  EXPECT_NE(first->g(attr::Subgraph).get(), (*graph->nodes().begin())->g(attr::Subgraph).get());
}

TEST(Graph, H6_AttributesOfEachKind) {
  const GraphPtr graph = make_graph();
  Node* const node = graph->create(kRelu, {}, 0);
  const auto a = [](const char* name) { return Symbol::attr(name); };
  node->f_(a("one"), 1.5)->fs_(a("two"), {1, 2})->c_(a("c"), {1, 2})->i_(a("three"), 3);
  node->is_(a("four"), {4, 5})->s_(a("five"), "text")->ss_(a("six"), {"a", "b"});
  node->t_(a("seven"), Tensor::empty({}))->ts_(a("eight"), {Tensor()})->g_(a("nine"), make_graph());
  node->gs_(a("ten"), {})->ty_(a("ty"), base_type(TypeKind::Int))->tys_(a("tys"), {});
  node->ival_(a("ival"), opyard::Value(true))->cs_(a("cs"), {});
  EXPECT_EQ(node->f(a("one")), 1.5);
  EXPECT_EQ(node->is(a("four")), (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(node->s(a("five")), "text");
  EXPECT_EQ(node->kind_of(a("ival")), AttributeKind::ival);
  EXPECT_EQ(node->attribute_names().size(), 15U);
  EXPECT_EQ(node->attribute_names()[3], a("three"));
  EXPECT_THROWN(node->i(a("one")), BadArgument,
                "attribute 'one' of a 'aten::relu' node is a float (f), not an int (i)");
  EXPECT_THROWN(node->i(a("none")), NotFound, "a 'aten::relu' node has no attribute 'none'");
  Node* const copy = graph->create(kAdd, {}, 0)->copy_attributes(node);
  EXPECT_NE(copy->g(a("nine")).get(), node->g(a("nine")).get());
  copy->s_(a("five"), "changed")->remove_attribute(a("one"));
  EXPECT_EQ(node->s(a("five")), "text");
  EXPECT_TRUE(node->has_attribute(a("one")));
  EXPECT_FALSE(copy->has_attribute(a("one")));
}

TEST(Symbol, H7_IsInternedAndDense) {
  EXPECT_EQ(Symbol::from_qual_string("prim::Loop"), prim::Loop);
  const Symbol first = Symbol::from_qual_string("test_h7::one");
  const Symbol second = Symbol::from_qual_string("test_h7::two");
  EXPECT_EQ(second.id(), first.id() + 1);
  EXPECT_EQ(Symbol::from_qual_string("test_h7::one"), first);
  EXPECT_EQ(first.name_space(), "test_h7");
  EXPECT_EQ(first.name(), "one");
  EXPECT_EQ(Symbol::attr("value"), attr::value);
  for (const char* const bad : {"", "add", "::add", "aten::", "aten:add", "a::b::c"}) {
    EXPECT_EQ(thrown_by([&] { Symbol::from_qual_string(bad); }).kind, ErrorKind::BadValue) << bad;
  }
}

// Each breaks one rule, and the linter says which.
std::string lint_text(const Graph& graph) {
  return thrown_by([&] { lint(graph); }).text;
}

TEST(Lint, H9_UsesAgreeWithInputs) {
  Small g;
  TestAccess::uses(g.x).resize(TestAccess::uses(g.x).size() - 1);
  EXPECT_EQ(lint_text(*g.graph),
            "%x = prim::Param (stage 0) gives %x, which is taken 2 times where "
            "it is defined, and knows 1 uses");
  Small h;
  TestAccess::uses(h.x)[0].offset = 5;
  EXPECT_EQ(lint_text(*h.graph),
            "%x = prim::Param (stage 0) gives %x, which believes to be used by "
            "a 'aten::relu' node");
}

TEST(Lint, H9_UsesComeLater) {
  Small g;
  g.relu->move_after(g.add);
  EXPECT_EQ(lint_text(*g.graph),
            "%2 = aten::add (stage 0) takes %1, which is not defined before it");
}

TEST(Lint, H9_AValueOfABlockIsNotSeenOutside) {
  Small g;
  Node* const branch = g.graph->create(prim::If, {g.x}, 0)->insert_before(g.add);
  Node* const inner = branch->add_block()->append_node(g.graph->create(kRelu, {g.x}));
  branch->add_block();
  g.add->replace_input(0, inner->output());
  EXPECT_EQ(lint_text(*g.graph),
            "%2 = aten::add (stage 0) takes %3, which is a value of a block of prim::If (stage 0), "
            "and is "
            "known in there only");
}

TEST(Lint, H9_NumbersAndNamesAreUnique) {
  Small g;
  TestAccess::unique(g.relu->output()) = g.x->unique();
  EXPECT_EQ(lint_text(*g.graph),
            "%0 = aten::relu (stage 0) gives %0, a number that another value has");
  Small h;
  TestAccess::unique(h.relu->output()) = 99;
  EXPECT_EQ(lint_text(*h.graph), "%99 = aten::relu (stage 0) gives %99, but the next number is 3");
  Small i;
  TestAccess::name(i.relu->output()) = "x";
  EXPECT_EQ(lint_text(*i.graph),
            "%x = aten::relu (stage 0) gives %x, a name that another value has");
  Small j;
  TestAccess::offset(j.relu->output()) = 3;
  EXPECT_EQ(lint_text(*j.graph), "%1 = aten::relu (stage 0) has output %1, which does not know it");
}

TEST(Lint, H9_NodesAreOwnedAndLinked) {
  Small g;
  TestAccess::block(g.relu) = nullptr;
  EXPECT_EQ(lint_text(*g.graph),
            "%1 = aten::relu (stage 0) is in the list of a block that does not "
            "own it");
  Small h;
  TestAccess::prev(h.add) = h.graph->param_node();
  EXPECT_EQ(lint_text(*h.graph), "%2 = aten::add (stage 0) is not linked to the node before it");
  TestAccess::prev(h.add) = h.relu;
  TestAccess::position(h.add) = TestAccess::position(h.relu);
  EXPECT_EQ(lint_text(*h.graph),
            "%2 = aten::add (stage 0) has a position that is not behind that of "
            "the node before it");
  Small i;
  TestAccess::destroyed(i.relu) = true;
  EXPECT_EQ(lint_text(*i.graph), "%1 = aten::relu (stage 0) is in a block, but was destroyed");
}

TEST(Lint, H9_SentinelsTakeAndGiveNothingElse) {
  Small g;
  TestAccess::inputs(g.graph->param_node()).push_back(g.x);
  EXPECT_EQ(lint_text(*g.graph),
            "%x = prim::Param (stage 0) is the first sentinel of a block, which is a prim::Param "
            "without inputs");
  TestAccess::inputs(g.graph->param_node()).clear();
  TestAccess::outputs(g.graph->return_node()).push_back(g.add->output());
  EXPECT_EQ(lint_text(*g.graph),
            "%2 = prim::Return (stage 0) is the last sentinel of a block, which is a prim::Return "
            "without outputs");
  TestAccess::outputs(g.graph->return_node()).clear();
  lint(*g.graph);
}

TEST(Lint, H2_StagesDoNotDecrease) {
  Small g;
  g.relu->set_stage(1);
  EXPECT_EQ(lint_text(*g.graph),
            "%2 = aten::add (stage 0) is of stage 0 and follows one of stage 1");
  Small h;
  TestAccess::stage(h.add) = 4;
  EXPECT_EQ(lint_text(*h.graph),
            "%2 = aten::add (stage 4) is of stage 4, but the graph's last stage "
            "is 0");
  Small i;
  i.graph->advance_stage();
  i.add->set_stage(1);
  EXPECT_EQ(lint_text(*i.graph),
            "prim::Return (stage 0) returns %2 in stage 0, but it is made in "
            "stage 1");
  Small j;
  TestAccess::output_stages(*j.graph)[0] = 3;
  EXPECT_EQ(lint_text(*j.graph),
            "prim::Return (stage 0) has output %2 in stage 3, but the last stage "
            "is 0");
  Small k;
  k.x->set_stage(1);
  EXPECT_EQ(lint_text(*k.graph), "%1 = aten::relu (stage 0) is of stage 0 and takes %x of stage 1");
  Small m;
  Node* const branch = m.graph->create(prim::If, {m.x}, 0)->insert_before(m.add);
  Node* const inner = branch->add_block()->append_node(m.graph->create(kRelu, {m.x}));
  branch->add_block();
  m.graph->advance_stage();
  TestAccess::stage(inner) = 1;
  EXPECT_EQ(lint_text(*m.graph),
            "%3 = aten::relu (stage 1) is of stage 1 in a block of a node of "
            "stage 0");
}

TEST(Lint, H9_PullbackIsLastAndAlone) {
  Small g;
  g.relu->output()->set_type(pullback_type());
  EXPECT_EQ(lint_text(*g.graph),
            "%2 = aten::add (stage 0) takes the pullback %1 at position 0; a pullback "
            "is the last input, and there is one at most");
}

TEST(Lint, H9_KindsHaveRules) {
  const auto broken = [](Symbol kind, std::size_t inputs, std::size_t outputs,
                         const std::function<void(Node*)>& change) {
    const GraphPtr graph = make_graph();
    Value* const x = graph->add_input("x");
    const std::vector<Value*> taken(inputs, x);
    Node* const node = graph->append_node(graph->create(kind, taken, outputs));
    change(node);
    return lint_text(*graph);
  };
  const auto nothing = [](Node*) {};
  EXPECT_EQ(broken(prim::Constant, 1, 1, nothing),
            "%1 = prim::Constant (stage 0) takes inputs; a constant has none");
  EXPECT_EQ(broken(prim::Constant, 0, 2, nothing),
            "%1, %2 = prim::Constant (stage 0) gives one value");
  EXPECT_EQ(broken(prim::Undefined, 1, 1, nothing),
            "%1 = prim::Undefined (stage 0) takes inputs; it gives an undefined tensor and takes "
            "nothing");
  EXPECT_EQ(broken(prim::If, 1, 0, nothing), "prim::If (stage 0) has 0 blocks; it takes 2");
  EXPECT_EQ(broken(prim::If, 1, 1,
                   [](Node* node) {
                     node->add_block();
                     node->add_block();
                   }),
            "%1 = prim::If (stage 0) gives 1 values, but a branch gives 0");
  EXPECT_EQ(broken(prim::If, 1, 0,
                   [](Node* node) {
                     node->add_block()->add_input();
                     node->add_block();
                   }),
            "prim::If (stage 0) has a branch with inputs");
  EXPECT_EQ(broken(prim::Loop, 2, 0, [](Node* node) { node->add_block(); }),
            "prim::Loop (stage 0) carries 0 values, but gives 0, and its body takes 0 and gives 0 "
            "besides trip and condition");
  EXPECT_EQ(
      broken(prim::PythonOp, 1, 1, nothing),
      "%1 = prim::PythonOp (stage 0) has no calling string, which is the text attribute 'cconv'");
  EXPECT_EQ(broken(prim::PythonOp, 1, 1, [](Node* node) { node->s_(attr::cconv, "tt"); }),
            "%1 = prim::PythonOp (stage 0) has the calling string 'tt', which is for 2 inputs, and "
            "takes 1");
  EXPECT_EQ(
      broken(prim::PythonOp, 1, 1, [](Node* node) { node->s_(attr::cconv, "tx"); }),
      "%1 = prim::PythonOp (stage 0) has the calling string 'tx'; its letters are c, s, d and t");
  EXPECT_EQ(
      broken(prim::PythonOp, 1, 1,
             [](Node* node) {
               node->s_(attr::cconv, "st");
               node->ival_(Symbol::attr("scalar_args"), opyard::Value::tuple({}));
             }),
      "%1 = prim::PythonOp (stage 0) has the calling string 'st', which is for 1 scalars, and "
      "holds 0");
  EXPECT_EQ(broken(prim::FusionGroup, 1, 1, nothing),
            "%1 = prim::FusionGroup (stage 0) has no graph in the attribute 'Subgraph'");
}

TEST(Lint, H2_H9_ALoopBodyHasTheStageOfItsLoopInACopyToo) {
  const GraphPtr graph = parse_graph(
      "graph(%n : int, %c : bool):\n"
      "  %m : int = prim::Loop(%n, %c, %n)\n"
      "    block0(%i : int, %k : int):\n"
      "      %s : int = aten::add(%i, %k)\n"
      "      -> (%c, %s)\n"
      "  return ()\n"
      "stage 1():\n"
      "  return (%m)\n");
  const GraphPtr copy = graph->copy();
  lint(*copy);
  EXPECT_EQ((*copy->nodes().begin())->blocks()[0]->inputs()[0]->stage(), 0);
  Node* const loop = *copy->nodes().begin();
  loop->set_stage(1);
  EXPECT_EQ(loop->blocks()[0]->inputs()[0]->stage(), 1);
}

TEST(Lint, H9_AFusionGroupIsOnOneDeviceAndItsGraphIsLinted) {
  const GraphPtr graph = make_graph();
  TensorShape shape;
  shape.device = Device{};
  Value* const x = graph->add_input("x", shaped_tensor(shape));
  shape.device = Device{Backend::CUDA, 0};
  Value* const y = graph->add_input("y", shaped_tensor(shape));
  const GraphPtr inner = make_graph();
  inner->add_input();
  inner->add_input();
  inner->register_output(inner->inputs()[0]);
  Node* const group = graph->append_node(graph->create(prim::FusionGroup, {x, y}));
  group->g_(attr::Subgraph, inner);
  EXPECT_EQ(lint_text(*graph),
            "%2 = prim::FusionGroup (stage 0) takes tensors on cpu and on cuda:0");
  y->set_type(base_type(TypeKind::Tensor));
  lint(*graph);
  inner->advance_stage();
  TestAccess::output_stages(*inner)[0] = 7;
  EXPECT_NE(lint_text(*graph).find("in stage 7"), std::string::npos);
}

}  // namespace
}  // namespace opyard::jit::test_jit_graph
