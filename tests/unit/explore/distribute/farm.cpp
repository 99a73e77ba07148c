// Jobs for several processes, which are threads here: every job is done once, and process 0 reports any failure.
#include "explore/distribute/farm.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/mailboxes.h"

namespace dovetail::explore {

namespace {

using Catch::Matchers::ContainsSubstring;
using DoJob = std::function<Result<std::string>(std::string_view job)>;

Result<std::string> twice(std::string_view job) { return std::to_string(2 * std::stoi(std::string(job))); }

// Other processes that serve until they are dismissed; and process 0, with or without its own thread.
struct Processes {
  explicit Processes(int others, const DoJob& job = twice, const std::string& identity = "same") : boxes(others + 1) {
    for (int rank = 1; rank <= others; ++rank)
      threads.emplace_back([this, rank, job, identity] {
        const auto transport = boxes.transport(rank);
        CHECK(serve(*transport, identity, job).ok());
      });
  }
  ~Processes() {
    { const Dismissal dismissal(first.get()); }
    for (std::thread& thread : threads) thread.join();
  }
  test::Mailboxes boxes;
  std::unique_ptr<Transport> first = boxes.transport(0);
  std::vector<std::thread> threads;
};

Jobs numbers(std::vector<int>& results, bool here) {
  Jobs jobs;
  jobs.count = results.size();
  jobs.text = [](std::size_t job) { return std::to_string(job); };
  jobs.take = [&](std::size_t job, std::string_view text) -> Result<void> {
    ++results[job];
    CHECK(std::string(text) == std::to_string(2 * job));
    return {};
  };
  if (here)
    jobs.here = [&](std::size_t job) -> Result<void> {
      ++results[job];
      return {};
    };
  return jobs;
}

}  // namespace

// Sends what a lost process and the one that replaces it send: process 1 says hello, takes a job, is lost, says hello
// again, and does the rest.
class LosesOne : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::string host() const override { return "here"; }
  std::string library() const override { return "test"; }
  Result<void> send(int, std::string_view text) override {
    const std::string job(text.substr(1, text.find('\n') - 1));
    if (text[0] != 'J') return {};
    ++jobs;
    if (jobs == 2) {
      coming.push_back({1, "", true});
      coming.push_back({1, "Hthere\nsame"});
    } else {
      coming.push_back({1, "R" + job + "\n" + std::to_string(2 * std::stoi(job))});
    }
    return {};
  }
  Result<std::optional<Message>> receive(std::chrono::milliseconds) override {
    if (coming.empty()) return std::optional<Message>();
    Message next = coming.front();
    coming.pop_front();
    return std::optional(std::move(next));
  }

  std::deque<Message> coming{{1, "Hthere\nsame"}};
  int jobs = 0;
};

TEST_CASE("farm: the job of a lost process is done by another, also by this one") {
  for (const bool here : {false, true}) {
    LosesOne transport;
    Farm farm(&transport, here ? 1 : 0, "same");
    std::vector<int> results(6);
    CHECK(farm.run(numbers(results, here), nullptr, "test").ok());
    CHECK(results == std::vector<int>(6, 1));
    if (!here) CHECK(transport.jobs == 7);
  }
}

TEST_CASE("farm: each job is done once, by whichever process is free, call after call") {
  Processes processes(3);
  Farm farm(processes.first.get(), 1, "same");
  CHECK(farm.processes() == 4);
  for (const bool here : {true, false, true}) {
    std::vector<int> results(50, 0);
    REQUIRE(farm.run(numbers(results, here), nullptr, "the test").ok());
    CHECK(results == std::vector<int>(50, 1));
  }
  std::uint64_t done = 0;
  for (const std::uint64_t each : farm.done()) done += each;
  CHECK(done == 150);
  std::vector<int> none;
  CHECK(farm.run(numbers(none, true), nullptr, "the test").ok());
}

TEST_CASE("farm: without other processes the threads of this one do everything") {
  Farm farm(nullptr, 2, "alone");
  std::vector<int> results(50, 0);
  REQUIRE(farm.run(numbers(results, true), nullptr, "the test").ok());
  CHECK(results == std::vector<int>(50, 1));
}

TEST_CASE("farm: a job that fails ends the work, and the process that it failed in is named") {
  Processes processes(1, [](std::string_view job) -> Result<std::string> {
    if (job == "3") return Diagnostic{"cannot do it", "job 3", "3 > 2", "give less"};
    if (job == "1") throw std::runtime_error("thrown");
    return twice(job);
  });
  Farm farm(processes.first.get(), 1, "same");
  std::vector<int> results(50, 0);
  const auto failed = farm.run(numbers(results, false), nullptr, "the test");
  REQUIRE_FALSE(failed.ok());
  CHECK_THAT(to_string(failed.errors()), ContainsSubstring("process 1 on host1") && ContainsSubstring("thrown"));
  CHECK(results[0] == 1);
  CHECK(results[2] == 0);
  // No state of the failed call remains, and the process continues.
  std::vector<int> one(1, 0);
  CHECK(farm.run(numbers(one, false), nullptr, "the test").ok());
}

TEST_CASE("farm: a process with other files is refused") {
  Processes processes(1, twice, "other");
  Farm farm(processes.first.get(), 1, "same");
  std::vector<int> results(5, 0);
  const auto refused = farm.run(numbers(results, false), nullptr, "the test");
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()),
             ContainsSubstring("process 1 on host1") && ContainsSubstring("other is not same"));
}

TEST_CASE("farm: a process that could not start is reported") {
  test::Mailboxes boxes(2);
  const auto first = boxes.transport(0), second = boxes.transport(1);
  report_failure(*second, {Diagnostic{"cannot read model.onnx", "/data", "no such file", "copy it there"}});
  Farm farm(first.get(), 1, "same");
  std::vector<int> results(5, 0);
  const auto failed = farm.run(numbers(results, false), nullptr, "the test");
  REQUIRE_FALSE(failed.ok());
  CHECK_THAT(to_string(failed.errors()),
             ContainsSubstring("process 1 on host1, /data") && ContainsSubstring("no such file"));
}

TEST_CASE("farm: stopping the work does not wait for other processes") {
  std::atomic<bool> release = false;
  Processes processes(1, [&](std::string_view job) -> Result<std::string> {
    while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return twice(job);
  });
  Farm farm(processes.first.get(), 1, "same");
  Work work;
  std::vector<int> results(5, 0);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    work.stop("enough", "continue");
  });
  const auto stopped = farm.run(numbers(results, false), &work, "the test");
  stopper.join();
  release = true;
  REQUIRE_FALSE(stopped.ok());
  CHECK_THAT(to_string(stopped.errors()), ContainsSubstring("enough"));
}

}  // namespace dovetail::explore
