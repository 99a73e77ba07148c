#include "tests/property/isa/verify/oracle.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "isa/codec.h"
#include "isa/semantics/load.h"
#include "isa/semantics/store.h"
#include "isa/verify/token_use.h"
#include "tests/generator/random.h"
#include "tests/property/isa/verify/executions.h"

namespace dovetail::test {
namespace {

using isa::kQueues;
using isa::kTokenFifos;

class Judge {
 public:
  Judge(const GeneratedProgram& program, Orders orders)
      : program_(program),
        orders_(orders),
        random_(program.seed),
        codec_(program.config),
        uops_(depth(isa::Memory::uop)),
        uop_loaded_(uops_.size()) {
    for (std::size_t m = 0; m < kSharedMemories; ++m) defined_[m].resize(depth(kShared[m]));
  }

  OracleReport judge() {
    for (const isa::Launch& launch : program_.launches) {
      begin_ = launch.begin;
      count_ = launch.count;
      if (orders_ == Orders::enumerated) enumerate();
      else order();
      touch();
      compare();
      define();
      const bool token_missing = std::find(executed_.begin(), executed_.end(), false) != executed_.end();
      if (const auto stuck = stuck_at()) {
        report_.deadlock = begin_ + *stuck;
        report_.token_missing = token_missing;
        if (!token_missing) count_leftovers();
        break;
      }
      count_leftovers();
    }
    overwrites();
    return report_;
  }

 private:
  std::size_t depth(isa::Memory memory) const { return static_cast<std::size_t>(program_.config.depth(memory)); }
  const isa::Instruction& at(std::size_t local) const { return program_.program[begin_ + local]; }

  // Happens-before within the launch, and which instructions execute at all with unlimited depths: the least fixed
  // point of "the previous instruction of the queue and all pushers execute".
  void order() {
    before_.assign(count_, std::vector<bool>(count_, false));
    std::array<std::vector<std::size_t>, kQueues> queues;
    std::array<std::vector<std::size_t>, kTokenFifos> pushes, pops;
    for (std::size_t i = 0; i < count_; ++i) {
      const isa::TokenUse use = isa::token_use(at(i));
      queues[isa::index(use.queue)].push_back(i);
      for (std::size_t f = 0; f < kTokenFifos; ++f) {
        if ((use.pushes >> f & 1) != 0) pushes[f].push_back(i);
        if ((use.pops >> f & 1) != 0) pops[f].push_back(i);
      }
    }
    std::vector<std::vector<std::size_t>> needs(count_);
    executed_.assign(count_, false);
    std::vector<bool> hopeless(count_, false);
    for (const auto& queue : queues)
      for (std::size_t k = 1; k < queue.size(); ++k) needs[queue[k]].push_back(queue[k - 1]);
    for (std::size_t f = 0; f < kTokenFifos; ++f)
      for (std::size_t k = 0; k < pops[f].size(); ++k) {
        if (k < pushes[f].size()) needs[pops[f][k]].push_back(pushes[f][k]);
        else hopeless[pops[f][k]] = true;
      }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < count_; ++i) {
        if (executed_[i] || hopeless[i]) continue;
        if (!std::all_of(needs[i].begin(), needs[i].end(), [&](std::size_t p) { return bool{executed_[p]}; })) continue;
        executed_[i] = changed = true;
      }
    }
    for (std::size_t i = 0; i < count_; ++i)
      for (const std::size_t p : needs[i]) before_[p][i] = true;
    for (std::size_t k = 0; k < count_; ++k)
      for (std::size_t i = 0; i < count_; ++i)
        if (before_[i][k])
          for (std::size_t j = 0; j < count_; ++j)
            if (before_[k][j]) before_[i][j] = true;
    left_ = 0;
    for (std::size_t f = 0; f < kTokenFifos; ++f) left_ += pushes[f].size() > pops[f].size();
  }

  // The same by visiting every state of the launch: a happens before b if b never happens before a.
  void enumerate() {
    const LaunchModel model(program_.config, instructions(), Depths::unlimited);
    const auto all = explore(model);
    DOVETAIL_CHECK(all.has_value(), "too many states");
    DOVETAIL_CHECK(all->ends.size() == 1, "a launch ends in several ways");
    const LaunchModel::State& end = *all->ends.begin();
    before_.assign(count_, std::vector<bool>(count_, false));
    executed_.assign(count_, false);
    for (std::size_t i = 0; i < count_; ++i) executed_[i] = model.accessed(end, i);
    for (std::size_t a = 0; a < count_; ++a)
      for (std::size_t b = 0; b < count_; ++b)
        before_[a][b] = a != b && executed_[a] && executed_[b] && !all->before[b][a];
    left_ = 0;
    if (model.complete(end))
      for (const isa::TokenFifo fifo : isa::kAllFifos) left_ += model.tokens(end, fifo) != 0;
  }

  // With the configuration's depths: the oldest instruction that never ends.
  std::optional<std::size_t> stuck_at() {
    const LaunchModel model(program_.config, instructions(), Depths::configured);
    LaunchModel::State end;
    if (orders_ == Orders::enumerated) {
      const auto all = explore(model);
      DOVETAIL_CHECK(all.has_value(), "too many states");
      DOVETAIL_CHECK(all->ends.size() == 1, "a launch ends in several ways");
      end = *all->ends.begin();
    } else {
      end = walk(model, random_);
    }
    if (model.complete(end)) return std::nullopt;
    return model.oldest(end);
  }

  std::span<const isa::Instruction> instructions() const { return std::span(program_.program).subspan(begin_, count_); }
  void count_leftovers() { report_.leftovers += left_; }

  void touch() {
    touches_.assign(count_, {});
    for (std::size_t i = 0; i < count_; ++i) {
      judge_fields(i);
      if (!executed_[i] || at(i).queue() == isa::Queue::compute) continue;
      touches_[i] = legal_touches(i);
    }
    // Micro-ops follow the compute queue.
    for (std::size_t i = 0; i < count_; ++i) {
      if (!executed_[i] || at(i).queue() != isa::Queue::compute) continue;
      touches_[i] = legal_touches(i);
      for (const std::uint32_t k : touches_[i].uops_executed)
        if (!uop_loaded_[k]) report_.undefined_uops.insert({begin_ + i, k});
      const auto* load = std::get_if<isa::Load>(&at(i).body);
      if (load == nullptr || load->memory != isa::Memory::uop) continue;
      const auto size = static_cast<std::uint64_t>(program_.config.uop_bytes());
      isa::semantics::for_each_loaded_run(
          *load,
          [&](std::uint64_t sram, std::uint64_t n) {
            for (std::uint64_t e = sram; e < sram + n; ++e) uops_[e] = {}, uop_loaded_[e] = true;
          },
          [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t n) {
            for (std::uint64_t e = 0; e < n; ++e) {
              uops_[sram + e] =
                  codec_.decode_uop(std::span(program_.dram).subspan((dram + e) * size - program_.dram_base, size));
              uop_loaded_[sram + e] = true;
            }
          });
    }
  }

  static bool leaves_sram(const GeneratedProgram& program, const isa::Instruction& instruction) {
    const auto too_long = [&](const isa::Transfer& transfer, std::uint64_t elements) {
      return elements != 0 &&
             transfer.sram_base + elements > static_cast<std::uint64_t>(program.config.depth(transfer.memory));
    };
    if (const auto* load = std::get_if<isa::Load>(&instruction.body))
      return too_long(*load, isa::semantics::loaded_elements(*load));
    if (const auto* store = std::get_if<isa::Store>(&instruction.body))
      return too_long(*store, isa::semantics::stored_elements(*store));
    return false;
  }

  void judge_fields(std::size_t i) {
    if (leaves_sram(program_, at(i))) {
      report_.illegal.insert(begin_ + i);
      return;
    }
    if (at(i).opcode() != isa::Opcode::load && at(i).opcode() != isa::Opcode::store) return;
    const Touches touched = dovetail::test::touches(program_.config, at(i), uops_);
    for (const auto* rows : {&touched.dram_reads, &touched.dram_writes, &touched.uop_reads})
      for (const isa::Extent& row : *rows)
        if (row.begin < program_.dram_base || row.end > program_.dram_base + program_.dram.size())
          report_.illegal.insert(begin_ + i);
  }

  static std::size_t index_of(isa::Memory memory) {
    return static_cast<std::size_t>(std::ranges::find(kShared, memory) - std::begin(kShared));
  }
  // What the micro-op after the loop of an epilogue names.
  void append_parameters(std::size_t i, Touches& touched) const {
    const isa::UopLoop& loop = *isa::uop_loop(at(i));
    if (loop.iter_out == 0 || loop.iter_in == 0 || loop.uop_begin >= loop.uop_end) return;
    touched.uops_executed.push_back(loop.uop_end);
    if (!uop_loaded_[loop.uop_end]) return;
    const isa::Uop& parameters = uops_[loop.uop_end];
    touched.reads[index_of(isa::Memory::wgt)].push_back(parameters.wgt);
    if (program_.config.table && parameters.dst % 2 == 1) touched.reads[index_of(isa::Memory::tab)].push_back(0);
  }

  // Elements beyond a memory are illegal and otherwise ignored; so are micro-ops that were never loaded.
  Touches legal_touches(std::size_t i) {
    if (leaves_sram(program_, at(i))) return {};
    Touches touched;
    if (isa::uop_loop(at(i)) == nullptr) {
      touched = dovetail::test::touches(program_.config, at(i), uops_);
    } else {
      // One loaded micro-op at a time.
      isa::Instruction one = at(i);
      const isa::UopLoop whole = *isa::uop_loop(one);
      if (isa::has_epilogue(one)) {
        append_parameters(i, touched);
        if (auto* window = std::get_if<isa::Window>(&one.body)) {
          window->requant = false;
        } else {
          isa::Gemm products;
          static_cast<isa::ProductLoop&>(products) = std::get<isa::GemmQ>(one.body);
          one.body = products;
        }
      }
      isa::UopLoop& nest = *isa::uop_loop(one);
      for (std::uint32_t k = whole.uop_begin; k < whole.uop_end; ++k) {
        nest.uop_begin = k;
        nest.uop_end = k + 1;
        const Touches step = dovetail::test::touches(program_.config, one, uops_);
        touched.uops_executed.insert(touched.uops_executed.end(), step.uops_executed.begin(), step.uops_executed.end());
        // Which elements an unknown micro-op names is unknown; the table is read in any case.
        for (std::size_t m = 0; m < kSharedMemories; ++m) {
          if (!uop_loaded_[k] && kShared[m] != isa::Memory::tab) continue;
          touched.reads[m].insert(touched.reads[m].end(), step.reads[m].begin(), step.reads[m].end());
          touched.writes[m].insert(touched.writes[m].end(), step.writes[m].begin(), step.writes[m].end());
        }
      }
    }
    for (std::size_t m = 0; m < kSharedMemories; ++m)
      for (auto* elements : {&touched.reads[m], &touched.writes[m]})
        std::erase_if(*elements, [&](std::uint32_t e) {
          if (e < depth(kShared[m])) return false;
          report_.illegal.insert(begin_ + i);
          return true;
        });
    return touched;
  }

  bool unordered(std::size_t a, std::size_t b) const { return !before_[a][b] && !before_[b][a]; }

  void compare() {
    const auto bytes = [](const std::vector<isa::Extent>& rows) {
      std::set<std::uint64_t> set;
      for (const isa::Extent& row : rows)
        for (std::uint64_t b = row.begin; b < row.end; ++b) set.insert(b);
      return set;
    };
    for (std::size_t a = 0; a < count_; ++a)
      for (std::size_t b = a + 1; b < count_; ++b) {
        if (!executed_[a] || !executed_[b] || !unordered(a, b)) continue;
        const auto both = [&](std::size_t where, const auto& x, const auto& y) {
          std::vector<std::uint64_t> common;
          std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
          for (const std::uint64_t e : common) report_.races[{where, e}].insert({begin_ + a, begin_ + b});
        };
        for (std::size_t m = 0; m < kSharedMemories; ++m) {
          const auto sorted = [](std::vector<std::uint32_t> v) {
            std::sort(v.begin(), v.end());
            v.erase(std::unique(v.begin(), v.end()), v.end());
            return v;
          };
          const auto ra = sorted(touches_[a].reads[m]), wa = sorted(touches_[a].writes[m]);
          const auto rb = sorted(touches_[b].reads[m]), wb = sorted(touches_[b].writes[m]);
          both(m, wa, wb);
          both(m, wa, rb);
          both(m, ra, wb);
        }
        if (touches_[a].dram_writes.empty() && touches_[b].dram_writes.empty()) continue;
        const auto ra = bytes(touches_[a].dram_reads), wa = bytes(touches_[a].dram_writes);
        const auto rb = bytes(touches_[b].dram_reads), wb = bytes(touches_[b].dram_writes);
        both(OracleReport::kDram, wa, wb);
        both(OracleReport::kDram, wa, rb);
        both(OracleReport::kDram, ra, wb);
      }
  }

  // A read is undefined when every write to the element happens after it.
  void define() {
    for (std::size_t m = 0; m < kSharedMemories; ++m) {
      for (std::size_t r = 0; r < count_; ++r)
        for (const std::uint32_t e : touches_[r].reads[m]) {
          bool defined = defined_[m][e];
          for (std::size_t w = 0; w < count_ && !defined; ++w)
            defined = w != r && !before_[r][w] &&
                      std::count(touches_[w].writes[m].begin(), touches_[w].writes[m].end(), e) != 0;
          if (!defined) report_.undefined.insert({begin_ + r, {m, e}});
        }
      for (std::size_t w = 0; w < count_; ++w)
        for (const std::uint32_t e : touches_[w].writes[m]) defined_[m][e] = true;
    }
  }

  void overwrites() {
    std::set<std::uint64_t> constants;
    for (const isa::Instruction& instruction : program_.program)
      for (const isa::Extent& row : dovetail::test::touches(program_.config, instruction, uops_).uop_reads)
        for (std::uint64_t b = row.begin; b < row.end; ++b) constants.insert(b);
    for (const isa::Instruction& instruction : program_.program) {
      if (instruction.opcode() != isa::Opcode::store) continue;
      for (const isa::Extent& row : dovetail::test::touches(program_.config, instruction, uops_).dram_writes)
        for (std::uint64_t b = row.begin; b < row.end; ++b)
          if (constants.count(b) != 0) report_.overwritten.insert(b);
    }
  }

  const GeneratedProgram& program_;
  Orders orders_;
  Random random_;
  isa::Codec codec_;
  std::vector<isa::Uop> uops_;
  std::vector<bool> uop_loaded_;
  std::array<std::vector<bool>, kSharedMemories> defined_;
  OracleReport report_;

  std::size_t begin_ = 0, count_ = 0, left_ = 0;
  std::vector<std::vector<bool>> before_;
  std::vector<bool> executed_;
  std::vector<Touches> touches_;
};

}  // namespace

OracleReport judge(const GeneratedProgram& program, Orders orders) { return Judge(program, orders).judge(); }

}  // namespace dovetail::test
