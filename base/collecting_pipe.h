// A path for libraries that write to files alone: what they write there is collected in memory, and no disk can be
// full.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace dovetail {

class CollectingPipe {
 public:
  // Error: the system has no pipe, or no thread to read it.
  static Result<std::unique_ptr<CollectingPipe>> make();
  ~CollectingPipe();
  CollectingPipe(const CollectingPipe&) = delete;
  CollectingPipe& operator=(const CollectingPipe&) = delete;

  // By which this process opens it, to write. It cannot be searched, nor written twice.
  std::string path() const;
  // All that was written, once nobody writes any more. Throws std::bad_alloc: it was more than there is memory for.
  std::vector<std::byte> finish();

 private:
  CollectingPipe(int from, int to) : from_(from), to_(to) {}
  void read();
  void end();

  int from_, to_;
  std::vector<std::byte> bytes_;
  std::exception_ptr exception_;
  std::jthread reader_;
};

}  // namespace dovetail
