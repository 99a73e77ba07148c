#include "compiler/target/accel/stream/finish_code.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>

#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/stream/order_loads.h"
#include "compiler/target/accel/stream/start_early.h"
#include "isa/codec.h"
#include "isa/text.h"
#include "isa/verify.h"
#include "isa/verify/accesses.h"

namespace dovetail::accel {

namespace {

// Zeros from the system, which allocates pages only when they are accessed. The heap would clear memory that it reuses.
struct Unmap {
  std::size_t bytes;
  void operator()(std::byte* zeros) const { ::munmap(zeros, bytes); }
};
std::unique_ptr<std::byte, Unmap> map_zeros(std::size_t bytes) {
  void* const zeros = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (zeros == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(zeros), Unmap{bytes}};
}

// Whether a LOAD reads micro-ops from the segment.
bool holds_micro_ops(const bundle::AccelCode& code, const bundle::Segment& segment) {
  return std::ranges::any_of(code.program, [&](const isa::Instruction& instruction) {
    const auto* load = std::get_if<isa::Load>(&instruction.body);
    if (load == nullptr || load->memory != isa::Memory::uop) return false;
    const isa::Extent read = isa::dram_access(code.config, instruction).hull();
    return read.begin < segment.address + segment.bytes.bytes().size() && segment.address < read.end;
  });
}

std::string text_of(const Stream& stream, const isa::HardwareConfig& config) {
  std::vector<isa::Instruction> instructions;
  for (const StreamInstruction& item : stream.instructions) instructions.push_back(item.instruction);
  return isa::format_assembly(config, instructions);
}

// The text of the stream. Micro-ops are numbered as if each kernel had its own place, and are listed at the end.
std::string symbolic_text(Stream stream, const isa::HardwareConfig& config) {
  std::vector<std::uint64_t> begins{0};
  for (const std::vector<isa::Uop>& kernel : stream.kernels) begins.push_back(begins.back() + kernel.size());
  for (StreamInstruction& item : stream.instructions) {
    isa::UopLoop* loop = isa::uop_loop(item.instruction);
    if (item.kernel < 0 || loop == nullptr) continue;
    const auto kernel = static_cast<std::size_t>(item.kernel);
    loop->uop_begin = static_cast<std::uint32_t>(begins[kernel]);
    loop->uop_end = static_cast<std::uint32_t>(begins[kernel + 1] - (isa::has_epilogue(item.instruction) ? 1 : 0));
  }
  std::string text = text_of(stream, config);
  for (std::size_t i = 0; i < stream.kernels.size(); ++i) {
    text += fmt::format("# kernel {}, {} micro-ops from {}:", i, stream.kernels[i].size(), begins[i]);
    for (const isa::Uop& uop : stream.kernels[i]) text += fmt::format(" ({}, {}, {})", uop.dst, uop.src, uop.wgt);
    text += '\n';
  }
  return text;
}

}  // namespace

Result<StreamStatistics> finish_code(std::span<LaunchStream> launches, const std::string& name,
                                     const isa::AcceleratorConfigs& configs, DeviceSpace& space,
                                     bundle::AccelCode& code, const Dump& dump) {
  StreamStatistics statistics;
  code.config = configs.first();
  code.others = configs.others();
  code.space = space.index;
  for (LaunchStream& launch : launches) {
    Stream& stream = launch.stream;
    const isa::HardwareConfig& config = configs[launch.accelerator];
    const isa::Codec codec(config);
    if (dump) dump("symbolic", symbolic_text(stream, config));
    start_early(stream, config);
    const std::uint64_t uop_address = space.next;
    const auto [uops, uop_statistics] =
        place_uops(stream, config, uop_address / static_cast<std::uint64_t>(config.uop_bytes()));
    if (dump) dump("micro-ops", text_of(stream, config));
    order_loads(stream, config);
    if (dump) dump("order", text_of(stream, config));
    statistics += {uop_statistics, uops.size(), insert_tokens(stream, config)};
    ++statistics.launches;
    statistics.groups += launch.together ? 0 : 1;
    statistics.accelerators = std::max(statistics.accelerators, launch.accelerator + 1);
    const int last = stream.instructions.empty() ? 0 : stream.instructions.back().node;
    stream.instructions.push_back({{{}, isa::Finish{}}, -1, last});
    space.allocate(uops.size() * static_cast<std::size_t>(config.uop_bytes()));
    std::vector<std::byte> uop_bytes;
    for (const isa::Uop& uop : uops) DOVETAIL_TRY(codec.encode(uop, uop_bytes));
    if (!uop_bytes.empty()) code.segments.push_back({"micro-ops", uop_address, std::move(uop_bytes)});
    code.uops += uops.size();
    code.launches.push_back({code.program.size(), stream.instructions.size(), launch.accelerator, launch.together});
    for (const StreamInstruction& item : stream.instructions) code.program.push_back(item.instruction);
  }

  const std::size_t program_size = code.program.size() * static_cast<std::size_t>(code.config.instruction_bytes());
  code.program_base = space.allocate(program_size);
  // Engines that fetch place a copy of the program after the image (simulator::program_place).
  space.kept_free = std::max(space.kept_free, (program_size + kPage - 1) / kPage * kPage);
  const std::uint64_t needed = space.next + space.kept_free;
  if (const std::uint64_t end = end_of_memory(code.config); needed > end)
    return Diagnostic{fmt::format("cannot plan the memory of {}", name), name,
                      fmt::format("it needs {} KiB, and instructions reach {} KiB with {} address bits", needed / 1024,
                                  end / 1024, code.config.address_bits),
                      "raise `address_bits`, or run a part of the model on another target"};
  DOVETAIL_ASSIGN(std::vector<std::byte> program, isa::encode_program(configs, code.program, code.launches));
  code.segments.push_back({"program", code.program_base, std::move(program)});
  return statistics;
}

std::string stream_text(const bundle::AccelCode& code) {
  if (code.others.empty()) return isa::format_assembly(code.config, code.program);
  const isa::AcceleratorConfigs configs = code.configs();
  std::string text;
  for (const isa::Launch& launch : code.launches)
    text += fmt::format(
        "# accelerator {}\n{}", launch.accelerator,
        isa::format_assembly(configs[launch.accelerator], std::span(code.program).subspan(launch.begin, launch.count)));
  return text;
}

std::string findings_of(const bundle::AccelCode& code, const DeviceSpace& space) {
  bundle::MemorySpace memory;
  memory.base = space.base;
  memory.bytes = space.next - space.base;
  // The verifier reads only micro-ops of the image. The rest is not accessed, so that the system need not allocate
  // pages for it.
  const auto image = map_zeros(static_cast<std::size_t>(memory.bytes));
  for (const bundle::Segment& segment : code.segments)
    if (holds_micro_ops(code, segment))
      std::ranges::copy(segment.bytes.bytes(), image.get() + (segment.address - memory.base));
  isa::VerifyOptions options;
  options.launches = code.launches;
  options.dram = isa::DramImage{memory.base, {image.get(), static_cast<std::size_t>(memory.bytes)}};
  options.program_base = code.program_base;
  std::string text;
  const auto verify = [&] {
    const isa::VerifyReport report = isa::verify(code.configs(), code.program, options);
    if (report.clean()) return;
    text += fmt::format("{} findings at OFFSET {}:\n", report.findings.size() + report.suppressed, options.offset);
    for (const isa::Finding& finding : report.findings) text += to_string(finding.diagnostic) + '\n';
  };
  verify();
  if (code.offset && code.offset->most > 0) {
    options.offset = static_cast<std::uint64_t>(code.offset->most) * code.offset->bytes;
    verify();
  }
  return text;
}

}  // namespace dovetail::accel
