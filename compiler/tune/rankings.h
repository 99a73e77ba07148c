// Chooses the ranking available on this machine.
#pragma once

#include <memory>
#include <string>

#include "compiler/tune/ranking.h"

namespace dovetail::tune {

struct ChosenRanking {
  std::unique_ptr<Ranking> ranking;
  std::string why;  // why it is not XGBoost; empty if it is
};
// XGBoost if its library can be loaded, else nearest neighbors. Ranking::name says which.
ChosenRanking make_ranking();

}  // namespace dovetail::tune
