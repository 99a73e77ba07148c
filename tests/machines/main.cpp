// dovetail_machines: models on random legal machines. See usage().
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/spec/config.h"
#include "tests/machines/machine.h"
#include "tests/machines/try_net.h"

namespace {

using namespace dovetail;

constexpr std::size_t kDefaultNets = 5;
constexpr std::uint64_t kCycleEach = 8;  // every eighth machine also runs the cycle engine

int usage() {
  fmt::print(stderr,
             "usage: dovetail_machines COUNT [--seed N] [--hw CONFIG] [--nets LIST] [--reasons]\n"
             "Compiles int8 nets for COUNT random legal machines, runs them on the functional engine, every eighth\n"
             "machine on the cycle engine too, and compares with the reference.\n"
             "--seed     of the first machine (default 1)\n"
             "--hw       this machine instead, with COUNT 1\n"
             "--nets     of {} (default: the first {})\n"
             "--reasons  lists why the accelerator refused nodes\n"
             "Exit code 1: a net does not compile, or a value differs.\n",
             fmt::join(test::net_names(), ", "), kDefaultNets);
  return 2;
}

struct Arguments {
  std::uint64_t count = 0, seed = 1;
  std::optional<isa::HardwareConfig> machine;
  std::vector<std::string> nets;
  bool reasons = false;
};

// As an argument of --hw.
std::string as_argument(const isa::HardwareConfig& machine) {
  const isa::HardwareConfig base;
  std::string text = base.name;
  for (const isa::spec::Parameter& row : isa::spec::kParameters)
    if (machine.*row.member != base.*row.member) text += fmt::format(",{}={}", row.key, machine.*row.member);
  for (const isa::spec::Extension& row : isa::spec::kExtensions)
    if (machine.*row.member) text += fmt::format(",{}=true", row.key);
  return text;
}

struct Totals {
  std::size_t runs = 0, failures = 0, accelerated = 0, refused = 0, on_host = 0;
  std::map<std::string, int> reasons;
};

void try_machine(const isa::HardwareConfig& machine, std::uint64_t seed, const std::vector<test::Net>& nets,
                 Totals& totals) {
  std::vector<std::string> engines{"functional"};
  if (seed % kCycleEach == 0) engines.emplace_back("cycle");
  std::string line;
  for (const test::Net& net : nets) {
    const auto start = std::chrono::steady_clock::now();
    const test::Attempt attempt = test::try_net(net, machine, engines);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    int refused = 0;
    for (const auto& [reason, nodes] : attempt.refused) {
      refused += nodes;
      totals.reasons[reason] += nodes;
    }
    ++totals.runs;
    totals.accelerated += static_cast<std::size_t>(attempt.accelerated);
    totals.refused += static_cast<std::size_t>(refused);
    totals.on_host += attempt.accelerated == 0;
    line += fmt::format("  {} {}+{} {:.1f}s", net.name, attempt.accelerated, refused, seconds.count());
    if (attempt.failure.empty()) continue;
    ++totals.failures;
    fmt::print("FAILED: seed {}, {}: {}\n  --hw {}\n", seed, net.name, attempt.failure, as_argument(machine));
  }
  fmt::print("{} {}x{}x{}{}\n", machine.name, machine.batch, machine.block_in, machine.block_out, line);
  std::fflush(stdout);
}

bool read(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--seed" && more) arguments.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--reasons") arguments.reasons = true;
    else if (word == "--nets" && more) {
      for (std::string_view rest = argv[++i]; !rest.empty();) {
        arguments.nets.emplace_back(rest.substr(0, rest.find(',')));
        rest.remove_prefix(std::min(rest.size(), arguments.nets.back().size() + 1));
      }
    } else if (word == "--hw" && more) {
      auto machine = isa::load_config(argv[++i]);
      if (!machine) return fmt::print(stderr, "{}\n", to_string(machine.errors())), false;
      arguments.machine = *std::move(machine);
    } else if (arguments.count == 0) {
      arguments.count = std::strtoull(argv[i], nullptr, 10);
    } else {
      return false;
    }
  }
  return arguments.count > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!read(argc, argv, arguments)) return usage();
  if (arguments.nets.empty()) {
    const std::vector<std::string_view> names = test::net_names();
    arguments.nets.assign(names.begin(), names.begin() + kDefaultNets);
  }
  std::vector<test::Net> nets;
  for (const std::string& name : arguments.nets) {
    auto net = test::make_net(name);
    if (!net) return fmt::print(stderr, "{}\n", to_string(net.errors())), 2;
    nets.push_back(*std::move(net));
  }
  Totals totals;
  for (std::uint64_t seed = arguments.seed; seed < arguments.seed + arguments.count; ++seed)
    try_machine(arguments.machine ? *arguments.machine : test::legal_machine(seed), seed, nets, totals);
  if (arguments.reasons)
    for (const auto& [reason, nodes] : totals.reasons) fmt::print("{:6} {}\n", nodes, reason);
  fmt::print(
      "seeds {} to {}: {} runs, {} failures; {} nodes on the accelerator, {} refused; {} runs wholly on the host\n",
      arguments.seed, arguments.seed + arguments.count - 1, totals.runs, totals.failures, totals.accelerated,
      totals.refused, totals.on_host);
  return totals.failures == 0 ? 0 : 1;
}
