#include "bundle/code/cuda.h"

#include <fmt/format.h>

#include "bundle/checked_json.h"
#include "bundle/code/text.h"

namespace dovetail::bundle {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostThreads = 1024;
constexpr std::uint64_t kMostSharedBytes = 227 << 10;  // of capability 9.0, the largest
constexpr std::array<std::uint64_t, 3> kMostBlocks{2147483647, 65535, 65535};

std::array<std::uint64_t, 3> three(const CheckedJson& json) {
  const std::vector<std::uint64_t> list = json.naturals();
  if (list.size() != 3) {
    json.fail(fmt::format("{} extents are given, but a launch has 3", list.size()));
    return {1, 1, 1};
  }
  return {list[0], list[1], list[2]};
}

// Checks the driver's rules, so that a bundle that violates one is rejected before anything runs.
std::vector<std::string> check_map(const CudaLaunch& launch, const CudaTensorMap& map) {
  constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 32, kMostBox = 256, kMostStride = std::uint64_t{1} << 40,
                          kAlignment = 16;
  std::vector<std::string> problems;
  const auto add = [&](const std::string& problem) {
    problems.push_back(fmt::format("kernel {} copies tiles of a tensor {}", launch.symbol, problem));
  };
  const std::uint64_t bytes = map.element_bytes, rank = map.extents.size();
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) add(fmt::format("whose elements have {} bytes", bytes));
  if (rank == 0 || rank > 5 || map.box.size() != rank) {
    add(fmt::format("of {} dimensions with a tile of {}; at most 5 are possible", rank, map.box.size()));
    return problems;
  }
  std::uint64_t stride = bytes;
  for (std::size_t d = rank; d-- > 0;) {
    if (map.extents[d] == 0 || map.extents[d] > kMostExtent || map.box[d] == 0 || map.box[d] > kMostBox) {
      add(fmt::format("of extent {} with a tile of {} in dimension {}", map.extents[d], map.box[d], d));
      return problems;
    }
    stride *= map.extents[d];
    if (d > 0 && (stride % kAlignment != 0 || stride >= kMostStride)) {
      add(fmt::format("whose rows in dimension {} are {} bytes apart, which must be a multiple of {} below 2^40", d - 1,
                      stride, kAlignment));
      return problems;
    }
  }
  const std::uint64_t line = map.box.back() * bytes, swizzle = map.swizzle_bytes;
  if (line % kAlignment != 0) add(fmt::format("in rows of {} bytes, which are not supported", line));
  if (swizzle != 0 && ((swizzle != 128 && swizzle != 64 && swizzle != 32) || line > swizzle))
    add(fmt::format("in rows of {} bytes, which do not match the swizzle of {}", line, swizzle));
  return problems;
}

std::vector<std::string> check_launch(const Step& step, const CudaKernels& code, const CudaLaunch& launch) {
  std::vector<std::string> problems;
  if (launch.symbol.empty()) problems.emplace_back("a launch names no kernel");
  std::uint64_t threads = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.grid[i] > kMostBlocks[i])
      problems.push_back(fmt::format("kernel {} has {} blocks in dimension {}, but at most {} are possible",
                                     launch.symbol, launch.grid[i], i, kMostBlocks[i]));
    if (launch.block[i] == 0 || launch.block[i] > kMostThreads) threads = kMostThreads + 1;
    else threads *= launch.block[i];
  }
  if (threads > kMostThreads)
    problems.push_back(fmt::format("kernel {} has {} x {} x {} threads in a block, but at most {} are possible",
                                   launch.symbol, launch.block[0], launch.block[1], launch.block[2], kMostThreads));
  if (launch.shared_bytes > kMostSharedBytes)
    problems.push_back(fmt::format("kernel {} needs {} bytes of shared memory, but a block has at most {}",
                                   launch.symbol, launch.shared_bytes, kMostSharedBytes));
  const std::uint64_t tensors = step.arguments.size() + step.results.size();
  std::vector<CudaOperand> operands = launch.operands;
  for (const CudaTensorMap& map : launch.tensor_maps) {
    operands.push_back(map.operand);
    for (std::string& problem : check_map(launch, map)) problems.push_back(std::move(problem));
  }
  for (const CudaOperand& operand : operands) {
    if (!operand.workspace && operand.index >= tensors)
      problems.push_back(
          fmt::format("kernel {} uses tensor {}, but the step has only {}", launch.symbol, operand.index, tensors));
    if (operand.workspace && operand.offset > code.workspace_bytes)
      problems.push_back(fmt::format("kernel {} uses byte {} of a workspace of {} bytes", launch.symbol, operand.offset,
                                     code.workspace_bytes));
  }
  return problems;
}

}  // namespace

namespace {

Json to_json(const CudaOperand& operand) {
  return operand.workspace ? Json{{"workspace", operand.offset}} : Json{{"tensor", operand.index}};
}
CudaOperand operand_of(const CheckedJson& json) {
  if (const auto offset = json.find("workspace")) return {true, 0, offset->natural(kMostBytes)};
  return {false, json.at("tensor").natural(), 0};
}

Json to_json(const CudaKernels& kernels, Step& step) {
  Json images = Json::array(), launches = Json::array();
  for (const CudaImage& image : kernels.images) {
    images.push_back({{"architecture", image.architecture}, {"ptx", image.ptx}, {"data", step.data.size()}});
    step.data.push_back(image.bytes);
  }
  for (const CudaLaunch& launch : kernels.launches) {
    Json operands = Json::array(), maps = Json::array();
    for (const CudaOperand& operand : launch.operands) operands.push_back(to_json(operand));
    for (const CudaTensorMap& map : launch.tensor_maps)
      maps.push_back({{"operand", to_json(map.operand)},
                      {"element_bytes", map.element_bytes},
                      {"extents", map.extents},
                      {"box", map.box},
                      {"swizzle_bytes", map.swizzle_bytes}});
    launches.push_back({{"symbol", launch.symbol},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"operands", operands},
                        {"reports", launch.reports},
                        {"shared_bytes", launch.shared_bytes}});
    if (!maps.empty()) launches.back()["tensor_maps"] = maps;
  }
  return {{"launches", launches},
          {"images", images},
          {"workspace_bytes", kernels.workspace_bytes},
          {"failures", kernels.failures}};
}

CudaKernels kernels_of(const CheckedJson& json, const Step& step, const Diagnostics& errors) {
  CudaKernels kernels;
  for (const CheckedJson& image : json.at("images").items()) {
    if (step.data.empty()) image.fail("the step has no data");
    const std::uint64_t index = step.data.empty() ? 0 : image.at("data").natural(step.data.size() - 1);
    kernels.images.push_back(
        {image.at("architecture").text(), image.at("ptx").flag(), errors.empty() ? step.data[index] : Blob()});
  }
  for (const CheckedJson& launch : json.at("launches").items()) {
    CudaLaunch next{launch.at("symbol").text(),
                    three(launch.at("grid")),
                    three(launch.at("block")),
                    {},
                    launch.at("reports").flag()};
    if (const auto shared = launch.find("shared_bytes"))  // missing in bundles of older kits
      next.shared_bytes = shared->natural(kMostBytes);
    for (const CheckedJson& operand : launch.at("operands").items()) next.operands.push_back(operand_of(operand));
    if (const auto maps = launch.find("tensor_maps"))
      for (const CheckedJson& map : maps->items())
        next.tensor_maps.push_back({operand_of(map.at("operand")), map.at("element_bytes").natural(),
                                    map.at("extents").naturals(), map.at("box").naturals(),
                                    map.at("swizzle_bytes").natural()});
    kernels.launches.push_back(std::move(next));
  }
  kernels.workspace_bytes = json.at("workspace_bytes").natural(kMostBytes);
  kernels.failures = json.at("failures").texts();
  return kernels;
}

}  // namespace

void encode(const CudaCode& code, Step& step) {
  step.target = kCudaTarget;
  step.data.clear();
  Json kernels = Json::array();
  for (const CudaKernels& one : code.kernels) kernels.push_back(to_json(one, step));
  step.code = json_bytes({{"kernels", kernels},
                          {"operations", code.operations},
                          {"steps", code.steps},
                          {"integer", code.integer},
                          {"rounds_freely", code.rounds_freely}});
}

Result<CudaCode> decode_cuda(const Step& step) {
  const std::string place = code_place(step);
  DOVETAIL_ASSIGN(const Json json, parse_json(code_text(step), place));
  Diagnostics errors;
  const CheckedJson head(json, {place, "head"}, errors);
  CudaCode code;
  if (const auto kernels = head.find("kernels"))
    for (const CheckedJson& one : kernels->items()) code.kernels.push_back(kernels_of(one, step, errors));
  else code.kernels.push_back(kernels_of(head, step, errors));  // format of older kits
  code.operations = head.at("operations").natural();
  const auto steps = head.find("steps");  // missing in bundles of older kits
  code.steps = steps ? steps->natural() : code.operations;
  code.integer = head.at("integer").flag();
  const auto rounds_freely = head.find("rounds_freely");  // likewise
  code.rounds_freely = !rounds_freely || rounds_freely->flag();
  if (!errors.empty()) return errors;
  return code;
}

Result<std::vector<CodedStep<CudaCode>>> cuda_steps(const Bundle& bundle) {
  return decode_steps(bundle, kCudaTarget, decode_cuda, [](const Step& step, const CudaCode& code) {
    std::vector<std::string> problems;
    if (code.kernels.empty()) problems.emplace_back("it contains code for no architecture");
    for (const CudaKernels& kernels : code.kernels) {
      if (kernels.images.empty() && !kernels.launches.empty())
        problems.emplace_back("it launches kernels, but contains code for no architecture");
      for (const CudaLaunch& launch : kernels.launches)
        for (std::string& problem : check_launch(step, kernels, launch)) problems.push_back(std::move(problem));
    }
    return problems;
  });
}

constinit const TargetFacts kCudaFacts{
    .name = kCudaTarget,
    .device = TargetDevice::gpu,
    .has_clock = false,
    .takes_leftovers = false,
    .floats_only = false,
    .rounds_freely = [](const Step& step) { return decode_cuda(step).value().rounds_freely; },
    .operations = [](const Step& step) { return decode_cuda(step).value().operations; },
    .describe = describe_by_size};

}  // namespace dovetail::bundle
