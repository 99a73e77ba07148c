#include "compiler/target/cuda/gpu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace dovetail::cuda {

namespace {

std::int64_t shared_bytes_of(const std::vector<std::string>& architectures) {
  std::int64_t least = most_shared_bytes(architectures.front());
  for (const std::string& name : architectures) least = std::min(least, most_shared_bytes(name));
  return least;
}

// Kernels for several architectures are scheduled for the device of the first one.
std::int64_t processors_of(const Gpu& gpu) {
  const std::string& first = gpu.architectures.front();
  const auto known = gpu.known_processors.find(first);
  return known != gpu.known_processors.end() ? known->second : usual_processors(first);
}

constexpr std::string_view kGroupProducts = "sm_90a";
constexpr std::int64_t kMostProcessors = 1024;

// A suffix letter selects instructions of this architecture (a) or of its family (f) only.
bool has_letter(std::string_view word) { return !word.empty() && (word.back() == 'a' || word.back() == 'f'); }

bool is_architecture(std::string_view word) {
  if (!word.starts_with("sm_")) return false;
  word.remove_prefix(3);
  if (has_letter(word)) word.remove_suffix(1);
  return word.size() >= 2 && word.size() <= 3 && word.front() != '0' &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

// NVIDIA's CUDA C++ Programming Guide, "Feature availability": why an architecture has no such suffix; empty: it has.
std::string lacks_letter(std::string_view word) {
  constexpr int kFirstOwn = 90, kFirstFamily = 100;
  const int number = architecture_number(word);
  if (word.back() == 'a' && number < kFirstOwn)
    return fmt::format("sm_{} has no architecture-specific instructions; the first that has is sm_{}a", number,
                       kFirstOwn);
  if (word.back() == 'f' && number < kFirstFamily)
    return fmt::format("sm_{} belongs to no family; the first that does is sm_{}f", number, kFirstFamily);
  return "";
}

}  // namespace

int architecture_number(std::string_view architecture) {
  int number = 0;
  std::from_chars(architecture.data() + std::min<std::size_t>(3, architecture.size()),
                  architecture.data() + architecture.size(), number);
  return number;
}

Result<Gpu> parse_gpu(std::string_view option, std::string_view text) {
  Gpu gpu;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string word(text.substr(begin, end - begin));
    const auto bad = [&](std::string why) {
      return Diagnostic{fmt::format("invalid value for {}", option), std::string(text), std::move(why),
                        fmt::format("list architectures by name, as in {}", kDefaultArchitectures)};
    };
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
      std::int64_t count = 0;
      const char* const last = word.data() + word.size();
      const auto read = std::from_chars(word.data() + colon + 1, last, count);
      if (read.ec != std::errc() || read.ptr != last || count < 1 || count > kMostProcessors)
        return bad(
            fmt::format("\"{}\" must be a number of processors from 1 to {}", word.substr(colon + 1), kMostProcessors));
      word.resize(colon);
      gpu.known_processors[word] = count;
    }
    if (!is_architecture(word)) return bad(fmt::format("\"{}\" is not the name of an architecture", word));
    if (std::string why = lacks_letter(word); !why.empty()) return bad(std::move(why));
    if (std::ranges::find(gpu.architectures, word) != gpu.architectures.end())
      return bad(fmt::format("{} is listed twice", word));
    gpu.architectures.push_back(std::move(word));
    begin = end + 1;
  }
  gpu.shared_bytes = shared_bytes_of(gpu.architectures);
  gpu.processors = processors_of(gpu);
  return gpu;
}

std::string list_of(const Gpu& gpu) {
  std::string list;
  for (const std::string& name : gpu.architectures) {
    const auto known = gpu.known_processors.find(name);
    list += (list.empty() ? "" : ",") + name;
    if (known != gpu.known_processors.end()) list += fmt::format(":{}", known->second);
  }
  return list;
}

std::int64_t usual_processors(std::string_view architecture) {
  // NVIDIA's data sheets and architecture white papers: V100, T4, A100, A10, Orin, L40S, H100 SXM, B200, B300, RTX PRO
  // 6000, GB10.
  struct Row {
    int capability;
    std::int64_t processors;
  };
  constexpr std::array<Row, 11> kRows{{{70, 80},
                                       {75, 40},
                                       {80, 108},
                                       {86, 72},
                                       {87, 16},
                                       {89, 142},
                                       {90, 132},
                                       {100, 148},
                                       {103, 160},
                                       {120, 188},
                                       {121, 48}}};
  // Other architectures use the previous row.
  std::int64_t processors = kRows.front().processors;
  for (const Row& row : kRows)
    if (row.capability <= architecture_number(architecture)) processors = row.processors;
  return processors;
}

Gpu made_for_device(Gpu gpu, int capability, std::int64_t processors) {
  if (processors < 1) return gpu;
  for (const std::string& name : variant_for(gpu, capability).architectures)
    gpu.known_processors.emplace(name, std::min(processors, kMostProcessors));
  gpu.processors = processors_of(gpu);
  return gpu;
}

std::vector<Gpu> variants_of(const Gpu& gpu) {
  std::vector<Gpu> variants;
  for (const bool groups : {false, true}) {
    Gpu variant = gpu;
    std::erase_if(variant.architectures, [&](const std::string& name) { return (name == kGroupProducts) != groups; });
    if (variant.architectures.empty()) continue;
    variant.shared_bytes = shared_bytes_of(variant.architectures);
    variant.processors = processors_of(variant);
    variants.push_back(std::move(variant));
  }
  return variants;
}

Gpu variant_for(const Gpu& gpu, int capability) {
  const std::vector<Gpu> variants = variants_of(gpu);
  for (const Gpu& variant : variants)
    if (has_group_products(variant) == (capability == architecture_number(kGroupProducts))) return variant;
  return variants.empty() ? gpu : variants.front();
}

std::int64_t most_shared_bytes(std::string_view architecture) {
  // CUDA C++ Programming Guide, technical specifications per compute capability: shared memory per block, in KiB.
  struct Row {
    int capability;
    std::int64_t kib;
  };
  constexpr std::array<Row, 12> kRows{{{70, 96},
                                       {72, 96},
                                       {75, 64},
                                       {80, 163},
                                       {86, 99},
                                       {87, 163},
                                       {89, 99},
                                       {90, 227},
                                       {100, 227},
                                       {103, 227},
                                       {120, 99},
                                       {121, 99}}};
  const int number = architecture_number(architecture);
  const bool alone = !architecture.empty() && std::isalpha(static_cast<unsigned char>(architecture.back())) != 0;
  std::optional<std::int64_t> most;
  for (const Row& row : kRows)
    if (row.capability == number || (!alone && row.capability > number))
      most = std::min(most.value_or(row.kib << 10), row.kib << 10);
  return number < kRows.front().capability ? kStaticSharedBytes : most.value_or(kStaticSharedBytes);
}

bool has_tensor_cores(const Gpu& gpu) {
  constexpr int kTensorCores = 80;
  return std::ranges::all_of(gpu.architectures,
                             [](const std::string& name) { return architecture_number(name) >= kTensorCores; });
}

bool has_box_copies(const Gpu& gpu) {
  constexpr int kBoxCopies = 90;
  return std::ranges::all_of(gpu.architectures,
                             [](const std::string& name) { return architecture_number(name) >= kBoxCopies; });
}

bool has_group_products(const Gpu& gpu) {
  return std::ranges::all_of(gpu.architectures, [](const std::string& name) { return name == kGroupProducts; });
}

}  // namespace dovetail::cuda
