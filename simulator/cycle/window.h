// A sequence whose elements are numbered consecutively from 0, of which only the last elements are stored: memory grows
// with the number of live elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dovetail::simulator {

template <typename T>
class Window {
 public:
  std::uint64_t begin() const { return begin_; }  // the oldest element kept
  std::uint64_t end() const { return end_; }      // one past the newest
  bool empty() const { return begin_ == end_; }

  // Preconditions: begin() <= index < end(); not empty.
  T& operator[](std::uint64_t index) { return ring_[index & mask_]; }
  const T& operator[](std::uint64_t index) const { return ring_[index & mask_]; }
  T& front() { return (*this)[begin_]; }
  const T& front() const { return (*this)[begin_]; }
  T& back() { return (*this)[end_ - 1]; }

  T& push(T value) {
    if (end_ - begin_ == ring_.size()) grow();
    return ring_[end_++ & mask_] = std::move(value);
  }
  void pop_front() { ++begin_; }
  void drop_before(std::uint64_t index) {
    if (begin_ < index) begin_ = index;
  }
  void clear() { begin_ = end_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 16 : 2 * ring_.size());
    for (std::uint64_t i = begin_; i < end_; ++i) larger[i & (larger.size() - 1)] = std::move(ring_[i & mask_]);
    ring_ = std::move(larger);
    mask_ = ring_.size() - 1;
  }

  std::vector<T> ring_;
  std::uint64_t mask_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace dovetail::simulator
