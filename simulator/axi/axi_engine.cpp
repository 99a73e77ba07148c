#include "simulator/axi/axi_engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dovetail_driver.h>
#include <fmt/format.h>

#include "base/little_endian.h"
#include "base/sha256.h"
#include "base/user_folder.h"
#include "isa/move_memory.h"
#include "isa/spec/registers.h"
#include "isa/text.h"
#include "simulator/axi/board_device.h"
#include "simulator/axi/verilated_device.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "simulator/image_range.h"
#include "simulator/work_estimate.h"

namespace dovetail::simulator {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kGranule = 4096;  // a multiple of all elements, and of the bursts' border
constexpr milliseconds kSlice{50}, kLeastTime{10'000}, kPatience{2'000};
constexpr double kSecondsPerStep = 1e-5;  // of a device that is a hundred times as slow as most

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::uint32_t register_at(std::string_view name) {
  return std::ranges::find(isa::spec::kRegisters, name, &isa::spec::Register::name)->offset;
}

}  // namespace

class SharedAxiDevice {
 public:
  explicit SharedAxiDevice(std::unique_ptr<AxiDevice> device) : device_(std::move(device)) {}

  AxiDevice& device() { return *device_; }
  std::mutex& mutex() { return mutex_; }  // protects everything

  // The device's copy of an image, which all simulators share that run on the image.
  struct Image {
    Image(SharedAxiDevice& its_device, const Dram& dram, std::uint64_t at)
        : device(its_device), block(at), offset(at + dram.base % kGranule), base(dram.base), bytes(dram.bytes.size()) {}
    ~Image() { device.release(block); }
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;

    SharedAxiDevice& device;
    std::uint64_t block, offset;   // in the device's memory: of the block, and of the image in it
    std::uint64_t base;            // of the image
    std::vector<std::byte> bytes;  // as the device's memory has them
  };
  Result<std::shared_ptr<Image>> image_of(const Dram& dram, const isa::HardwareConfig& config) {
    std::erase_if(images_, [](const auto& row) { return row.second.expired(); });
    if (const auto known = images_.find(&dram); known != images_.end()) {
      auto image = known->second.lock();
      if (image && image->base == dram.base && image->bytes.size() == dram.bytes.size()) return image;
    }
    DOVETAIL_ASSIGN(const std::uint64_t at, reserve(dram.base % kGranule + dram.bytes.size(), config));
    auto image = std::make_shared<Image>(*this, dram, at);
    std::fill_n(device_->memory().begin() + static_cast<std::ptrdiff_t>(image->offset), dram.bytes.size(),
                std::byte{0});
    DOVETAIL_TRY(device_->clean(image->offset, dram.bytes.size()));
    images_[&dram] = image;
    return image;
  }
  // The place of the program whose launch runs, at the end of the memory: the offset of its first instruction.
  Result<std::uint64_t> program_of(std::uint64_t bytes, const isa::HardwareConfig& config) {
    if (program_ && bytes <= program_bytes_) return *program_;
    if (program_) release(*std::exchange(program_, std::nullopt));
    program_bytes_ = rounded_up(std::max(bytes, 2 * program_bytes_), kGranule);
    DOVETAIL_ASSIGN(program_, reserve(program_bytes_, config, At::end));
    return *program_;
  }

 private:
  // A block of memory: its offset, at a multiple of kGranule of the accelerator's addresses. Errors: no room; the
  // accelerator does not reach it.
  enum class At : std::uint8_t { first_gap, end };
  Result<std::uint64_t> reserve(std::uint64_t bytes, const isa::HardwareConfig& config, At where = At::first_gap) {
    const std::uint64_t base = device_->base(), all = device_->memory().size();
    std::uint64_t at = rounded_up(base, kGranule) - base;
    for (const auto& [begin, end] : blocks_) {
      if (where == At::first_gap && begin >= at && begin - at >= bytes) break;
      at = rounded_up(base + end, kGranule) - base;
    }
    if (where == At::end && at <= all && bytes <= all - at) at = (base + all - bytes) / kGranule * kGranule - base;
    if (at > all || bytes > all - at)
      return Diagnostic{
          "the device has too little memory", device_->name(),
          fmt::format("{} bytes more are needed, and {} of its {} bytes are taken", bytes, std::min(at, all), all),
          "use fewer sessions and threads, or a larger contiguous block", Cause::resource};
    if (const std::uint64_t end = base + at + bytes; end > std::uint64_t{1} << config.address_bits)
      return Diagnostic{"the accelerator does not reach its memory", device_->name(),
                        fmt::format("the memory ends at {:#x}, beyond the {} address bits of {}", end,
                                    config.address_bits, config.name),
                        "reserve memory at lower addresses, or build hardware with more `address_bits`"};
    blocks_[at] = at + bytes;
    return at;
  }
  void release(std::uint64_t at) { blocks_.erase(at); }

  std::unique_ptr<AxiDevice> device_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> blocks_;  // begin to end, disjoint
  std::map<const Dram*, std::weak_ptr<Image>> images_;
  std::optional<std::uint64_t> program_;
  std::uint64_t program_bytes_ = 0;
};

namespace {

// What is known of a launch before the device sees it.
struct KnownLaunch {
  std::vector<isa::Instruction> program;  // at OFFSET 0
  std::size_t first_index = 0;
  Counters counters;
  std::vector<ByteRange> touched, stored;  // ascending and disjoint; the bytes between the rows of a STORE are in both
  std::uint64_t steps = 0;
};

std::vector<ByteRange> merged(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  std::vector<ByteRange> disjoint;
  for (const ByteRange& range : ranges)
    if (!disjoint.empty() && range.begin <= disjoint.back().end)
      disjoint.back().end = std::max(disjoint.back().end, range.end);
    else disjoint.push_back(range);
  return disjoint;
}

// Simulates launches without values, each once.
class Preflight {
 public:
  Preflight(const isa::HardwareConfig& config, Work* work)
      : config_(config), simulator_(make_cycle_timing(config, {.work = work})) {}

  void reset() {
    simulator_->reset();
    history_.clear();
    skipped_.clear();
  }

  // `code`: what identifies the program.
  Result<const KnownLaunch*> launch(std::span<const isa::Instruction> program, std::span<const std::byte> code,
                                    Dram& dram, std::size_t first_index, std::uint64_t offset) {
    const std::string key = key_of(program, code, dram, first_index, offset);
    history_ = key;
    if (const auto known = known_.find(key); known != known_.end()) {
      skipped_.push_back(&known->second);
      return &known->second;
    }
    // Micro-ops persist, so that those before have to be there.
    for (const KnownLaunch* const before : std::exchange(skipped_, {}))
      DOVETAIL_TRY(simulator_->launch(before->program, dram, before->first_index));
    DOVETAIL_ASSIGN(const Counters counters, simulator_->launch(program, dram, first_index));
    KnownLaunch launch{{program.begin(), program.end()}, first_index, counters, {}, {}, 0};
    launch.counters.dram.reset();  // of the memory that was simulated
    for (const isa::Instruction& instruction : program) {
      launch.steps += steps_of(instruction);
      const auto* const load = std::get_if<isa::Load>(&instruction.body);
      const auto* const store = std::get_if<isa::Store>(&instruction.body);
      const isa::Transfer* const transfer = load != nullptr ? load : static_cast<const isa::Transfer*>(store);
      if (transfer == nullptr || transfer->x_size == 0 || transfer->y_size == 0) continue;
      const ByteRange range = bytes_moved(*transfer, bytes_of(transfer->memory));
      launch.touched.push_back(range);
      if (store != nullptr) launch.stored.push_back(range);
    }
    launch.touched = merged(std::move(launch.touched));
    launch.stored = merged(std::move(launch.stored));
    return &known_.emplace(key, std::move(launch)).first->second;
  }
  std::optional<LaunchError> error() const { return simulator_->error(); }

 private:
  std::uint64_t bytes_of(isa::Memory memory) const { return static_cast<std::uint64_t>(config_.element_bytes(memory)); }

  std::string key_of(std::span<const isa::Instruction> program, std::span<const std::byte> code, const Dram& dram,
                     std::size_t first_index, std::uint64_t offset) const {
    Sha256 hash;
    hash.add(std::as_bytes(std::span(history_)));
    const std::array<std::uint64_t, 4> numbers{first_index, offset, dram.base, dram.bytes.size()};
    hash.add(std::as_bytes(std::span(numbers)));
    hash.add(code);
    for (const isa::Instruction& instruction : program)
      if (const auto* const load = std::get_if<isa::Load>(&instruction.body);
          load != nullptr && load->memory == isa::Memory::uop && load->x_size != 0 && load->y_size != 0)
        if (const ByteRange range = bytes_moved(*load, bytes_of(load->memory)); covers(dram, range))
          hash.add(std::span(dram.bytes).subspan(range.begin - dram.base, range.end - range.begin));
    return hash.digits();
  }

  isa::HardwareConfig config_;
  std::unique_ptr<Simulator> simulator_;
  std::unordered_map<std::string, KnownLaunch> known_;  // by all launches since the reset
  std::string history_;
  std::vector<const KnownLaunch*> skipped_;  // since the last one that was simulated
};

class AxiSimulator final : public Simulator {
 public:
  AxiSimulator(const isa::HardwareConfig& config, std::shared_ptr<SharedAxiDevice> shared, const EngineOptions& options)
      : config_(config),
        codec_(config),
        shared_(std::move(shared)),
        work_(options.work),
        preflight_(config, options.work),
        driven_{this, [](void* self, std::uint32_t offset) { return of(self).device().read(offset); },
                [](void* self, std::uint32_t offset, std::uint32_t value) { of(self).device().write(offset, value); },
                [](void* self) { of(self).pause(); }} {}
  ~AxiSimulator() override {
    const std::scoped_lock lock(shared_->mutex());
    image_.reset();
  }
  AxiSimulator(const AxiSimulator&) = delete;
  AxiSimulator& operator=(const AxiSimulator&) = delete;

  std::string_view name() const override { return "axi"; }
  void reset() override { preflight_.reset(); }
  const LaunchTrace* timing() const override { return timing_ ? &*timing_ : nullptr; }
  std::optional<LaunchError> error() const override { return error_; }

  Result<Counters> launch(std::span<const isa::Instruction> program, Dram& dram, std::size_t first_index) override {
    timing_.reset();
    error_.reset();
    const std::scoped_lock lock(shared_->mutex());
    DOVETAIL_TRY(settle());
    DOVETAIL_ASSIGN(image_, shared_->image_of(dram, config_));
    DOVETAIL_ASSIGN(program_, shared_->program_of((first_index + program.size()) * unit(), config_));
    DOVETAIL_ASSIGN(const std::vector<std::byte> code, moved_code(program));
    const std::span<const isa::Instruction> resolved = at_offset(config_, program);
    const auto known = preflight_.launch(resolved, code, dram, first_index, offset());
    if (!known.ok()) {
      error_ = preflight_.error();
      return known.errors();
    }
    const KnownLaunch& launch = **known;
    const std::uint64_t code_at = program_ + first_index * unit();
    std::ranges::copy(code, device().memory().begin() + static_cast<std::ptrdiff_t>(code_at));
    DOVETAIL_TRY(device().clean(code_at, code.size()));
    for (const ByteRange& range : launch.touched) DOVETAIL_TRY(copy_in(dram, range));
    const Result<void> done = run(launch, first_index, program);
    for (const ByteRange& range : launch.stored) DOVETAIL_TRY(copy_out(dram, range));
    if (!done.ok()) return done.errors();
    timing_ = LaunchTrace{.cycles = dovetail_cycles(&driven_)};
    timing_->counters = launch.counters;
    return launch.counters;
  }

 private:
  static AxiSimulator& of(void* self) { return *static_cast<AxiSimulator*>(self); }
  AxiDevice& device() { return shared_->device(); }
  std::uint64_t unit() const { return static_cast<std::uint64_t>(config_.instruction_bytes()); }

  void pause() {
    if (const Result<void> waited = device().wait(kSlice); !waited.ok() && lost_.empty()) lost_ = waited.errors();
  }

  // A launch of a process that was ended may still run.
  Result<void> settle() {
    constexpr std::uint32_t kBusy = 1;
    const auto begin = steady_clock::now();
    while ((device().read(register_at("STATUS")) & kBusy) != 0) {
      if (steady_clock::now() - begin > kLeastTime) return stuck("another launch is running on it");
      pause();
      if (!lost_.empty()) return lost_;
    }
    return {};
  }

  Result<std::vector<std::byte>> moved_code(std::span<const isa::Instruction> program) {
    std::vector<isa::Instruction> moved(program.begin(), program.end());
    for (isa::Instruction& instruction : moved)
      isa::move_address(config_, instruction, device().base() + image_->offset - image_->base);
    return codec_.encode_program(moved);
  }

  // Writes what has changed since the accelerator's memory had it.
  Result<void> copy_in(const Dram& dram, ByteRange range) {
    for (std::uint64_t at = range.begin - dram.base; at < range.end - dram.base;) {
      const std::uint64_t end = std::min(rounded_up(at + 1, kGranule), range.end - dram.base);
      const std::byte* const from = dram.bytes.data() + at;
      if (std::memcmp(image_->bytes.data() + at, from, end - at) != 0) {
        std::memcpy(image_->bytes.data() + at, from, end - at);
        std::memcpy(device().memory().data() + image_->offset + at, from, end - at);
        DOVETAIL_TRY(device().clean(image_->offset + at, end - at));
      }
      at = end;
    }
    return {};
  }
  Result<void> copy_out(Dram& dram, ByteRange range) {
    const std::uint64_t at = range.begin - dram.base, bytes = range.end - range.begin;
    DOVETAIL_TRY(device().invalidate(image_->offset + at, bytes));
    std::memcpy(dram.bytes.data() + at, device().memory().data() + image_->offset + at, bytes);
    std::memcpy(image_->bytes.data() + at, dram.bytes.data() + at, bytes);
    return {};
  }

  Result<void> run(const KnownLaunch& launch, std::size_t first_index, std::span<const isa::Instruction> program) {
    if (config_.offset) dovetail_set_offset(&driven_, offset());
    const dovetail_launch part{static_cast<std::uint32_t>(first_index), static_cast<std::uint32_t>(program.size())};
    int result = dovetail_start(&driven_, device().base() + program_, part);
    if (result == DOVETAIL_BUSY) return stuck("another launch is running on it");
    auto most = std::max(kLeastTime, std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(
                                         static_cast<double>(launch.steps) * kSecondsPerStep)));
    const auto begin = steady_clock::now();
    bool stopped = false;
    dovetail_error error{0, 0};
    for (;;) {
      // The time before the look: this process may have been stopped in between.
      const auto time = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
      result = dovetail_wait(&driven_, 1, &error);
      if (result != DOVETAIL_TIMED_OUT) break;
      if (!lost_.empty()) return lost_;
      if (!stopped && work_ != nullptr && work_->stopped()) {
        stopped = true;
        most = std::min(most, time + kPatience);  // a device cannot be stopped
      }
      if (time > most) return stuck(fmt::format("the launch did not end within {} s", most.count() / 1000));
    }
    if (work_ != nullptr) work_->count(launch.steps);
    if (stopped) return work_->stopped_at(fmt::format("instruction {}", first_index + program.size()));
    if (result == DOVETAIL_OK) return {};
    error_ = LaunchError{static_cast<isa::spec::ErrorCode>(error.code), error.instruction};
    std::string why = fmt::format("error code {}", error.code);
    for (const isa::spec::ErrorCodeInfo& row : isa::spec::kErrorCodes)
      if (static_cast<std::uint32_t>(row.code) == error.code) why = row.doc;
    const std::size_t at = error.instruction - first_index;
    return Diagnostic{
        "the accelerator stopped", device().name(),
        fmt::format("instruction {}{}: {}", error.instruction,
                    at < program.size() ? fmt::format(", `{}`", isa::format_instruction(program[at])) : "", why),
        "check the path from its memory port to the memory (docs/howto/boards.md)", Cause::work};
  }
  Diagnostic stuck(std::string why) {
    return {"the accelerator does not answer", device().name(), std::move(why), "load its bitstream again",
            Cause::work};
  }

  isa::HardwareConfig config_;
  isa::Codec codec_;
  std::shared_ptr<SharedAxiDevice> shared_;
  Work* work_;
  Preflight preflight_;
  dovetail_device driven_;
  Diagnostics lost_;
  std::optional<LaunchTrace> timing_;
  std::optional<LaunchError> error_;

  std::shared_ptr<SharedAxiDevice::Image> image_;
  std::uint64_t program_ = 0;  // offset of instruction 0 in the device's memory
};

// A program that uses the first and the last element of each buffer, with random data.
struct Probe {
  std::vector<isa::Instruction> program;
  Dram dram;
};
Probe make_probe(const isa::HardwareConfig& config) {
  using isa::Memory;
  Probe probe{{}, {kGranule, std::vector<std::byte>(10 * kGranule)}};
  std::mt19937 random(1);  // NOLINT: the same data in every run
  for (std::byte& byte : probe.dram.bytes) byte = static_cast<std::byte>(random());
  const auto last = [&](Memory memory) { return static_cast<std::uint32_t>(config.depth(memory) - 1); };
  std::vector<std::byte> uops;
  const isa::Codec codec(config);
  [[maybe_unused]] const bool fits =
      codec.encode(isa::Uop{}, uops).ok() &&
      codec.encode(isa::Uop{last(Memory::acc), last(Memory::inp), last(Memory::wgt)}, uops).ok();
  std::ranges::copy(uops, probe.dram.bytes.begin());

  std::uint64_t page = 1;  // of the image
  const auto transfer = [&](Memory memory, std::uint32_t at, std::uint64_t from, std::uint32_t count = 1) {
    const std::uint64_t address = probe.dram.base + from * kGranule;
    return isa::Transfer{.memory = memory,
                         .sram_base = at,
                         .dram_base = address / static_cast<std::uint64_t>(config.element_bytes(memory)),
                         .y_size = 1,
                         .x_size = count,
                         .x_stride = count};
  };
  const auto add = [&](auto body, isa::DependencyFlags flags = {}) { probe.program.push_back({flags, body}); };
  const std::uint32_t far = last(Memory::uop) - 1;
  for (const std::uint32_t at : {0u, far}) add(isa::Load{transfer(Memory::uop, at, 0, 2)});
  for (const std::uint32_t at : {0u, last(Memory::acc)}) add(isa::Load{transfer(Memory::acc, at, page++)});
  for (const std::uint32_t at : {0u, last(Memory::inp)}) add(isa::Load{transfer(Memory::inp, at, page++)});
  add(isa::Load{transfer(Memory::wgt, 0, page++)});
  add(isa::Load{transfer(Memory::wgt, last(Memory::wgt), page++)}, {.push_next = true});
  isa::Gemm gemm;
  gemm.uop_begin = far;
  gemm.uop_end = far + 2;
  gemm.iter_out = gemm.iter_in = 1;
  add(gemm, {.pop_prev = true});
  // The fields of factors are where the sizes put them.
  gemm.uop_begin = 0;
  gemm.uop_end = 1;
  gemm.iter_out = 2;
  gemm.dst_factor_out = last(Memory::acc);
  gemm.src_factor_out = last(Memory::inp);
  gemm.wgt_factor_out = last(Memory::wgt);
  add(gemm);
  std::swap(gemm.iter_out, gemm.iter_in);
  std::swap(gemm.dst_factor_out, gemm.dst_factor_in);
  std::swap(gemm.src_factor_out, gemm.src_factor_in);
  std::swap(gemm.wgt_factor_out, gemm.wgt_factor_in);
  add(gemm, {.push_next = true});
  add(isa::Store{transfer(Memory::out, 0, page++)}, {.pop_prev = true});
  add(isa::Store{transfer(Memory::out, last(Memory::acc), page++)});
  return probe;
}

Diagnostic no_device() {
  return {"cannot find the device", "", "this board offers none", "lease a board that has one: it has the label axi"};
}

Result<std::unique_ptr<AxiDevice>> open_device(const std::string& place, const isa::HardwareConfig& config,
                                               const EngineOptions& options) {
  if (place == kVerilatedPlace) return make_verilated_device(config, {.engine = options});
  if (place == kNoPlace) return no_device();
  if (is_inherited(place)) {
    DOVETAIL_ASSIGN(BoardFiles files, inherited_board_files(place));
    return make_board_device(std::move(files));
  }
  DOVETAIL_ASSIGN(const BoardPlace where, place.empty() ? find_board_place() : parse_board_place(place));
  DOVETAIL_ASSIGN(BoardFiles files, open_board_files(where));
  return make_board_device(std::move(files));
}

// One device for all simulators of this process; of the Verilated design, one for each configuration.
Result<std::shared_ptr<SharedAxiDevice>> device_of_environment(const isa::HardwareConfig& config,
                                                               const EngineOptions& options) {
  struct Open {
    isa::HardwareConfig config;
    std::weak_ptr<SharedAxiDevice> device;
  };
  static std::mutex mutex;
  static std::vector<Open> all;
  const std::scoped_lock lock(mutex);
  const std::string place = environment(kAxiVariable).value_or("");
  std::erase_if(all, [](const Open& open) { return open.device.expired(); });
  for (const Open& open : all) {
    auto shared = open.device.lock();
    if (!shared) continue;
    if (open.config == config) return shared;
    if (place != kVerilatedPlace)
      return Diagnostic{"the device is not this accelerator", shared->device().name(),
                        fmt::format("another session of this process drives it as {}, and this one is for {}",
                                    open.config.name, config.name),
                        "use the hardware of the bitstream in all sessions"};
  }
  DOVETAIL_ASSIGN(auto device, open_device(place, config, options));
  DOVETAIL_ASSIGN(auto shared, share_axi_device(std::move(device), config));
  all.push_back({config, shared});
  return shared;
}

}  // namespace

Result<void> axi_place() {
  const std::string place = environment(kAxiVariable).value_or("");
  if (place == kVerilatedPlace || is_inherited(place)) return {};
  if (place == kNoPlace) return no_device();
  DOVETAIL_TRY(place.empty() ? find_board_place() : parse_board_place(place));
  return {};
}

Result<std::shared_ptr<SharedAxiDevice>> share_axi_device(std::unique_ptr<AxiDevice> device,
                                                          const isa::HardwareConfig& config) {
  const std::string name = device->name();
  const auto other = [&](std::string why, std::string hint) {
    return Diagnostic{"the device is not this accelerator", name, std::move(why), std::move(hint)};
  };
  dovetail_device driven{device.get(),
                         [](void* self, std::uint32_t offset) { return static_cast<AxiDevice*>(self)->read(offset); },
                         [](void* self, std::uint32_t offset, std::uint32_t value) {
                           static_cast<AxiDevice*>(self)->write(offset, value);
                         },
                         nullptr};
  const std::uint32_t required = isa::spec::config_register(config);
  const auto value = [&](std::string_view row) { return device->read(register_at(row)); };
  switch (dovetail_probe(&driven, required)) {
    case DOVETAIL_NO_DEVICE:
      return other(fmt::format("its register ID is {:#010x}, not {:#010x}", value("ID"), isa::spec::kRegisterId),
                   "load the bitstream; `reg` in the device tree must be the address of the registers");
    case DOVETAIL_OTHER_VERSION:
      return other(fmt::format("its register map has version {}, and this kit drives {}", value("VERSION") >> 16,
                               isa::spec::kRegisterVersion >> 16),
                   "make the bitstream with this version of the kit");
    case DOVETAIL_OTHER_CONFIG:
      return other(fmt::format("its register CONFIG is {:#010x}, and that of {} is {:#010x}", value("CONFIG"),
                               config.name, required),
                   "name the hardware of the bitstream with --hw");
    default: break;
  }
  auto shared = std::make_shared<SharedAxiDevice>(std::move(device));
  const Probe probe = make_probe(config);
  Dram expected = probe.dram, got = probe.dram;
  DOVETAIL_TRY(make_functional(config)->launch(probe.program, expected));
  const auto axi = make_axi(config, shared);
  const auto ran = axi->launch(probe.program, got);
  if (!ran.ok() && !axi->error()) return ran.errors();
  if (ran.ok() && got.bytes == expected.bytes) return shared;
  return other(fmt::format("a product with the first and the last elements of the buffers of {} is wrong{}",
                           config.name, ran.ok() ? "" : ": " + ran.errors().front().why),
               "name the hardware of the bitstream with --hw, also its buffer sizes; if they are right, the memory is "
               "not contiguous or its caches are not maintained (docs/howto/boards.md)");
}

std::unique_ptr<Simulator> make_axi(const isa::HardwareConfig& config, std::shared_ptr<SharedAxiDevice> device,
                                    const EngineOptions& options) {
  return std::make_unique<AxiSimulator>(config, std::move(device), options);
}

Result<std::unique_ptr<Simulator>> make_axi(const isa::HardwareConfig& config, const EngineOptions& options) {
  if (options.accelerators > 1)
    return Diagnostic{"cannot run several accelerators",
                      fmt::format("engine axi, {} accelerators", options.accelerators), "it drives one device",
                      "use --engine cycle, or hardware with one accelerator"};
  if (options.program_base)
    return Diagnostic{"cannot place the program in memory", fmt::format("program base {:#x}", *options.program_base),
                      "engine axi chooses its place in the memory of the board", "leave the place to the engine"};
  DOVETAIL_ASSIGN(auto device, device_of_environment(config, options));
  return make_axi(config, std::move(device), options);
}

}  // namespace dovetail::simulator
