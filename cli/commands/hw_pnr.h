// `dovetail hw pnr`: places and routes a configuration for an FPGA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/shell/command.h"

namespace dovetail::cli {

struct PnrArguments {
  std::string config, flow;  // empty: the default
  std::vector<std::string> seeds = {};
  std::optional<std::string> freq = {}, out = {}, constraints = {}, ram = {};
  bool core = false, run = false, json = false, all = false;
};

// Prints the report. Exit::failed: the clock of a board is not reached, so that there is no bitstream.
Result<Exit> place_and_route(const PnrArguments& arguments);

}  // namespace dovetail::cli
