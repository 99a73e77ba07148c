// A cache of values by text key that drops the least recently used values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace dovetail {

// Thread-safe.
template <typename Value>
class Recent {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // The last `values` values used are always kept, and at most twice as many in total.
  explicit Recent(std::size_t values) : most_(values) {}

  // nullptr: not in the cache.
  Pointer find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    ++asked_;
    if (const auto known = young_.find(key); known != young_.end()) {
      ++found_;
      return known->second;
    }
    const auto known = old_.find(key);
    if (known == old_.end()) return nullptr;
    ++found_;
    Pointer value = known->second;
    add(key, value);
    return value;
  }
  void keep(const std::string& key, Pointer value) {
    const std::lock_guard lock(mutex_);
    add(key, std::move(value));
  }

  // The number of lookups, and of those that found a value.
  std::uint64_t asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::uint64_t found() const {
    const std::lock_guard lock(mutex_);
    return found_;
  }

 private:
  // The values used since the young generation was last full; the old generation holds those used before.
  using Generation = std::unordered_map<std::string, Pointer>;

  void add(const std::string& key, Pointer value) {
    if (young_.size() >= most_) old_ = std::exchange(young_, {});
    young_.insert_or_assign(key, std::move(value));
  }

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::uint64_t asked_ = 0, found_ = 0;
  Generation young_, old_;
};

}  // namespace dovetail
