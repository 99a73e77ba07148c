// Bytes -> Bundle. The bytes may come from anywhere: every offset, size and count is checked against what is really
// there before it is used, and nothing is allocated that the file does not hold.
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/file.h"
#include "base/little_endian.h"
#include "bundle/bundle.h"
#include "bundle/format.h"
#include "bundle/manifest_reader.h"
#include "isa/codec.h"
#include "loops/parse.h"

namespace dovetail::bundle {

namespace {

constexpr std::uint64_t kAnyNatural = std::numeric_limits<std::uint64_t>::max();
// Far above any model, and small enough that products with an element size stay in range.
constexpr std::size_t kMostUses = 64;  // of a blob, on average
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

Diagnostic broken(std::string_view where, std::string why) {
  return {"cannot read bundle", std::string(where), std::move(why), "make it again with `dovetail compile`"};
}

// The manifest's text; checks everything in front of it.
Result<std::string_view> manifest_text(std::span<const std::byte> bytes, std::string_view where) {
  if (bytes.size() < format::kHeaderBytes)
    return broken(where, fmt::format("{} bytes are fewer than the header's {}", bytes.size(), format::kHeaderBytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(format::kMagic))
    return Diagnostic{"cannot read bundle", std::string(where), "it does not begin with \"DOVETAIL\"",
                      "is it a bundle, as `dovetail compile -o` writes it?"};
  const auto version = load_little_endian<std::uint32_t>(bytes, format::kVersionOffset);
  if (version != format::kVersion)
    return broken(where, fmt::format("format version {}; this build reads version {}", version, format::kVersion));
  const auto manifest_bytes = load_little_endian<std::uint64_t>(bytes, format::kManifestSizeOffset);
  if (manifest_bytes > bytes.size() - format::kHeaderBytes)
    return broken(where, fmt::format("the manifest needs {} bytes, {} are left: the file is truncated", manifest_bytes,
                                     bytes.size() - format::kHeaderBytes));
  const auto expected = load_little_endian<std::uint32_t>(bytes, format::kChecksumOffset);
  if (const auto actual = format::checksum(bytes); actual != expected)
    return broken(where,
                  fmt::format("checksum {:08x}, expected {:08x}: the file is damaged or truncated", actual, expected));
  return text.substr(format::kHeaderBytes, manifest_bytes);
}

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  Result<Bundle> read() {
    DOVETAIL_ASSIGN(const std::string_view text, manifest_text(bytes_, where_));
    DOVETAIL_ASSIGN(const Json json, parse_json(text, fmt::format("{}, manifest", where_)));
    const ManifestValue manifest(json, where_, errors_);
    read_blobs(manifest.at("blobs"), format::kHeaderBytes + text.size());
    Bundle bundle;
    if (errors_.empty()) bundle = read_program(manifest);
    if (const auto others = manifest.find("other_shapes"); others && errors_.empty())
      for (const ManifestValue& other : others->items())
        if (errors_.empty()) bundle.other_shapes.push_back(read_program(other));
    if (!errors_.empty()) return errors_;
    if (auto verified = verify(bundle); !verified.ok()) {
      Diagnostics problems = verified.errors();
      for (Diagnostic& problem : problems) problem.where = fmt::format("{}, {}", where_, problem.where);
      return problems;
    }
    return bundle;
  }

 private:
  Bundle read_program(const ManifestValue& manifest) {
    Bundle bundle;
    bundle.name = manifest.at("name").text();
    bundle.report = manifest.at("report").json();
    for (const ManifestValue& tensor : manifest.at("tensors").items()) bundle.tensors.push_back(read_tensor(tensor));
    bundle.inputs = read_indices(manifest.at("inputs"));
    bundle.outputs = read_indices(manifest.at("outputs"));
    bundle.memory_bytes = manifest.at("memory_bytes").natural(kMaxTensorBytes);
    for (const ManifestValue& step : manifest.at("steps").items()) {
      if (!errors_.empty()) break;
      read_step(step, bundle);
    }
    if (const auto cpu = manifest.find("cpu"); cpu && errors_.empty()) {
      const auto object = blob(cpu->at("object"));
      bundle.cpu = CpuLibrary{cpu->at("processor").text(), {object.begin(), object.end()}};
    }
    return bundle;
  }

  void read_blobs(const ManifestValue& sizes, std::size_t offset) {
    for (const ManifestValue& item : sizes.items()) {
      const std::size_t begin = format::aligned(offset);
      const std::size_t left = begin <= bytes_.size() ? bytes_.size() - begin : 0;
      const std::uint64_t size = item.natural(left);
      if (!errors_.empty()) return;
      if (begin > bytes_.size()) return item.fail("it begins behind the end of the file");
      blobs_.push_back(bytes_.subspan(begin, size));
      offset = begin + size;
    }
    if (errors_.empty() && offset != bytes_.size())
      sizes.fail(fmt::format("the blobs end at byte {}, the file at {}", offset, bytes_.size()));
  }

  std::span<const std::byte> blob(const ManifestValue& index) {
    if (blobs_.empty()) index.fail("the bundle has no blobs");
    const std::uint64_t i = blobs_.empty() ? 0 : index.natural(blobs_.size() - 1);
    if (!errors_.empty()) return {};
    // A blob may serve a few times (a program and its segment, weights of programs for several shapes). More would let
    // a small file demand a large memory.
    handed_out_ += blobs_[i].size();
    if (handed_out_ / kMostUses > bytes_.size()) index.fail("the blobs are referred to again and again");
    return blobs_[i];
  }

  Tensor read_tensor(const ManifestValue& item) {
    Tensor tensor;
    tensor.name = item.at("name").text();
    const std::string type = item.at("dtype").text();
    if (const auto dtype = dtype_from_name(type)) tensor.dtype = *dtype;
    else item.at("dtype").fail(fmt::format("unknown type \"{}\"", type));
    std::int64_t bytes = size_bytes(tensor.dtype);
    for (const ManifestValue& extent : item.at("shape").items()) {
      tensor.shape.push_back(extent.integer(0, kMaxTensorBytes));
      bytes = tensor.shape.back() > kMaxTensorBytes / std::max<std::int64_t>(bytes, 1) ? kMaxTensorBytes + 1
                                                                                       : bytes * tensor.shape.back();
      if (bytes > kMaxTensorBytes) item.at("shape").fail(fmt::format("more than {} bytes", kMaxTensorBytes));
      if (!errors_.empty()) return tensor;
    }
    if (const auto layout = item.find("layout")) {
      tensor.layout = layout->text();
      tensor.logical = item.at("logical").text();
    }
    if (const auto offset = item.find("offset")) tensor.offset = offset->natural(kMaxTensorBytes);
    if (const auto root = item.find("view_of")) tensor.view_of = read_index(*root);
    if (const auto constant = item.find("constant")) {
      const auto content = blob(*constant);
      if (static_cast<std::int64_t>(content.size()) != bytes)
        constant->fail(fmt::format("{} bytes, expected {} for {}{}", content.size(), bytes, name(tensor.dtype),
                                   to_string(tensor.shape)));
      if (tensor.dtype == DType::boolean)
        for (const std::byte value : content)
          if (value > std::byte{1}) constant->fail("a bool that is neither 0 nor 1");
      if (errors_.empty()) {
        Constant& known = constants_[{content.data(), tensor.dtype, tensor.shape}];
        if (!known) known = NdArray(tensor.dtype, tensor.shape, {content.begin(), content.end()});
        tensor.constant = known;
      }
    }
    return tensor;
  }

  static std::vector<TensorIndex> read_indices(const ManifestValue& list) {
    std::vector<TensorIndex> indices;
    for (const ManifestValue& item : list.items()) indices.push_back(read_index(item));
    return indices;
  }
  static TensorIndex read_index(const ManifestValue& item) {
    return static_cast<TensorIndex>(item.integer(0, std::numeric_limits<TensorIndex>::max()));
  }
  static std::vector<Binding> read_bindings(const ManifestValue& list) {
    std::vector<Binding> bindings;
    for (const ManifestValue& item : list.items())
      bindings.push_back({read_index(item.at("tensor")), item.at("address").natural(kAnyNatural)});
    return bindings;
  }

  void read_step(const ManifestValue& item, Bundle& bundle) {
    const std::string kind = item.at("kind").text();
    if (kind == "host") bundle.steps.emplace_back(read_host(item));
    else if (kind == "cpu") bundle.steps.emplace_back(read_cpu(item));
    else if (kind == "accel") bundle.steps.emplace_back(read_accel(item));
    else if (kind == "extern") bundle.steps.emplace_back(read_extern(item));
    else item.at("kind").fail(fmt::format("unknown kind of step \"{}\"", kind));
  }

  HostStep read_host(const ManifestValue& item) {
    HostStep step;
    step.name = item.at("name").text();
    step.origins = item.at("origins").texts();
    step.arguments = read_indices(item.at("arguments"));
    step.results = read_indices(item.at("results"));
    const auto content = blob(item.at("program"));
    if (!errors_.empty()) return step;
    auto program = loops::parse_program({reinterpret_cast<const char*>(content.data()), content.size()},
                                        fmt::format("{}, {}.program", where_, item.path()));
    if (program.ok()) step.program = *std::move(program);
    else errors_ = program.errors();
    return step;
  }

  CpuStep read_cpu(const ManifestValue& item) {
    CpuStep step;
    step.name = item.at("name").text();
    step.origins = item.at("origins").texts();
    step.symbol = item.at("symbol").text();
    step.arguments = read_indices(item.at("arguments"));
    step.results = read_indices(item.at("results"));
    step.shared_bytes = item.at("shared_bytes").natural(kMaxTensorBytes);
    step.local_bytes = item.at("local_bytes").natural(kMaxTensorBytes);
    step.operations = item.at("operations").natural(kAnyNatural);
    step.integer = item.at("integer").flag();
    step.code_bytes = item.at("code_bytes").natural(kMaxTensorBytes);
    step.failures = item.at("failures").texts();
    return step;
  }

  ExternStep read_extern(const ManifestValue& item) {
    ExternStep step;
    step.name = item.at("name").text();
    step.origins = item.at("origins").texts();
    step.device = item.at("device").text();
    step.arguments = read_indices(item.at("arguments"));
    step.results = read_indices(item.at("results"));
    const auto content = blob(item.at("payload"));
    step.payload.assign(content.begin(), content.end());
    return step;
  }

  AccelStep read_accel(const ManifestValue& item) {
    AccelStep step;
    step.name = item.at("name").text();
    auto config = isa::config_from_json(item.at("config").json(), fmt::format("{}, {}.config", where_, item.path()));
    if (errors_.empty() && !config.ok()) errors_ = config.errors();
    if (!errors_.empty()) return step;
    step.config = *std::move(config);
    step.memory = static_cast<std::int32_t>(item.at("memory").integer(0, std::numeric_limits<std::int32_t>::max()));
    step.dram_base = item.at("dram_base").natural(kAnyNatural);
    step.dram_bytes = item.at("dram_bytes").natural(kAnyNatural);
    for (const ManifestValue& segment : item.at("segments").items()) {
      const auto content = blob(segment.at("bytes"));
      step.segments.push_back(
          {segment.at("name").text(), segment.at("address").natural(kAnyNatural), {content.begin(), content.end()}});
    }
    step.program_base = item.at("program_base").natural(kAnyNatural);
    for (const ManifestValue& launch : item.at("launches").items())
      step.launches.push_back({launch.at("begin").natural(kAnyNatural), launch.at("count").natural(kAnyNatural)});
    step.inputs = read_bindings(item.at("inputs"));
    step.outputs = read_bindings(item.at("outputs"));
    for (const ManifestValue& range : item.at("ranges").items())
      step.ranges.push_back({range.at("begin").natural(kAnyNatural), range.at("end").natural(kAnyNatural),
                             range.at("name").text(), range.at("origins").texts()});
    step.uops = item.at("uops").natural(kAnyNatural);
    const auto content = blob(item.at("program"));
    if (!errors_.empty()) return step;
    auto program = isa::Codec(step.config).decode_program(content, fmt::format("{}, {}.program", where_, item.path()));
    if (program.ok()) step.program = *std::move(program);
    else errors_ = program.errors();
    return step;
  }

  std::span<const std::byte> bytes_;
  std::string_view where_;
  std::vector<std::span<const std::byte>> blobs_;
  std::size_t handed_out_ = 0;  // bytes
  std::map<std::tuple<const std::byte*, DType, Shape>, Constant>
      constants_;  // by blob: tensors that hold the same elements share them
  Diagnostics errors_;
};

}  // namespace

Result<Bundle> parse(std::span<const std::byte> bytes, std::string_view where) { return Reader(bytes, where).read(); }

Result<Bundle> read_bundle(const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, std::size_t{1} << 32));
  return parse(bytes, path.string());
}

}  // namespace dovetail::bundle
