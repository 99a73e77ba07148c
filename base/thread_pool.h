// A pool of threads for parallel loops of equal iterations. A waiting thread spins for some microseconds, as the next
// loop of a model usually follows at once, and then sleeps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace dovetail {

class ThreadPool {
 public:
  // Where the threads run. A caller that migrates may come to share a processor with a thread that spins, which then
  // delays it by milliseconds.
  enum class Placement {
    pinned,  // thread i stays on the i-th processor that the process may use, thread 0 being the one that creates the
             // pool, until the pool is destroyed: for a process of the kit's
    apart,   // workers avoid the processor of the thread that runs a loop, which stays as it is: for a host program
    free     // anywhere, and waiting threads sleep: for loops of long iterations
  };

  // `threads` includes the caller's; 1 creates none. Throws ResourceError: the system gives no more threads.
  explicit ThreadPool(int threads, Placement placement = Placement::pinned);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(begin, end, thread) for disjoint ranges that cover 0 <= i < count, 0 <= thread < threads(), and returns
  // when all have ended. One loop at a time; a body must not start another loop of the same pool. The exception of the
  // first body that fails is rethrown here, when all have ended; iterations that have not begun are then skipped.
  void parallel_for(std::int64_t count,
                    const std::function<void(std::int64_t begin, std::int64_t end, int thread)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Processors that this process may run on, at least 1.
int available_processors();

}  // namespace dovetail
