#include "compiler/tune/rankings.h"

#include "compiler/tune/neighbor_ranking.h"
#include "compiler/tune/xgboost.h"

namespace dovetail::tune {

ChosenRanking make_ranking() {
  auto trees = XgboostRanking::make();
  if (trees.ok()) return {*std::move(trees), ""};
  return {std::make_unique<NeighborRanking>(), to_string(trees.errors())};
}

}  // namespace dovetail::tune
