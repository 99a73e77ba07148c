#include "simulator/counters.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "isa/spec/instructions.h"
#include "isa/spec/memories.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

namespace {

constexpr std::array kQueues{isa::Queue::load, isa::Queue::compute, isa::Queue::store};

// Visits every number with its location in the JSON: visit(place, number). `counters` may be const.
template <typename AnyAccesses, typename Visit>
void visit_accesses(AnyAccesses& accesses, const std::string& place, Visit& visit) {
  visit(place + "/reads", accesses.reads);
  visit(place + "/writes", accesses.writes);
}
template <typename AnyPort, typename Visit>
void visit_port(AnyPort& port, const std::string& place, Visit& visit) {
  visit(place + "/bursts", port.bursts);
  visit(place + "/beats", port.beats);
  visit_accesses(port.buffer, place + "/buffer", visit);
}
template <typename AnyCounters, typename Visit>
void visit_numbers(AnyCounters& counters, Visit visit) {
  for (const isa::spec::InstructionSpec& row : isa::spec::kInstructions)
    visit(fmt::format("/instructions/{}", row.name), counters.instructions[static_cast<std::size_t>(row.opcode)]);
  for (const isa::Queue queue : kQueues)
    visit(fmt::format("/queues/{}", isa::name(queue)), counters.queue_instructions[isa::index(queue)]);
  for (const isa::spec::MemoryInfo& row : isa::spec::kMemories)
    if (row.loadable)
      visit(fmt::format("/bytes_loaded/{}", row.name), counters.bytes_loaded[static_cast<std::size_t>(row.id)]);
  visit("/bytes_stored", counters.bytes_stored);
  visit("/gemm_uops", counters.gemm_uops);
  visit("/gemm_reset_uops", counters.gemm_reset_uops);
  visit("/window_uops", counters.window_uops);
  visit("/window_pushes", counters.window_pushes);
  visit("/epilogue_uops", counters.epilogue_uops);
  visit("/epilogue_parameters", counters.epilogue_parameters);
  visit("/epilogue_lookups", counters.epilogue_lookups);
  visit("/alu_uops", counters.alu_uops);
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps)
    visit(fmt::format("/alu_uops_by_op/{}", row.name), counters.alu_uops_by_op[static_cast<std::size_t>(row.op)]);
  visit("/macs", counters.macs);
  visit("/tokens", counters.tokens);
  visit("/nops", counters.nops);
  for (const isa::Memory memory : kSrams)
    visit_accesses(counters.sram_of(memory), fmt::format("/sram/{}", isa::spec::info(memory).name), visit);
  for (const isa::Queue unit : kQueues)
    visit_port(counters.port[isa::index(unit)], fmt::format("/port/{}", isa::name(unit)), visit);
  if (counters.fetch) visit_port(*counters.fetch, "/port/fetch", visit);
  if (counters.dram)
    for (std::size_t kind = 0; kind < kDramCommandNames.size(); ++kind)
      visit(fmt::format("/dram/{}", kDramCommandNames[kind]), counters.dram->counts[kind]);
}

template <typename Part>
void add(std::optional<Part>& to, const std::optional<Part>& from) {
  if (!from) return;
  if (to) *to += *from;
  else to = from;
}
template <typename Number, std::size_t n>
void add(std::array<Number, n>& to, const std::array<Number, n>& from) {
  for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  add(instructions, other.instructions);
  add(queue_instructions, other.queue_instructions);
  add(bytes_loaded, other.bytes_loaded);
  bytes_stored += other.bytes_stored;
  gemm_uops += other.gemm_uops;
  gemm_reset_uops += other.gemm_reset_uops;
  window_uops += other.window_uops;
  window_pushes += other.window_pushes;
  epilogue_uops += other.epilogue_uops;
  epilogue_parameters += other.epilogue_parameters;
  epilogue_lookups += other.epilogue_lookups;
  alu_uops += other.alu_uops;
  add(alu_uops_by_op, other.alu_uops_by_op);
  macs += other.macs;
  tokens += other.tokens;
  nops += other.nops;
  add(sram, other.sram);
  add(port, other.port);
  add(fetch, other.fetch);
  add(dram, other.dram);
  return *this;
}

void complete(Counters& counters, const isa::HardwareConfig& config) {
  const std::uint64_t products = counters.gemm_uops + counters.window_uops;
  const std::uint64_t steps = products + counters.gemm_reset_uops + counters.alu_uops;
  counters.sram_of(isa::Memory::uop).reads += steps + counters.window_pushes + counters.epilogue_parameters;
  counters.sram_of(isa::Memory::inp).reads += products + counters.window_pushes;
  counters.sram_of(isa::Memory::wgt).reads += products + counters.epilogue_parameters;
  Accesses& acc = counters.sram_of(isa::Memory::acc);
  acc += {.reads = steps, .writes = steps};
  // A slot of STORE reads one element, or one beat of an element that fills several beats.
  const auto slot_bytes =
      static_cast<std::uint64_t>(std::min(config.element_bytes(isa::Memory::out), config.bus_bytes));
  counters.sram_of(isa::Memory::out) += {.reads = counters.bytes_stored / slot_bytes, .writes = acc.writes};
  // A beat of a LOAD of TAB is written at once; a step reads the entries of all lanes.
  Accesses& tab = counters.sram_of(isa::Memory::tab);
  tab = {.reads = counters.epilogue_lookups,
         .writes = counters.bytes_loaded[static_cast<std::size_t>(isa::Memory::tab)] /
                   static_cast<std::uint64_t>(config.bus_bytes)};
  for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps)
    if (row.scope == isa::spec::AluScope::table) tab.reads += counters.alu_uops_by_op[static_cast<std::size_t>(row.op)];
  for (PortEvents& port : counters.port) port.buffer = {.reads = port.beats, .writes = port.beats};
  if (counters.fetch) counters.fetch->buffer = {.reads = counters.fetch->beats, .writes = counters.fetch->beats};
}

Counters without_time(Counters counters) {
  counters.fetch.reset();
  counters.dram.reset();
  return counters;
}

Json to_json(const Counters& counters) {
  Json json;
  visit_numbers(counters,
                [&](const std::string& place, std::uint64_t number) { json[Json::json_pointer(place)] = number; });
  const auto total = [](const auto& values) { return std::accumulate(values.begin(), values.end(), std::uint64_t{0}); };
  json["instructions"]["total"] = total(counters.instructions);
  json["bytes_loaded"]["total"] = total(counters.bytes_loaded);
  return json;
}

Counters counters_from_json(const Json& json) {
  Counters counters;
  if (json.at("port").contains("fetch")) counters.fetch.emplace();
  if (json.contains("dram")) counters.dram.emplace();
  visit_numbers(counters, [&](const std::string& place, std::uint64_t& number) {
    number = json.at(Json::json_pointer(place)).get<std::uint64_t>();
  });
  return counters;
}

std::string difference(const Counters& a, const Counters& b) {
  const Json other = to_json(b);
  std::string what;
  visit_numbers(a, [&](const std::string& place, std::uint64_t number) {
    const Json::json_pointer at(place);
    if (!what.empty() || !other.contains(at) || other.at(at) == number) return;
    what = fmt::format("{} {}, not {}", place, number, other.at(at).dump());
  });
  return what;
}

}  // namespace dovetail::simulator
