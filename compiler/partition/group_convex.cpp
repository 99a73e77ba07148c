#include "compiler/partition/group_convex.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "base/check.h"

namespace dovetail {

namespace {

using Edges = std::vector<std::set<std::size_t>>;

// A topological order with long runs of one color: it continues with the current color while possible; ties go to the
// unit listed first.
std::vector<std::size_t> order(const Edges& reads, const std::vector<std::size_t>& colors) {
  Edges users(reads.size());
  std::vector<std::size_t> waiting(reads.size());
  std::map<std::size_t, std::set<std::size_t>> ready;  // by color; no empty sets
  for (std::size_t u = 0; u < reads.size(); ++u) {
    waiting[u] = reads[u].size();
    for (const std::size_t producer : reads[u]) users[producer].insert(u);
    if (waiting[u] == 0) ready[colors[u]].insert(u);
  }
  std::vector<std::size_t> ordered;
  auto current = ready.end();
  while (!ready.empty()) {
    // Continue with the color of the earliest ready unit.
    if (current == ready.end())
      current = std::ranges::min_element(ready, {}, [](const auto& entry) { return *entry.second.begin(); });
    const std::size_t color = current->first, u = *current->second.begin();
    current->second.erase(current->second.begin());
    ordered.push_back(u);
    for (const std::size_t user : users[u])
      if (--waiting[user] == 0) ready[colors[user]].insert(user);
    current = ready.find(color);
    if (current->second.empty()) {
      ready.erase(current);
      current = ready.end();
    }
  }
  DOVETAIL_CHECK(ordered.size() == reads.size(), "an acyclic graph has an order");
  return ordered;
}

// A set of groups, one bit each: a long chain of groups has quadratically many ancestors.
class Bits {
 public:
  explicit Bits(std::size_t groups) : words_((groups + 63) / 64, 0) {}
  bool has(std::size_t group) const { return (words_[group / 64] >> (group % 64) & 1) != 0; }
  void add(std::size_t group) { words_[group / 64] |= std::uint64_t{1} << (group % 64); }
  void add(const Bits& others) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= others.words_[i];
  }

 private:
  std::vector<std::uint64_t> words_;
};

// Groups as nodes of a separate graph.
class Groups {
 public:
  Groups(const Edges& reads, const std::vector<std::size_t>& colors, const std::vector<std::size_t>& ordered)
      : colors_(colors) {
    std::vector<std::size_t> group_of(ordered.size());
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      const std::size_t u = ordered[i];
      if (i == 0 || colors[ordered[i - 1]] != colors[u]) members_.emplace_back();
      members_.back().push_back(i);
      group_of[u] = members_.size() - 1;
    }
    reads_.resize(members_.size());
    for (const std::size_t u : ordered)
      for (const std::size_t producer : reads[u])
        if (group_of[producer] != group_of[u]) reads_[group_of[u]].insert(group_of[producer]);
    ordered_ = &ordered;
  }

  // Merges the groups that can be merged. Groups stay numbered in an order in which they can run.
  void join() {
    ancestors_.assign(1, Bits(members_.size()));  // the first group reads from none
    for (std::size_t late = 1; late < members_.size();) {
      Bits before(members_.size());  // groups with an indirect path (through at least one other group) to `late`
      for (const std::size_t producer : reads_[late]) before.add(ancestors_[producer]);
      std::size_t early = late;
      for (std::size_t g = late; g-- > 0;)
        if (color(g) == color(late) && !before.has(g)) early = g;
      if (early == late) {
        for (const std::size_t producer : reads_[late]) before.add(producer);
        ancestors_.push_back(std::move(before));
        ++late;
      } else {
        join(early, late);
        ancestors_.assign(1, Bits(members_.size()));
        late = 1;
      }
    }
  }

  std::vector<std::vector<std::size_t>> units() const {
    std::vector<std::vector<std::size_t>> result;
    for (std::vector<std::size_t> positions : members_) {
      std::sort(positions.begin(), positions.end());
      for (std::size_t& position : positions) position = (*ordered_)[position];
      result.push_back(std::move(positions));
    }
    return result;
  }

 private:
  std::size_t color(std::size_t group) const { return colors_[(*ordered_)[members_[group].front()]]; }

  // Merges `late` into `early` and renumbers the groups.
  void join(std::size_t early, std::size_t late) {
    members_[early].insert(members_[early].end(), members_[late].begin(), members_[late].end());
    reads_[early].insert(reads_[late].begin(), reads_[late].end());
    members_[late].clear();
    reads_[late].clear();
    for (std::set<std::size_t>& reads : reads_)
      if (reads.erase(late) != 0) reads.insert(early);
    reads_[early].erase(early);

    std::vector<std::size_t> number(members_.size());
    std::vector<std::vector<std::size_t>> members;
    std::vector<bool> done(members_.size(), false);
    std::vector<std::size_t> old;
    while (members.size() + 1 < members_.size()) {
      const std::size_t before = members.size();
      for (std::size_t g = 0; g < members_.size(); ++g) {
        if (g == late || done[g] ||
            !std::ranges::all_of(reads_[g], [&](std::size_t producer) { return done[producer]; }))
          continue;
        done[g] = true;
        number[g] = members.size();
        members.push_back(std::move(members_[g]));
        old.push_back(g);
      }
      DOVETAIL_CHECK(members.size() > before, "merging groups created a cycle");
    }
    Edges renumbered(members.size());
    for (std::size_t g = 0; g < members.size(); ++g)
      for (const std::size_t producer : reads_[old[g]]) renumbered[g].insert(number[producer]);
    members_ = std::move(members);
    reads_ = std::move(renumbered);
  }

  const std::vector<std::size_t>& colors_;
  const std::vector<std::size_t>* ordered_ = nullptr;
  std::vector<std::vector<std::size_t>> members_;  // positions in the order
  Edges reads_;                                    // groups that a group reads from, without itself
  std::vector<Bits> ancestors_;                    // of the groups processed so far
};

}  // namespace

std::vector<std::vector<std::size_t>> group_convex(const std::vector<std::vector<std::size_t>>& reads,
                                                   const std::vector<std::size_t>& colors) {
  DOVETAIL_CHECK(reads.size() == colors.size(), "every unit has a color");
  Edges edges;
  for (const std::vector<std::size_t>& list : reads) edges.emplace_back(list.begin(), list.end());
  const std::vector<std::size_t> ordered = order(edges, colors);
  Groups groups(edges, colors, ordered);
  groups.join();
  return groups.units();
}

}  // namespace dovetail
