// model_runner BUNDLE.dvt [--threads N] [--input NAME=FILE]...: loads a bundle and times runs of it on demand, so that
// a driver can alternate it with another program (run.py). Prints a line of JSON when it is ready, and one for each
// input line: N, the number of runs after an untimed one; or a folder for the outputs.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"
#include "driver/tensor_files.h"
#include "runtime/executor.h"

namespace dovetail::bench {
namespace {

struct Arguments {
  std::string bundle;
  int threads = 1;
  std::map<std::string, std::string> inputs;  // by name: a file
};

Result<Arguments> parse(std::span<char*> words) {
  Arguments arguments;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool valued = i + 1 < words.size();
    if (word == "--input" && valued) {
      const std::string_view text = words[++i];
      const std::size_t equals = std::min(text.rfind('='), text.size());
      arguments.inputs.emplace(text.substr(0, equals), text.substr(std::min(equals + 1, text.size())));
    } else if (word == "--threads" && valued) {
      const std::string_view value = words[++i];
      std::from_chars(value.data(), value.data() + value.size(), arguments.threads);
    } else {
      arguments.bundle = word;
    }
  }
  if (arguments.bundle.empty() || arguments.threads < 1)
    return Diagnostic{"bad usage", "model_runner", "a bundle and at least one thread are required",
                      "model_runner BUNDLE.dvt [--threads N] [--input NAME=FILE]..."};
  return arguments;
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A line of /proc/self/status, in KiB: VmRSS is the current resident size, VmHWM its peak.
long status_kib(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stol(line.substr(key.size() + 1));
  return 0;
}

void say(const Json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

Result<void> serve(const Arguments& arguments) {
  const long before = status_kib("VmRSS");
  const double start = seconds_of(CLOCK_MONOTONIC);
  // The driver has compiled it.
  DOVETAIL_ASSIGN(bundle::Bundle bundle, bundle::read_bundle(arguments.bundle, bundle::MachineCode::trusted));
  DOVETAIL_ASSIGN(const auto simulators, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(const driver::RunInputs inputs, driver::gather_inputs(bundle, arguments.inputs, 1));
  DOVETAIL_ASSIGN(runtime::Executor executor,
                  runtime::Executor::make(std::move(bundle), simulators, {arguments.threads}));
  runtime::RunOptions in_place;
  in_place.copy_outputs = in_place.time_steps = false;
  DOVETAIL_TRY(executor.run(inputs.tensors, in_place));
  say({{"ready", true}, {"load_seconds", seconds_of(CLOCK_MONOTONIC) - start}});
  for (std::string line; std::getline(std::cin, line);) {
    int runs = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), runs).ec != std::errc()) {
      DOVETAIL_ASSIGN(const runtime::RunResult result, executor.run(inputs.tensors));
      DOVETAIL_TRY(driver::write_outputs(line, result.outputs));
      say({{"written", line}});
      continue;
    }
    DOVETAIL_TRY(executor.run(inputs.tensors, in_place));
    const double wall = seconds_of(CLOCK_MONOTONIC), processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < runs; ++i) DOVETAIL_TRY(executor.run(inputs.tensors, in_place));
    say({{"wall", (seconds_of(CLOCK_MONOTONIC) - wall) / runs},
         {"processor", (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor) / runs},
         {"memory_kib", status_kib("VmHWM") - before}});
  }
  return {};
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  using namespace dovetail;
  const auto arguments = bench::parse({argv, static_cast<std::size_t>(argc)});
  const Result<void> served = arguments.ok() ? bench::serve(*arguments) : Result<void>(arguments.errors());
  if (served.ok()) return 0;
  std::fprintf(stderr, "%s\n", to_string(served.errors()).c_str());
  return 1;
}
