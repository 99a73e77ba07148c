// Distributes jobs to the processes of a command. A job and its result are texts; computing the result is a pure
// function that every process has, since all were started with the same command line. Process 0 sends each process one
// job at a time, and takes the results in the order in which they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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
  std::function<std::string(std::size_t job)> text;  // the job as sent to another process
  // Does a job in this process, and stores its result. Called by several threads at once. Null: this process does no
  // jobs.
  std::function<Result<void>(std::size_t job)> here;
  // Takes another process's result. Called by the thread that called run(), concurrently with `here`. Error: the text
  // is not a result.
  std::function<Result<void>(std::size_t job, std::string_view result)> take;
};

// The farm as seen by process 0.
class Farm {
 public:
  // `threads` of this process take part. `transport`: null if there are no other processes. `identity`: identifies
  // what jobs depend on; a process with another identity is an error. Both outlive the farm.
  Farm(Transport* transport, int threads, std::string identity);

  // Runs until all jobs are done; the job of a process that is lost is done by another. Errors: the first error of a
  // job, with the process that ran it, once the jobs in progress have ended; the transport's errors; `work`
  // was stopped (`what` names it), which does not wait for jobs.
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
  std::vector<std::string> hosts_;  // by rank; "" before the process has reported
  std::map<int, std::size_t> at_;   // the job in progress of each process
  std::vector<std::uint64_t> done_;
};

// For process 0: its destructor ends the other processes, even if there was no farm.
class Dismissal {
 public:
  explicit Dismissal(Transport* transport) : transport_(transport) {}  // null: there are no other processes
  ~Dismissal();
  Dismissal(const Dismissal&) = delete;
  Dismissal& operator=(const Dismissal&) = delete;

 private:
  Transport* transport_;
};

// For the other processes: does jobs until process 0 ends the work. A job's errors are sent to process 0, and do not
// end this function. Errors: the transport's.
Result<void> serve(Transport& transport, const std::string& identity,
                   const std::function<Result<std::string>(std::string_view job)>& job);

// For a process that could not begin: sends the errors to process 0, which reports them.
void report_failure(Transport& transport, const Diagnostics& errors);

}  // namespace dovetail::explore
