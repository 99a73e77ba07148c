// The decisions that `sample` lines of a trace record, and what later steps refer to as $NAME.
//
//   sample tile among 4,8,16 = 8               one of these words: numbers, or names of loops, blocks, memories
//   sample order either y,x|x,y = x,y          one of these, which may hold commas: lists, index maps
//   sample xs factors 48:3 = 2,6,4             three factors whose product is 48
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

// What may be decided, in the words of a trace: `among 4,8,16`.
struct Space {
  std::string rule, text;
  std::vector<std::string> values;  // all of them, in the order of the text; factors from the largest first one on

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

// Of an accepted sample step, whose references are resolved; nullopt where it is another step.
std::optional<Decision> decision_of(const Step& step);

bool is_decision_name(std::string_view name);  // letters, digits and _, and no digit first

// Refused where `value` is none of the space.
Result<void> require_value(std::string_view name, const Space& space, std::string_view value);

// `step` with every $NAME, $NAME.i and $(expression) of its arguments replaced by what was decided. Errors: a name that
// is not decided; a sample that decides one again; an expression of words, or one that divides by 0.
Result<Step> resolve(const Step& step, std::span<const Decision> decisions);

}  // namespace dovetail::schedule
