#include "driver/kernels/loop_tree.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/kernels/loop_footprint.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

struct Line {
  std::string text, name;
};

std::string for_text(const loops::For& loop) {
  std::string text = fmt::format("for {} in {}", loop.var->name, loop.extent);
  if (loop.kind == loops::ForKind::thread) text += " " + loop.thread_axis;
  else if (loop.kind != loops::ForKind::serial) text += fmt::format(" {}", loops::name(loop.kind));
  for (const auto& [key, value] : loop.annotations) text += fmt::format(" @{}({})", key, value);
  return text;
}

std::string block_text(const loops::Block& block) {
  const auto names = [](const std::vector<loops::Region>& regions) {
    std::vector<std::string> all;
    for (const loops::Region& region : regions)
      if (std::ranges::find(all, region.buffer->name) == all.end()) all.push_back(region.buffer->name);
    return all;
  };
  std::string text = fmt::format("block {}: {}", block.name, fmt::join(names(block.writes), ", "));
  if (!block.reads.empty()) text += fmt::format(" from {}", fmt::join(names(block.reads), ", "));
  if (const auto* call = block.body ? std::get_if<loops::IntrinsicCall>(&block.body->node) : nullptr)
    text += fmt::format(" by {}", call->intrinsic);
  return text;
}

class TreeLines {
 public:
  explicit TreeLines(std::string_view below) : below_(below) {}

  void add(const loops::Stmt& stmt, int depth) {
    if (!stmt) return;
    if (const auto* loop = std::get_if<loops::For>(&stmt->node)) {
      const bool shown = enter(loop->var->name);
      if (shown_)
        lines_.push_back({std::string(static_cast<std::size_t>(2 * depth), ' ') + for_text(*loop), loop->var->name});
      add(loop->body, shown_ ? depth + 1 : depth);
      leave(shown);
    } else if (const auto* block = std::get_if<loops::Block>(&stmt->node)) {
      const bool shown = enter(block->name);
      if (shown_)
        lines_.push_back({std::string(static_cast<std::size_t>(2 * depth), ' ') + block_text(*block), block->name});
      if (block->body && has_nest(block->body)) add(block->body, depth + 1);
      leave(shown);
    } else if (const auto* sequence = std::get_if<loops::Sequence>(&stmt->node)) {
      for (const loops::Stmt& each : sequence->body) add(each, depth);
    } else if (const auto* branch = std::get_if<loops::If>(&stmt->node)) {
      add(branch->then_body, depth);
      add(branch->else_body, depth);
    }
  }

  const std::vector<Line>& lines() const { return lines_; }

 private:
  static bool has_nest(const loops::Stmt& body) {
    return std::holds_alternative<loops::For>(body->node) || std::holds_alternative<loops::Block>(body->node) ||
           std::holds_alternative<loops::Sequence>(body->node);
  }
  // Returns whether lines were shown already.
  bool enter(const std::string& name) {
    const bool before = shown_;
    shown_ |= below_.empty() || name == below_;
    return before;
  }
  void leave(bool before) { shown_ = before; }

  std::string_view below_;
  bool shown_ = false;
  std::vector<Line> lines_;
};

void add_names(const loops::Stmt& stmt, std::set<std::string>& loops, std::set<std::string>& blocks) {
  if (!stmt) return;
  if (const auto* loop = std::get_if<loops::For>(&stmt->node)) {
    loops.insert(loop->var->name);
    add_names(loop->body, loops, blocks);
  } else if (const auto* block = std::get_if<loops::Block>(&stmt->node)) {
    blocks.insert(block->name);
    add_names(block->body, loops, blocks);
  } else if (const auto* sequence = std::get_if<loops::Sequence>(&stmt->node)) {
    for (const loops::Stmt& each : sequence->body) add_names(each, loops, blocks);
  } else if (const auto* branch = std::get_if<loops::If>(&stmt->node)) {
    add_names(branch->then_body, loops, blocks);
    add_names(branch->else_body, loops, blocks);
  }
}

// The words of a sentence, without its punctuation.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != ',' && c != ':' && c != ';' && c != '(' && c != ')' && c != '`') {
      word += c;
    } else if (!word.empty()) {
      if (word.back() == '.') word.pop_back();
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

}  // namespace

std::string loop_tree(const loops::Program& program, const TreeMarks& marks, std::string_view below) {
  TreeLines tree(below);
  tree.add(program.body, 1);
  const std::map<std::string, std::uint64_t> footprints = loop_footprints(program);
  std::vector<std::string> sizes;
  std::size_t loops_width = 0, marked_width = 0, size_width = 0;
  for (const Line& line : tree.lines()) {
    const auto bytes = footprints.find(line.name);
    sizes.push_back(bytes == footprints.end() ? "" : "# " + bytes_text(bytes->second));
    if (!sizes.back().empty()) loops_width = std::max(loops_width, line.text.size());
    if (marks.contains(line.name)) marked_width = std::max(marked_width, line.text.size());
    size_width = std::max(size_width, sizes.back().size());
  }
  loops_width = std::max(loops_width, marked_width);
  std::string text;
  for (std::size_t i = 0; i < tree.lines().size(); ++i) {
    const Line& line = tree.lines()[i];
    std::string row = line.text;
    if (!sizes[i].empty()) row = fmt::format("{:{}}  {}", row, loops_width, sizes[i]);
    if (const auto mark = marks.find(line.name); mark != marks.end())
      row = fmt::format("{:{}}  <-- {}", row, loops_width + 2 + size_width, mark->second);
    text += row + "\n";
  }
  return text;
}

TreeMarks marks_of(const loops::Program& program, const schedule::Step& step, const Diagnostics& rejection) {
  std::set<std::string> loops, blocks;
  add_names(program.body, loops, blocks);
  TreeMarks marks;
  // A sentence names a loop after its kind of place; a name with a dot is nothing else.
  const std::set<std::string> places{"loop", "loops", "block", "blocks", "invalidate"};
  for (const Diagnostic& each : rejection) {
    const std::vector<std::string> words = words_of(each.why);
    for (std::size_t i = 0; i < words.size(); ++i)
      if ((loops.contains(words[i]) || blocks.contains(words[i])) &&
          (words[i].find('.') != words[i].npos || (i > 0 && places.contains(words[i - 1]))))
        marks[words[i]] = "the reason names it";
  }
  for (const std::string& argument : step.arguments)
    for (const std::string& word : words_of(argument))
      if (loops.contains(word) || blocks.contains(word)) marks[word] = schedule::to_string(step);
  return marks;
}

Named named(const loops::Program& program, std::string_view name) {
  std::set<std::string> loops, blocks;
  add_names(program.body, loops, blocks);
  if (loops.contains(std::string(name))) return Named::loop;
  if (blocks.contains(std::string(name))) return Named::block;
  const auto is_named = [&](const loops::Buffer& buffer) { return buffer->name == name; };
  const bool buffer = std::ranges::any_of(program.parameters, is_named, &loops::Parameter::buffer) ||
                      std::ranges::any_of(program.allocations, is_named);
  return buffer ? Named::buffer : Named::nothing;
}

}  // namespace dovetail::driver
