#include "driver/soc_boot.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/temporary.h"
#include "driver/soc_system.h"
#include "simulator/rtl/find.h"
#include "simulator/soc/memory_map.h"

namespace dovetail::driver {

namespace fs = std::filesystem;
namespace soc = simulator::soc;

namespace {

// Takes "end N" and the end of its line, which soc_end() prints, from the end of the text. The program's last line may
// not have ended before. 0: the text does not end so.
int take_status(std::string& serial) {
  constexpr std::string_view kEnd = "end ";
  const std::string_view text = serial;
  const std::size_t begin = text.rfind(kEnd);
  if (begin == std::string_view::npos || !text.ends_with('\n')) return 0;
  const std::string_view number = text.substr(begin + kEnd.size(), text.size() - begin - kEnd.size() - 1);
  int status = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), status);
  if (error != std::errc() || end != number.data() + number.size()) return 0;
  serial.resize(begin);
  return status;
}

}  // namespace

Result<SocBoot> boot_soc(const isa::HardwareConfig& config, const simulator::MemorySpec& memory,
                         const SocProgram& program, const SocOptions& options) {
  const std::uint64_t window = std::uint64_t{1} << soc::window(soc::Target::memory).log2_bytes;
  const std::uint64_t most = std::min(window, std::uint64_t{1} << config.address_bits);
  if (options.memory_bytes.value_or(0) > most)
    return Diagnostic{
        "cannot run the system", "the accelerator's memory",
        fmt::format("{} bytes > {}, as many as the accelerator and the processor address", *options.memory_bytes, most),
        "make the memory smaller"};
  DOVETAIL_ASSIGN(const TemporaryPath temporary, make_temporary_folder("soc"));
  const fs::path design = options.design.empty() ? simulator::hardware_folder() : options.design;
  DOVETAIL_ASSIGN(const std::vector<std::byte> firmware,
                  build_program(program.source, {.sources = design / "soc" / "firmware",
                                                 .folder = options.keep.value_or(temporary.path())}));
  DOVETAIL_ASSIGN(const fs::path model, soc_model(config, options));
  SocBoot boot;
  boot.firmware_bytes = firmware.size();
  boot.memory_bytes = options.memory_bytes.value_or(std::min(kBootMemoryBytes, most));
  DOVETAIL_ASSIGN(
      SystemMeasured measured,
      run_system(
          firmware, model,
          {.config = config, .memory = memory, .memory_bytes = boot.memory_bytes, .serial_input = program.serial_input},
          options, program.source.string()));
  boot.cycles = measured.run.cycles;
  boot.waiting = measured.run.waiting;
  boot.serial = std::move(measured.run.serial);
  boot.status = take_status(boot.serial);
  boot.seconds = measured.seconds;
  return boot;
}

}  // namespace dovetail::driver
