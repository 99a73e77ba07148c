// The searches, one file each; the table is in search.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "compiler/tune/search.h"

namespace dovetail::tune {

std::unique_ptr<Search> make_random(SearchSpace& space, Ranking& ranking, std::uint64_t seed);
std::unique_ptr<Search> make_annealing(SearchSpace& space, Ranking& ranking, std::uint64_t seed);
std::unique_ptr<Search> make_evolutionary(SearchSpace& space, Ranking& ranking, std::uint64_t seed);
std::unique_ptr<Search> make_beam(SearchSpace& space, Ranking& ranking, std::uint64_t seed);
std::unique_ptr<Search> make_guided(SearchSpace& space, Ranking& ranking, std::uint64_t seed);

}  // namespace dovetail::tune
