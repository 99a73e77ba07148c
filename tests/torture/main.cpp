// dovetail_torture: the torture test with a budget. See usage().
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simulator/rtl/rtl.h"
#include "tests/torture/torture.h"

namespace {

using namespace dovetail;

int usage() {
  fmt::print(
      stderr,
      "usage: dovetail_torture INSTRUCTIONS [--hw CONFIG]... [--seed N] [--model MODEL.so] [--coverage] [--no-shrink]\n"
      "Runs random programs of at least INSTRUCTIONS instructions for each configuration (default: the named ones that "
      "have a model).\n"
      "Exit code 1: a difference, shrunk and printed, or with --coverage an empty bin.\n");
  return 2;
}

struct Arguments {
  std::size_t instructions = 0;
  std::vector<std::string> configs;
  std::uint64_t seed = 1;
  std::optional<std::filesystem::path> model;
  bool coverage = false, shrink = true;
};

bool run(const isa::HardwareConfig& config, const Arguments& arguments) {
  test::TortureCoverage coverage;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = arguments.seed; coverage.instructions() < arguments.instructions; ++seed) {
    const test::TortureCase how = test::torture_case(seed);
    const test::GeneratedProgram program = test::generate(config, how.program);
    std::vector<simulator::LaunchTrace> trace;
    if (const auto wrong = test::torture(program, how, arguments.model, &trace)) {
      fmt::print("{}: {} instructions without a difference, then:\n{}\n", config.name, coverage.instructions(),
                 arguments.shrink ? test::minimised(program, how, arguments.model) : *wrong);
      return false;
    }
    coverage.add(program, trace);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{:<14} {:>9} instructions, {:>11} cycles of RTL, no difference; {:.1f} s\n", config.name,
             coverage.instructions(), coverage.cycles(), seconds);
  std::fflush(stdout);
  if (!arguments.coverage) return true;
  fmt::print("{}", coverage.report());
  if (coverage.missing().empty()) return true;
  fmt::print("{}: empty bins: {}\n", config.name, fmt::join(coverage.missing(), "; "));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--hw" && more) arguments.configs.emplace_back(argv[++i]);
    else if (word == "--seed" && more) arguments.seed = std::strtoull(argv[++i], nullptr, 0);
    else if (word == "--model" && more) arguments.model = argv[++i];
    else if (word == "--coverage") arguments.coverage = true;
    else if (word == "--no-shrink") arguments.shrink = false;
    else if (arguments.instructions == 0 && word.find_first_not_of("0123456789") == word.npos)
      arguments.instructions = std::strtoull(word.c_str(), nullptr, 10);
    else return usage();
  }
  if (arguments.instructions == 0) return usage();
  std::vector<isa::HardwareConfig> configs;
  if (arguments.configs.empty()) {
    for (const isa::HardwareConfig& config : isa::named_configs())
      if (simulator::make_rtl(config).ok()) configs.push_back(config);
      else fmt::print("{}: skipped, there is no RTL model: dovetail rtl build --hw {}\n", config.name, config.name);
  }
  for (const std::string& name : arguments.configs) {
    auto config = isa::load_config(name);
    if (!config.ok()) return fmt::print(stderr, "{}\n", to_string(config.errors())), 2;
    configs.push_back(*config);
  }
  bool good = true;
  for (const isa::HardwareConfig& config : configs) good &= run(config, arguments);
  return good ? 0 : 1;
}
