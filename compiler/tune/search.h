// Searches choose the candidates of a task to measure next. Each is a plug-in, a row of searches().
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
  // At most `most` candidates, none of them proposed before. Empty: there are no more.
  virtual std::vector<Candidate> propose(std::size_t most) = 0;
  // Reports the cost of a candidate relative to the default's, also for candidates that it did not propose, such as the
  // default and those of records. Infinity: the candidate failed.
  virtual void learn(const Candidate& candidate, double cost) = 0;
};

struct SearchRow {
  std::string_view name;     // as in --search
  std::string_view summary;  // with its source
  bool ranked;               // uses the ranking
  // Space and ranking must outlive the search. All random choices are determined by `seed`.
  std::unique_ptr<Search> (*make)(SearchSpace& space, Ranking& ranking, std::uint64_t seed);
};
std::span<const SearchRow> searches();
// Error: unknown search; lists the existing names.
Result<const SearchRow*> find_search(std::string_view name);

}  // namespace dovetail::tune
