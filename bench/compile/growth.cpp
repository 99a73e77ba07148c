// How the compiler's time and memory grow with the graph: each family of compiler/zoo/growth.h is compiled for the CPU
// in sizes up to MOST nodes. Each compilation is a separate process, so that its peak memory is known; one that takes
// longer than LIMIT seconds is stopped, and larger sizes of that family are skipped.
//
//   bench_growth [MOST [FILTER [LIMIT]]]
//
// JSON on standard output, a table on standard error. The exponent is that of a power law of the size, fitted to sizes
// from 1,000 nodes on (least squares of logarithms); 1 is linear.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "compiler/pipeline.h"
#include "compiler/target/cpu/target.h"
#include "compiler/target/host/target.h"
#include "compiler/zoo/growth.h"

using namespace dovetail;

namespace {

constexpr std::size_t kSizes[] = {100, 200, 500, 1000, 2000, 5000, 10000, 20000};
constexpr std::size_t kFitted = 1000;  // below, the fixed cost of a compilation hides the cost per node

struct Point {
  std::size_t nodes = 0;
  double seconds = 0;    // processor time, user and system
  double mebibytes = 0;  // peak resident size
};

bool compile_once(const graph::Graph& graph) {
  CompileOptions options;
  options.available = {cpu::make_target(*cpu::find_cpu("avx2")), host::make_target()};
  options.targets = {"cpu"};
  const auto compiled = compile({graph, {}}, options);
  if (!compiled.ok()) fmt::print(stderr, "{}\n", to_string(compiled.errors()));
  return compiled.ok();
}

// Nothing if it fails or takes too long.
std::optional<Point> measure(const zoo::Growth& family, std::size_t nodes, unsigned limit_s) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const rlimit limit{limit_s, limit_s};
    setrlimit(RLIMIT_CPU, &limit);
    _exit(compile_once(family.make(nodes)) ? 0 : 1);
  }
  int status = 0;
  rusage used{};
  if (wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return Point{nodes, seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024};
}

// The exponent of `value` as a power of the number of nodes; nothing if there are fewer than two points.
template <typename Value>
std::optional<double> exponent(const std::vector<Point>& points, const Value& value) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const Point& point : points) {
    if (point.nodes < kFitted) continue;
    const double x = std::log(static_cast<double>(point.nodes)), y = std::log(value(point));
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  if (n < 2) return std::nullopt;
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
std::string shown(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

}  // namespace

int main(int argc, char** argv) {
  const std::size_t most = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
  const std::string filter = argc > 2 ? argv[2] : "";
  const auto limit_s = static_cast<unsigned>(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 120);
  fmt::print(stderr, "| family | seconds (MiB) at");
  for (const std::size_t nodes : kSizes)
    if (nodes <= most) fmt::print(stderr, " {} |", nodes);
  fmt::print(stderr, " exponent: time | memory |\n");
  Json families = Json::array();
  for (const zoo::Growth& family : zoo::growth_families()) {
    if (family.name.find(filter) == std::string_view::npos) continue;
    fmt::print(stderr, "| {} |", family.name);
    std::vector<Point> points;
    Json rows = Json::array();
    bool stopped = false;
    for (const std::size_t nodes : kSizes) {
      if (nodes > most) continue;
      const std::optional<Point> point = stopped ? std::nullopt : measure(family, nodes, limit_s);
      stopped |= !point;
      if (!point) {
        fmt::print(stderr, " - |");
        continue;
      }
      points.push_back(*point);
      rows.push_back({{"nodes", nodes},
                      {"seconds", point->seconds},
                      {"mebibytes", point->mebibytes},
                      {"nodes_per_s", static_cast<double>(nodes) / point->seconds}});
      fmt::print(stderr, " {:.2f} ({:.0f}) |", point->seconds, point->mebibytes);
    }
    const auto time = exponent(points, [](const Point& point) { return point.seconds; });
    const auto memory = exponent(points, [](const Point& point) { return point.mebibytes; });
    fmt::print(stderr, " {} | {} |\n", shown(time), shown(memory));
    families.push_back({{"family", family.name},
                        {"shape", family.shape},
                        {"sizes", rows},
                        {"stopped", stopped},
                        {"time_exponent", number(time)},
                        {"memory_exponent", number(memory)}});
  }
  fmt::print("{}\n", Json{{"limit_s", limit_s}, {"families", families}}.dump(2));
}
