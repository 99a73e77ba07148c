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
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::string processor_model() {
  TextFile file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    TextStream words(line.substr(line.find(':') + 1));  // some are padded with spaces
    std::string model;
    for (std::string word; words >> word;) model += (model.empty() ? "" : " ") + word;
    if (!model.empty()) return model;
  }
  return "unknown processor";
}

}  // namespace dovetail
