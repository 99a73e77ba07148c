// Loops on several threads, and loops whose body throws.
#include "base/thread_pool.h"

#include <array>
#include <atomic>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include "base/resource_error.h"
#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/unit/base/refusing_heap.h"

using Catch::Matchers::ContainsSubstring;
using namespace dovetail;

TEST_CASE("every iteration of a parallel loop runs once") {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads, ThreadPool::Placement::free);
    CHECK(pool.threads() == threads);
    for (const std::int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      std::atomic<int> highest{0};
      pool.parallel_for(count, [&](std::int64_t begin, std::int64_t end, int thread) {
        if (thread >= threads) highest = thread;
        for (std::int64_t i = begin; i < end; ++i) ++runs[static_cast<std::size_t>(i)];
      });
      CHECK(highest == 0);
      for (const auto& run : runs) CHECK(run == 1);
    }
  }
}

TEST_CASE("an exception of the body reaches the caller, and the pool continues") {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads, ThreadPool::Placement::free);
    for (int round = 0; round < 3; ++round) {
      CHECK_THROWS_AS(pool.parallel_for(100,
                                        [&](std::int64_t begin, std::int64_t end, int) {
                                          if (begin <= 42 && 42 < end) throw std::bad_alloc();
                                        }),
                      std::bad_alloc);
      std::atomic<std::int64_t> sum{0};
      pool.parallel_for(100, [&](std::int64_t begin, std::int64_t end, int) { sum += end - begin; });
      CHECK(sum == 100);
    }
  }
}

TEST_CASE("workers avoid the processor of the caller, which stays as it is") {
  if (available_processors() < 2) return test::skip("this process may use one processor alone");
  const auto affinity = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    REQUIRE(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    return set;
  };
  const cpu_set_t all = affinity();
  ThreadPool pool(2, ThreadPool::Placement::apart);
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &all)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    REQUIRE(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0);
    std::array<cpu_set_t, 2> seen{};
    std::atomic<int> started{0};
    pool.parallel_for(2, [&](std::int64_t, std::int64_t, int thread) {
      ++started;
      while (started < 2) std::this_thread::yield();  // each thread has one iteration
      seen[static_cast<std::size_t>(thread)] = affinity();
    });
    CHECK(CPU_EQUAL(&seen[0], &one));
    CHECK_FALSE(CPU_ISSET(processor, &seen[1]));
    CHECK(CPU_COUNT(&seen[1]) == available_processors() - 1);
  }
  pthread_setaffinity_np(pthread_self(), sizeof all, &all);
}

TEST_CASE("a pool without memory for one of its threads ends the others, and reports it") {
  int refused = 0;
  for (int n = 0;; ++n) {
    bool happened = false;
    try {
      const test::RefusedMemory memory(n);
      std::optional<ThreadPool> pool;
      pool.emplace(4, ThreadPool::Placement::free);
      happened = memory.happened();
    } catch (const ResourceError& error) {
      CHECK_THAT(to_string(error.diagnostic()), ContainsSubstring("cannot start a thread"));
      ++refused;
      continue;
    } catch (const std::bad_alloc&) {
      continue;
    }
    if (!happened) break;
  }
  CHECK(refused >= 3);
}
