// Expands `.repeat` and macros in the text of an assembly file, before it is parsed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/text/scan.h"
#include "isa/text/symbols.h"

namespace dovetail::isa::text {

// Limits on the size of the expansion.
inline constexpr std::size_t kMostExpandedLines = std::size_t{1} << 22;  // iterations of `.repeat` count as lines
inline constexpr std::size_t kMostNestedExpansions = 64;

class Expander {
 public:
  // `sink` gets every line that is not `.macro`, `.endm`, `.repeat`, `.endr` or a macro's use. All arguments must
  // outlive this object. `is_taken`: whether a word cannot be the name of a macro.
  Expander(const Symbols& symbols, Errors& errors, std::function<void(const Line&)> sink,
           std::function<bool(std::string_view)> is_taken)
      : symbols_(symbols), errors_(errors), sink_(std::move(sink)), is_taken_(std::move(is_taken)) {}

  void run(std::string_view source);

 private:
  struct Text {
    std::string_view text;
    Place place;
  };
  struct Parameter {
    std::string name;
    std::optional<std::string> preset;
  };
  struct Macro {
    std::size_t line = 1;
    std::vector<Parameter> parameters;
    std::vector<Text> body;
  };
  // A `.macro` or `.repeat` that is not closed yet.
  struct Open {
    Line head;
    std::vector<Text> body;
    std::vector<std::string_view> inner;  // the end directives required before this one's
    bool is_macro = false;
  };
  struct Argument {
    std::string_view name;
    std::string value;
  };

  // Processes one line at its level: `open` is the block that the level is collecting.
  void line(Text text, std::optional<Open>& open);
  void collect(const Text& text, Open& open, bool& is_complete);
  void end_of_level(std::optional<Open>& open);
  void begin(const Line& head, std::optional<Open>& open);
  void define(const Open& open);
  void repeat(const Open& open);
  void use(const Line& line, const Macro& macro);
  bool arguments(const Line& line, const Macro& macro, std::vector<Argument>& into);
  // The body with its parameters replaced.
  void expand(const std::vector<Text>& body, const std::vector<Argument>& arguments, Expansion expansion,
              const Place& used_at);
  // Whether another line is allowed; reports an error, once, if not.
  bool admit(const Place& place);
  bool admit_length(std::size_t length, const Place& place);

  const Symbols& symbols_;
  Errors& errors_;
  std::function<void(const Line&)> sink_;
  std::function<bool(std::string_view)> is_taken_;
  std::map<std::string, Macro, std::less<>> macros_;
  std::deque<Expansion> expansions_;  // diagnostics and pending instructions point into it
  std::size_t order_ = 0, expanded_ = 0, depth_ = 0, uses_ = 0;
  bool stopped_ = false;
  Line line_;
};

}  // namespace dovetail::isa::text
