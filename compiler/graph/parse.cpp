#include "compiler/graph/parse.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace dovetail::graph {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

// One line's characters from left to right. The first failure of a line is reported, and the rest of the line skipped.
class Line {
 public:
  Line(std::string_view text, std::size_t number, std::string_view where, Diagnostics& errors)
      : text_(text), number_(number), where_(where), errors_(errors) {}

  bool failed() const { return failed_; }
  bool fail(std::string why, std::string hint = "compiler/graph/parse.h describes the form") {
    if (!failed_)
      errors_.push_back({"cannot read the graph", fmt::format("{}:{}:{}", where_, number_, at_ + 1), std::move(why),
                         std::move(hint)});
    failed_ = true;
    return false;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool at_end() {
    skip_blanks();
    return at_ >= text_.size();
  }
  bool peek(std::string_view token) {
    skip_blanks();
    return text_.substr(at_).starts_with(token);
  }
  bool accept(std::string_view token) {
    if (failed_ || !peek(token)) return false;
    at_ += token.size();
    return true;
  }
  bool expect(std::string_view token) {
    if (failed_) return false;
    return accept(token) || fail(fmt::format("expected \"{}\", found {}", token, found()));
  }
  std::string found() const {
    return at_ < text_.size() ? fmt::format("\"{}\"", text_.substr(at_, 12)) : "the end of the line";
  }

  // A bare name, or one in quotes.
  std::string name() {
    skip_blanks();
    if (failed_) return {};
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    std::size_t end = at_;
    while (end < text_.size() && is_plain_name(text_.substr(end, 1) == ":" ? "." : text_.substr(end, 1))) ++end;
    while (end > at_ && text_[end - 1] == ':') --end;
    if (end == at_) fail(fmt::format("expected a name, found {}", found()));
    return take(end);
  }
  std::string quoted() {
    std::string result;
    if (!expect("\"")) return result;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        result += text_[at_] == 'n' ? '\n' : text_[at_];
      } else {
        result += text_[at_];
      }
    }
    expect("\"");
    return result;
  }
  // The characters of a number, including inf and nan.
  std::string_view number() {
    skip_blanks();
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '.' ||
                                  text_[end] == '-' || text_[end] == '+'))
      ++end;
    if (end == at_) fail(fmt::format("expected a number, found {}", found()));
    const std::string_view taken = text_.substr(at_, end - at_);
    at_ = end;
    return taken;
  }
  bool begins_number() {
    skip_blanks();
    return at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-');
  }

 private:
  std::string take(std::size_t end) {
    std::string taken(text_.substr(at_, end - at_));
    at_ = end;
    return taken;
  }

  std::string_view text_;
  std::size_t number_, at_ = 0;
  std::string_view where_;
  Diagnostics& errors_;
  bool failed_ = false;
};

bool is_integer_text(std::string_view text) { return text.find_first_not_of("-0123456789") == std::string_view::npos; }

std::int64_t integer(Line& line, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    line.fail(fmt::format("\"{}\" is not a 64-bit integer", text));
  return value;
}
double real(Line& line, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if ((error != std::errc{} && error != std::errc::result_out_of_range) || end != text.data() + text.size())
    line.fail(fmt::format("\"{}\" is not a number", text));
  return value;
}
// A float32 is parsed as float32: rounding twice would sometimes give another number.
void store(Line& line, NdArray& array, std::int64_t at, std::string_view text) {
  if (array.dtype() == DType::float32) {
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if ((error != std::errc{} && error != std::errc::result_out_of_range) || end != text.data() + text.size())
      line.fail(fmt::format("\"{}\" is not a number", text));
    array.data<float>()[static_cast<std::size_t>(at)] = value;
  } else if (is_floating(array.dtype())) {
    array.set_double(at, real(line, text));
  } else {
    array.set_int64(at, integer(line, text));
  }
}

// The nonempty lines of the text, which a graph and its subgraphs consume in turn.
class Lines {
 public:
  Lines(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  std::optional<Line> next() {
    while (begin_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', begin_), text_.size());
      Line line(text_.substr(begin_, end - begin_), ++number_, where_, errors);
      begin_ = end + 1;
      if (!line.at_end() && !line.peek("#")) return line;
    }
    return std::nullopt;
  }
  std::string_view where() const { return where_; }

  Diagnostics errors;

 private:
  std::string_view text_, where_;
  std::size_t begin_ = 0, number_ = 0;
};

constexpr std::string_view kGraphLine = "graph ", kEndLine = "end";

class Parser {
 public:
  // `depth`: nesting of this graph.
  Parser(Lines& lines, const MissingElements& missing, int depth)
      : lines_(lines), where_(lines.where()), missing_(missing), depth_(depth), errors_(lines.errors) {}

  // Errors are also in the lines' list.
  Result<Graph> run() {
    if (std::optional<Line> line = lines_.next()) return body(*line);
    errors_.push_back({"cannot read the graph", std::string(where_), "there is no line \"graph NAME(...) -> (...)\"",
                       "compiler/graph/parse.h describes the form"});
    return errors_;
  }

 private:
  // Parses from the graph's first line on.
  Result<Graph> body(Line& first) {
    header(first);
    check_end(first);
    bool ended = depth_ == 0;
    while (std::optional<Line> line = lines_.next()) {
      if (depth_ > 0 && line->accept(kEndLine)) {
        check_end(*line);
        ended = true;
        break;
      }
      if (line->peek(kGraphLine)) {
        if (!subgraph(*line)) return errors_;
        continue;
      }
      if (line->peek("constant ")) constant(*line);
      else node(*line);
      check_end(*line);
    }
    if (!ended)
      errors_.push_back({"cannot read the graph", std::string(where_),
                         fmt::format("subgraph {} has no line \"{}\"", graph_.name, kEndLine),
                         "end the subgraph with this line"});
    if (!errors_.empty()) return errors_;
    for (const auto& [name, id] : uses_)
      if (!defined_.count(name))
        errors_.push_back({"cannot read the graph", std::string(where_),
                           fmt::format("%{} is used, but not defined", name),
                           "define it by a node, a constant or a graph input"});
    if (!errors_.empty()) return errors_;
    if (depth_ == 0) {  // also checks subgraphs
      if (const auto verified = verify(graph_); !verified.ok()) return errors_ = verified.errors();
    }
    return std::move(graph_);
  }
  static void check_end(Line& line) {
    if (!line.failed() && !line.at_end()) line.fail(fmt::format("unexpected {} after the end", line.found()));
  }

  // False if parsing cannot continue.
  bool subgraph(Line& line) {
    if (depth_ == kMostNested)
      return line.fail(fmt::format("graphs are nested more than {} deep", kMostNested), "nest fewer graphs");
    if (!last_node_.valid()) return line.fail("a subgraph belongs to the preceding node, but there is none");
    auto nested = Parser(lines_, missing_, depth_ + 1).body(line);
    if (!nested) return false;
    graph_.edit(last_node_)->subgraphs.push_back(std::make_shared<const Graph>(*std::move(nested)));
    return true;
  }

  ValueId use(const std::string& name) {
    const auto [it, added] = uses_.emplace(name, ValueId{});
    if (added) {
      Value value;
      value.name = name;
      it->second = graph_.add_value_as_is(std::move(value));
    }
    return it->second;
  }
  ValueId define(Line& line, const std::string& name, TensorType type) {
    const ValueId id = use(name);
    if (!line.failed() && !defined_.emplace(name).second)
      line.fail(fmt::format("%{} is defined twice", name), "rename one of the two");
    graph_.value(id).type = std::move(type);
    return id;
  }
  std::string value_name(Line& line) {
    line.expect("%");
    return line.name();
  }

  TensorType type(Line& line) {
    TensorType result;
    const std::string text = line.name();
    if (line.failed()) return result;
    const auto dtype = dtype_from_name(text);
    if (!dtype) line.fail(fmt::format("\"{}\" is not an element type", text));
    else result.dtype = *dtype;
    if (!line.expect("[")) return result;
    std::int64_t count = 1;
    while (!line.failed() && !line.accept("]")) {
      if (!result.shape.empty()) line.expect(",");
      const std::int64_t extent = integer(line, line.number());
      if (line.failed()) break;
      if (extent < 0) line.fail(fmt::format("the extent is {}, but must be at least 0", extent));
      else if (extent > 0 && count > kMostElements * 16 / extent) line.fail("the tensor has too many elements");
      else count *= std::max<std::int64_t>(extent, 1);
      result.shape.push_back(std::max<std::int64_t>(extent, 0));
    }
    return result;
  }

  // The elements of a constant: the text "= ..." after its type, or what `missing` supplies.
  std::optional<NdArray> elements(Line& line, const std::string& name, const TensorType& type) {
    if (line.failed()) return std::nullopt;
    const std::int64_t count = element_count(type.shape);
    if (count > kMostElements) {
      line.fail(fmt::format("the constant has {} elements, but may have at most {}", count, kMostElements));
      return std::nullopt;
    }
    if (!line.accept("=")) {
      if (!missing_) {
        line.fail(fmt::format("%{} has no elements", name),
                  "print the graph with all elements, or write = [...], = fill(NUMBER)");
        return std::nullopt;
      }
      NdArray array = missing_(name, type);
      if (TensorType{array.dtype(), array.shape()} != type)
        line.fail(fmt::format("the supplied constant is {}, but %{} is {}",
                              to_string(TensorType{array.dtype(), array.shape()}), name, to_string(type)));
      return array;
    }
    NdArray array(type.dtype, type.shape);
    if (line.accept("fill")) {
      line.expect("(");
      const std::string_view text = line.failed() ? "0" : line.number();
      for (std::int64_t i = 0; i < count && !line.failed(); ++i) store(line, array, i, text);
      line.expect(")");
    } else if (line.accept("[")) {
      std::int64_t given = 0;
      for (; !line.failed() && !line.accept("]"); ++given) {
        if (given > 0) line.expect(",");
        const std::string_view text = line.failed() ? "0" : line.number();
        if (given < count && !line.failed()) store(line, array, given, text);
      }
      if (!line.failed() && given != count)
        line.fail(fmt::format("{} elements are given, but {} has {}", given, to_string(type), count));
    } else if (type.shape.empty()) {
      const std::string_view text = line.number();
      if (!line.failed()) store(line, array, 0, text);
    } else {
      line.fail(fmt::format("expected [, or fill, found {}", line.found()));
    }
    return array;
  }

  Attribute attribute(Line& line, const std::string& name) {
    if (line.accept("(")) {
      const TensorType held = type(line);
      std::optional<NdArray> array = elements(line, name, held);
      line.expect(")");
      return array ? *std::move(array) : NdArray();
    }
    if (line.peek("\"")) return line.quoted();
    if (line.accept("float[")) return line.expect("]"), Attribute(std::vector<double>{});
    if (line.accept("string[")) return line.expect("]"), Attribute(std::vector<std::string>{});
    if (line.accept("[")) {
      std::vector<std::int64_t> integers;
      std::vector<double> reals;
      std::vector<std::string> texts;
      bool all_integers = true;
      for (bool first = true; !line.failed() && !line.accept("]"); first = false) {
        if (!first) line.expect(",");
        if (line.peek("\"")) {
          texts.push_back(line.quoted());
        } else if (!line.failed()) {
          const std::string_view text = line.number();
          if (line.failed()) break;
          all_integers &= is_integer_text(text);
          reals.push_back(real(line, text));
          if (all_integers) integers.push_back(integer(line, text));
        }
      }
      if (!texts.empty() && !reals.empty()) line.fail("a list contains both strings and numbers");
      if (!texts.empty()) return texts;
      return all_integers ? Attribute(std::move(integers)) : Attribute(std::move(reals));
    }
    const std::string_view text = line.begins_number()
                                      ? line.number()
                                      : (line.fail(fmt::format("expected a value, found {}", line.found())), "0");
    return is_integer_text(text) ? Attribute(integer(line, text)) : Attribute(real(line, text));
  }

  void header(Line& line) {
    line.expect("graph");
    graph_.name = line.name();
    line.expect("(");
    while (!line.failed() && !line.accept(")")) {
      if (!graph_.inputs.empty()) line.expect(",");
      const std::string name = value_name(line);
      line.expect(":");
      TensorType held = type(line);
      graph_.inputs.push_back(define(line, name, std::move(held)));
    }
    line.expect("->");
    line.expect("(");
    while (!line.failed() && !line.accept(")")) {
      if (!graph_.outputs.empty()) line.expect(",");
      graph_.outputs.push_back(use(value_name(line)));
    }
    if (line.accept("extents")) do {
        OutputExtent row;
        row.output = value_name(line);
        line.expect("[");
        row.axis = line.failed() ? 0 : integer(line, line.number());
        line.expect("]");
        line.expect("=");
        row.extent = value_name(line);
        graph_.extents.push_back(std::move(row));
      } while (line.accept(","));
    graph_.apart = line.accept("apart");
  }

  void constant(Line& line) {
    line.expect("constant");
    const std::string name = value_name(line);
    line.expect(":");
    const TensorType held = type(line);
    std::optional<NdArray> array = elements(line, name, held);
    const ValueId id = define(line, name, held);
    if (!line.failed() && array) graph_.value(id).constant = frozen(*std::move(array));
  }

  void node(Line& line) {
    Node made;
    do {
      const std::string name = value_name(line);
      line.expect(":");
      TensorType held = type(line);
      made.outputs.push_back(define(line, name, std::move(held)));
    } while (line.accept(","));
    line.expect("=");
    made.op = line.name();
    line.expect("(");
    for (bool first = true; !line.failed() && !line.accept(")"); first = false) {
      if (!first) line.expect(",");
      if (line.accept("_")) made.inputs.push_back({});
      else made.inputs.push_back(use(value_name(line)));
    }
    if (line.accept("{"))
      for (bool first = true; !line.failed() && !line.accept("}"); first = false) {
        if (!first) line.expect(",");
        const std::string key = line.name();
        line.expect("=");
        Attribute value = attribute(line, key);
        if (!made.attributes.emplace(key, std::move(value)).second)
          line.fail(fmt::format("attribute {} occurs twice", key));
      }
    if (line.accept("//")) {
      made.name = line.name();
      if (line.accept("<-")) {
        made.origins.push_back(line.name());
        while (line.accept(",")) made.origins.push_back(line.name());
      }
    }
    if (line.failed()) return;
    if (made.name.empty()) made.name = graph_.unique_node_name(made.op + "_" + graph_.value(made.outputs[0]).name);
    if (made.origins.empty()) made.origins = {made.name};
    last_node_ = graph_.add_node(std::move(made));
  }

  Lines& lines_;
  std::string_view where_;
  const MissingElements& missing_;
  int depth_;
  Graph graph_;
  NodeId last_node_;
  std::map<std::string, ValueId> uses_;
  std::set<std::string> defined_;
  Diagnostics& errors_;
};

}  // namespace

Result<Graph> parse(std::string_view text, std::string_view where, const MissingElements& missing) {
  Lines lines(text, where);
  return Parser(lines, missing, 0).run();
}

}  // namespace dovetail::graph
