// Bundle -> bytes (bundle/format.h). Equal bundles give equal bytes. A program and the segment that holds it share one
// blob.
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "bundle/bundle.h"
#include "bundle/format.h"
#include "isa/codec.h"
#include "loops/print.h"

namespace dovetail::bundle {

namespace {

// Refers to bytes of the bundle, which outlives it, and keeps those that exist nowhere else.
class BlobWriter {
 public:
  // Equal bytes are written once: programs for several shapes have their weights in common.
  std::size_t add(std::span<const std::byte> bytes) {
    const auto [same, end] = by_hash_.equal_range(
        std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    for (auto it = same; it != end; ++it)
      if (std::ranges::equal(blobs_[it->second], bytes)) return it->second;
    by_hash_.emplace_hint(
        end, std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), blobs_.size());
    blobs_.push_back(bytes);
    return blobs_.size() - 1;
  }
  std::size_t keep(std::vector<std::byte> bytes) {
    kept_.push_back(std::move(bytes));
    return add(kept_.back());
  }

  Json sizes() const {
    Json list = Json::array();
    for (const auto blob : blobs_) list.push_back(blob.size());
    return list;
  }
  void append_to(std::vector<std::byte>& file) const {
    for (const auto blob : blobs_) {
      file.resize(format::aligned(file.size()));
      file.insert(file.end(), blob.begin(), blob.end());
    }
  }

 private:
  std::vector<std::span<const std::byte>> blobs_;
  std::deque<std::vector<std::byte>> kept_;  // a deque, so that the spans stay valid
  std::multimap<std::size_t, std::size_t> by_hash_;
};

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

Json to_json(const Tensor& tensor, BlobWriter& blobs) {
  Json json{{"name", tensor.name}, {"dtype", name(tensor.dtype)}, {"shape", tensor.shape}};
  if (!tensor.layout.empty()) json.update({{"layout", tensor.layout}, {"logical", tensor.logical}});
  if (tensor.offset) json["offset"] = *tensor.offset;
  if (tensor.view_of) json["view_of"] = *tensor.view_of;
  if (tensor.constant) json["constant"] = blobs.add(tensor.constant->bytes());
  return json;
}

Json to_json(const std::vector<Binding>& bindings) {
  Json list = Json::array();
  for (const Binding& binding : bindings) list.push_back({{"tensor", binding.tensor}, {"address", binding.address}});
  return list;
}

Json to_json(const HostStep& step, BlobWriter& blobs) {
  return {{"kind", "host"},
          {"name", step.name},
          {"origins", step.origins},
          {"program", blobs.keep(to_bytes(loops::to_string(step.program)))},
          {"arguments", step.arguments},
          {"results", step.results}};
}

Json to_json(const CpuStep& step, BlobWriter&) {
  return {{"kind", "cpu"},
          {"name", step.name},
          {"origins", step.origins},
          {"symbol", step.symbol},
          {"arguments", step.arguments},
          {"results", step.results},
          {"shared_bytes", step.shared_bytes},
          {"local_bytes", step.local_bytes},
          {"operations", step.operations},
          {"integer", step.integer},
          {"code_bytes", step.code_bytes},
          {"failures", step.failures}};
}

Json to_json(const AccelStep& step, BlobWriter& blobs) {
  auto program = isa::Codec(step.config).encode_program(step.program);
  DOVETAIL_CHECK(program.ok(), "a bundle that does not verify was serialised: " + to_string(program.errors()));
  std::optional<std::size_t> program_blob;
  Json segments = Json::array(), launches = Json::array(), ranges = Json::array();
  for (const Segment& segment : step.segments) {
    const std::size_t blob = blobs.add(segment.bytes);
    if (segment.bytes == *program) program_blob = blob;
    segments.push_back({{"name", segment.name}, {"address", segment.address}, {"bytes", blob}});
  }
  if (!program_blob) program_blob = blobs.keep(*std::move(program));
  for (const isa::Launch& launch : step.launches)
    launches.push_back({{"begin", launch.begin}, {"count", launch.count}});
  for (const InstructionRange& range : step.ranges)
    ranges.push_back({{"begin", range.begin}, {"end", range.end}, {"name", range.name}, {"origins", range.origins}});
  return {{"kind", "accel"},
          {"name", step.name},
          {"config", isa::config_to_json(step.config)},
          {"memory", step.memory},
          {"dram_base", step.dram_base},
          {"dram_bytes", step.dram_bytes},
          {"segments", segments},
          {"program_base", step.program_base},
          {"program", *program_blob},
          {"launches", launches},
          {"inputs", to_json(step.inputs)},
          {"outputs", to_json(step.outputs)},
          {"ranges", ranges},
          {"uops", step.uops}};
}

Json to_json(const ExternStep& step, BlobWriter& blobs) {
  return {{"kind", "extern"},
          {"name", step.name},
          {"origins", step.origins},
          {"device", step.device},
          {"payload", blobs.add(step.payload)},
          {"arguments", step.arguments},
          {"results", step.results}};
}

Json to_json(const Bundle& bundle, BlobWriter& blobs) {
  Json tensors = Json::array(), steps = Json::array();
  for (const Tensor& tensor : bundle.tensors) tensors.push_back(to_json(tensor, blobs));
  for (const Step& step : bundle.steps)
    steps.push_back(std::visit([&](const auto& body) { return to_json(body, blobs); }, step));
  Json manifest{{"name", bundle.name},       {"tensors", tensors}, {"inputs", bundle.inputs},
                {"outputs", bundle.outputs}, {"steps", steps},     {"memory_bytes", bundle.memory_bytes},
                {"report", bundle.report}};
  if (bundle.cpu) manifest["cpu"] = {{"processor", bundle.cpu->processor}, {"object", blobs.add(bundle.cpu->object)}};
  Json others = Json::array();
  for (const Bundle& other : bundle.other_shapes) others.push_back(to_json(other, blobs));
  if (!others.empty()) manifest["other_shapes"] = others;
  return manifest;
}

}  // namespace

std::vector<std::byte> serialize(const Bundle& bundle) {
  BlobWriter blobs;
  Json manifest = to_json(bundle, blobs);
  manifest["blobs"] = blobs.sizes();
  // Names come from models and need not be UTF-8; JSON must be.
  const std::string text = manifest.dump(-1, ' ', false, Json::error_handler_t::replace);

  std::vector<std::byte> file = to_bytes(format::kMagic);
  append_little_endian(file, format::kVersion);
  append_little_endian(file, std::uint32_t{0});  // the checksum, when all else is written
  append_little_endian(file, std::uint64_t{text.size()});
  file.resize(format::kHeaderBytes + text.size());
  std::memcpy(file.data() + format::kHeaderBytes, text.data(), text.size());
  blobs.append_to(file);

  std::vector<std::byte> checksum;
  append_little_endian(checksum, format::checksum(file));
  std::copy(checksum.begin(), checksum.end(), file.begin() + format::kChecksumOffset);
  return file;
}

Result<void> write_bundle(const std::filesystem::path& path, const Bundle& bundle) {
  DOVETAIL_TRY(verify(bundle));
  return write_file(path, serialize(bundle));
}

}  // namespace dovetail::bundle
