// The kit's CPU back end compared with oneDNN and OpenBLAS: layers and whole networks, float32 and int8, one thread and
// two. docs/results/benchmarks.md describes the method. Usage: bench_cpu [SAMPLES [FILTER]] [--records DB [--trials
// N]]. FILTER: a substring of the names to measure. --records: also measures layers with recorded schedules; --trials:
// after searching for them.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "bench/cpu/ours.h"
#include "bench/cpu/peers.h"
#include "bench/cpu/timing.h"
#include "compiler/reference/reference.h"
#include "compiler/zoo/weights.h"
#include "compiler/zoo/zoo.h"
#include "runtime/peak.h"

namespace dovetail::bench {
namespace {

constexpr const char* kThreadsVariable = "DOVETAIL_BENCH_THREADS";
constexpr const char* kProcessorsVariable = "DOVETAIL_BENCH_PROCESSORS";
constexpr double kTrustedShare =
    0.9;  // of the peak, reached by oneDNN on large convolutions; below, other jobs disturbed the run

struct Settings {
  int threads = 1, samples = 15;
  std::string filter;
  Tuning tuning;
  bool selects(const std::string& name) const { return name.find(filter) != std::string::npos; }
};

double rounded(double value) { return std::round(value * 1000) / 1000; }

// Times of the candidates, and the ratio of the fastest peer's to ours: above 1, ours is faster. Both with chosen
// layouts, and both from and to plain layouts.
Json measure(std::span<const Candidate> candidates, double operations, const Settings& settings) {
  const std::vector<Times> times = measure_alternating(candidates, settings.samples, settings.threads);
  Json rows = Json::object();
  double ours = 0, tuned = 0, peer = 1e9, ours_plain = 0, peer_plain = 1e9;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double processor = times[i].processor_seconds, wall = times[i].wall_seconds,
                 compared = times[i].compared_seconds(settings.threads);
    rows[candidates[i].name] = {{"processor_ms", rounded(processor * 1e3)},
                                {"wall_ms", rounded(wall * 1e3)},
                                {"gop_per_s", rounded(operations / compared * 1e-9 / settings.threads)},
                                {"gop_per_s_wall", rounded(operations / wall * 1e-9)}};
    const std::string& name = candidates[i].name;
    if (name == "ours") ours = compared;
    else if (name == "ours tuned") tuned = compared;
    else if (name == "ours plain") ours_plain = compared;
    else if (name.ends_with("plain")) peer_plain = std::min(peer_plain, compared);
    else peer = std::min(peer, compared);
  }
  if (ours > 0 && peer < 1e9) rows["ours_against_best_peer"] = rounded(peer / ours);
  if (tuned > 0 && peer < 1e9) rows["tuned_against_best_peer"] = rounded(peer / tuned);
  if (tuned > 0 && ours > 0) rows["tuned_against_ours"] = rounded(ours / tuned);
  if (ours_plain > 0 && peer_plain < 1e9) rows["ours_against_best_peer_plain"] = rounded(peer_plain / ours_plain);
  return rows;
}

void complain(const Diagnostics& errors, bool& failed) {
  std::fprintf(stderr, "%s\n", to_string(errors).c_str());
  failed = true;
}

// `gop_per_s` is per core, from the compared time.
Json measure_layers(const Settings& settings, const runtime::Peak& float32, const runtime::Peak& int8, bool& failed) {
  Json rows = Json::array();
  for (const LayerSpec& spec : all_layers()) {
    if (!settings.selects(spec.name)) continue;
    const Problem problem = make_problem(spec);
    std::vector<Candidate> candidates;
    if (auto ours = make_ours(problem, settings.threads, settings.tuning)) candidates = *std::move(ours);
    else complain(ours.errors(), failed);
    auto peers = peer_candidates(problem);
    if (!peers) complain(peers.errors(), failed);
    else candidates.insert(candidates.end(), peers->begin(), peers->end());
    for (const Candidate& candidate : candidates) {
      candidate.run();
      if (auto right = check_result(problem, candidate.result()); !right) complain(right.errors(), failed);
    }
    const double peak = spec.number == Number::int8 ? int8.giga_operations : float32.giga_operations;
    Json row{{"layer", spec.name},
             {"number", spec.number == Number::int8 ? "int8" : "float32"},
             {"mmac", rounded(spec.macs() * 1e-6)},
             {"large_convolution", spec.large_convolution()}};
    row["candidates"] = measure(candidates, 2 * spec.macs(), settings);
    if (row["candidates"].contains("oneDNN") && peak > 0)
      row["onednn_of_peak"] = rounded(row["candidates"]["oneDNN"]["gop_per_s"].get<double>() / peak);
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Network {
  zoo::Model model;
  NdArray input;
};

Network network_of(const char* name, std::optional<std::int64_t> image) {
  Network network{zoo::make(name, {1, 1, image, {}}).value(), {}};
  network.input = zoo::normal_array(network.model.graph.value(network.model.graph.inputs[0]).type.shape, 1,
                                    zoo::Random(1, "input"));
  return network;
}

std::vector<Candidate> candidates_of(const Network& network, const Settings& settings, bool& failed) {
  std::vector<Candidate> candidates;
  if (auto ours = make_ours(network.model.graph, network.input, settings.threads)) candidates = *std::move(ours);
  else complain(ours.errors(), failed);
  auto peers = peer_candidates(network.model.graph, network.input);
  if (!peers) complain(peers.errors(), failed);
  else candidates.insert(candidates.end(), peers->begin(), peers->end());
  return candidates;
}

// Compares each candidate with the reference, at a size that the reference evaluates in a second.
void check_network(const char* name, const Settings& settings, bool& failed) {
  constexpr std::int64_t kCheckedImage = 32;
  const Network small = network_of(name, kCheckedImage);
  const graph::Graph& graph = small.model.graph;
  const auto reference = Reference::make(graph).value().run({{graph.value(graph.inputs[0]).name, small.input}}).value();
  const NdArray& expected = reference.at(graph.value(graph.outputs[0]).name);
  for (const Candidate& candidate : candidates_of(small, settings, failed)) {
    candidate.run();
    const NdArray result = candidate.result();
    double largest = 0, difference = 0;
    for (std::int64_t i = 0; i < expected.count(); ++i) {
      largest = std::max(largest, std::abs(expected.as_double(i)));
      difference = std::max(difference, std::abs(expected.as_double(i) - result.as_double(i)));
    }
    if (!(difference <= 1e-3 * largest))
      complain({{"wrong result", fmt::format("{}, {}", name, candidate.name),
                 fmt::format("difference {} at values up to {}", difference, largest),
                 "the candidate computes a different function"}},
               failed);
  }
}

Json measure_networks(const Settings& settings, bool& failed) {
  Json rows = Json::array();
  for (const char* name : {"resnet50", "mobilenet_v2"}) {
    if (!settings.selects(name)) continue;
    check_network(name, settings, failed);
    const Network network = network_of(name, std::nullopt);
    const std::vector<Candidate> candidates = candidates_of(network, settings, failed);
    const double operations = 2 * static_cast<double>(network.model.macs);
    rows.push_back({{"network", name},
                    {"number", "float32"},
                    {"mmac", rounded(operations / 2e6)},
                    {"candidates", measure(candidates, operations, settings)}});
  }
  return rows;
}

// A run is void if oneDNN, which reaches the peak on an idle machine, is far from it: other jobs then disturbed its
// times.
Json verdict(const Json& layers) {
  double logarithms = 0;
  int count = 0;
  for (const Json& row : layers)
    if (row["large_convolution"] && row["number"] == "float32" && row.contains("onednn_of_peak"))
      logarithms += std::log(row["onednn_of_peak"].get<double>()), ++count;
  if (count == 0) return {{"void", nullptr}, {"why", "oneDNN was not measured on large convolutions"}};
  const double share = std::exp(logarithms / count);
  return {{"onednn_of_peak", rounded(share)}, {"void", share < kTrustedShare}};
}

Json measure_all(const Settings& settings, bool& failed) {
  const runtime::Peak float32 = runtime::measure_float32_peak(), int8 = runtime::measure_int8_peak();
  const auto peak = [](const runtime::Peak& value) {
    return Json{{"gop_per_s", rounded(value.giga_operations)}, {"instruction", value.instruction}};
  };
  Json report{{"threads", settings.threads}, {"peak_of_one_core", {{"float32", peak(float32)}, {"int8", peak(int8)}}}};
  Json layers = measure_layers(settings, float32, int8, failed);
  report["trust"] = verdict(layers);
  report["layers"] = std::move(layers);
  report["networks"] = measure_networks(settings, failed);
  return report;
}

// "0,1": the first `count` of the processors that this process may use.
std::string first_processors(int count) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::string list;
  for (int i = 0; i < CPU_SETSIZE && count > 0; ++i)
    if (CPU_ISSET(i, &allowed)) list += (list.empty() ? "" : ",") + std::to_string(i), --count;
  return list;
}

// Runs this process again with this many threads: OpenMP and OpenBLAS read their settings when they are loaded.
Result<Json> run_with_threads(int threads, char** arguments) {
  int ends[2];
  if (pipe(ends) != 0)
    return Diagnostic{"cannot start a measurement", "", "cannot create a pipe", "close other programs"};
  const pid_t child = fork();
  if (child < 0) return Diagnostic{"cannot start a measurement", "", "cannot start a process", "close other programs"};
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]), close(ends[1]);
    const std::string count = std::to_string(threads);
    for (const char* name : {kThreadsVariable, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
      setenv(name, count.c_str(), 1);
    setenv(kProcessorsVariable, first_processors(threads).c_str(), 1);
    setenv("OMP_PROC_BIND", "true", 1), setenv("OMP_PLACES", "cores", 1);
    execv("/proc/self/exe", arguments);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0)
    return Diagnostic{"a measurement failed", fmt::format("{} threads", threads),
                      fmt::format("the process ended with status {}", status), "see its messages above"};
  return parse_json(text, "the measurement");
}

// Pins to the processors given by the parent: OpenMP has bound this thread to a single processor before main, which new
// threads would inherit.
void pin_process() {
  const char* list = std::getenv(kProcessorsVariable);
  if (list == nullptr) return;
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (char* end = nullptr; *list != 0; list = *end == ',' ? end + 1 : end)
    CPU_SET(static_cast<std::size_t>(std::strtol(list, &end, 10)), &processors);
  sched_setaffinity(0, sizeof processors, &processors);
}

std::vector<int> thread_counts() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2) return {1};
  return {1, 2};
}

Settings settings_of(const std::vector<std::string>& arguments) {
  Settings settings;
  int position = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--records" && has_value) settings.tuning.records = arguments[++i];
    else if (arguments[i] == "--trials" && has_value) settings.tuning.trials = std::atoi(arguments[++i].c_str());
    else if (position++ == 0) settings.samples = std::max(1, std::atoi(arguments[i].c_str()));
    else settings.filter = arguments[i];
  }
  return settings;
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  using namespace dovetail;
  using namespace dovetail::bench;
  Settings settings = settings_of({argv + 1, argv + argc});
  bool failed = false;
  if (const char* threads = std::getenv(kThreadsVariable)) {
    settings.threads = std::max(1, std::atoi(threads));
    pin_process();
    std::puts(measure_all(settings, failed).dump(2).c_str());
    return failed ? 1 : 0;
  }

  Json report{
      {"benchmark", "CPU back end and its peers"},
      {"time",
       "medians of alternating samples; compared, and reported as operations per second and core: processor time "
       "of one thread, wall time of several; a multiply-add is two operations"},
      {"samples", settings.samples}};
  for (const Peer& peer : peers()) {
    report["peers"][peer.name] = peer.version.empty() ? Json(nullptr) : Json(peer.version);
    if (peer.version.empty())
      std::fprintf(
          stderr,
          "bench: %s is not in this build; sudo apt-get install --no-install-recommends %s, then configure again\n",
          peer.name.c_str(), peer.packages.c_str());
  }
  for (const int threads : thread_counts()) {
    auto measured = run_with_threads(threads, argv);
    if (!measured) {
      std::fprintf(stderr, "%s\n", to_string(measured.errors()).c_str());
      return 1;
    }
    report["runs"].push_back(*std::move(measured));
  }
  std::puts(report.dump(2).c_str());
}
