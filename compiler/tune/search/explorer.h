// What all searches share: which candidates are taken and what they cost, new ones drawn, varied and crossed, and a
// walk through the whole space for when draws find nothing new.
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

// As Candidate::text has it.
std::string text_of(const schedule::Decisions& decisions);

// A candidate's decisions without its program, which is large.
struct Point {
  std::vector<schedule::Decision> sampled;
  std::string text;

  explicit Point(const Candidate& candidate) : sampled(candidate.sampled), text(candidate.text()) {}
};

// A candidate is taken once it was claimed, by a proposal or by what was learned of it, and is never handed out again.
// To complete one takes tens of milliseconds, so what cannot give a new one is not tried twice.
class Explorer {
 public:
  Explorer(SearchSpace& space, std::uint64_t seed) : space_(space), random_(seed) {}

  // ---- Chance: everything random follows from the seed.
  std::size_t below(std::size_t count);  // uniform; precondition: count > 0
  double fraction();                     // uniform in [0, 1)
  template <typename T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
  }

  // ---- What is known
  std::shared_ptr<const Point> start();  // the default candidate, which is taken; null: the task has no schedule
  void learn(const Candidate& candidate, double cost);
  std::optional<double> cost(const std::string& text) const;  // nullopt: not learned

  // ---- New candidates. Claimed: nobody gets them again. nullopt: nothing new came of it.
  std::optional<Candidate> take(const schedule::Decisions& wanted);
  // Uniform draws; where those are no longer new, the walk. nullopt: the whole space is taken.
  std::optional<Candidate> draw();
  // `changes` decisions of `from` are others. A few tries.
  std::optional<Candidate> vary(const Point& from, std::size_t changes);
  // What was decided before one of the decisions of `from` stays, that one is another, and the analytic choice decides
  // what follows. A few tries.
  std::optional<Candidate> branch(const Point& from);
  // Each decision from one of the two.
  std::optional<Candidate> cross(const Point& a, const Point& b);

  // ---- Their parts, for a search that also visits what is taken
  schedule::Decisions variation(const Point& from, std::size_t changes);
  std::optional<Candidate> complete(const schedule::Decisions& wanted);  // the rest analytic
  bool claim(const Candidate& candidate);                                // false: it was taken before

 private:
  // One way on for the walk: the decisions of `from` up to `decision`, which gets another value.
  struct Branch {
    std::shared_ptr<const Point> from;
    std::size_t decision, value;
  };

  const std::string& other_value(const schedule::Decision& decision);  // precondition: it has two and more
  void branch_off(const std::shared_ptr<const Point>& point, std::size_t first_decision);
  std::optional<Candidate> follow(const Branch& branch);
  std::optional<Candidate> walk();

  SearchSpace& space_;
  SplitMix64 random_;
  bool begun_ = false;
  std::shared_ptr<const Point> start_;
  int patience_ = 0;  // draws before the walk
  std::unordered_set<std::string> taken_, barren_;
  std::unordered_map<std::string, double> costs_;
  std::vector<Branch> branches_;
};

}  // namespace dovetail::tune
