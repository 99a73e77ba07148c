#include "compiler/tune/search/explorer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dovetail::tune {

namespace {

constexpr int kPatience = 32;       // draws without a new candidate before the space counts as nearly exhausted
constexpr int kLittlePatience = 2;  // the same, once the space counts as nearly exhausted
constexpr int kVariations = 8;
constexpr int kRandomCompletions = 4;

// The decisions with more than one choice.
std::vector<std::size_t> open_decisions(const Point& point) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < point.sampled.size(); ++i)
    if (point.sampled[i].space.values.size() > 1) open.push_back(i);
  return open;
}

schedule::Decisions decisions_before(const Point& point, std::size_t end) {
  schedule::Decisions decisions;
  for (std::size_t i = 0; i < end; ++i) decisions.emplace(point.sampled[i].name, point.sampled[i].value);
  return decisions;
}

}  // namespace

std::string text_of(const schedule::Decisions& decisions) {
  std::string text;
  for (const auto& [name, value] : decisions) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

std::size_t Explorer::below(std::size_t count) { return static_cast<std::size_t>(random_.next() % count); }

double Explorer::fraction() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }

void Explorer::learn(const Candidate& candidate, double cost) {
  claim(candidate);
  costs_[candidate.text()] = std::isnan(cost) ? std::numeric_limits<double>::infinity() : cost;
}

std::optional<double> Explorer::cost(const std::string& text) const {
  const auto found = costs_.find(text);
  return found == costs_.end() ? std::nullopt : std::optional(found->second);
}

bool Explorer::claim(const Candidate& candidate) { return taken_.insert(candidate.text()).second; }

// The default is measured by the driver of the search, and is where the walk begins.
std::shared_ptr<const Point> Explorer::start() {
  if (std::exchange(begun_, true)) return start_;
  patience_ = kPatience;
  if (const auto first = space_.default_candidate(); first.ok()) {
    claim(*first);
    start_ = std::make_shared<const Point>(*first);
    branch_off(start_, 0);
  }
  return start_;
}

std::optional<Candidate> Explorer::complete(const schedule::Decisions& decisions) {
  if (!start()) return std::nullopt;
  return space_.complete(decisions, Rest::analytic, random_);
}

std::optional<Candidate> Explorer::take(const schedule::Decisions& decisions) {
  if (!start()) return std::nullopt;
  std::string text = text_of(decisions);
  if (taken_.contains(text) || rejected_.contains(text)) return std::nullopt;
  auto candidate = complete(decisions);
  if (candidate && claim(*candidate)) return candidate;
  rejected_.insert(std::move(text));
  return std::nullopt;
}

std::optional<Candidate> Explorer::draw() {
  if (!start() || branches_.empty()) return std::nullopt;
  for (int i = 0; i < patience_; ++i)
    if (auto candidate = space_.complete({}, Rest::random, random_); candidate && claim(*candidate)) return candidate;
  patience_ = kLittlePatience;
  return walk();
}

// With equal probability, a neighbor in the order of the choices (mostly numbers) or any other value.
const std::string& Explorer::other_value(const schedule::Decision& decision) {
  const auto& [name, space, value] = decision;
  const std::size_t count = space.values.size(), now = space.find(value).value_or(0);
  std::size_t next = (now + 1 + below(count - 1)) % count;
  if (below(2) == 0) next = now == 0 ? 1 : now + 1 == count || below(2) == 0 ? now - 1 : now + 1;
  return space.values[next];
}

schedule::Decisions Explorer::variation(const Point& from, std::size_t changes) {
  std::vector<std::size_t> open = open_decisions(from);
  shuffle(open);
  open.resize(std::min(open.size(), changes));
  schedule::Decisions decisions = decisions_before(from, from.sampled.size());
  for (const std::size_t at : open) decisions[from.sampled[at].name] = other_value(from.sampled[at]);
  return decisions;
}

std::optional<Candidate> Explorer::vary(const Point& from, std::size_t changes) {
  for (int i = 0; i < kVariations; ++i)
    if (auto candidate = take(variation(from, changes))) return candidate;
  return std::nullopt;
}

std::optional<Candidate> Explorer::branch(const Point& from) {
  const std::vector<std::size_t> open = open_decisions(from);
  for (int i = 0; i < kVariations && !open.empty(); ++i) {
    const std::size_t at = open[below(open.size())];
    schedule::Decisions decisions = decisions_before(from, at);
    decisions[from.sampled[at].name] = other_value(from.sampled[at]);
    if (auto candidate = take(decisions)) return candidate;
  }
  return std::nullopt;
}

std::optional<Candidate> Explorer::cross(const Point& a, const Point& b) {
  schedule::Decisions decisions = decisions_before(a, a.sampled.size());
  for (const schedule::Decision& decision : b.sampled)
    if (below(2) == 0) decisions[decision.name] = decision.value;
  return take(decisions);
}

// ---- The walk: a tree whose levels are the decisions in the order in which the sketch samples them. A candidate is
// the node for all its prefixes, so each branch leads to another candidate, and the branches cover the whole space.

void Explorer::branch_off(const std::shared_ptr<const Point>& point, std::size_t first_decision) {
  for (std::size_t i = first_decision; i < point->sampled.size(); ++i) {
    const auto& [name, space, value] = point->sampled[i];
    for (std::size_t v = 0; v < space.values.size(); ++v)
      if (space.values[v] != value) branches_.push_back({point, i, v});
  }
}

// Any candidate of that branch: with analytic choices for the rest; if that is not legal, with the previous choices;
// else with random ones.
std::optional<Candidate> Explorer::follow(const Branch& branch) {
  const schedule::Decision& decided = branch.from->sampled[branch.decision];
  const std::string& value = decided.space.values[branch.value];
  schedule::Decisions beginning = decisions_before(*branch.from, branch.decision);
  beginning[decided.name] = value;
  schedule::Decisions all = decisions_before(*branch.from, branch.from->sampled.size());
  all[decided.name] = value;
  const auto attempt = [&](const schedule::Decisions& decisions, Rest rest) -> std::optional<Candidate> {
    auto candidate = space_.complete(decisions, rest, random_);
    if (!candidate) return std::nullopt;
    const schedule::Decisions got = candidate->decisions();
    const bool kept = std::ranges::all_of(beginning, [&](const auto& decision) {
      const auto there = got.find(decision.first);
      return there != got.end() && there->second == decision.second;
    });
    if (!kept) return std::nullopt;
    return candidate;
  };
  if (branch.decision + 1 == branch.from->sampled.size())
    return taken_.contains(text_of(beginning)) ? std::nullopt : attempt(beginning, Rest::analytic);
  auto candidate = attempt(beginning, Rest::analytic);
  if (!candidate) candidate = attempt(all, Rest::analytic);
  for (int i = 0; i < kRandomCompletions && !candidate; ++i) candidate = attempt(beginning, Rest::random);
  return candidate;
}

std::optional<Candidate> Explorer::walk() {
  while (!branches_.empty()) {
    std::swap(branches_[below(branches_.size())], branches_.back());
    const Branch branch = std::move(branches_.back());
    branches_.pop_back();
    const auto candidate = follow(branch);
    if (!candidate) continue;
    branch_off(std::make_shared<const Point>(*candidate), branch.decision + 1);
    if (claim(*candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace dovetail::tune
