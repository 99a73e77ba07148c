// Suggestions for misspelled names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dovetail::isa {

// Levenshtein distance: insertions, deletions and replacements of one character.
std::size_t edit_distance(std::string_view a, std::string_view b);

// "did you mean `x`?" for the closest candidate within a third of its length (at least 2 edits), or the only one that
// begins so, otherwise "use one of
// a, b, c".
std::string suggestion(std::string_view given, std::span<const std::string_view> candidates);

}  // namespace dovetail::isa
