// Measures where process 0 of a sweep saturates: the sweep's real farm, strategy and database, with simulated workers.
// A worker answers at once with a synthetic result of typical size; the duration of its job passes on a simulated
// clock, to which the real time of process 0's work is added. So 1,000 workers need no machines.
//
//   bench_master [MILLISECONDS [POINTS [WORKERS,...]]]
//
// Jobs take MILLISECONDS (default 250) on average, distributed exponentially; each sweep has POINTS points (default
// 1024). JSON on standard output, a table on standard error. `busy`: share of the time in which process 0 worked.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/random.h"
#include "explore/sweep/sweep.h"

using namespace dovetail;
using explore::Transport;

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kIdentity = "simulated";
// 16,384 points, two per hardware configuration, all of which fit the digits network.
constexpr const char* kSpace = R"({"hardware": "1x16x16-ext", "axes": {
  "uop_buffer_bytes": {"from": 16384, "to": 131072, "times": 2}, "inp_buffer_bytes": {"from": 16384, "to": 131072, "times": 2},
  "wgt_buffer_bytes": {"from": 65536, "to": 524288, "times": 2}, "acc_buffer_bytes": {"from": 65536, "to": 524288, "times": 2},
  "bus_bytes": [8, 16], "command_queue_depth": [32, 64, 128, 256], "token_queue_depth": [16, 32, 64, 128],
  "memory": ["ideal", "bank:ddr4-2400"]}})";

class SimulatedWorkers : public Transport {
 public:
  SimulatedWorkers(int workers, double mean_seconds, std::string metrics)
      : workers_(workers), mean_seconds_(mean_seconds), metrics_(std::move(metrics)) {
    for (int i = 1; i <= workers; ++i) arrivals_.push({0, {i, fmt::format("Hsimulated\n{}", kIdentity)}});
  }

  int rank() const override { return 0; }
  int size() const override { return workers_ + 1; }
  std::string host() const override { return "simulated"; }
  std::string library() const override { return "simulated"; }

  Result<void> send(int to, std::string_view text) override {
    pass();
    if (text[0] != 'J') return {};
    const std::size_t end = text.find('\n');
    const double seconds = -mean_seconds_ * std::log(1 - random_.unit());
    const Json points = Json::parse(text.substr(end + 1));
    Json result = Json::array();
    for (std::size_t i = 0; i < points.size(); ++i)
      result.push_back(
          {{"state", "measured"}, {"why", ""}, {"values", Json::parse(metrics_)}, {"models", Json::array()}});
    arrivals_.push({now_ + seconds, {to, fmt::format("R{}\n{}", text.substr(1, end - 1), result.dump())}});
    last_ = Clock::now();  // time spent in this function belongs to the workers
    return {};
  }

  Result<std::optional<Message>> receive(std::chrono::milliseconds) override {
    pass();
    if (arrivals_.empty()) return std::optional<Message>();
    Arrival arrival = arrivals_.top();
    arrivals_.pop();
    now_ = std::max(now_, arrival.at);
    last_ = Clock::now();
    return std::optional(std::move(arrival.message));
  }

  double seconds() const { return now_; }  // simulated
  double busy() const { return busy_; }    // the part in which process 0 worked
  // Work of process 0 starts here.
  void begin() { last_ = Clock::now(); }
  void pass() {
    const double worked = std::chrono::duration<double>(Clock::now() - last_).count();
    now_ += worked;
    busy_ += worked;
    last_ = Clock::now();
  }

 private:
  struct Arrival {
    double at;
    Message message;
    bool operator<(const Arrival& other) const { return at > other.at; }  // the earliest on top
  };
  struct Random {
    SplitMix64 bits{1};
    double unit() { return static_cast<double>(bits.next() >> 11) * 0x1p-53; }
  };

  int workers_;
  double mean_seconds_;
  std::string metrics_;
  Random random_;
  double now_ = 0, busy_ = 0;
  Clock::time_point last_ = Clock::now();
  std::priority_queue<Arrival> arrivals_;
};

template <typename T>
T checked(Result<T> result) {
  if (result.ok()) return *std::move(result);
  fmt::print(stderr, "{}\n", to_string(result.errors()));
  std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  const double mean = (count > 1 ? std::atof(arguments[1]) : 250) / 1e3;
  const auto points = static_cast<std::uint64_t>(count > 2 ? std::atoll(arguments[2]) : 1024);
  std::vector<int> workers{1, 10, 100, 300, 1000, 3000};
  if (count > 3) {
    workers.clear();
    std::istringstream list(arguments[3]);
    for (std::string word; std::getline(list, word, ',');) workers.push_back(std::atoi(word.c_str()));
  }
  const explore::Space space = checked(explore::Space::parse(checked(parse_json(kSpace, "space")), "space"));
  const explore::AreaModel area = checked(explore::AreaModel::of_kit());
  const explore::EnergyTable energy = checked(explore::default_energy_table());
  const std::vector<explore::ModelFile> files{{std::string(DOVETAIL_SOURCE_DIR) + "/examples/digits/digits_int8.onnx"}};
  const explore::Workload workload = checked(explore::Workload::make(files));
  const explore::Evaluator evaluator = checked(explore::Evaluator::make(workload, area, energy, space.base()));
  const std::string metrics = to_json(evaluator.lower_bound(space.base())).dump();

  Json rows = Json::array();
  fmt::print(stderr, "{:>8} {:>6} {:>10} {:>12} {:>6} {:>10} {:>12}\n", "workers", "batch", "seconds", "points/min",
             "busy", "speed-up", "ms a point");
  for (const int each : workers)
    for (const std::uint64_t batch : {std::uint64_t{64}, points}) {
      const std::filesystem::path path =
          std::filesystem::temp_directory_path() / fmt::format("bench_master.{}.db", static_cast<int>(::getpid()));
      std::filesystem::remove(path);
      SimulatedWorkers transport(each, mean, metrics);
      {
        explore::PointsFile file = checked(explore::PointsFile::open(path, Json::object()));
        explore::Farm farm(&transport, 0, kIdentity);
        explore::SweepOptions options;
        options.points = points;
        options.strategy = "random";
        options.prune = false;
        options.batch = batch;
        options.farm = &farm;
        transport.begin();
        checked(explore::sweep(space, evaluator, file, options));
        transport.pass();
      }
      std::filesystem::remove(path);
      const double seconds = transport.seconds(), busy = transport.busy();
      const auto done = static_cast<double>(points);
      rows.push_back({{"name", fmt::format("{} workers, batch {}", each, batch)},
                      {"workers", each},
                      {"batch", batch},
                      {"seconds", seconds},
                      {"points_per_minute", done / seconds * 60},
                      {"busy", busy / seconds},
                      {"milliseconds_per_point", busy / done * 1e3}});
      const double alone = rows.front().at("seconds").get<double>();
      fmt::print(stderr, "{:>8} {:>6} {:>10.2f} {:>12.0f} {:>6.2f} {:>10.1f} {:>12.3f}\n", each, batch, seconds,
                 done / seconds * 60, busy / seconds, alone / seconds * workers.front(), busy / done * 1e3);
    }
  fmt::print("{}\n",
             Json{{"bench", "master"}, {"job_milliseconds", mean * 1e3}, {"points", points}, {"rows", rows}}.dump(1));
}
