// A beam search over the decisions in the order in which the sketch samples them, as in Halide's tree search (Adams et
// al.: Learning to Optimize Halide with Tree Search and Random Programs, SIGGRAPH 2019). A node is a prefix: some
// decisions, with analytic choices for the rest, so that every node is a complete candidate with a measured cost. The
// best nodes of a level continue to the next decision; the others wait, and form the next beam when this one has no
// more decisions.
#include <algorithm>
#include <limits>
#include <memory>

#include "compiler/tune/search/all.h"
#include "compiler/tune/search/explorer.h"

namespace dovetail::tune {

namespace {

constexpr std::size_t kWidth = 4;
constexpr std::size_t kValues = 8;  // values of a decision tried at a time

// A prefix of `depth` decisions.
struct BeamNode {
  std::shared_ptr<const Point> point;
  std::size_t depth = 0;
  double cost = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> untried = {};  // remaining values of the decision at `depth`
};

class Beam final : public Search {
 public:
  Beam(SearchSpace& space, std::uint64_t seed) : explorer_(space, seed) {}

  std::vector<Candidate> propose(std::size_t most) override {
    if (!begun_) begin();
    std::vector<Candidate> proposed;
    while (proposed.size() < most) {
      if (!expansions_.empty()) {
        if (auto candidate = expand()) proposed.push_back(*std::move(candidate));
      } else if (!level_.empty() || !waiting_.empty()) {
        if (!proposed.empty()) break;  // the next level depends on the costs of these
        advance();
      } else if (auto candidate = explorer_.draw()) {  // not reachable by prefixes with analytic choices
        proposed.push_back(*std::move(candidate));
      } else {
        break;
      }
    }
    return proposed;
  }

  void learn(const Candidate& candidate, double cost) override { explorer_.learn(candidate, cost); }

 private:
  struct Expansion {
    std::shared_ptr<const Point> from;
    std::size_t decision, value;
  };

  void begin() {
    begun_ = true;
    if (auto start = explorer_.start()) level_.push_back({std::move(start), 0});
  }

  // Returns the candidate with one decision of a node changed, if it is new. A known candidate also becomes a node.
  std::optional<Candidate> expand() {
    const Expansion expansion = std::move(expansions_.back());
    expansions_.pop_back();
    const schedule::Decision& decided = expansion.from->sampled[expansion.decision];
    const std::string& value = decided.space.values[expansion.value];
    schedule::Decisions beginning, all;
    for (std::size_t i = 0; i < expansion.from->sampled.size(); ++i) {
      const schedule::Decision& each = expansion.from->sampled[i];
      const std::string& chosen = i == expansion.decision ? value : each.value;
      if (i <= expansion.decision) beginning.emplace(each.name, chosen);
      all.emplace(each.name, chosen);
    }
    auto candidate = explorer_.complete(beginning);
    if (!candidate) candidate = explorer_.complete(all);
    if (!candidate || candidate->decisions()[decided.name] != value) return std::nullopt;
    level_.push_back({std::make_shared<const Point>(*candidate), expansion.decision + 1});
    if (!explorer_.claim(*candidate)) return std::nullopt;
    return candidate;
  }

  // Forms the next beam: the best of this level, or of the waiting nodes.
  void advance() {
    skip_decided(level_);
    if (level_.empty()) level_.swap(waiting_);
    for (BeamNode& each : level_) each.cost = explorer_.cost(each.point->text).value_or(each.cost);
    std::ranges::stable_sort(level_, {}, &BeamNode::cost);
    const std::size_t width = std::min(kWidth, level_.size());
    std::vector<BeamNode> beam(level_.begin(), level_.begin() + static_cast<std::ptrdiff_t>(width));
    waiting_.insert(waiting_.end(), level_.begin() + static_cast<std::ptrdiff_t>(width), level_.end());
    level_.clear();
    for (BeamNode& each : beam) branch(each);
    std::ranges::reverse(expansions_);  // consumed from the back
  }

  // Skips decisions with a single choice, and removes nodes without further decisions.
  static void skip_decided(std::vector<BeamNode>& nodes) {
    for (BeamNode& each : nodes) {
      const auto& sampled = each.point->sampled;
      while (each.depth < sampled.size() && sampled[each.depth].space.values.size() == 1) ++each.depth;
    }
    std::erase_if(nodes, [](const BeamNode& each) { return each.depth == each.point->sampled.size(); });
  }

  void branch(BeamNode& each) {
    const auto& [name, space, value] = each.point->sampled[each.depth];
    if (each.untried.empty()) {  // first visit: its present value is also continued
      for (std::size_t v = 0; v < space.values.size(); ++v)
        if (space.values[v] != value) each.untried.push_back(v);
      explorer_.shuffle(each.untried);
      level_.push_back({each.point, each.depth + 1, each.cost});
    }
    const std::size_t now = std::min(kValues, each.untried.size());
    for (std::size_t i = 0; i < now; ++i) {
      expansions_.push_back({each.point, each.depth, each.untried.back()});
      each.untried.pop_back();
    }
    if (!each.untried.empty()) waiting_.push_back(std::move(each));
  }

  Explorer explorer_;
  bool begun_ = false;
  std::vector<BeamNode> level_;    // successors of the present beam
  std::vector<BeamNode> waiting_;  // nodes that did not fit into it
  std::vector<Expansion> expansions_;
};

}  // namespace

std::unique_ptr<Search> make_beam(SearchSpace& space, Ranking&, std::uint64_t seed) {
  return std::make_unique<Beam>(space, seed);
}

}  // namespace dovetail::tune
