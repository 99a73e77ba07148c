#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include "base/resource_error.h"
#include "base/thread.h"

namespace dovetail {

namespace {

constexpr int kSpins = 20000;  // about 50 to 100 microseconds

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// The calling thread stays there; on failure it stays free. By number 0, not as pthread_setaffinity_np does it: in a
// sandbox, threads set no other affinity than their own.
void stay_on(const cpu_set_t& processors) { sched_setaffinity(0, sizeof processors, &processors); }

// The affinity when this process first asked: pools narrow the affinity of the threads that create them.
const std::vector<int>& allowed_processors() {
  static const std::vector<int> known = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> processors;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
      for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) processors.push_back(i);
    if (processors.empty()) processors.push_back(0);
    return processors;
  }();
  return known;
}

cpu_set_t processor_of(int thread) {
  const std::vector<int>& processors = allowed_processors();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processors[static_cast<std::size_t>(thread) % processors.size()]), &set);
  return set;
}

}  // namespace

// A loop is published by incrementing `epoch`. Chunks of iterations are handed out by an atomic counter, so that a late
// thread gets fewer. The caller waits only for workers that have entered the loop: one whose processor is busy with
// other work may come when it has ended, and finds it closed.
struct ThreadPool::State {
  std::vector<std::jthread> workers;
  int threads = 1;
  Placement placement = Placement::pinned;
  std::optional<pthread_t> owner;  // the thread whose affinity is in `before`
  cpu_set_t before;
  int avoided = -1;  // the processor that the workers avoid

  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<std::uint64_t> epoch{0};
  std::atomic<int> sleeping{0};
  std::atomic<bool> stop{false};

  const std::function<void(std::int64_t, std::int64_t, int)>* body = nullptr;
  std::int64_t count = 0, piece = 1;
  std::atomic<std::int64_t> next{0};
  static constexpr std::uint32_t kClosed = 1U << 31;
  std::atomic<std::uint32_t> inside{kClosed};  // workers in the loop, and whether further ones may enter it
  // Whether the caller sleeps while it waits for the workers; else it spins, as waking up costs time.
  bool sleeps() const { return placement == Placement::free; }
  std::atomic<bool> thrown{false};
  std::exception_ptr exception;  // the first one in the loop

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { end(); }

  void work(int thread) {
    try {
      for (;;) {
        const std::int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
        if (begin >= count) return;
        (*body)(begin, std::min(begin + piece, count), thread);
      }
    } catch (...) {
      if (!thrown.exchange(true)) exception = std::current_exception();
      next.store(count);  // no further piece begins
    }
  }

  bool enter() {
    std::uint32_t workers_inside = inside.load(std::memory_order_relaxed);
    while ((workers_inside & kClosed) == 0)
      if (inside.compare_exchange_weak(workers_inside, workers_inside + 1, std::memory_order_acquire)) return true;
    return false;
  }
  void leave() {
    if (inside.fetch_sub(1, std::memory_order_release) == kClosed + 1 && sleeps()) inside.notify_one();
  }

  void end() {
    stop = true;
    publish();
    workers.clear();
  }

  void serve(int thread) {
    if (placement == Placement::pinned) stay_on(processor_of(thread));
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && epoch.load(std::memory_order_acquire) == seen; ++spin) pause();
      if (epoch.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        sleeping.fetch_add(1);
        wake.wait(lock, [&] { return epoch.load() != seen; });
        sleeping.fetch_sub(1);
      }
      seen = epoch.load(std::memory_order_acquire);
      if (stop.load()) return;
      if (!enter()) continue;
      work(thread);
      leave();
    }
  }

  void close_and_wait() {
    std::uint32_t left = inside.fetch_or(kClosed, std::memory_order_acquire) | kClosed;
    for (int spin = 0; left != kClosed; ++spin, left = inside.load(std::memory_order_acquire)) {
      if (spin < kSpins) pause();
      else if (sleeps()) inside.wait(left, std::memory_order_acquire);
      else std::this_thread::yield();
    }
  }

  // Workers leave the processor on which the caller is.
  void keep_apart() {
    const int here = sched_getcpu();
    if (here == avoided || here < 0) return;
    avoided = here;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : allowed_processors())
      if (processor != here) CPU_SET(static_cast<std::size_t>(processor), &set);
    if (CPU_COUNT(&set) == 0) return;
    // From this thread, since a worker that waits for its processor cannot leave it. In a sandbox they stay.
    for (std::jthread& worker : workers) pthread_setaffinity_np(worker.native_handle(), sizeof set, &set);
  }

  void publish() {
    epoch.fetch_add(1);
    if (sleeping.load() > 0) {
      const std::lock_guard lock(mutex);
      wake.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads, Placement placement) : state_(std::make_unique<State>()) {
  state_->threads = std::max(threads, 1);
  state_->placement = placement;
  allowed_processors();  // before this thread narrows its own
  state_->workers.reserve(static_cast<std::size_t>(state_->threads - 1));
  for (int i = 1; i < state_->threads; ++i) {
    try {
      state_->workers.push_back(start_thread([state = state_.get(), i] { state->serve(i); }));
    } catch (const std::system_error& error) {
      throw ResourceError({"cannot start a thread", fmt::format("thread {} of {}", i + 1, state_->threads),
                           error.code().message(), "use fewer (--threads), or raise `ulimit -u`"});
    }
  }
  // After the workers have begun, which would begin on this thread's processor otherwise.
  if (placement == Placement::pinned && state_->threads > 1 &&
      sched_getaffinity(0, sizeof state_->before, &state_->before) == 0) {
    state_->owner = pthread_self();
    stay_on(processor_of(0));
  }
}

ThreadPool::~ThreadPool() {
  state_->end();
  if (!state_->owner) return;
  if (pthread_equal(*state_->owner, pthread_self()) != 0) stay_on(state_->before);
  else pthread_setaffinity_np(*state_->owner, sizeof state_->before, &state_->before);
}

int ThreadPool::threads() const { return state_->threads; }

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t, std::int64_t, int)>& body) {
  if (count <= 0) return;
  if (state_->workers.empty() || count == 1) {
    body(0, count, 0);
    return;
  }
  if (state_->placement == Placement::apart) state_->keep_apart();
  state_->body = &body;
  state_->count = count;
  // One iteration per chunk if there are few; else several chunks per thread, to balance uneven speed.
  state_->piece = std::max<std::int64_t>(1, count / (static_cast<std::int64_t>(state_->threads) * 4));
  state_->next.store(0, std::memory_order_relaxed);
  state_->inside.store(0, std::memory_order_release);
  state_->publish();
  state_->work(0);
  state_->close_and_wait();
  if (state_->thrown.exchange(false)) std::rethrow_exception(std::exchange(state_->exception, nullptr));
}

int available_processors() { return static_cast<int>(allowed_processors().size()); }

}  // namespace dovetail
