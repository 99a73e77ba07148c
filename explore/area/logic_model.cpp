#include "explore/area/logic_model.h"

#include <bit>

#include <fmt/format.h>

#include "base/check.h"
#include "base/json_problem.h"
#include "explore/area/kit_file.h"
#include "isa/spec/config.h"

namespace dovetail::explore {

namespace {

using isa::HardwareConfig;
using isa::Memory;

double log2_of(std::int64_t value) { return std::log2(static_cast<double>(value)); }
// Number of bits of a counter from 0 to `most`.
double bits_for(std::int64_t most) { return std::bit_width(static_cast<std::uint64_t>(most)); }

// The features.
double one(const HardwareConfig&) { return 1; }
double macs(const HardwareConfig& c) { return static_cast<double>(c.batch * c.block_in * c.block_out); }
double lanes(const HardwareConfig& c) { return static_cast<double>(c.batch * c.block_out); }
double inputs(const HardwareConfig& c) { return static_cast<double>(c.batch * c.block_in); }
double weights(const HardwareConfig& c) { return static_cast<double>(c.block_in * c.block_out); }
double requant_lanes(const HardwareConfig& c) { return c.requant ? lanes(c) : 0; }
double saturate_lanes(const HardwareConfig& c) { return c.saturate ? lanes(c) : 0; }
double requant(const HardwareConfig& c) { return c.requant ? 1 : 0; }
double bus(const HardwareConfig& c) { return static_cast<double>(c.bus_bytes); }
double table_lanes(const HardwareConfig& c) { return c.table ? lanes(c) : 0; }
double table_bits(const HardwareConfig& c) { return c.table ? lanes(c) * bus(c) : 0; }
// A sum of more products takes more LUTs for each of them: Yosys merges the tree of a dot product into one sum.
double products_of_sums(const HardwareConfig& c) { return macs(c) * static_cast<double>(c.block_in); }
double window_macs(const HardwareConfig& c) { return c.window ? macs(c) : 0; }
// Inputs that the window of WINDOW keeps.
double window_inputs(const HardwareConfig& c) { return c.window ? inputs(c) * static_cast<double>(c.block_in - 1) : 0; }
double epilogue_lanes(const HardwareConfig& c) { return c.epilogue ? lanes(c) : 0; }
double norm_lanes(const HardwareConfig& c) { return c.norm ? lanes(c) : 0; }
double epilogue(const HardwareConfig& c) { return c.epilogue ? 1 : 0; }
// STORE's clamp comes after the choice among more results.
double long_clamp(const HardwareConfig& c) { return c.saturate && (c.epilogue || c.norm) ? 1 : 0; }
double norm(const HardwareConfig& c) { return c.norm ? 1 : 0; }
double int4_weights(const HardwareConfig& c) { return c.weights4 ? weights(c) : 0; }
// Bits that are added to an address.
double offset_address(const HardwareConfig& c) { return c.offset ? static_cast<double>(c.address_bits) : 0; }
double bus_log(const HardwareConfig& c) { return log2_of(c.bus_bytes); }
double address(const HardwareConfig& c) { return static_cast<double>(c.address_bits); }
double burst(const HardwareConfig& c) { return bits_for(c.longest_burst_beats()); }
double outstanding(const HardwareConfig& c) { return bits_for(c.outstanding_beats); }
double commands(const HardwareConfig& c) { return bits_for(c.command_queue_depth); }
double tokens(const HardwareConfig& c) { return bits_for(c.token_queue_depth); }
double wide(const HardwareConfig& c) { return c.encoding() == isa::Encoding::wide ? 1 : 0; }
// Widths of the indices.
double acc_index(const HardwareConfig& c) { return log2_of(c.depth(Memory::acc)); }
double all_indices(const HardwareConfig& c) {
  return acc_index(c) + log2_of(c.depth(Memory::inp)) + log2_of(c.depth(Memory::wgt)) + log2_of(c.depth(Memory::uop));
}

// The blocks with models, each without the inner blocks listed in `without`. Together they are the whole design.
struct BlockRow {
  std::string_view path;
  std::vector<std::string_view> without;
  std::vector<Feature> logic, flip_flops;
};
std::vector<BlockRow> make_block_table(Cells cells) {
  std::vector<Feature> gemm{one, macs, lanes, window_macs};
  if (cells == Cells::luts) gemm.push_back(products_of_sums);
  return {
      {"u_compute/u_gemm", {}, std::move(gemm), {one, macs, lanes, window_inputs}},
      {"u_compute/u_alu",
       {},
       {one, lanes, requant_lanes, table_lanes, table_bits, epilogue_lanes, norm_lanes},
       {one, lanes, requant_lanes, table_lanes, norm_lanes}},
      {"u_compute",
       {"u_compute/u_gemm", "u_compute/u_alu"},
       {one, lanes, inputs, weights, bus, address, burst, outstanding, all_indices, requant, wide, epilogue_lanes, norm,
        offset_address},
       {one, lanes, inputs, weights, bus, address, outstanding, all_indices, requant, wide, epilogue_lanes, norm}},
      {"u_load",
       {},
       {one, weights, inputs, bus, bus_log, address, burst, outstanding, all_indices, wide, int4_weights,
        offset_address},
       {one, weights, inputs, bus, address, burst, outstanding, all_indices, wide}},
      {"u_store",
       {},
       {one, lanes, saturate_lanes, bus, bus_log, address, burst, outstanding, acc_index, wide, offset_address},
       {one, lanes, saturate_lanes, bus, address, burst, outstanding, acc_index, wide}},
      {"u_fetch",
       {},
       {one, bus, bus_log, address, burst, outstanding, commands, wide},
       {one, bus, address, burst, outstanding, commands, wide}},
      {"",
       {"u_compute", "u_load", "u_store", "u_fetch"},
       {one, bus, bus_log, address, burst, outstanding, commands, tokens, wide, offset_address},
       {one, bus, address, burst, outstanding, commands, tokens, wide, offset_address}},
  };
}
const std::vector<BlockRow>& block_table(Cells cells) {
  static const std::vector<BlockRow> gates = make_block_table(Cells::gates), luts = make_block_table(Cells::luts);
  return cells == Cells::gates ? gates : luts;
}
const std::vector<Feature>& level_features() {
  static const std::vector<Feature> features{one,     requant, epilogue,    norm,     long_clamp,
                                             address, bus_log, outstanding, acc_index};
  return features;
}

// The counts of a block in a run, without inner blocks that have their own models.
BlockCount own_count(const SynthesisRun& run, const BlockRow& row) {
  const auto find = [&](std::string_view path) {
    const auto block = std::ranges::find(run.blocks, path, &BlockCount::path);
    DOVETAIL_CHECK(block != run.blocks.end(), fmt::format("a run without block \"{}\"", path));
    return *block;
  };
  BlockCount count = find(row.path);
  for (const std::string_view inside : row.without) {
    const BlockCount other = find(inside);
    count.logic -= other.logic;
    count.flip_flops -= other.flip_flops;
  }
  return count;
}

}  // namespace

double sum_of(std::span<const double> coefficients, std::span<const Feature> features, const HardwareConfig& hardware) {
  double sum = 0;
  for (std::size_t i = 0; i < features.size(); ++i) sum += coefficients[i] * features[i](hardware);
  return sum;
}

// (XᵀX + ridge) c = Xᵀ1 with rows divided by their values. The ridge keeps features
// that the runs do not vary at 0.
std::vector<double> least_squares(std::span<const SynthesisRun* const> runs, std::span<const double> values,
                                  std::span<const Feature> features) {
  const std::size_t n = features.size();
  std::vector<double> scale(n, 0), matrix(n * n, 0), right(n, 0);
  for (std::size_t f = 0; f < n; ++f)
    for (const SynthesisRun* run : runs) scale[f] = std::max(scale[f], std::abs(features[f](run->hardware)));
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const double weight = 1 / std::max(values[r], 1.0);
    std::vector<double> row(n);
    for (std::size_t f = 0; f < n; ++f) row[f] = scale[f] == 0 ? 0 : features[f](runs[r]->hardware) / scale[f] * weight;
    for (std::size_t a = 0; a < n; ++a) {
      right[a] += row[a] * values[r] * weight;
      for (std::size_t b = 0; b < n; ++b) matrix[a * n + b] += row[a] * row[b];
    }
  }
  double trace = 0;
  for (std::size_t f = 0; f < n; ++f) trace += matrix[f * n + f];
  for (std::size_t f = 0; f < n; ++f) matrix[f * n + f] += 1e-12 * trace + 1e-300;
  // The matrix is symmetric and positive definite, so Gaussian elimination needs no pivots.
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] / matrix[k * n + k];
      for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
      right[i] -= factor * right[k];
    }
  std::vector<double> solution(n, 0);
  for (std::size_t k = n; k-- > 0;) {
    double value = right[k];
    for (std::size_t j = k + 1; j < n; ++j) value -= matrix[k * n + j] * solution[j];
    solution[k] = value / matrix[k * n + k];
  }
  for (std::size_t f = 0; f < n; ++f) solution[f] = scale[f] == 0 ? 0 : solution[f] / scale[f];
  return solution;
}

Result<std::vector<SynthesisRun>> synthesis_runs_from_json(const Json& json, std::string_view where) {
  std::vector<SynthesisRun> runs;
  try {
    for (const Json& item : json.at("runs")) {
      SynthesisRun run;
      DOVETAIL_ASSIGN(run.hardware, isa::config_from_json(item.at("parameters"), where));
      run.held_back = item.at("held_back").get<bool>();
      run.memory_bits = item.value("memory_bits", std::int64_t{0});
      run.logic_levels = item.at("logic_levels").get<std::int64_t>();
      for (const auto& [path, count] : item.at("blocks").items())
        run.blocks.push_back({path, count.at(0).get<double>(), count.at(1).get<double>()});
      for (const BlockRow& row : block_table(Cells::gates))
        if (std::ranges::find(run.blocks, row.path, &BlockCount::path) == run.blocks.end())
          return bad_kit_file(where, fmt::format("a run has no block \"{}\"", row.path));
      runs.push_back(std::move(run));
    }
  } catch (const Json::exception& error) {
    return bad_kit_file(where, json_problem(error.what()));
  }
  return runs;
}

Result<LogicModel> LogicModel::fit(std::vector<SynthesisRun> runs, std::string_view file, Cells cells) {
  LogicModel model;
  model.runs_ = std::move(runs);
  model.cells_ = cells;
  std::vector<const SynthesisRun*> fitted;
  for (const SynthesisRun& run : model.runs_)
    if (!run.held_back) fitted.push_back(&run);
  for (const BlockRow& row : block_table(cells)) {
    if (fitted.size() < std::max(row.logic.size(), row.flip_flops.size()))
      return bad_kit_file(file, fmt::format("{} runs are too few for a fit", fitted.size()));
    std::vector<double> logic, flip_flops;
    for (const SynthesisRun* run : fitted) {
      const BlockCount count = own_count(*run, row);
      logic.push_back(count.logic);
      flip_flops.push_back(count.flip_flops);
    }
    model.blocks_.push_back(
        {least_squares(fitted, logic, row.logic), least_squares(fitted, flip_flops, row.flip_flops)});
  }
  std::vector<double> levels;
  for (const SynthesisRun* run : fitted) levels.push_back(static_cast<double>(run->logic_levels));
  model.levels_ = least_squares(fitted, levels, level_features());
  return model;
}

double LogicModel::logic(const HardwareConfig& hardware) const {
  const std::vector<BlockRow>& rows = block_table(cells_);
  double sum = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    sum += std::max(0.0, sum_of(blocks_[i].logic, rows[i].logic, hardware));
  return sum;
}
double LogicModel::flip_flops(const HardwareConfig& hardware) const {
  const std::vector<BlockRow>& rows = block_table(cells_);
  double sum = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    sum += std::max(0.0, sum_of(blocks_[i].flip_flops, rows[i].flip_flops, hardware));
  return sum;
}
double LogicModel::levels(const HardwareConfig& hardware) const { return sum_of(levels_, level_features(), hardware); }

namespace {

const BlockCount& whole_of(const SynthesisRun& run) {
  return *std::ranges::find(run.blocks, std::string(), &BlockCount::path);
}

}  // namespace

ModelError LogicModel::logic_error(bool held_back) const {
  return error_of(
      runs_, held_back, [&](const auto& hardware) { return logic(hardware); },
      [](const SynthesisRun& run) { return whole_of(run).logic; });
}
ModelError LogicModel::flip_flop_error(bool held_back) const {
  return error_of(
      runs_, held_back, [&](const auto& hardware) { return flip_flops(hardware); },
      [](const SynthesisRun& run) { return whole_of(run).flip_flops; });
}
ModelError LogicModel::level_error(bool held_back) const {
  return error_of(
      runs_, held_back, [&](const auto& hardware) { return levels(hardware); },
      [](const SynthesisRun& run) { return static_cast<double>(run.logic_levels); });
}

namespace {

struct CheckedRow {
  std::string_view what;
  Feature of;
};
double queue_entries(const HardwareConfig& c) { return static_cast<double>(c.command_queue_depth); }
double token_entries(const HardwareConfig& c) { return static_cast<double>(c.token_queue_depth); }
double buffered_beats(const HardwareConfig& c) { return static_cast<double>(c.outstanding_beats); }
// The quantities that logic grows with.
constexpr CheckedRow kChecked[] = {
    {"multipliers", macs},
    {"lanes of a result", lanes},
    {"lanes of an input", inputs},
    {"bytes of the port", bus},
    {"bits of an address", address},
    {"entries of a command queue", queue_entries},
    {"entries of a token queue", token_entries},
    {"beats of a buffer", buffered_beats},
};

std::pair<double, double> range_of(std::span<const SynthesisRun> runs, Feature feature) {
  std::pair<double, double> range{feature(runs.front().hardware), feature(runs.front().hardware)};
  for (const SynthesisRun& run : runs) {
    range.first = std::min(range.first, feature(run.hardware));
    range.second = std::max(range.second, feature(run.hardware));
  }
  return range;
}

}  // namespace

std::pair<double, double> LogicModel::multipliers() const { return range_of(runs_, macs); }

std::string LogicModel::error_text(std::string_view what) const {
  const ModelError held_back = logic_error(true);
  const auto [least, most] = multipliers();
  const ModelError held_back_levels = cells_ == Cells::luts ? level_error(true) : ModelError{};
  return fmt::format(
      "{} off by {:.1f} % on average, {:.1f} % at most, {}on {} other runs; "
      "all runs have {:.0f} to {:.0f} multipliers",
      what, 100 * held_back.mean, 100 * held_back.most,
      cells_ == Cells::luts
          ? fmt::format("levels by {:.1f} % and {:.1f} %, ", 100 * held_back_levels.mean, 100 * held_back_levels.most)
          : "",
      held_back.runs, least, most);
}

std::vector<std::string> LogicModel::extrapolates(const HardwareConfig& hardware) const {
  std::vector<std::string> beyond;
  for (const CheckedRow& row : kChecked)
    if (const auto [least, most] = range_of(runs_, row.of); row.of(hardware) < least || row.of(hardware) > most)
      beyond.push_back(fmt::format("{:.0f} {} (runs have {:.0f} to {:.0f})", row.of(hardware), row.what, least, most));
  for (const isa::spec::Extension& row : isa::spec::kExtensions)
    if (hardware.*row.member &&
        std::ranges::none_of(runs_, [&](const SynthesisRun& run) { return run.hardware.*row.member; }))
      beyond.push_back(fmt::format("{} (no run has it)", row.key));
  return beyond;
}

std::vector<std::string> all_extrapolated(const isa::Machine& machine, const LogicModel& model) {
  std::vector<std::string> all = model.extrapolates(machine.hardware);
  for (const isa::HardwareConfig& other : machine.system.others)
    for (std::string& what : model.extrapolates(other))
      if (std::ranges::find(all, what) == all.end()) all.push_back(std::move(what));
  return all;
}

}  // namespace dovetail::explore
