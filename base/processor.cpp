#include "base/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "base/text_stream.h"
#include "base/user_folder.h"

namespace dovetail {

namespace {

// Groups of instructions that always occur together, as far as the classes distinguish them.
enum Feature : std::uint16_t {
  kSse42 = 1 << 0,
  kAvx2 = 1 << 1,     // AVX2, FMA, BMI2
  kAvxVnni = 1 << 2,  // dot products of bytes on 256-bit vectors, encoded by VEX
  kAvx512 = 1 << 3,   // F, BW, CD, DQ, VL
  kAvx512Vnni = 1 << 4,
  kAmx = 1 << 5,  // tile registers, products of bytes
  kNeon = 1 << 6,
  kI8mm = 1 << 7,
  kRv64gc = 1 << 8,
  kRvv = 1 << 9,
};

struct Class {
  std::string_view name;
  std::uint16_t features;
};
// clang-format off
constexpr std::array<Class, 10> kClasses{{
    {"baseline",    kSse42},
    {"avx2",        kSse42 | kAvx2},
    {"avx2-vnni",   kSse42 | kAvx2 | kAvxVnni},
    {"avx512",      kSse42 | kAvx2 | kAvx512},
    {"avx512-vnni", kSse42 | kAvx2 | kAvx512 | kAvx512Vnni},
    {"avx512-amx",  kSse42 | kAvx2 | kAvx512 | kAvx512Vnni | kAmx},
    {"aarch64",      kNeon},
    {"aarch64-i8mm", kNeon | kI8mm},
    {"riscv64",      kRv64gc},
    {"riscv64-v",    kRv64gc | kRvv},
}};
// clang-format on
constexpr auto kNames = [] {
  std::array<std::string_view, kClasses.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kClasses[i].name;
  return names;
}();

const Class* find_class(std::string_view name) {
  const auto* const found = std::ranges::find(kClasses, name, &Class::name);
  return found == kClasses.end() ? nullptr : found;
}

#if defined(__x86_64__)
// Features that are newer than the compiler's own list: Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2A, CPUID.
enum class Register : std::uint8_t { eax, edx };
bool has_bit(unsigned subleaf, Register where, unsigned bit) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, subleaf, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (((where == Register::eax ? eax : edx) >> bit) & 1U) != 0;
}

// Linux saves tile registers only for processes that asked for them (arch/x86/include/uapi/asm/prctl.h); threads that
// are created later inherit the permission.
bool tiles_are_granted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

bool machine_has(Feature feature) {
  __builtin_cpu_init();
  switch (feature) {
    case kSse42: return __builtin_cpu_supports("sse4.2") != 0;
    case kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    case kAvxVnni: return has_bit(1, Register::eax, 4);
    case kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512cd");
    case kAvx512Vnni: return __builtin_cpu_supports("avx512vnni") != 0;
    case kAmx: return has_bit(0, Register::edx, 24) && has_bit(0, Register::edx, 25) && tiles_are_granted();
    default: return false;
  }
}
#elif defined(__aarch64__)
// Linux, arch/arm64/include/uapi/asm/hwcap.h.
bool machine_has(Feature feature) {
  constexpr unsigned long kHwcap2I8mm = 1UL << 13;
  return feature == kNeon || (feature == kI8mm && (getauxval(AT_HWCAP2) & kHwcap2I8mm) != 0);
}
#elif defined(__riscv) && __riscv_xlen == 64
// Linux, arch/riscv/include/uapi/asm/hwcap.h.
bool machine_has(Feature feature) {
  constexpr unsigned long kHwcapV = 1UL << ('V' - 'A');
  return feature == kRv64gc || (feature == kRvv && (getauxval(AT_HWCAP) & kHwcapV) != 0);
}
#else
bool machine_has(Feature) { return false; }
#endif

bool machine_runs(const Class& processor) {
  for (const Feature feature : {kSse42, kAvx2, kAvxVnni, kAvx512, kAvx512Vnni, kAmx, kNeon, kI8mm, kRv64gc, kRvv})
    if ((processor.features & feature) != 0 && !machine_has(feature)) return false;
  return true;
}

std::vector<std::string_view> classes_of_machine() {
  std::vector<std::string_view> names;
  for (const Class& each : kClasses)
    if (machine_runs(each)) names.push_back(each.name);
  return names;
}

std::string words_of(const std::string& text) {  // some values are padded with spaces
  TextStream words(text);
  std::string joined;
  for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

// Arm's cores by their part numbers: MIDR_EL1 in the cores' technical reference manuals.
std::string arm_core(const std::string& implementer, const std::string& part) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kParts{{
      {"0xd03", "Cortex-A53"},   {"0xd04", "Cortex-A35"},  {"0xd05", "Cortex-A55"},  {"0xd07", "Cortex-A57"},
      {"0xd08", "Cortex-A72"},   {"0xd09", "Cortex-A73"},  {"0xd0a", "Cortex-A75"},  {"0xd0b", "Cortex-A76"},
      {"0xd0c", "Neoverse-N1"},  {"0xd0d", "Cortex-A77"},  {"0xd40", "Neoverse-V1"}, {"0xd41", "Cortex-A78"},
      {"0xd42", "Cortex-A78AE"}, {"0xd44", "Cortex-X1"},   {"0xd46", "Cortex-A510"}, {"0xd47", "Cortex-A710"},
      {"0xd48", "Cortex-X2"},    {"0xd49", "Neoverse-N2"}, {"0xd4b", "Cortex-A78C"}, {"0xd4d", "Cortex-A715"},
      {"0xd4e", "Cortex-X3"},    {"0xd4f", "Neoverse-V2"}, {"0xd80", "Cortex-A520"}, {"0xd81", "Cortex-A720"},
  }};
  const auto* const known = std::ranges::find(kParts, part, &std::pair<std::string_view, std::string_view>::first);
  if (implementer == "0x41" && known != kParts.end()) return std::string(known->second);
  return fmt::format("Arm core {} {}", implementer, part);
}

}  // namespace

std::span<const std::string_view> processor_classes() { return kNames; }

std::string_view machine_class() {
  const std::vector<std::string_view> names = classes_of_machine();
  return names.empty() ? std::string_view() : names.back();
}

Result<std::optional<std::string_view>> processor_cap() {
  const auto given = environment(kProcessorVariable);
  if (!given) return std::optional<std::string_view>();
  const Class* const cap = find_class(*given);
  if (cap != nullptr && machine_runs(*cap)) return std::optional(cap->name);
  const std::vector<std::string_view> here = classes_of_machine();
  return Diagnostic{fmt::format("invalid value for {}", kProcessorVariable), *given,
                    cap == nullptr
                        ? "there is no processor class of this name"
                        : fmt::format("this machine is of class {}, which lacks the instructions of the given class",
                                      here.empty() ? "none" : here.back()),
                    here.empty() ? "unset the variable"
                                 : fmt::format("choose one of {}, or unset the variable", fmt::join(here, ", "))};
}

bool runs_here(std::string_view processor) {
  const Class* const asked = find_class(processor);
  const auto cap = processor_cap();
  if (asked == nullptr || !cap.ok()) return false;
  // Check the variable's limit first: a process limited to less never requests tile registers.
  return (!*cap || (asked->features & ~find_class(**cap)->features) == 0) && machine_runs(*asked);
}

std::string why_not_here(std::string_view processor) {
  const auto cap = processor_cap();
  if (find_class(processor) == nullptr) return fmt::format("there is no processor class \"{}\"", processor);
  if (!cap.ok()) return to_string(cap.errors());
  if (*cap) return fmt::format("{}={} limits this process to the class {}", kProcessorVariable, **cap, **cap);
  const std::string_view machine = machine_class();
  return machine.empty() ? "this machine is below every class that code is generated for"
                         : fmt::format("this machine is of class {}", machine);
}

std::string processor_model(const std::filesystem::path& cpuinfo) {
  TextFile file(cpuinfo);
  std::vector<std::string> cores;
  std::string implementer;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string key = words_of(line.substr(0, colon)), value = words_of(line.substr(colon + 1));
    if (value.empty()) continue;
    if (key == "model name" || key == "uarch") return value;  // uarch: RISC-V
    if (key == "CPU implementer") implementer = value;
    if (key != "CPU part") continue;
    std::string core = arm_core(implementer, value);
    if (std::ranges::find(cores, core) == cores.end()) cores.push_back(std::move(core));
  }
  return cores.empty() ? "unknown processor" : fmt::format("{}", fmt::join(cores, " and "));
}

std::string processor_clock(const std::filesystem::path& folder) {
  const auto first_word = [&](const char* name) {
    TextFile file(folder / name);
    std::string word;
    file >> word;
    return word;
  };
  const auto megahertz = [&](const char* name) {
    const std::string text = first_word(name);
    std::int64_t khz = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), khz);
    return error == std::errc() && end == text.data() + text.size() ? khz / 1000 : 0;
  };
  std::vector<std::string> facts;
  if (const auto base = megahertz("base_frequency"); base > 0) facts.push_back(fmt::format("base clock {} MHz", base));
  else if (const auto most = megahertz("cpuinfo_max_freq"); most > 0)
    facts.push_back(fmt::format("at most {} MHz", most));
  if (const std::string governor = first_word("scaling_governor"); !governor.empty())
    facts.push_back("governor " + printable(governor));
  return fmt::format("{}", fmt::join(facts, ", "));
}

}  // namespace dovetail
