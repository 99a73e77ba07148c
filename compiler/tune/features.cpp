#include "compiler/tune/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "compiler/schedule/loop_kinds.h"
#include "compiler/tune/features/program_facts.h"
#include "compiler/tune/features/traffic.h"

namespace dovetail::tune {

namespace {

using loops::ForKind;

constexpr std::array kPlaceNames{"input", "constant", "output", "temporary", "on_chip", "register"};
constexpr std::array kOperationNames{"float_add",      "float_multiply", "float_divide",     "float_order",
                                     "float_function", "integer_add",    "integer_multiply", "integer_divide",
                                     "integer_order",  "integer_bits",   "select",           "cast",
                                     "requantize"};
static_assert(kPlaceNames.size() == kPlaces && kOperationNames.size() == kOperations);
constexpr std::array<std::pair<const char*, double>, 7> kCaches{{{"1k", 0x1p10},
                                                                 {"8k", 0x1p13},
                                                                 {"32k", 0x1p15},
                                                                 {"128k", 0x1p17},
                                                                 {"512k", 0x1p19},
                                                                 {"2m", 0x1p21},
                                                                 {"16m", 0x1p24}}};

// The features under construction, with their names: the only place that defines them and their order.
class FeatureSheet {
 public:
  void count(std::string name, double value) { add(std::move(name), std::log2(1 + std::max(0.0, value))); }
  void ratio(std::string name, double over, double under) {  // of counts; either may be 0
    add(std::move(name), std::log2(1 + std::max(0.0, over)) - std::log2(1 + std::max(0.0, under)));
  }
  void share(std::string name, double part, double whole) { add(std::move(name), whole > 0 ? part / whole : 0); }

  std::vector<std::string> names;
  std::vector<double> values;

 private:
  void add(std::string name, double value) {
    names.push_back(std::move(name));
    values.push_back(std::isfinite(value) ? value : 0);
  }
};

// The work of one run of the block's body, in operations and steps of its intrinsics' innermost loops.
double work_of(const BlockFact& block) {
  double work = block.calls * block.work_of_call;
  for (const double operations : block.operations) work += operations;
  return work;
}

double loops_of_kind(const ProgramFacts& facts, const BlockFact& block, ForKind kind) {
  double product = 1;
  for (const std::size_t loop : block.loops)
    if (facts.loops[loop].loop->kind == kind) product *= static_cast<double>(facts.loops[loop].loop->extent);
  return product;
}

double box_elements(const AccessFact& access) {
  double elements = 1;
  for (const std::int64_t extent : access.box) elements *= static_cast<double>(extent);
  return elements;
}

void add_operations(FeatureSheet& sheet, const ProgramFacts& facts) {
  OperationCounts all{};
  double work = 0, conditional = 0;
  for (const BlockFact& block : facts.blocks) {
    for (std::size_t i = 0; i < kOperations; ++i) all[i] += block.times * block.operations[i];
    work += block.times * work_of(block);
    if (block.conditional) conditional += block.times * work_of(block);
  }
  for (std::size_t i = 0; i < kOperations; ++i) sheet.count(std::string("operations.") + kOperationNames[i], all[i]);
  sheet.count("operations.all", work);
  sheet.share("operations.conditional", conditional, work);
}

// Memory traffic by place: elements with repetition, and distinct bytes.
void add_places(FeatureSheet& sheet, const ProgramFacts& facts) {
  std::array<double, kPlaces> loads{}, stores{}, bytes{};
  std::map<const loops::BufferNode*, std::pair<Place, double>> largest;
  for (const AccessFact& access : facts.accesses) {
    const auto place = static_cast<std::size_t>(access.place);
    (access.write ? stores : loads)[place] += access.times * box_elements(access);
    auto& part = largest.emplace(access.buffer, std::pair(access.place, 0.0)).first->second;
    part.second = std::max(part.second, distinct_bytes(facts, access, 0));
  }
  for (const auto& [buffer, part] : largest) bytes[static_cast<std::size_t>(part.first)] += part.second;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const std::string place = kPlaceNames[i];
    sheet.count(place + ".loads", loads[i]);
    sheet.count(place + ".stores", stores[i]);
    sheet.count(place + ".bytes", bytes[i]);
    sheet.ratio(place + ".reuse", loads[i], bytes[i]);
  }
}

void add_traffic(FeatureSheet& sheet, const ProgramFacts& facts) {
  const TrafficModel model(facts);
  double work = 0;
  for (const BlockFact& block : facts.blocks) work += block.times * work_of(block);
  sheet.count("touched_bytes", model.touched_bytes());
  for (const auto& [name, cache_bytes] : kCaches) {
    const Traffic traffic = model.past(cache_bytes);
    const std::string past = std::string("past_") + name;
    sheet.count(past + ".loaded_bytes", traffic.loaded_bytes);
    sheet.count(past + ".stored_bytes", traffic.stored_bytes);
    sheet.ratio(past + ".intensity", work, traffic.loaded_bytes + traffic.stored_bytes);
  }
}

// Strides of accesses in the vector loop, or else in the innermost loop.
void add_strides(FeatureSheet& sheet, const ProgramFacts& facts) {
  struct Moves {
    double still = 0, next = 0, far = 0;
  };
  std::array<Moves, 2> moves;  // loads, stores
  for (const AccessFact& access : facts.accesses) {
    if (access.place == Place::registers || access.loops.empty()) continue;
    std::size_t position = access.loops.size() - 1;
    for (std::size_t i = 0; i < access.loops.size(); ++i)
      if (facts.loops[access.loops[i]].loop->kind == ForKind::vectorized) position = i;
    const double elements = std::abs(stride(access, position));
    Moves& kind = moves[access.write ? 1 : 0];
    (elements == 0 ? kind.still : elements == 1 ? kind.next : kind.far) += access.times;
  }
  for (const auto& [name, kind] : {std::pair("loads", moves[0]), std::pair("stores", moves[1])}) {
    const double all = kind.still + kind.next + kind.far;
    sheet.share(fmt::format("{}.still", name), kind.still, all);
    sheet.share(fmt::format("{}.next", name), kind.next, all);
    sheet.count(fmt::format("{}.far", name), kind.far);
  }
}

// Vector lanes, unrolled copies and threads, of the block with the most work and averaged over the work.
void add_loop_kinds(FeatureSheet& sheet, const ProgramFacts& facts) {
  const auto total = [](const BlockFact& block) { return block.times * work_of(block); };
  const auto main = std::ranges::max_element(facts.blocks, {}, total);
  const BlockFact none{};
  const BlockFact& most = main == facts.blocks.end() ? none : *main;
  for (const auto& [name, kind] :
       {std::pair("vectorized", ForKind::vectorized), std::pair("unrolled", ForKind::unrolled),
        std::pair("parallel", ForKind::parallel), std::pair("thread", ForKind::thread),
        std::pair("pipelined", ForKind::pipelined), std::pair("vthread", ForKind::vthread)}) {
    double weighted = 0, all = 0;
    for (const BlockFact& block : facts.blocks) {
      const double weight = total(block) + block.times;
      weighted += weight * std::log2(loops_of_kind(facts, block, kind));
      all += weight;
    }
    sheet.count(fmt::format("main.{}", name), loops_of_kind(facts, most, kind));
    sheet.share(fmt::format("mean.{}", name), weighted, all);
  }
  double instructions = 0, code = 0, parallel_runs = 0, steps = 0;
  for (const BlockFact& block : facts.blocks) {
    instructions += block.times * work_of(block) / loops_of_kind(facts, block, ForKind::vectorized);
    code += (1 + work_of(block)) * loops_of_kind(facts, block, ForKind::unrolled);
  }
  for (const LoopFact& fact : facts.loops) {
    if (fact.loop->kind == ForKind::parallel) parallel_runs += fact.entered;
    if (fact.loop->kind == ForKind::serial) steps += fact.entered * static_cast<double>(fact.loop->extent);
  }
  sheet.count("vector_operations", instructions);
  sheet.count("code", code);
  sheet.count("parallel_runs", parallel_runs);
  sheet.count("loop_steps", steps);
  // The innermost serial loops of the block with the most work: long enough loops fill a pipeline.
  std::array<double, 3> innermost{1, 1, 1};
  std::size_t found = 0;
  for (auto loop = most.loops.rbegin(); loop != most.loops.rend() && found < innermost.size(); ++loop)
    if (facts.loops[*loop].loop->kind == ForKind::serial)
      innermost[found++] = static_cast<double>(facts.loops[*loop].loop->extent);
  for (std::size_t i = 0; i < innermost.size(); ++i) sheet.count(fmt::format("main.serial{}", i), innermost[i]);
  sheet.count("main.work", total(most));
  sheet.count("main.depth", static_cast<double>(most.loops.size()));
  sheet.count("blocks", static_cast<double>(facts.blocks.size()));
  sheet.count("loops", static_cast<double>(facts.loops.size()));
}

// Intrinsic calls. A machine with loops in its instructions starts a whole nest at once.
void add_intrinsics(FeatureSheet& sheet, const ProgramFacts& facts) {
  double calls = 0, work = 0, nests = 0, most_nests = 0, sites = 0;
  for (const BlockFact& block : facts.blocks) {
    if (block.calls == 0) continue;
    const double begun = iterations(facts, block.loops, 0, block.own);
    sites += block.calls;
    calls += block.times * block.calls;
    work += block.times * block.calls * block.work_of_call;
    nests += begun;
    most_nests = std::max(most_nests, begun);
  }
  sheet.count("intrinsics.sites", sites);
  sheet.count("intrinsics.calls", calls);
  sheet.count("intrinsics.work", work);
  sheet.count("intrinsics.nests", nests);
  sheet.count("intrinsics.most_nests", most_nests);
  sheet.ratio("intrinsics.work_of_call", work, calls);
  sheet.ratio("intrinsics.calls_of_nest", calls, nests);
}

bool is_memory(Place place) { return place != Place::on_chip && place != Place::registers; }

// A block that stores what it loads, possibly converted or clamped: {its load, its store}; null otherwise.
std::pair<const AccessFact*, const AccessFact*> copy_of(const ProgramFacts& facts, const BlockFact& block) {
  constexpr std::array kNoCopy{Operation::float_add,      Operation::float_multiply, Operation::float_divide,
                               Operation::float_function, Operation::integer_add,    Operation::integer_multiply,
                               Operation::integer_divide, Operation::integer_bits,   Operation::requantize};
  for (const Operation operation : kNoCopy)
    if (block.operations[static_cast<std::size_t>(operation)] > 0) return {};
  const AccessFact *load = nullptr, *store = nullptr;
  for (std::size_t i = block.first_access; i < block.last_access; ++i) {
    const AccessFact*& kind = facts.accesses[i].write ? store : load;
    if (kind != nullptr) return {};
    kind = &facts.accesses[i];
  }
  if (load == nullptr || store == nullptr || block.calls > 0) return {};
  return {load, store};
}

// Contiguous bytes among those touched by one run of the nest from loop `from` on.
double contiguous_bytes(const ProgramFacts& facts, const AccessFact& access, std::size_t from) {
  auto bytes = static_cast<double>(size_bytes(access.buffer->dtype));
  for (std::size_t d = access.indices.size(); d-- > 0;) {
    const double here = distinct(facts, access, d, from);
    bytes *= here;
    if (here < static_cast<double>(access.buffer->shape[d])) break;
  }
  return bytes;
}

void add_transfers(FeatureSheet& sheet, const ProgramFacts& facts) {
  struct Transfers {
    double count = 0, bytes = 0, runs = 0;
  };
  std::array<Transfers, 4> all;  // loads, loads of constants, stores, memory to memory
  for (const BlockFact& block : facts.blocks) {
    const auto [load, store] = copy_of(facts, block);
    if (load == nullptr) continue;
    const bool from_memory = is_memory(load->place), to_memory = is_memory(store->place);
    if (!from_memory && !to_memory) continue;
    const AccessFact& outside = from_memory ? *load : *store;
    Transfers& kind = all[from_memory && to_memory ? 3 : to_memory ? 2 : load->place == Place::constant ? 1 : 0];
    const double begun = iterations(facts, block.loops, 0, block.own);
    const double bytes = distinct_bytes(facts, outside, block.own);
    kind.count += begun;
    kind.bytes += begun * bytes;
    kind.runs += begun * bytes / contiguous_bytes(facts, outside, block.own);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = std::array{"in", "constants_in", "out", "copied"}[i];
    sheet.count(name + ".transfers", all[i].count);
    sheet.count(name + ".bytes", all[i].bytes);
    sheet.ratio(name + ".bytes_of_transfer", all[i].bytes, all[i].count);
    sheet.ratio(name + ".bytes_of_run", all[i].bytes, all[i].runs);
  }
}

void add_allocations(FeatureSheet& sheet, const loops::Program& program, const ProgramFacts& facts) {
  struct Scope {
    double bytes = 0, slots = 1;  // slots: the most of any buffer
  };
  double temporaries = 0, registers = 0;
  std::map<std::string, Scope> on_chip;
  for (const loops::Buffer& buffer : program.allocations) {
    auto bytes = static_cast<double>(size_bytes(buffer->dtype));
    for (const std::int64_t extent : buffer->shape) bytes *= static_cast<double>(extent);
    (buffer->scope == "global"     ? temporaries
     : buffer->scope == "register" ? registers
                                   : on_chip[buffer->scope].bytes) += bytes;
  }
  for (const BlockFact& fact : facts.blocks) {
    const auto slots = fact.block->annotations.find(schedule::kSlots);
    if (slots == fact.block->annotations.end()) continue;
    double& most = on_chip[fact.block->writes.front().buffer->scope].slots;
    most = std::max(most, std::stod(slots->second));
  }
  std::vector<Scope> scopes;
  for (const auto& scope : on_chip) scopes.push_back(scope.second);
  std::ranges::stable_sort(scopes, std::greater<>(), &Scope::bytes);
  scopes.resize(3);
  sheet.count("allocated.temporary_bytes", temporaries);
  sheet.count("allocated.register_bytes", registers);
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    sheet.count(fmt::format("allocated.scope{}_bytes", i), scopes[i].bytes);
    sheet.count(fmt::format("allocated.scope{}_slots", i), scopes[i].slots);
  }
}

FeatureSheet sheet_of(const loops::Program& program, const loops::IntrinsicTable& intrinsics) {
  const ProgramFacts facts = program_facts(program, intrinsics);
  FeatureSheet sheet;
  add_operations(sheet, facts);
  add_places(sheet, facts);
  add_traffic(sheet, facts);
  add_strides(sheet, facts);
  add_loop_kinds(sheet, facts);
  add_intrinsics(sheet, facts);
  add_transfers(sheet, facts);
  add_allocations(sheet, program, facts);
  return sheet;
}

}  // namespace

std::vector<double> features(const schedule::Task& task, const schedule::Scheduled& scheduled) {
  return sheet_of(scheduled.program, *task.intrinsics).values;
}

std::span<const std::string_view> feature_names() {
  static const std::vector<std::string> names = sheet_of({}, {}).names;
  static const std::vector<std::string_view> views(names.begin(), names.end());
  return views;
}

}  // namespace dovetail::tune
