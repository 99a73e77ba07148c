// A cache of results, each stored under all inputs that it depends on.
//
// A question (the cache key) is a type whose members are all inputs of a pure function, and whose answer() is that
// function. answer() sees nothing but the members, so no input can be missing from the key.
//
//   struct Product {
//     int a, b;
//     auto operator<=>(const Product&) const = default;
//     using Answer = int;
//     static constexpr std::size_t kKept = 1024;  // cached answers: this many to twice as many
//     Result<Answer> answer() const { return a * b; }
//   };
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>

#include "base/result.h"

namespace dovetail {

// A cache of answers to questions of any types. May be used by several threads at once.
class Memo {
 public:
  // `most` limits kKept for each type of question; 0: nothing is cached.
  explicit Memo(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}

  // The cached answer, else a new one. Errors: as answer(); they are not cached.
  template <typename Question>
  Result<std::shared_ptr<const typename Question::Answer>> ask(const Question& question) {
    Table<Question>& table = table_of<Question>();
    if (auto known = table.find(question)) return known;
    auto made = question.answer();
    if (!made.ok()) return made.errors();
    auto answer = std::make_shared<const typename Question::Answer>(*std::move(made));
    table.keep(question, answer);
    return answer;
  }

  // How often a question of this type was asked, and how often its answer was in the cache.
  struct Uses {
    std::uint64_t asked = 0, found = 0;
  };
  template <typename Question>
  Uses uses() {
    return table_of<Question>().uses();
  }

 private:
  struct AnyTable {
    virtual ~AnyTable() = default;
  };

  // Evicts the least recently used answers.
  template <typename Question>
  class Table : public AnyTable {
   public:
    using Pointer = std::shared_ptr<const typename Question::Answer>;

    explicit Table(std::size_t most) : most_(most) {}

    Pointer find(const Question& question) {
      const std::lock_guard lock(mutex_);
      ++uses_.asked;
      auto known = young_.find(question);
      if (known == young_.end()) {
        auto aged = old_.extract(question);
        if (aged.empty()) return nullptr;
        make_room();
        known = young_.insert(std::move(aged)).position;
      }
      ++uses_.found;
      return known->second;
    }
    void keep(const Question& question, Pointer answer) {
      if (most_ == 0) return;
      const std::lock_guard lock(mutex_);
      make_room();
      young_.insert_or_assign(question, std::move(answer));
    }
    Uses uses() {
      const std::lock_guard lock(mutex_);
      return uses_;
    }

   private:
    void make_room() {
      if (young_.size() >= most_) old_ = std::exchange(young_, {});
    }

    const std::size_t most_;
    std::mutex mutex_;
    Uses uses_;
    // Answers used since the last eviction, and answers last used before it.
    std::map<Question, Pointer> young_, old_;
  };

  template <typename Question>
  Table<Question>& table_of() {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<AnyTable>& table = tables_[typeid(Question)];
    if (!table) table = std::make_unique<Table<Question>>(std::min(most_, Question::kKept));
    return static_cast<Table<Question>&>(*table);
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::map<std::type_index, std::unique_ptr<AnyTable>> tables_;  // by type of question
};

}  // namespace dovetail
