// A path for libraries that can write only to files. What they write is collected in memory, so a full disk cannot
// interfere.
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

  // The path by which this process opens the pipe for writing. It cannot be seeked, nor written twice.
  std::string path() const;
  // All bytes written; call once all writers are closed. Throws std::bad_alloc if they exceeded the memory available.
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
