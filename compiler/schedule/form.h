// The form of a step: `split LOOP FACTOR -> OUTER INNER`. The form of a primitive determines how it is written in
// traces and in C++; help, argument counts and the members of Schedule are derived from it.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::schedule {

// The primitive's name, a word for each argument, and after `->` one for each name that the step gives to its results.
// `...`: the preceding argument may be repeated. Arguments from `=` on may be left out: the step fills them in.
struct Form {
  std::string_view text, name;
  std::size_t min_arguments = 0, max_arguments = 0;
  std::size_t results = 0;  // how many results a step may name
  bool repeats = false;     // applies to the last argument

  // Whether this many values, arguments and results, form a complete step; a value may stand for several repeated
  // words.
  constexpr bool takes(std::size_t values) const {
    return repeats || (values >= min_arguments + results && values <= max_arguments + results);
  }
};

constexpr std::size_t kMostArguments = 64;

constexpr Form form_of(std::string_view text) {
  Form form{text, text.substr(0, text.find(' '))};
  bool optional = false, after_arrow = false;
  for (std::string_view rest = text.substr(form.name.size()); !rest.empty();) {
    rest.remove_prefix(1);  // the blank
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    if (word == "->") {
      after_arrow = true;
    } else if (word == "...") {
      form.repeats = true;
      form.max_arguments = kMostArguments;
    } else if (after_arrow) {
      ++form.results;
    } else {
      optional |= word == "=";
      ++form.max_arguments;
      form.min_arguments += optional ? 0 : 1;
    }
  }
  return form;
}

// The words that a value stands for in a step: a name, a number, or a list of names.
inline std::vector<std::string> words_of(std::string_view name) { return {std::string(name)}; }
inline std::vector<std::string> words_of(std::integral auto number) { return {std::to_string(number)}; }
inline std::vector<std::string> words_of(const std::vector<std::string>& names) { return names; }

}  // namespace dovetail::schedule
