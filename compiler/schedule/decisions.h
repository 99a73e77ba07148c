// The decisions that `sample` lines of a trace record, and that later steps refer to as $NAME.
//
//   sample tile among 4,8,16 = 8               one of these words: numbers, or names of loops, blocks, memories
//   sample order either y,x|x,y = x,y          one of these, which may contain commas: lists, index maps sample xs
//   factors 48:3 = 2,6,4             three factors whose product is 48
//
//   split conv.x $tile -> xo xi                the value of tile
//   split conv.x $xs.2 -> xo xi                a factor, counted from 0
//   split conv.o $(lanes*vectors) -> oo oi     an expression of earlier decisions and numbers: + - * / % ( ), min(a,b),
//   max(a,b)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::schedule {

struct Step;

// The space of a decision, in the syntax of a trace: `among 4,8,16`.
struct Space {
  std::string rule, text;
  std::vector<std::string>
      values;  // all values, in the order of the text; for factors, those with the largest first factor come first

  static Result<Space> parse(std::string_view name, std::string_view rule, std::string_view text);
  static Space among(std::span<const std::int64_t> numbers);
  static Space among(std::vector<std::string> words);
  static Space factors(std::int64_t extent, int parts);

  std::optional<std::size_t> find(std::string_view value) const;
  bool operator==(const Space&) const = default;
};

struct Decision {
  std::string name;
  Space space;
  std::string value;  // one of space.values
};

// The decision of an accepted sample step, whose references are resolved; nullopt for another step.
std::optional<Decision> decision_of(const Step& step);

bool is_decision_name(std::string_view name);  // letters, digits and _, not beginning with a digit

// Refused if `value` is not in the space.
Result<void> require_value(std::string_view name, const Space& space, std::string_view value);

// `step` with every $NAME, $NAME.i and $(expression) of its arguments replaced by the decided values. Errors: a name
// without a decision; a sample of a name already decided; an expression of words, or one that divides by 0.
Result<Step> resolve(const Step& step, std::span<const Decision> decisions);

}  // namespace dovetail::schedule
