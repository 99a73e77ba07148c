// Bundle -> bytes (bundle/format.h). Equal bundles give equal bytes.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/little_endian.h"
#include "bundle/bundle.h"
#include "bundle/format.h"

namespace dovetail::bundle {

namespace {

// References bytes of the bundle, which must outlive it.
class BlobWriter {
 public:
  // Returns the index of the blob. Identical bytes are stored once: programs for several shapes share their weights.
  std::size_t add(std::span<const std::byte> bytes) {
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kHashedBytes));
    const std::pair key(bytes.size(), std::hash<std::string_view>()(head));
    const auto [same, end] = known_.equal_range(key);
    for (auto it = same; it != end; ++it)
      if (std::ranges::equal(blobs_[it->second], bytes)) return it->second;
    known_.emplace_hint(end, key, blobs_.size());
    blobs_.push_back(bytes);
    return blobs_.size() - 1;
  }

  Json sizes() const {
    Json list = Json::array();
    for (const auto blob : blobs_) list.push_back(blob.size());
    return list;
  }
  // Appends after the last piece of `file`.
  void append_to(Serialized& file) const {
    constexpr std::size_t kCopied = std::size_t{1} << 14;  // size up to which a copy is cheaper than a separate piece
    std::vector<std::pair<std::size_t, std::span<const std::byte>>>
        large;  // each with the number of bytes between pieces that precede it
    std::size_t position = file.between.size();
    for (const auto blob : blobs_) {
      const std::size_t begin = format::aligned(position);
      file.between.resize(file.between.size() + begin - position);
      if (blob.size() > kCopied) large.emplace_back(file.between.size(), blob);
      else file.between.insert(file.between.end(), blob.begin(), blob.end());
      position = begin + blob.size();
    }
    std::size_t done = 0;
    large.emplace_back(file.between.size(), std::span<const std::byte>());
    for (const auto& [after, blob] : large) {
      for (const auto piece : {std::span<const std::byte>(file.between).subspan(done, after - done), blob})
        if (!piece.empty()) file.pieces.push_back(piece);
      done = after;
    }
  }

 private:
  static constexpr std::size_t kHashedBytes = 4096;

  std::vector<std::span<const std::byte>> blobs_;
  std::multimap<std::pair<std::size_t, std::size_t>, std::size_t> known_;  // by size and hash of the first bytes
};

Json to_json(const Tensor& tensor, BlobWriter& blobs) {
  Json json{{"name", tensor.name}, {"dtype", name(tensor.dtype)}, {"shape", tensor.shape}};
  if (!tensor.layout.empty()) json.update({{"layout", tensor.layout}, {"logical", tensor.logical}});
  if (tensor.space != kHostSpace) json["space"] = tensor.space;
  if (tensor.offset) json["offset"] = *tensor.offset;
  if (tensor.view_of) json["view_of"] = *tensor.view_of;
  if (tensor.overwrites) json["overwrites"] = *tensor.overwrites;
  if (tensor.constant) json["constant"] = blobs.add(tensor.constant->bytes());
  return json;
}

Json to_json(const Bundle& bundle, BlobWriter& blobs);

Json to_json(const Step& step, BlobWriter& blobs) {
  Json json{{"name", step.name},           {"target", step.target},   {"origins", step.origins},
            {"arguments", step.arguments}, {"results", step.results}, {"code", blobs.add(step.code)}};
  Json data = Json::array();
  for (const Blob& piece : step.data) data.push_back(blobs.add(piece.bytes()));
  json["data"] = data;
  Json programs = Json::array();
  for (const Bundle& program : step.programs) programs.push_back(to_json(program, blobs));
  if (!programs.empty()) json["programs"] = programs;
  return json;
}

Json to_json(const Bundle& bundle, BlobWriter& blobs) {
  Json tensors = Json::array(), steps = Json::array(), spaces = Json::array(), modules = Json::array(),
       others = Json::array();
  for (const MemorySpace& space : bundle.spaces)
    spaces.push_back({{"target", space.target}, {"name", space.name}, {"base", space.base}, {"bytes", space.bytes}});
  for (const Tensor& tensor : bundle.tensors) tensors.push_back(to_json(tensor, blobs));
  for (const Step& step : bundle.steps) steps.push_back(to_json(step, blobs));
  for (const Module& module : bundle.modules)
    modules.push_back({{"target", module.target}, {"made_for", module.made_for}, {"code", blobs.add(module.code)}});
  Json manifest{{"name", bundle.name},       {"spaces", spaces}, {"tensors", tensors}, {"inputs", bundle.inputs},
                {"outputs", bundle.outputs}, {"steps", steps},   {"modules", modules}, {"report", bundle.report}};
  Json extents = Json::array();
  for (const OutputExtent& row : bundle.extents)
    extents.push_back({{"output", row.output}, {"axis", row.axis}, {"extent", row.extent}});
  if (!extents.empty()) manifest["extents"] = extents;
  Json states = Json::array();
  for (const State& row : bundle.states) states.push_back({{"input", row.input}, {"output", row.output}});
  if (!states.empty()) manifest["states"] = states;
  Json residents = Json::array();
  for (const Resident& row : bundle.residents)
    residents.push_back({{"input", row.input}, {"output", row.output}, {"before", row.before}, {"after", row.after}});
  if (!residents.empty()) manifest["residents"] = residents;
  for (const Bundle& other : bundle.other_shapes) others.push_back(to_json(other, blobs));
  if (!others.empty()) manifest["other_shapes"] = others;
  return manifest;
}

// The oldest version whose readers know everything in the bundle.
std::uint32_t version_of(const Bundle& bundle) {
  const auto programs = all_programs(bundle);
  const auto overwrites = [](const Tensor& tensor) { return tensor.overwrites.has_value(); };
  if (std::ranges::any_of(programs,
                          [&](const Bundle* program) { return std::ranges::any_of(program->tensors, overwrites); }))
    return 6;
  if (!bundle.states.empty()) return 5;
  const bool newer = programs.size() > 1 + bundle.other_shapes.size() ||
                     std::ranges::any_of(programs, [](const Bundle* program) { return !program->extents.empty(); });
  return newer ? 4 : 3;
}

}  // namespace

std::size_t Serialized::size() const {
  std::size_t bytes = 0;
  for (const auto piece : pieces) bytes += piece.size();
  return bytes;
}

Serialized serialize_in_pieces(const Bundle& bundle) {
  BlobWriter blobs;
  Json manifest = to_json(bundle, blobs);
  manifest["blobs"] = blobs.sizes();
  // Names come from models and need not be UTF-8; JSON must be.
  const std::string text = manifest.dump(-1, ' ', false, Json::error_handler_t::replace);

  Serialized file;
  std::vector<std::byte>& head = file.between;
  const auto magic = std::as_bytes(std::span(format::kMagic));
  head.assign(magic.begin(), magic.end());
  append_little_endian(head, version_of(bundle));
  append_little_endian(head, std::uint32_t{0});  // the checksum, filled in last
  append_little_endian(head, std::uint64_t{text.size()});
  head.resize(format::kHeaderBytes + text.size());
  std::memcpy(head.data() + format::kHeaderBytes, text.data(), text.size());
  blobs.append_to(file);

  std::vector<std::byte> checksum;
  append_little_endian(checksum, format::checksum(file.pieces));
  std::copy(checksum.begin(), checksum.end(), file.between.begin() + format::kChecksumOffset);
  return file;
}

std::vector<std::byte> serialize(const Bundle& bundle) {
  const Serialized file = serialize_in_pieces(bundle);
  std::vector<std::byte> bytes;
  bytes.reserve(file.size());
  for (const auto piece : file.pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

Result<void> write_bundle(const std::filesystem::path& path, const Bundle& bundle) {
  DOVETAIL_TRY(verify(bundle));
  return write_file(path, serialize_in_pieces(bundle).pieces);
}

}  // namespace dovetail::bundle
