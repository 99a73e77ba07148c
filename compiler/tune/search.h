// Searches: which candidates of a task are measured next. Each is a plug-in, a row of searches().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/tune/candidate.h"
#include "compiler/tune/ranking.h"

namespace dovetail::tune {

class Search {
 public:
  virtual ~Search() = default;
  // At most `most` candidates, none of them proposed before. Empty: it has no further ones.
  virtual std::vector<Candidate> propose(std::size_t most) = 0;
  // What a candidate costs, as a multiple of the default's: also of ones that it did not propose, such as the default
  // and those of records. Infinity: it did not work.
  virtual void learn(const Candidate& candidate, double cost) = 0;
};

struct SearchRow {
  std::string_view name;     // as in --search
  std::string_view summary;  // with its source
  bool ranked;               // it asks the ranking
  // Space and ranking outlive the search. Everything random follows from `seed`.
  std::unique_ptr<Search> (*make)(SearchSpace& space, Ranking& ranking, std::uint64_t seed);
};
std::span<const SearchRow> searches();
// Error: no such search, with the names of those that there are.
Result<const SearchRow*> find_search(std::string_view name);

}  // namespace dovetail::tune
