// Answers to questions, each kept under everything that it follows from.
//
// A question is a type whose members are all inputs of a pure function, compared as a whole, and whose answer() is that
// function: it sees nothing but the members, so that no input can be missing from what an answer is found by.
//
//   struct Product {
//     int a, b;
//     auto operator<=>(const Product&) const = default;
//     using Answer = int;
//     static constexpr std::size_t kKept = 1024;  // answers that are kept at least, and twice as many at most
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

// Keeps answers to questions of any types. May be used by several threads at once.
class Memo {
 public:
  // At most so many answers of each type of question are kept at least, fewer where the type says so; 0: none.
  explicit Memo(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}

  // The answer that is kept, else a new one. Errors: as answer(); they are not kept.
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

  // How often a question of the type was asked, and its answer was there.
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

  // Forgets what was used the longest time ago.
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
    // What was used since the last time that there were too many; the generation before it is older.
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
