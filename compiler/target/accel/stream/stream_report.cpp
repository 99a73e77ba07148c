#include "compiler/target/accel/stream/stream_report.h"

#include <fmt/format.h>

namespace dovetail::accel {

namespace {

std::uint64_t loaded_bytes(const StreamStatistics& statistics, const isa::HardwareConfig& config) {
  return statistics.uops.loaded_uops * static_cast<std::uint64_t>(config.uop_bytes());
}

}  // namespace

StreamStatistics& StreamStatistics::operator+=(const StreamStatistics& other) {
  uops.kernels += other.uops.kernels;
  uops.wholes += other.uops.wholes;
  uops.loads += other.uops.loads;
  uops.loaded_uops += other.uops.loaded_uops;
  uops_in_memory += other.uops_in_memory;
  for (std::size_t fifo = 0; fifo < tokens.tokens.size(); ++fifo) tokens.tokens[fifo] += other.tokens.tokens[fifo];
  for (const auto count :
       {&TokenStatistics::relays_by_waiting, &TokenStatistics::relays_by_made_to_wait, &TokenStatistics::relays_by_nop,
        &TokenStatistics::relay_wait_cycles, &TokenStatistics::stage_order_tokens})
    tokens.*count += other.tokens.*count;
  for (const auto& [node, counts] : other.tokens.by_node) {
    tokens.by_node[node].tokens += counts.tokens;
    tokens.by_node[node].stage_order += counts.stage_order;
  }
  tokens.limited_by_depth |= other.tokens.limited_by_depth;
  return *this;
}

Json to_json(const StreamStatistics& statistics, const isa::HardwareConfig& config) {
  const TokenStatistics& counts = statistics.tokens;
  Json tokens{{"all", counts.all_tokens()}, {"stage_order", counts.stage_order_tokens}};
  for (const isa::TokenFifo fifo : isa::kAllFifos)
    tokens[fmt::format("{}_to_{}", isa::name(isa::producer(fifo)), isa::name(isa::consumer(fifo)))] =
        counts.tokens[isa::index(fifo)];
  tokens["layers"] = Json::array();
  for (const auto& [node, of_node] : counts.by_node)
    if (node >= 0 && static_cast<std::size_t>(node) < statistics.nodes.size())
      tokens["layers"].push_back({{"name", statistics.nodes[static_cast<std::size_t>(node)]},
                                  {"all", of_node.tokens},
                                  {"stage_order", of_node.stage_order}});
  return {{"uops",
           {{"kernels", statistics.uops.kernels},
            {"wholes", statistics.uops.wholes},
            {"in_memory", statistics.uops_in_memory},
            {"loads", statistics.uops.loads},
            {"loaded", statistics.uops.loaded_uops},
            {"loaded_bytes", loaded_bytes(statistics, config)}}},
          {"tokens", tokens},
          {"relays",
           {{"by_waiting", counts.relays_by_waiting},
            {"made_to_wait", counts.relays_by_made_to_wait},
            {"by_nop", counts.relays_by_nop},
            {"wait_cycles", counts.relay_wait_cycles}}},
          {"tokens_limited_by_depth", counts.limited_by_depth},
          {"side_by_side", statistics.side_by_side},
          {"launches", statistics.launches},
          {"groups", statistics.groups},
          {"accelerators", statistics.accelerators}};
}

std::string line_of(const StreamStatistics& statistics, const isa::HardwareConfig& config) {
  const TokenStatistics& tokens = statistics.tokens;
  std::string divided;
  if (statistics.accelerators > 1)
    divided = fmt::format("{} launches in {} groups on {} accelerators; ", statistics.launches, statistics.groups,
                          statistics.accelerators);
  std::string pairs;
  for (const auto& [first, second] : statistics.side_by_side)
    pairs += fmt::format("{} {} and {}", pairs.empty() ? "; side by side" : ",", first, second);
  return fmt::format(
      "{}{} tokens (one at every change of queues: {}), relays: {} waiting anyway, {} made to wait, {} NOPs, which "
      "wait "
      "for about {} cycles; {} LOAD UOP of {} bytes{}{}",
      divided, tokens.all_tokens(), tokens.stage_order_tokens, tokens.relays_by_waiting, tokens.relays_by_made_to_wait,
      tokens.relays_by_nop, tokens.relay_wait_cycles, statistics.uops.loads, loaded_bytes(statistics, config),
      tokens.limited_by_depth ? "; tokens limited by the depth of their FIFOs" : "", pairs);
}

}  // namespace dovetail::accel
