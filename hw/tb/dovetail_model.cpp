// The test bench of one Verilated configuration: clock, registers, launches and their events.
#include <cstring>
#include <deque>
#include <optional>
#include <string>

#include <Vdovetail_top.h>
#include <Vdovetail_top___024root.h>

#include "hw/tb/axi_memory.h"
#include "hw/tb/clocked_model.h"
#include "simulator/rtl/model_api.h"

namespace {

constexpr std::uint32_t kControl = 0x00, kStatus = 0x04, kErrorInstruction = 0x08, kProgramBaseLo = 0x14,
                        kProgramBaseHi = 0x18, kInstructionBegin = 0x1c, kInstructionCount = 0x20, kOffsetLo = 0x40,
                        kOffsetHi = 0x44;
// With no memory access outstanding and no unit busy, all remaining activity ends within a few
// cycles.
constexpr std::uint64_t kQuietCycles = 1000;
// Bit position of the grants in the probe's port word (simulator/rtl/port_watch.h).
constexpr int kGrant = 3;

// Sums of the probe's event word over the cycles.
class EventCounts {
 public:
  void add(std::uint64_t word) {
    if ((word >> kAluStep & 1) != 0) ++alu_steps_[word >> kAluOp];
    for (std::uint64_t bits = word & ((std::uint64_t{1} << kAluStep) - 1); bits != 0; bits &= bits - 1)
      ++counts_[__builtin_ctzll(bits)];
  }
  dovetail_rtl_events totals() const {
    dovetail_rtl_events events;
    const std::uint64_t* from = counts_;
    const auto take = [&](std::uint64_t* to, int count) {
      std::memcpy(to, from, sizeof(*to) * static_cast<std::size_t>(count));
      from += count;
    };
    // In the order of the word, from the low bits.
    take(events.sram_reads, 6);
    take(events.sram_writes, 6);
    take(events.beats, 4);
    take(events.bursts, 4);
    take(events.buffer_reads, 4);
    take(events.buffer_writes, 4);
    take(&events.gemm_steps, 1);
    take(&events.gemm_resets, 1);
    take(&events.window_steps, 1);
    take(&events.window_pushes, 1);
    take(&events.epilogue_steps, 1);
    take(&events.epilogue_parameters, 1);
    take(&events.epilogue_lookups, 1);
    std::memcpy(events.alu_steps, alu_steps_, sizeof(alu_steps_));
    return events;
  }

 private:
  static constexpr int kAluStep = 35, kAluOp = 36;
  std::uint64_t counts_[kAluStep] = {}, alu_steps_[16] = {};
};

// A launch that has begun, and not ended.
struct Running {
  explicit Running(const dovetail_rtl_host& its_host) : host(its_host) {}

  dovetail_rtl_host host;
  std::uint64_t cycle = 0;
  std::uint64_t quiet = 0;  // cycles since anything moved
  EventCounts events;
  std::uint64_t classes[3][8] = {};
  std::uint32_t last_word = 0;
  unsigned causes = 0;  // of the previous cycle
  std::uint64_t last_start[3] = {~0ull, ~0ull, ~0ull};
  // For each unit, the issue cycles of the instructions that have not started, in order.
  std::deque<std::uint64_t> issued[3];
};

class Model : private ClockedModel<Vdovetail_top> {
 public:
  Model(std::uint64_t seed, bool assertions) : ClockedModel(seed, assertions) {
    memory_.emplace(*top_);
    quiet_inputs();
    reset();
  }

  using ClockedModel::open_waves;

  // Runs `work` on the model. Returns false if an assertion fails in it or has failed before; then
  // the model can only be destroyed.
  template <typename Work>
  bool run(const Work& work) {
    if (!failed_.empty()) return false;
    enter();
    try {
      work();
      return true;
    } catch (const AssertionFailed& failed) {
      failed_ = failed.where;
      return false;
    }
  }
  const std::string& failed() const { return failed_; }

  void launch(const dovetail_rtl_host& host, const dovetail_rtl_launch& what, dovetail_rtl_result& result);
  void attach(const dovetail_rtl_host& host, const dovetail_rtl_launch& what) { attached_ = {host, what}; }
  bool advance(std::uint64_t cycles) {
    while (cycles-- > 0 && running_) tick();
    return running_.has_value();
  }

  int write_register(std::uint32_t offset, std::uint32_t value, int strobes = 0xf) {
    begin_write(offset, value, strobes);
    const int response = top_->reg_bresp_o;
    if (attached_ && !running_ && offset == kControl && (value & strobes & 1) != 0) {
      memory_->begin(attached_->what);
      running_.emplace(attached_->host);  // the next cycle is the launch's first
    }
    tick();
    return response;
  }
  int read_register(std::uint32_t offset, std::uint32_t& value) {
    top_->reg_arvalid_i = 1;
    top_->reg_araddr_i = offset;
    tick();
    top_->reg_arvalid_i = 0;
    value = top_->reg_rdata_o;
    const int response = top_->reg_rresp_o;
    tick();
    return response;
  }
  bool interrupt() const { return top_->interrupt_o; }
  void read_sram(int memory, std::uint64_t index, std::uint8_t* element) const;

 private:
  // The response comes in the next cycle.
  void begin_write(std::uint32_t offset, std::uint32_t value, int strobes) {
    top_->reg_awvalid_i = top_->reg_wvalid_i = 1;
    top_->reg_awaddr_i = offset;
    top_->reg_wdata_i = value;
    top_->reg_wstrb_i = static_cast<std::uint8_t>(strobes);
    tick();  // nothing is outstanding, so the write is accepted at once
    top_->reg_awvalid_i = top_->reg_wvalid_i = 0;
  }
  void quiet_inputs() {
    top_->clk_i = 0;
    memory_->quiet_inputs();
    top_->reg_awvalid_i = top_->reg_wvalid_i = top_->reg_arvalid_i = 0;
    top_->reg_bready_i = top_->reg_rready_i = 1;
  }
  void reset() {
    top_->rst_ni = 1;
    settle();
    top_->rst_ni = 0;
    tick();
    tick();
    top_->rst_ni = 1;
    tick();
  }
  void settle() { top_->eval(); }
  void tick() {
    if (running_) {
      if (step(*running_)) return end_launch();
      return;
    }
    settle();
    edge();
  }
  bool step(Running& launch);
  void end_launch() {
    memory_->quiet_inputs();
    running_.reset();
  }

  std::string failed_;  // the place of the failed assertion
  std::optional<AxiMemory<Vdovetail_top>> memory_;
  struct Attached {
    dovetail_rtl_host host;
    dovetail_rtl_launch what;
  };
  std::optional<Attached> attached_;
  std::optional<Running> running_;
};

void Model::launch(const dovetail_rtl_host& host, const dovetail_rtl_launch& what, dovetail_rtl_result& result) {
  memory_->begin(what);
  write_register(kProgramBaseLo, static_cast<std::uint32_t>(what.program_base));
  write_register(kProgramBaseHi, static_cast<std::uint32_t>(what.program_base >> 32));
  // Other designs answer with an error, and OFFSET is 0.
  write_register(kOffsetLo, static_cast<std::uint32_t>(what.offset));
  write_register(kOffsetHi, static_cast<std::uint32_t>(what.offset >> 32));
  write_register(kInstructionBegin, what.begin);
  write_register(kInstructionCount, what.count);
  begin_write(kControl, 1, 0xf);  // the next cycle is the launch's first

  Running launch(host);
  while (!step(launch)) {
    const bool stopped = launch.cycle % DOVETAIL_RTL_POLL_CYCLES == 0 && !host.goes_on(host.context);
    if (launch.quiet > kQuietCycles || stopped) {
      result.outcome = stopped ? DOVETAIL_RTL_STOPPED : DOVETAIL_RTL_DEADLOCK;
      result.cycles = launch.cycle - 1;
      quiet_inputs();
      reset();
      return;
    }
  }
  quiet_inputs();
  std::memcpy(result.classes, launch.classes, sizeof(result.classes));
  result.events = launch.events.totals();
  // The cycle in which the end of the launch is detected does not belong to the launch.
  for (int unit = 0; unit < 3; ++unit) --result.classes[unit][launch.last_word >> (9 + 3 * unit) & 7];
  std::uint32_t status = 0, cycles_lo = 0, cycles_hi = 0;
  read_register(kStatus, status);
  read_register(0x24, cycles_lo);
  read_register(0x28, cycles_hi);
  result.cycles = std::uint64_t{cycles_hi} << 32 | cycles_lo;
  if ((status & 4) != 0) {
    result.outcome = DOVETAIL_RTL_ERROR;
    result.error_code = status >> 4 & 0xf;
    read_register(kErrorInstruction, result.error_instruction);
  }
}

// A clock cycle of the launch. Whether the launch had ended before it.
bool Model::step(Running& launch) {
  const dovetail_rtl_host& host = launch.host;
  const std::uint64_t cycle = launch.cycle;
  const auto* const root = top_->rootp;
  const auto index = [&](int kind, int unit) -> std::uint32_t {
    if (kind == 0) return root->dovetail_top__DOT__u_probe__DOT__issue_index;
    if (kind == 1)
      return unit == 0   ? root->dovetail_top__DOT__u_probe__DOT__load_start_index
             : unit == 1 ? root->dovetail_top__DOT__u_probe__DOT__compute_start_index
                         : root->dovetail_top__DOT__u_probe__DOT__store_start_index;
    return unit == 0   ? root->dovetail_top__DOT__u_probe__DOT__load_end_index
           : unit == 1 ? root->dovetail_top__DOT__u_probe__DOT__compute_end_index
                       : root->dovetail_top__DOT__u_probe__DOT__store_end_index;
  };
  memory_->drive(host, cycle);
  settle();
  const std::uint32_t word = root->dovetail_top__DOT__u_probe__DOT__word;
  if ((word & 0x1ff) != 0) {
    for (int unit = 0; unit < 3; ++unit) {
      if (word >> (6 + unit) & 1) host.event(host.context, 2, unit, index(2, unit), cycle, 0);
      if (word >> (3 + unit) & 1) {
        int cause = static_cast<int>(launch.causes >> (3 * unit) & 7);
        if (launch.issued[unit].front() + 1 == cycle) cause = 1;
        else if (launch.last_start[unit] + 1 == cycle && launch.last_start[unit] != ~0ull) cause = 0;
        launch.issued[unit].pop_front();
        launch.last_start[unit] = cycle;
        host.event(host.context, 1, unit, index(1, unit), cycle, cause);
      }
      if (word >> unit & 1) {
        launch.issued[unit].push_back(cycle);
        host.event(host.context, 0, unit, index(0, unit), cycle, 0);
      }
    }
  }
  launch.causes = word >> 18 & 0x1ff;
  const bool moving =
      (word & 0x1ff) != 0 || (word >> 9 & 7) == 0 || (word >> 12 & 7) == 0 || (word >> 15 & 7) == 0 || memory_->moves();
  launch.quiet = moving ? 0 : launch.quiet + 1;
  const bool finished = cycle != 0 && !root->dovetail_top__DOT__busy_q;
  if (!finished) {
    if (memory_->has_times()) {
      const std::uint32_t drained[3] = {root->dovetail_top__DOT__u_probe__DOT__load_end_index,
                                        root->dovetail_top__DOT__u_probe__DOT__compute_drain_index,
                                        root->dovetail_top__DOT__u_probe__DOT__store_end_index};
      host.port(host.context, cycle,
                root->dovetail_top__DOT__u_probe__DOT__port | std::uint32_t{top_->mem_arvalid_o} << 30 |
                    std::uint32_t{top_->mem_awvalid_o} << 31,
                drained);
    }
    launch.last_word = word;
    launch.events.add(root->dovetail_top__DOT__u_probe__DOT__events);
    for (int unit = 0; unit < 3; ++unit) ++launch.classes[unit][word >> (9 + 3 * unit) & 7];
    memory_->take(host, cycle, root->dovetail_top__DOT__u_probe__DOT__port >> kGrant & 7);
  }
  edge();
  ++launch.cycle;
  return finished;
}

// Widths up to 64 bits are integers, wider ones arrays of words: either way the low bytes come first.
template <typename Array>
void copy(const Array& memory, std::uint64_t index, std::size_t bytes, std::uint8_t* element) {
  std::memcpy(element, &memory[index], bytes);
}

void Model::read_sram(int memory, std::uint64_t index, std::uint8_t* element) const {
  const auto* const root = top_->rootp;
  switch (memory) {
    case 0:
      return copy(root->dovetail_top__DOT__u_compute__DOT__u_steps__DOT__u_uop__DOT__mem, index, DOVETAIL_UOP_BYTES,
                  element);
    case 1: return copy(root->dovetail_top__DOT__u_wgt__DOT__mem, index, DOVETAIL_WGT_BYTES, element);
    case 2: return copy(root->dovetail_top__DOT__u_inp__DOT__mem, index, DOVETAIL_INP_BYTES, element);
    default: return copy(root->dovetail_top__DOT__u_compute__DOT__u_acc__DOT__mem, index, DOVETAIL_ACC_BYTES, element);
  }
}

// Exceptions must not leave the shared object.
const dovetail_rtl_api kApi = {
    .version = DOVETAIL_RTL_API_VERSION,
    .create = [](std::uint64_t seed, int assertions) -> void* {
      try {
        return new Model(seed, assertions != 0);
      } catch (const AssertionFailed&) {
        return nullptr;
      }
    },
    .destroy = [](void* model) { delete static_cast<Model*>(model); },
    .launch =
        [](void* handle, const dovetail_rtl_host* host, const dovetail_rtl_launch* launch,
           dovetail_rtl_result* result) {
          auto* const model = static_cast<Model*>(handle);
          std::memset(result, 0, sizeof(*result));
          if (model->run([&] { model->launch(*host, *launch, *result); })) return;
          result->outcome = DOVETAIL_RTL_ASSERTION;
          std::strncpy(result->assertion, model->failed().c_str(), sizeof(result->assertion) - 1);
        },
    .attach = [](void* model, const dovetail_rtl_host* host,
                 const dovetail_rtl_launch* launch) { static_cast<Model*>(model)->attach(*host, *launch); },
    .advance = [](void* handle, std::uint64_t cycles) -> int {
      auto* const model = static_cast<Model*>(handle);
      bool running = false;
      return model->run([&] { running = model->advance(cycles); }) ? static_cast<int>(running) : -1;
    },
    .read_sram = [](void* model, int memory, std::uint64_t index,
                    std::uint8_t* element) { static_cast<Model*>(model)->read_sram(memory, index, element); },
    .read_register =
        [](void* handle, std::uint32_t offset, std::uint32_t* value) {
          auto* const model = static_cast<Model*>(handle);
          int response = -1;
          model->run([&] { response = model->read_register(offset, *value); });
          return response;
        },
    .write_register =
        [](void* handle, std::uint32_t offset, std::uint32_t value, int strobes) {
          auto* const model = static_cast<Model*>(handle);
          int response = -1;
          model->run([&] { response = model->write_register(offset, value, strobes); });
          return response;
        },
    .interrupt = [](void* model) -> int { return static_cast<Model*>(model)->interrupt(); },
    .open_waves = [](void* model, const char* path) -> int { return static_cast<Model*>(model)->open_waves(path); },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const dovetail_rtl_api* dovetail_rtl_model() { return &kApi; }
