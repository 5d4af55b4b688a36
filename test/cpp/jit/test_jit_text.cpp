// test_jit_text.cpp: protects the text of graphs: printing, parsing and errors.
// Suspect jit/src/text/parse.cpp and print.cpp.
#include <gtest/gtest.h>

#include "../jit.h"
#include "opyard/jit/expression.h"

namespace opyard::jit::test_jit_text {
namespace {

// Each text is printed as it is written here.
TEST(GraphText, H11_H15_WhatIsPrintedIsReadAndPrintedAgain) {
  const char* const texts[] = {
      R"(graph():
  return ()
)",
      R"(graph(%a : Tensor,
      %1 : int):
  return (%1, %a)
)",
      R"(graph(%x : Float(2, *, strides=[3, 1], requires_grad=0, device=cpu),
      %y : Long(),
      %z : Tensor[],
      %u : (int, Float(2), str?)[],
      %v : Dict(str, Tensor?),
      %w : Future(Double(requires_grad=1)),
      %h : Pullback):
  return ()
)",
      R"(graph():
  %0 : int = prim::Constant[value=-3]()
  %1 : float = prim::Constant[value=1.]()
  %2 : bool = prim::Constant[value=1]()
  %3 : NoneType = prim::Constant()
  %4 : str = prim::Constant[value="a\"b\n"]()
  %5 : Device = prim::Constant[value="cpu"]()
  %6 : int[] = prim::Constant[value=[1, 2]]()
  %7 : float[] = prim::Constant[value=[1., -2.5]]()
  %8 : str[] = prim::Constant[value=["x", "y"]]()
  %9 : Long() = prim::Constant[value={3}]()
  %10 : (int, str) = prim::Constant[value=(1, "a")]()
  %11 : Tensor = prim::Undefined()
  %12 : complex = prim::Constant[value=1.+2.j]()
  %13 : float = prim::Constant[value=inf]()
  return ()
)",
      R"(graph(%c : bool,
      %n : int,
      %x : Tensor):
  %3 : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      %y : Tensor = prim::Loop(%n, %c, %x)
        block0(%i : int, %5 : Tensor):
          %6 : Tensor = aten::relu(%5)
          -> (%c, %6)
      -> (%y)
  return (%3)
)",
      R"(graph(%x : Tensor):
  %1 : Tensor, %2 : Tensor = my::two[is=[1], f=1.5, ty=int, tys=[int, Tensor[]]](%x)
  %3 : Tensor = ^Func(1, "text")(%1, %2)
  %4 : Tensor = ^Other[cconv="ts"](2.)(%3)
  my::nothing(%4)
  %5 : Tensor = aten::add.Tensor(%4, %4), scope: net/conv1
  return (%5)
)",
      R"(graph(%x : Tensor):
  %1 : Tensor = prim::FusionGroup_0(%x)
  return (%1)
with prim::FusionGroup_0 = graph(%0 : Tensor):
  %1 : Tensor = aten::relu(%0)
  return (%1)
)",
      R"(graph(%x : Tensor):
  %1 : Tensor = aten::relu(%x)
  return (%1)
stage 1(%g : Tensor,
        %k : int):
  return ()
stage 2():
  %4 : Tensor = aten::add(%g, %1, %k)
  return (%4, %4)
)",
  };
  for (const char* const text : texts) {
    EXPECT_EQ(to_string(*parse_graph(text)), text);
    EXPECT_EQ(to_string(*parse_graph(text)->copy()), text);
  }
}

TEST(GraphText, H13_LooserFormsAreRead) {
  EXPECT_EQ(to_string(*parse_graph(R"(
# a comment
graph(%a, %b : Float(4, device=cpu, requires_grad=1, strides=[1])?
     ):  # another
  %c = aten::add(%a,
                 %a)   # model.py:3:4
  return (%c)
)")),
            R"(graph(%a : Tensor,
      %b : Float(4, strides=[1], requires_grad=1, device=cpu)?):
  %c : Tensor = aten::add(%a, %a)
  return (%c)
)");
}

TEST(GraphText, H13_ANameThatIsDefinedAgainMeansTheNewerValue) {
  const GraphPtr graph = parse_graph(R"(graph(%x : Tensor):
  %x : Tensor = aten::relu(%x)
  %x : Tensor = aten::neg(%x)
  return (%x)
)");
  const char* const printed = R"(graph(%x.1 : Tensor):
  %x.2 : Tensor = aten::relu(%x.1)
  %x : Tensor = aten::neg(%x.2)
  return (%x)
)";
  EXPECT_EQ(to_string(*graph), printed);
  EXPECT_EQ(to_string(*parse_graph(printed)), printed);
  const std::string numbers =
      to_string(*parse_graph("graph(%1):\n  %1 = aten::relu(%1)\n  return (%1)"));
  EXPECT_EQ(to_string(*parse_graph(numbers)), numbers);
}

TEST(GraphText, H13_NamesInABlockEndWithIt) {
  const std::string text = thrown_by([] {
                             parse_graph(R"(graph(%c : bool):
  prim::If(%c)
    block0():
      %inner : int = prim::Constant[value=1]()
      -> ()
    block1():
      -> ()
  return (%inner))");
                           }).text;
  EXPECT_EQ(text, "8:11: there is no value '%inner' here\n  return (%inner)\n          ^~~~~~");
}

TEST(GraphText, H13_NamesAreToldOnRequest) {
  std::unordered_map<std::string, Value*> names;
  ParseOptions options;
  options.names = &names;
  const GraphPtr graph = parse_graph("graph(%a):\n  %7 = aten::relu(%a)\n  return (%7)", options);
  EXPECT_EQ(names.at("a"), graph->inputs()[0]);
  EXPECT_EQ(names.at("7"), graph->outputs()[0]);
}

std::string fault(std::string_view text) {
  const Thrown thrown = thrown_by([&] { parse_graph(text); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadGraph);
  return thrown.text;
}

TEST(GraphText, H14_FaultsSayWhereAndWhat) {
  EXPECT_EQ(fault("program(%a):\n  return ()"),
            "1:1: expected 'graph' but found 'program'\nprogram(%a):\n^~~~~~~");
  EXPECT_EQ(fault("graph(%a):\n  return (%b)"),
            "2:11: there is no value '%b' here\n  return (%b)\n          ^~");
  EXPECT_EQ(fault("graph(%a : Foo):\n  return ()"),
            "1:12: there is no type 'Foo'\ngraph(%a : Foo):\n           ^~~");
  EXPECT_EQ(fault("graph(%a):\n  %1 = relu(%a)\n  return ()"),
            "2:12: expected '::' but found '('\n  %1 = relu(%a)\n           ^");
  EXPECT_EQ(fault("graph():\n  %1 : int = prim::Constant[value=]()\n  return ()"),
            "2:35: expected a number but found ']'\n  %1 : int = prim::Constant[value=]()\n"
            "                                  ^");
  EXPECT_EQ(fault("graph(%a : Float(4!, 4)):\n  return ()").substr(0, 5), "1:19:");
  EXPECT_EQ(fault("graph(%a : Float(4, strides=[5], 5)):\n  return ()").substr(0, 5), "1:34:");
  EXPECT_EQ(fault("graph(%a : Float(4, strides=[5, 1])):\n  return ()"),
            "1:12: a tensor type with 2 strides has 1 sizes; the numbers must agree\n"
            "graph(%a : Float(4, strides=[5, 1])):\n           ^~~~~~~~~~~~~~~~~~~~~~~~");
  EXPECT_EQ(fault("graph(%a):\n  prim::Return(%a)\n  return ()").substr(0, 4), "2:3:");
  EXPECT_EQ(fault("graph():\n  return ()\nstage 2():\n  return ()").substr(0, 5), "3:1: ");
  EXPECT_NE(fault("graph():\n  %1 : Tensor = prim::Constant[value=<Tensor>]()\n  return ()")
                .find("the text does not have this tensor"),
            std::string::npos);
  EXPECT_EQ(fault("graph(%a):\n  %1 = my::f[is=1, is=2](%a)\n  return ()").substr(0, 5), "2:20:");
}

TEST(GraphText, H14_KeywordsOfPythonAreNamesOfAttributes) {
  const GraphPtr graph = parse_graph("graph(%a):\n  my::f[is=1, lambda=2](%a)\n  return ()");
  EXPECT_EQ((*graph->nodes().begin())->i(Symbol::attr("is")), 1);
}

TEST(GraphText, H14_FaultsNameTheTextIfItHasAName) {
  ParseOptions options;
  options.source = "model.txt";
  EXPECT_EQ(thrown_by([&] { parse_graph("graph(", options); }).text.substr(0, 14),
            "model.txt:1:7:");
  ExpressionOptions of_expression;
  of_expression.source = "formula of f";
  EXPECT_EQ(thrown_by([&] { parse_expression("x +", {}, of_expression); }).text.substr(0, 17),
            "formula of f:1:1:");
}

TEST(GraphText, H6_GraphsInAttributesAreWrittenBehindTheGraph) {
  const char* const text = R"(graph(%x : Tensor):
  %y : Tensor = my::op[branches=[my::op_0, my::op_1, my::op_0], other=my::op_1](%x)
  return (%y)
with my::op_0 = graph(%a : Tensor):
  return (%a)
with my::op_1 = graph(%b : int):
  return (%b)
)";
  const GraphPtr graph = parse_graph(text);
  const Node* const node = *graph->nodes().begin();
  const std::vector<GraphPtr>& branches = node->gs(Symbol::attr("branches"));
  ASSERT_EQ(branches.size(), 3U);
  EXPECT_EQ(branches[0].get(), branches[2].get());
  EXPECT_EQ(branches[1].get(), node->g(Symbol::attr("other")).get());
  EXPECT_EQ(to_string(*graph), text);
  EXPECT_EQ(to_string(*graph->copy()), text);
  EXPECT_NE(fault("graph():\n  my::f[g=my::op_9]()\n  return ()")
                .find("no line 'with my::op_9 = graph(…)' defines this graph"),
            std::string::npos);
}

// PyTorch writes " = " also in front of a node without outputs.
TEST(GraphText, H10_ANodeWithoutOutputsMayHaveAnEqualSign) {
  EXPECT_EQ(to_string(*parse_graph("graph(%a):\n   = my::f(%a)\n  return ()")),
            to_string(*parse_graph("graph(%a):\n  my::f(%a)\n  return ()")));
}

TEST(GraphText, H10_PlacesInTheSourceArePrintedOnRequest) {
  const GraphPtr graph = parse_graph("graph(%a):\n  %b = aten::relu(%a)\n  return (%b)");
  Node* const relu = *graph->nodes().begin();
  PrintOptions options;
  options.source_ranges = true;
  relu->set_source_range({std::make_shared<const std::string>("model.py"), 12, 4});
  const char* const printed = R"(graph(%a : Tensor):
  %b : Tensor = aten::relu(%a) # model.py:12:4
  return (%b)
)";
  EXPECT_EQ(to_string(*graph, options), printed);
  EXPECT_EQ(to_string(*graph), R"(graph(%a : Tensor):
  %b : Tensor = aten::relu(%a)
  return (%b)
)");
  EXPECT_EQ(to_string(*parse_graph(printed)), to_string(*graph));
  relu->set_source_range({std::make_shared<const std::string>("model.py"), 12, 0});
  EXPECT_NE(to_string(*graph, options).find("(%a) # model.py:12\n"), std::string::npos);
  relu->set_source_range({});
  EXPECT_EQ(to_string(*graph, options), to_string(*graph));
}

TEST(GraphText, H11_ATensorOfOneElementIsWrittenOutAndALargerOneIsNot) {
  const auto printed = [](const Tensor& tensor) {
    const GraphPtr graph = make_graph();
    graph->register_output(graph->append_node(graph->create_constant(tensor))->output());
    return to_string(*graph);
  };
  EXPECT_EQ(printed(f32({2}, {1, 4})), R"(graph():
  %0 : Float(2, strides=[1], requires_grad=0, device=cpu) = prim::Constant[value=<Tensor>]()
  return (%0)
)");
  EXPECT_NE(printed(f32({}, {4})).find("[value={4.}]"), std::string::npos);
  EXPECT_NE(printed(f32({1, 1}, {4})).find("[value={4.}]"), std::string::npos);
  EXPECT_FALSE(is_written_out(f32({2}, {1, 4})));
  EXPECT_TRUE(is_written_out(f32({1}, {4})));
}

TEST(GraphText, P1_AStrangersNamesAreNotKept) {
  load_operators();
  ParseOptions options;
  options.untrusted = true;
  const auto refused = [&](const std::string& line) {
    return thrown_by([&] { parse_graph("graph(%x):\n  " + line + "\n  return ()", options); }).text;
  };
  const std::uint32_t before = Symbol::from_qual_string("probe::before").id();
  EXPECT_NE(refused("unheard::of(%x)").find("may name only what is known here, and 'unheard::of'"),
            std::string::npos);
  EXPECT_NE(refused("aten::relu.unheard_overload(%x)").find("unheard_overload"), std::string::npos);
  EXPECT_NE(refused("aten::relu[unheard_attribute=1](%x)").find("unheard_attribute"),
            std::string::npos);
  EXPECT_LE(Symbol::from_qual_string("probe::behind").id(), before + 2);  // aten::relu and itself
  options.allowed = {"aten::mul.Tensor"};
  compile(
      parse_graph("graph(%x):\n  %y : Tensor = aten::mul.Tensor(%x, %x)\n  return (%y)", options));
}

TEST(GraphText, P1_LimitsAreKept) {
  ParseOptions options;
  options.limits.nesting = 8;
  std::string deep = "graph(%a : ";
  for (int i = 0; i < 20; ++i) deep += '(';
  EXPECT_NE(thrown_by([&] { parse_graph(deep, options); }).text.find("8"), std::string::npos);
  std::string blocks = "graph(%c : bool):\n";
  for (int i = 0; i < 600; ++i) blocks += "prim::If(%c) block0():\n";
  EXPECT_EQ(thrown_by([&] { parse_graph(blocks); }).kind, ErrorKind::BadGraph);
  options = {};
  options.limits.bytes = 10;
  EXPECT_NE(thrown_by([&] {
              parse_graph("graph():\n  return ()", options);
            }).text.find("a graph of 20 bytes is too long; the limit is 10"),
            std::string::npos);
}

std::string expression(std::string_view text) {
  load_operators();
  const TypePtr tensor = base_type(TypeKind::Tensor);
  const ExpressionInput inputs[] = {{"x", tensor},
                                    {"y", tensor},
                                    {"n", base_type(TypeKind::Int)},
                                    {"s", base_type(TypeKind::Float)}};
  return to_string(*parse_expression(text, inputs));
}

TEST(Expression, IsAGraphAndPrintsAsOne) {
  const std::string text = expression("x * y + 2, relu(-x)");
  EXPECT_EQ(text, R"(graph(%x : Tensor,
      %y : Tensor,
      %n : int,
      %s : float):
  %4 : Tensor = aten::mul.Tensor(%x, %y)
  %5 : int = prim::Constant[value=2]()
  %6 : Tensor = aten::add.Scalar(%4, %5)
  %7 : Tensor = aten::neg(%x)
  %8 : Tensor = aten::relu(%7)
  return (%6, %8)
)");
  EXPECT_EQ(to_string(*parse_graph(text)), text);
}

TEST(Expression, IsComputed) {
  load_operators();
  const TypePtr tensor = base_type(TypeKind::Tensor);
  const ExpressionInput inputs[] = {{"x", tensor}, {"n", base_type(TypeKind::Int)}};
  const auto run = [&](std::string_view text) {
    const Values given = {f32({2}, {1, 4}), 3};
    return text_of(compile(parse_expression(text, inputs))->run(given));
  };
  EXPECT_EQ(run("1 - x"), "float32[2] 0 -3");
  EXPECT_EQ(run("2 * x / 4"), "float32[2] 0.5 2");
  EXPECT_EQ(run("1 / x"), "float32[2] 1 0.25");
  EXPECT_EQ(run("-x ** 2"), "float32[2] -1 -16");
  EXPECT_EQ(run("x.sum()"), "float32[] 5");
  EXPECT_EQ(run("max(x, 0)[1], None"), "int64[] 1; None");
  EXPECT_EQ(run("n * 2 + 1, n // 2"), "7; 1");
  EXPECT_EQ(run("x.add(x, alpha=2)"), "float32[2] 3 12");
  EXPECT_EQ(run("sum(x, [0])"), "float32[] 5");
  EXPECT_NE(thrown_by([] {
              expression("add(x, x, 2)");
            }).text.find("argument 'alpha' is given by name only"),
            std::string::npos);
  EXPECT_NE(thrown_by([] { expression("sum(x, 0)"); }).text.find("is given by name only"),
            std::string::npos)
      << "0 is no dtype";
  EXPECT_EQ(run("2 < x"), "bool[2] False True");
  EXPECT_EQ(run("aten.relu(-x) + aten.sum(x)"), "float32[2] 5 5");
  EXPECT_EQ(run("x.reshape([2, 1])"), "float32[2, 1] 1 4");
  EXPECT_EQ(run("x.reshape([n - 1, 1])"), "float32[2, 1] 1 4");
}

TEST(Expression, FaultsSayWhereAndWhat) {
  EXPECT_EQ(thrown_by([] { expression("x * z"); }).text,
            "1:5: there is no input 'z'; a function has '(' behind it\nx * z\n    ^");
  EXPECT_EQ(thrown_by([] { expression("x * (x, y)"); }).text,
            "1:5: a tuple of 2 is no operand; take one with [i]\nx * (x, y)\n    ^~~~~~");
  EXPECT_NE(
      thrown_by([] { expression("nobody(x)"); }).text.find("there is no operator 'aten::nobody'"),
      std::string::npos);
  EXPECT_NE(thrown_by([] { expression("relu(x, y)"); }).text.find("takes 1 arguments, not 2"),
            std::string::npos);
  EXPECT_EQ(thrown_by([] { expression("z.relu"); }).text,
            "1:1: there is no input 'z'; a function has '(' behind it\nz.relu\n^~~~~~");
  EXPECT_EQ(thrown_by([] { expression("x +"); }).kind, ErrorKind::BadGraph);
  EXPECT_EQ(thrown_by([] { expression(std::string(5000, '(')); }).kind, ErrorKind::BadGraph);
  EXPECT_EQ(thrown_by([] { expression(std::string(5000, '-') + "x"); }).kind, ErrorKind::BadGraph);
}

}  // namespace
}  // namespace opyard::jit::test_jit_text
