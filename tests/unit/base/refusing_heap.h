// A heap of this test program that refuses one of the next requests.
#pragma once

namespace dovetail::test {

// While an object of this class exists, the n-th request of this thread throws std::bad_alloc, counted from 0.
class RefusedMemory {
 public:
  explicit RefusedMemory(int n);
  ~RefusedMemory();
  RefusedMemory(const RefusedMemory&) = delete;
  RefusedMemory& operator=(const RefusedMemory&) = delete;

  bool happened() const;
};

}  // namespace dovetail::test
