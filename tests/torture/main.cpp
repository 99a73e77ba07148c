// dovetail_torture: the torture test with a budget. See usage().
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simulator/rtl/rtl.h"
#include "simulator/systemc_engine.h"
#include "tests/torture/campaign.h"

namespace {

using namespace dovetail;

int usage() {
  fmt::print(
      stderr,
      "usage: dovetail_torture INSTRUCTIONS [--hw CONFIG]... [--random-configs COUNT] [--engines LIST] [--seed N]\n"
      "                        [--wrong PERCENT] [--model MODEL.so] [--folder DIR] [--coverage] [--no-shrink]\n"
      "Runs random programs of at least INSTRUCTIONS instructions for each configuration (default: the named ones\n"
      "that have a model), or for COUNT random ones, each verilated for the while where RTL is among the engines.\n"
      "--engines  of systemc and rtl, those that run alongside functional and cycle (default: all that there are; for\n"
      "           named configurations rtl). Without rtl random configurations are larger\n"
      "--seed     of the first program, or random configuration (default 1)\n"
      "--wrong    percent of all programs are wrong ones (default: of random configurations 30, of named ones 0)\n"
      "--folder   for models of random configurations, and what fails (default build/torture)\n"
      "Exit code 1: a difference, shrunk and printed, or with --coverage an empty bin.\n");
  return 2;
}

struct Arguments {
  std::vector<std::string> configs;
  std::optional<std::string> engines;
  std::optional<std::filesystem::path> model;
  std::size_t random_configs = 0;
  std::optional<unsigned> wrong_percent;
  test::CampaignOptions campaign{.folder = "build/torture"};
  bool coverage = false;
};

// functional and cycle always run, and may be named too.
bool read_engines(const Arguments& arguments, test::Engines& engines) {
  const bool systemc = simulator::find_systemc_engine().has_value();
  engines = {.systemc = systemc && arguments.random_configs != 0, .model = arguments.model};
  if (!arguments.engines) return true;
  engines.systemc = engines.rtl = false;
  for (std::string_view rest = *arguments.engines; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == "systemc") engines.systemc = true;
    else if (name == "rtl") engines.rtl = true;
    else if (name != "functional" && name != "cycle") return false;
  }
  return true;
}

bool is_complete(const std::string& name, const std::vector<std::string>& missing) {
  if (missing.empty()) return true;
  fmt::print("{}: empty bins: {}\n", name, fmt::join(missing, "; "));
  return false;
}

// Coverage is counted for each named configuration, and for all random ones together.
bool run(const isa::HardwareConfig& config, const Arguments& arguments) {
  test::Campaign campaign(arguments.campaign);
  if (!campaign.run(config)) return false;
  if (!arguments.coverage) return true;
  fmt::print("{}", campaign.programs().report());
  return is_complete(config.name, campaign.programs().missing());
}

int run_random(const Arguments& arguments) {
  test::Campaign campaign(arguments.campaign);
  const std::size_t differing = campaign.run_random(arguments.random_configs);
  fmt::print("{} configurations, {} instructions, {} cycles, {} wrong programs; {} configurations with a difference\n",
             arguments.random_configs, campaign.programs().instructions(), campaign.programs().cycles(),
             campaign.wrong_programs(), differing);
  if (!arguments.coverage) return differing == 0 ? 0 : 1;
  fmt::print("{}{}", campaign.programs().report(), campaign.space().report());
  const bool programs = is_complete("programs", campaign.programs().missing()),
             space = is_complete("space", campaign.space().missing());
  return differing == 0 && programs && space ? 0 : 1;
}

int run_named(const Arguments& arguments) {
  std::vector<isa::HardwareConfig> configs;
  if (arguments.configs.empty()) {
    for (const isa::HardwareConfig& config : isa::named_configs())
      if (!arguments.campaign.engines.rtl || simulator::make_rtl(config).ok()) configs.push_back(config);
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

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  test::CampaignOptions& campaign = arguments.campaign;
  const auto number = [](const char* text) { return std::strtoull(text, nullptr, 0); };
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--hw" && more) arguments.configs.emplace_back(argv[++i]);
    else if (word == "--random-configs" && more) arguments.random_configs = number(argv[++i]);
    else if (word == "--engines" && more) arguments.engines = argv[++i];
    else if (word == "--seed" && more) campaign.seed = number(argv[++i]);
    else if (word == "--wrong" && more) arguments.wrong_percent = static_cast<unsigned>(number(argv[++i]));
    else if (word == "--model" && more) arguments.model = argv[++i];
    else if (word == "--folder" && more) campaign.folder = argv[++i];
    else if (word == "--coverage") arguments.coverage = true;
    else if (word == "--no-shrink") campaign.shrink = false;
    else if (campaign.instructions == 0 && word.find_first_not_of("0123456789") == word.npos)
      campaign.instructions = std::strtoull(word.c_str(), nullptr, 10);
    else return usage();
  }
  const bool random = arguments.random_configs != 0;
  campaign.wrong_percent = arguments.wrong_percent.value_or(random ? 30 : 0);
  if (campaign.instructions == 0 || campaign.wrong_percent > 90 ||
      (random && (arguments.model || !arguments.configs.empty())) || !read_engines(arguments, campaign.engines))
    return usage();
  return random ? run_random(arguments) : run_named(arguments);
}
