// Shared by all searches: the claimed candidates and their costs; drawing, varying and crossing new ones; and a walk
// through the whole space for use when draws find nothing new.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "compiler/tune/candidate.h"

namespace dovetail::tune {

// The same format as Candidate::text.
std::string text_of(const schedule::Decisions& decisions);

// A candidate's decisions without its program, which is large.
struct Point {
  std::vector<schedule::Decision> sampled;
  std::string text;

  explicit Point(const Candidate& candidate) : sampled(candidate.sampled), text(candidate.text()) {}
};

// A candidate is claimed when it is proposed or its cost is learned, and is never returned again. Completing a
// candidate takes tens of milliseconds, so decisions that cannot give a new one are not tried twice.
class Explorer {
 public:
  Explorer(SearchSpace& space, std::uint64_t seed) : space_(space), random_(seed) {}

  // ---- Random numbers, all determined by the seed.
  std::size_t below(std::size_t count);  // uniform; precondition: count > 0
  double fraction();                     // uniform in [0, 1)
  template <typename T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
  }

  // ---- Known candidates
  std::shared_ptr<const Point> start();  // the default candidate, which is claimed; null: the task has no schedule
  void learn(const Candidate& candidate, double cost);
  std::optional<double> cost(const std::string& text) const;  // nullopt: not learned

  // ---- New candidates. Each is claimed: it is not returned again. nullopt: no new candidate found.
  std::optional<Candidate> take(const schedule::Decisions& decisions);
  // Uniform draws; when these find nothing new, the walk. nullopt: the whole space is claimed.
  std::optional<Candidate> draw();
  // Changes `changes` decisions of `from`. A few tries.
  std::optional<Candidate> vary(const Point& from, std::size_t changes);
  // Keeps the decisions before one of the decisions of `from`, changes that one, and uses analytic choices for the
  // rest. A few tries.
  std::optional<Candidate> branch(const Point& from);
  // Takes each decision from one of the two.
  std::optional<Candidate> cross(const Point& a, const Point& b);

  // ---- Parts of these, for searches that also visit claimed candidates
  schedule::Decisions variation(const Point& from, std::size_t changes);
  std::optional<Candidate> complete(const schedule::Decisions& decisions);  // analytic choices for the rest
  bool claim(const Candidate& candidate);                                   // false: already claimed

 private:
  // A branch of the walk: the decisions of `from` up to `decision`, which gets another value.
  struct Branch {
    std::shared_ptr<const Point> from;
    std::size_t decision, value;
  };

  const std::string& other_value(const schedule::Decision& decision);  // precondition: at least two values
  void branch_off(const std::shared_ptr<const Point>& point, std::size_t first_decision);
  std::optional<Candidate> follow(const Branch& branch);
  std::optional<Candidate> walk();

  SearchSpace& space_;
  SplitMix64 random_;
  bool begun_ = false;
  std::shared_ptr<const Point> start_;
  int patience_ = 0;  // draws before the walk
  std::unordered_set<std::string> taken_, rejected_;
  std::unordered_map<std::string, double> costs_;
  std::vector<Branch> branches_;
};

}  // namespace dovetail::tune
