// Bytes -> Bundle. The bytes may come from anywhere: every offset, size and count is checked against the actual data
// before it is used, and nothing is allocated that the file does not contain.
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/little_endian.h"
#include "bundle/bundle.h"
#include "bundle/checked_json.h"
#include "bundle/format.h"

namespace dovetail::bundle {

namespace {

constexpr std::size_t kMostUses = 64;  // uses of a blob, on average
// Far larger than any model, and small enough that products with an element size stay in range.
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

Diagnostic broken(std::string_view where, std::string why) {
  return {"cannot read bundle", std::string(where), std::move(why), "make the bundle again with `dovetail compile`"};
}

// The manifest's text; checks everything before it.
Result<std::string_view> manifest_text(std::span<const std::byte> bytes, std::string_view where) {
  if (bytes.size() < format::kHeaderBytes)
    return broken(where, fmt::format("{} bytes are fewer than the header's {}", bytes.size(), format::kHeaderBytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(format::kMagic))
    return Diagnostic{"cannot read bundle", std::string(where), "the file does not begin with \"DOVETAIL\"",
                      "check that it is a bundle written by `dovetail compile -o`"};
  const auto version = load_little_endian<std::uint32_t>(bytes, format::kVersionOffset);
  if (version < format::kOldestVersion || version > format::kVersion)
    return Diagnostic{
        "cannot read bundle", std::string(where),
        fmt::format("the bundle was made by {} version of the kit: its format is {}, but this build reads {}",
                    version < format::kVersion ? "an older" : "a newer", version, format::kVersion),
        "compile the model again with this version"};
  const auto manifest_bytes = load_little_endian<std::uint64_t>(bytes, format::kManifestSizeOffset);
  if (manifest_bytes > bytes.size() - format::kHeaderBytes)
    return broken(where, fmt::format("the manifest needs {} bytes, but only {} are left: the file is truncated",
                                     manifest_bytes, bytes.size() - format::kHeaderBytes));
  const auto expected = load_little_endian<std::uint32_t>(bytes, format::kChecksumOffset);
  if (const auto actual = format::checksum({bytes}); actual != expected)
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
    const CheckedJson manifest(json, {where_, "manifest"}, errors_);
    read_blobs(manifest.at("blobs"), format::kHeaderBytes + text.size());
    Bundle bundle;
    if (errors_.empty()) bundle = read_program(manifest, 0);
    if (const auto others = manifest.find("other_shapes"); others && errors_.empty())
      for (const CheckedJson& other : others->items())
        if (errors_.empty()) bundle.other_shapes.push_back(read_program(other, 0));
    if (!errors_.empty()) return errors_;
    if (auto verified = verify(bundle); !verified.ok()) {
      Diagnostics problems = verified.errors();
      for (Diagnostic& problem : problems) problem.where = fmt::format("{}, {}", where_, problem.where);
      return problems;
    }
    return bundle;
  }

 private:
  // `depth`: nesting of programs of steps.
  Bundle read_program(const CheckedJson& manifest, int depth) {
    Bundle bundle;
    bundle.name = manifest.at("name").text();
    bundle.report = manifest.at("report").json();
    bundle.spaces.clear();
    for (const CheckedJson& space : manifest.at("spaces").items())
      bundle.spaces.push_back({space.at("target").text(), space.at("name").text(), space.at("base").natural(),
                               space.at("bytes").natural(kMaxTensorBytes)});
    for (const CheckedJson& tensor : manifest.at("tensors").items()) bundle.tensors.push_back(read_tensor(tensor));
    bundle.inputs = read_indices(manifest.at("inputs"));
    bundle.outputs = read_indices(manifest.at("outputs"));
    if (const auto extents = manifest.find("extents"))
      for (const CheckedJson& row : extents->items())
        bundle.extents.push_back(
            {read_index(row.at("output")), row.at("axis").integer(0, kMaxTensorBytes), read_index(row.at("extent"))});
    if (const auto states = manifest.find("states"))
      for (const CheckedJson& row : states->items())
        bundle.states.push_back({read_index(row.at("input")), read_index(row.at("output"))});
    if (const auto residents = manifest.find("residents"))
      for (const CheckedJson& row : residents->items())
        bundle.residents.push_back({read_index(row.at("input")), read_index(row.at("output")),
                                    read_index(row.at("before")), read_index(row.at("after"))});
    for (const CheckedJson& step : manifest.at("steps").items())
      if (errors_.empty()) bundle.steps.push_back(read_step(step, depth));
    for (const CheckedJson& module : manifest.at("modules").items())
      bundle.modules.push_back(
          {module.at("target").text(), module.at("made_for").text(), read_bytes(module.at("code"))});
    return bundle;
  }

  void read_blobs(const CheckedJson& sizes, std::size_t offset) {
    for (const CheckedJson& item : sizes.items()) {
      const std::size_t begin = format::aligned(offset);
      const std::size_t left = begin <= bytes_.size() ? bytes_.size() - begin : 0;
      const std::uint64_t size = item.natural(left);
      if (!errors_.empty()) return;
      if (begin > bytes_.size()) return item.fail("the blob begins after the end of the file");
      blobs_.push_back(bytes_.subspan(begin, size));
      offset = begin + size;
    }
    if (errors_.empty() && offset != bytes_.size())
      sizes.fail(fmt::format("the blobs end at byte {}, but the file at {}", offset, bytes_.size()));
  }

  std::span<const std::byte> blob(const CheckedJson& index) {
    if (blobs_.empty()) index.fail("the bundle has no blobs");
    const std::uint64_t i = blobs_.empty() ? 0 : index.natural(blobs_.size() - 1);
    if (!errors_.empty()) return {};
    // A blob may be used a few times, for code that several steps share. More would let a small file require a large
    // memory.
    handed_out_ += blobs_[i].size();
    if (handed_out_ / kMostUses > bytes_.size()) index.fail("the references to the blobs exceed the limit");
    return blobs_[i];
  }

  Tensor read_tensor(const CheckedJson& item) {
    Tensor tensor;
    tensor.name = item.at("name").text();
    const std::string type = item.at("dtype").text();
    if (const auto dtype = dtype_from_name(type)) tensor.dtype = *dtype;
    else item.at("dtype").fail(fmt::format("unknown type \"{}\"", type));
    std::int64_t bytes = size_bytes(tensor.dtype);
    for (const CheckedJson& extent : item.at("shape").items()) {
      tensor.shape.push_back(extent.integer(0, kMaxTensorBytes));
      bytes = tensor.shape.back() > kMaxTensorBytes / std::max<std::int64_t>(bytes, 1) ? kMaxTensorBytes + 1
                                                                                       : bytes * tensor.shape.back();
      if (bytes > kMaxTensorBytes)
        item.at("shape").fail(fmt::format("the tensor has more than {} bytes", kMaxTensorBytes));
      if (!errors_.empty()) return tensor;
    }
    if (const auto layout = item.find("layout")) {
      tensor.layout = layout->text();
      tensor.logical = item.at("logical").text();
    }
    if (const auto offset = item.find("offset")) tensor.offset = offset->natural(kMaxTensorBytes);
    if (const auto space = item.find("space")) tensor.space = read_index(*space);
    if (const auto root = item.find("view_of")) tensor.view_of = read_index(*root);
    if (const auto argument = item.find("overwrites")) tensor.overwrites = read_index(*argument);
    if (const auto constant = item.find("constant")) {
      const auto content = blob(*constant);
      if (static_cast<std::int64_t>(content.size()) != bytes)
        constant->fail(fmt::format("the constant has {} bytes, expected {} for {}{}", content.size(), bytes,
                                   name(tensor.dtype), to_string(tensor.shape)));
      if (tensor.dtype == DType::boolean)
        for (const std::byte value : content)
          if (value > std::byte{1}) constant->fail("a bool is neither 0 nor 1");
      if (errors_.empty()) {
        Constant& known = constants_[{content.data(), tensor.dtype, tensor.shape}];
        if (!known) known = NdArray(tensor.dtype, tensor.shape, {content.begin(), content.end()});
        tensor.constant = known;
      }
    }
    return tensor;
  }

  static std::vector<TensorIndex> read_indices(const CheckedJson& list) {
    std::vector<TensorIndex> indices;
    for (const CheckedJson& item : list.items()) indices.push_back(read_index(item));
    return indices;
  }
  static TensorIndex read_index(const CheckedJson& item) {
    return static_cast<TensorIndex>(item.integer(0, std::numeric_limits<TensorIndex>::max()));
  }

  std::vector<std::byte> read_bytes(const CheckedJson& index) {
    const auto content = blob(index);
    return {content.begin(), content.end()};
  }

  Step read_step(const CheckedJson& item, int depth) {
    Step step{item.at("name").text(), item.at("target").text(), item.at("origins").texts(),
              read_indices(item.at("arguments")), read_indices(item.at("results"))};
    step.code = read_bytes(item.at("code"));
    for (const CheckedJson& index : item.at("data").items()) {
      const auto content = blob(index);
      if (!errors_.empty()) break;
      const auto [known, is_new] = data_.try_emplace({content.data(), content.size()});
      if (is_new) known->second = std::vector<std::byte>(content.begin(), content.end());
      step.data.push_back(known->second);
    }
    if (const auto programs = item.find("programs"); programs && errors_.empty()) {
      if (depth == kMostNestedPrograms)
        programs->fail(fmt::format("programs of steps are nested more than {} deep", kMostNestedPrograms));
      else
        for (const CheckedJson& program : programs->items())
          if (errors_.empty()) step.programs.push_back(read_program(program, depth + 1));
    }
    return step;
  }

  std::span<const std::byte> bytes_;
  std::string_view where_;
  std::vector<std::span<const std::byte>> blobs_;
  std::size_t handed_out_ = 0;  // in bytes
  // Content that was already read, by blob: tensors and steps with the same blob share it.
  std::map<std::tuple<const std::byte*, DType, Shape>, Constant> constants_;
  std::map<std::pair<const std::byte*, std::size_t>, Blob> data_;
  Diagnostics errors_;
};

}  // namespace

Result<Bundle> parse(std::span<const std::byte> bytes, std::string_view where, MachineCode machine_code) {
  DOVETAIL_ASSIGN(Bundle bundle, Reader(bytes, where).read());
  bundle.machine_code = machine_code;
  return bundle;
}

Result<Bundle> read_bundle(const std::filesystem::path& path, MachineCode machine_code) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, std::size_t{1} << 32, format::kExpected));
  return parse(bytes, path.string(), machine_code);
}

}  // namespace dovetail::bundle
