// Jobs for the processes of a command. A job is a text, as is its result: a pure function that every process has, since
// all were started with the same command line. Process 0 hands them out, one at a time to each, and takes the results
// in the order in which they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "explore/distribute/transport.h"

namespace dovetail::explore {

struct Jobs {
  std::size_t count = 0;
  std::function<std::string(std::size_t job)> text;  // what another process gets
  // Does a job in this process, its result included. Called by several threads at once. Null: this process does none.
  std::function<Result<void>(std::size_t job)> here;
  // Another process's result. Called by the thread that called run(), alongside `here`. Error: it is none.
  std::function<Result<void>(std::size_t job, std::string_view result)> take;
};

// Process 0's side.
class Farm {
 public:
  // `threads` of this process take part. `transport`: null where there are no other processes. `identity`: identifies
  // what jobs depend on; a process with another identity is an error. Both outlive the farm.
  Farm(Transport* transport, int threads, std::string identity);

  // Runs until all jobs are done. Errors: the first error of a job, with the process that ran it, once the jobs in
  // progress have ended; the transport's errors; `work` was stopped (`what` names it), which does not wait for jobs.
  Result<void> run(const Jobs& jobs, Work* work, const std::string& what);

  int processes() const { return transport_ == nullptr ? 1 : transport_->size(); }
  // Jobs done by each process so far, by rank.
  const std::vector<std::uint64_t>& done() const { return done_; }

 private:
  class Run;

  Transport* transport_;
  int threads_;
  std::string identity_;
  std::deque<int> idle_;            // other processes that wait for a job
  std::vector<std::string> hosts_;  // by rank; "" before the process has come
  std::vector<std::uint64_t> done_;
};

// Process 0's, too: has the others end when it goes, whether or not there ever was a farm.
class Dismissal {
 public:
  explicit Dismissal(Transport* transport) : transport_(transport) {}  // null: there are no others
  ~Dismissal();
  Dismissal(const Dismissal&) = delete;
  Dismissal& operator=(const Dismissal&) = delete;

 private:
  Transport* transport_;
};

// The others' side: does jobs until process 0 says that there are no more. Errors of a job, which process 0 reports,
// end nothing here. Errors: the transport's.
Result<void> serve(Transport& transport, const std::string& identity,
                   const std::function<Result<std::string>(std::string_view job)>& job);

// Another process that could not begin: process 0 reports it.
void report_failure(Transport& transport, const Diagnostics& errors);

}  // namespace dovetail::explore
