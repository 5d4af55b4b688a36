// text/draw.cpp: graph as SVG.
//
// [Layout] A node is one row below the lowest node that it takes values from, and below all nodes
// of former stages; in a row nodes are from left to right as in the graph. Nodes of blocks are
// lines of text in the box of the node around them.
#include "opyard/jit/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "opyard/jit/print.h"

namespace opyard::jit {
namespace {

constexpr std::size_t kMostDrawnNodes = 5000;
constexpr double kLetter = 6.6;
constexpr double kLine = 16;
constexpr double kRowGap = 28;
constexpr double kMargin = 20;
constexpr std::size_t kMostLetters = 60;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// A type as a picture has room for: of a tensor its elements and sizes.
std::string short_type(const Type& type) {
  const TensorShape* const shape = find_shape(type);
  if (shape == nullptr) return type_text(type);
  TensorShape shown;
  shown.dtype = shape->dtype;
  shown.sizes = shape->sizes;
  return type_text(*shaped_tensor(std::move(shown)));
}

// The node as its text, with short types of what it gives.
std::string node_line(const Node& node) {
  std::string line = to_string(node);
  std::size_t from = 0;
  for (const Value* const output : node.outputs()) {
    const std::string whole = type_text(*output->type());
    const std::size_t at = line.find(whole, from);
    if (at == std::string::npos) continue;
    const std::string shown = short_type(*output->type());
    line.replace(at, whole.size(), shown);
    from = at + shown.size();
  }
  return line;
}

// At most so many letters, never half of a UTF-8 character.
std::string cut(std::string text) {
  if (text.size() <= kMostLetters) return text;
  std::size_t end = kMostLetters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

struct Box {
  std::vector<std::string> lines;
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  std::size_t row = 0;
  const char* style = "node";
};

class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph) {}

  std::string draw() {
    place_boxes();
    std::string body = bands();
    for (const auto& [from, to] : edges_) body += edge(boxes_[from], boxes_[to]);
    for (const Box& box : boxes_) body += box_text(box);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "font-family=\"monospace\" font-size=\"11\">\n<style>.node{{fill:#fff;stroke:#456}}"
        ".value{{fill:#eef6ee;stroke:#464}}.edge{{stroke:#89a;fill:none}}"
        ".band{{fill:#f4f6fa;stroke:#ccd}}</style>\n{}</svg>\n",
        width_ + 2 * kMargin, height_ + kMargin, body);
  }

 private:
  std::size_t add(const Value* producer, Box box, int stage, std::size_t row) {
    box.row = std::max(row, first_row_[stage]);
    last_row_ = std::max(last_row_, box.row);
    for (const std::string& line : box.lines) {
      box.width = std::max(box.width, double(line.size()) * kLetter + 12);
    }
    box.height = double(box.lines.size()) * kLine + 8;
    boxes_.push_back(std::move(box));
    stages_.push_back(stage);
    if (producer != nullptr) made_by_[producer] = boxes_.size() - 1;
    return boxes_.size() - 1;
  }

  void add_lines(const Node* node, std::vector<std::string>& lines, std::size_t indent) {
    lines.push_back(cut(std::string(indent, ' ') + node_line(*node)));
    for (const Block* const block : node->blocks()) {
      for (const Node* const inner : block->nodes()) add_lines(inner, lines, indent + 2);
    }
  }

  // The boxes that a node and its blocks take values from.
  void sources(const Node* node, std::vector<std::size_t>& found) const {
    for (const Value* const input : node->inputs()) {
      const auto made = made_by_.find(input);
      if (made != made_by_.end()) found.push_back(made->second);
    }
    for (const Block* const block : node->blocks()) {
      for (const Node* const inner : block->nodes()) sources(inner, found);
      sources(block->return_node(), found);
    }
  }

  void add_inputs(int stage) {
    for (const Value* const input : graph_.inputs()) {
      if (input->stage() != stage) continue;
      add(input,
          {{cut("%" + input->printed_name() + " : " + short_type(*input->type()))},
           0,
           0,
           0,
           0,
           0,
           "value"},
          stage, 0);
    }
  }

  void place_boxes() {
    auto next = graph_.nodes().begin();
    for (int stage = 0; stage <= graph_.stage(); ++stage) {
      first_row_[stage] = boxes_.empty() ? 0 : last_row_ + 1;
      add_inputs(stage);
      for (; next != graph_.nodes().end() && (*next)->stage() <= stage; ++next)
        add_node(*next, stage);
      add_outputs(stage);
    }
    place_rows();
  }

  void add_node(const Node* node, int stage) {
    std::vector<std::size_t> from;
    sources(node, from);
    std::size_t row = 0;
    for (const std::size_t source : from) row = std::max(row, boxes_[source].row + 1);
    Box box;
    add_lines(node, box.lines, 0);
    const std::size_t made = add(nullptr, std::move(box), stage, row);
    for (const Value* const output : node->outputs()) made_by_[output] = made;
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    for (const std::size_t source : from) edges_.emplace_back(source, made);
  }

  void add_outputs(int stage) {
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      if (graph_.output_stage(i) != stage) continue;
      const Value* const output = graph_.outputs()[i];
      const auto made = made_by_.find(output);
      const std::size_t row = made == made_by_.end() ? 0 : boxes_[made->second].row + 1;
      const std::size_t box =
          add(nullptr, {{cut("return %" + output->printed_name())}, 0, 0, 0, 0, 0, "value"}, stage,
              row);
      if (made != made_by_.end()) edges_.emplace_back(made->second, box);
    }
  }

  void place_rows() {
    std::vector<double> heights(last_row_ + 1, 0);
    std::vector<double> widths(last_row_ + 1, 0);
    for (Box& box : boxes_) {
      heights[box.row] = std::max(heights[box.row], box.height);
      box.x = kMargin + widths[box.row];
      widths[box.row] += box.width + kRowGap;
      width_ = std::max(width_, widths[box.row]);
    }
    double y = kMargin + kLine;
    std::vector<double> tops;
    for (const double height : heights) {
      tops.push_back(y);
      y += height + kRowGap;
    }
    for (Box& box : boxes_) box.y = tops[box.row];
    height_ = y;
  }

  std::string bands() const {
    std::string text;
    for (int stage = 0; stage <= graph_.stage(); ++stage) {
      double top = height_;
      double bottom = 0;
      for (std::size_t i = 0; i < boxes_.size(); ++i) {
        if (stages_[i] != stage) continue;
        top = std::min(top, boxes_[i].y);
        bottom = std::max(bottom, boxes_[i].y + boxes_[i].height);
      }
      if (bottom == 0) continue;
      text += fmt::format(
          "<rect class=\"band\" x=\"4\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n"
          "<text x=\"10\" y=\"{:.0f}\">stage {}</text>\n",
          top - kLine, width_ + kMargin, bottom - top + kLine + 6, top - 4, stage);
    }
    return text;
  }

  static std::string edge(const Box& from, const Box& to) {
    return fmt::format("<path class=\"edge\" d=\"M{:.0f} {:.0f} L{:.0f} {:.0f}\"/>\n",
                       from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y);
  }

  static std::string box_text(const Box& box) {
    std::string text = fmt::format(
        "<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "rx=\"3\"/>\n",
        box.style, box.x, box.y, box.width, box.height);
    for (std::size_t i = 0; i < box.lines.size(); ++i) {
      text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" xml:space=\"preserve\">{}</text>\n",
                          box.x + 6, box.y + kLine * double(i + 1) - 1, escaped(box.lines[i]));
    }
    return text;
  }

  const Graph& graph_;
  std::vector<Box> boxes_;
  std::vector<int> stages_;
  std::vector<std::pair<std::size_t, std::size_t>> edges_;
  std::map<const Value*, std::size_t> made_by_;
  std::map<int, std::size_t> first_row_;
  std::size_t last_row_ = 0;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace

std::string draw(const Graph& graph) {
  OPYARD_CHECK(graph.node_count() <= kMostDrawnNodes, Unsupported,
               fmt::format("a graph of {} nodes is not drawn; the limit is {}", graph.node_count(),
                           kMostDrawnNodes));
  return Drawing(graph).draw();
}

}  // namespace opyard::jit
