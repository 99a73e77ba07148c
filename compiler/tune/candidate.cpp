#include "compiler/tune/candidate.h"

#include "compiler/tune/search/explorer.h"

namespace dovetail::tune {

schedule::Decisions Candidate::decisions() const {
  schedule::Decisions all;
  for (const schedule::Decision& decision : sampled) all.emplace(decision.name, decision.value);
  return all;
}

std::string Candidate::text() const { return text_of(decisions()); }

}  // namespace dovetail::tune
