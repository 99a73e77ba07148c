// Untrusted files: every prefix, every flipped byte, and wrong manifests with a correct checksum.
#include <cstring>
#include <functional>
#include <random>

#include "base/little_endian.h"
#include "bundle/format.h"
#include "tests/catch.h"
#include "tests/unit/bundle/flow_sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

// Corrects the checksum, so that the reader gets past it.
void seal(std::vector<std::byte>& bytes) {
  const std::uint32_t checksum = bundle::format::checksum({bytes});
  for (std::size_t i = 0; i < 4; ++i)
    bytes[bundle::format::kChecksumOffset + i] = static_cast<std::byte>(checksum >> (8 * i));
}

struct Parts {
  std::byte version;
  Json manifest;
  std::vector<std::byte> rest;  // after the manifest
};
Parts take_apart(const std::vector<std::byte>& bytes) {
  const auto size = load_little_endian<std::uint64_t>(bytes, bundle::format::kManifestSizeOffset);
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + bundle::format::kHeaderBytes;
  const std::size_t blobs = bundle::format::aligned(bundle::format::kHeaderBytes + size);
  return {bytes[bundle::format::kVersionOffset],
          Json::parse(text, text + size),
          {bytes.begin() + static_cast<std::ptrdiff_t>(blobs), bytes.end()}};
}
std::vector<std::byte> put_together(const Parts& parts) {
  const std::string text = parts.manifest.dump();
  std::vector<std::byte> bytes(bundle::format::kHeaderBytes + text.size());
  std::memcpy(bytes.data(), bundle::format::kMagic.data(), bundle::format::kMagic.size());
  bytes[bundle::format::kVersionOffset] = parts.version;
  for (std::size_t i = 0; i < 8; ++i)
    bytes[bundle::format::kManifestSizeOffset + i] = static_cast<std::byte>(text.size() >> (8 * i));
  std::memcpy(bytes.data() + bundle::format::kHeaderBytes, text.data(), text.size());
  bytes.resize(bundle::format::aligned(bytes.size()));
  bytes.insert(bytes.end(), parts.rest.begin(), parts.rest.end());
  seal(bytes);
  return bytes;
}

std::string errors(const Result<bundle::Bundle>& result) { return result.ok() ? "" : to_string(result.errors()); }

// The diagnostic of reading the sample with one change to its manifest.
std::string errors_of_directory(const std::function<void(Json&)>& change) {
  Parts parts = take_apart(bundle::serialize(test::sample_bundle()));
  change(parts.manifest);
  return errors(bundle::parse(put_together(parts), "f.dvt", bundle::MachineCode::untrusted));
}

}  // namespace

TEST_CASE("splitting a bundle and joining it again changes nothing") {
  for (const bundle::Bundle& sample : {test::sample_bundle(), test::loop_bundle()}) {
    const auto bytes = bundle::serialize(sample);
    CHECK(put_together(take_apart(bytes)) == bytes);
  }
}

TEST_CASE("every prefix of a bundle, and a longer file, is refused") {
  auto bytes = bundle::serialize(test::sample_bundle());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO("size " << size);
    REQUIRE_FALSE(bundle::parse(std::span(bytes).first(size), "test", bundle::MachineCode::untrusted).ok());
    if (size < bundle::format::kHeaderBytes) continue;
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    seal(cut);
    REQUIRE_FALSE(bundle::parse(cut, "test", bundle::MachineCode::untrusted).ok());
  }
  bytes.push_back(std::byte{0});
  CHECK_THAT(errors(bundle::parse(bytes, "f.dvt", bundle::MachineCode::untrusted)), ContainsSubstring("checksum"));
  seal(bytes);
  CHECK_THAT(errors(bundle::parse(bytes, "f.dvt", bundle::MachineCode::untrusted)),
             ContainsSubstring("the blobs end at byte"));
}

TEST_CASE("a flipped byte is detected") {
  const auto bytes = bundle::serialize(test::sample_bundle());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    INFO("byte " << i);
    REQUIRE_FALSE(bundle::parse(damaged, "test", bundle::MachineCode::untrusted).ok());
  }
}

TEST_CASE("random changes with a correct checksum: refused, or a bundle that verifies") {
  const std::vector<std::vector<std::byte>> samples{bundle::serialize(test::sample_bundle()),
                                                    bundle::serialize(test::if_bundle()),
                                                    bundle::serialize(test::loop_bundle())};
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (std::size_t round = 0; round < 6000; ++round) {
    auto damaged = samples[round % samples.size()];
    for (unsigned changes = 1 + random() % 3; changes-- > 0;) {
      const std::size_t at =
          bundle::format::kManifestSizeOffset + random() % (damaged.size() - bundle::format::kManifestSizeOffset);
      switch (random() % 3) {
        case 0: damaged[at] = static_cast<std::byte>(random()); break;
        case 1: damaged[at] ^= static_cast<std::byte>(1u << random() % 8); break;
        default: damaged[at] = static_cast<std::byte>("0123456789-\"{}[],:"[random() % 18]);
      }
    }
    seal(damaged);
    const auto parsed = bundle::parse(damaged, "test", bundle::MachineCode::untrusted);
    if (parsed.ok()) {
      ++accepted;
      REQUIRE(bundle::verify(*parsed).ok());
      // The owner of the code checks it, whatever it has become.
      refused +=
          !bundle::host_steps(*parsed).ok() || !bundle::accel_steps(*parsed).ok() || !bundle::flow_steps(*parsed).ok();
    }
  }
  CHECK(accepted > 0);  // names and report may hold anything
  CHECK(refused > 0);
  CHECK(refused < accepted);
}

TEST_CASE("a wrong manifest is reported with the place") {
  CHECK_THAT(errors_of_directory([](Json& m) { m.erase("steps"); }), ContainsSubstring("\"steps\" is missing"));
  CHECK_THAT(errors_of_directory([](Json& m) { m["tensors"][0]["dtype"] = "int9"; }),
             ContainsSubstring("tensors[0].dtype: unknown type \"int9\""));
  CHECK_THAT(errors_of_directory([](Json& m) {
               m["tensors"][0]["shape"] = {std::int64_t{1} << 39, 1000};
             }),
             ContainsSubstring("tensors[0].shape: the tensor has more than"));
  CHECK_THAT(errors_of_directory([](Json& m) { m["tensors"][0]["shape"] = {-1}; }),
             ContainsSubstring("tensors[0].shape[0]: -1 is outside [0, "));
  CHECK_THAT(errors_of_directory([](Json& m) { m["tensors"][0]["shape"] = {1.5}; }), ContainsSubstring("found 1.5"));
  CHECK_THAT(errors_of_directory([](Json& m) { m["tensors"][3]["shape"] = {2}; }),
             ContainsSubstring("tensors[3].constant: the constant has 1 bytes, expected 2"));
  CHECK_THAT(errors_of_directory([](Json& m) { m["tensors"][3]["constant"] = 99; }), ContainsSubstring("99 > 5"));
  CHECK_THAT(errors_of_directory([](Json& m) { m["blobs"][0] = std::uint64_t{1} << 60; }),
             ContainsSubstring("blobs[0]: 1152921504606846976 > "));
  CHECK_THAT(errors_of_directory([](Json& m) { m["steps"][0].erase("target"); }),
             ContainsSubstring("\"target\" is missing"));
  CHECK_THAT(errors_of_directory([](Json& m) {
               m["steps"][1]["data"] = {1, 6};
             }),
             ContainsSubstring("steps[1].data[1]: 6 > 5"));
  CHECK_THAT(errors_of_directory([](Json& m) { m["steps"][0]["arguments"] = {7}; }),
             ContainsSubstring("names tensor 7, but there are only 5"));
  CHECK_THAT(errors_of_directory([](Json& m) { m["spaces"][1]["bytes"] = UINT64_MAX; }),
             ContainsSubstring("spaces[1].bytes: 18446744073709551615 > "));
  CHECK_THAT(errors_of_directory([](Json& m) { m["spaces"] = Json::array(); }),
             ContainsSubstring("the host's memory space is missing"));
  CHECK_THAT(errors_of_directory([](Json& m) {
               m["modules"] = {{{"target", "cpu"}, {"made_for", "avx2"}, {"code", 6}}};
             }),
             ContainsSubstring("modules[0].code: 6 > 5"));
}

TEST_CASE("a file of another version is refused with its version") {
  for (const auto& [version, said] :
       {std::pair{bundle::format::kOldestVersion - 1, "the bundle was made by an older version"},
        std::pair{bundle::format::kVersion + 1, "the bundle was made by a newer version"}}) {
    std::vector<std::byte> bytes = bundle::serialize(test::sample_bundle());
    bytes[bundle::format::kVersionOffset] = static_cast<std::byte>(version);
    CHECK_THAT(errors(bundle::parse(bytes, "f.dvt", bundle::MachineCode::untrusted)),
               ContainsSubstring(said) && ContainsSubstring("compile the model again"));
  }
}

TEST_CASE("a wrong manifest of nested programs is reported with the place") {
  const auto errors_of = [](const std::function<void(Json&)>& change) {
    Parts parts = take_apart(bundle::serialize(test::loop_bundle()));
    change(parts.manifest["steps"][0]);
    return errors(bundle::parse(put_together(parts), "f.dvt", bundle::MachineCode::untrusted));
  };
  CHECK(errors_of([](Json&) {}) == "");
  CHECK_THAT(errors_of([](Json& step) { step["programs"][0].erase("steps"); }),
             ContainsSubstring("steps[0].programs[0]") && ContainsSubstring("\"steps\" is missing"));
  CHECK_THAT(errors_of([](Json& step) { step["programs"] = 3; }), ContainsSubstring("steps[0].programs"));
  CHECK_THAT(errors_of([](Json& step) { step["programs"][0]["outputs"] = {17}; }),
             ContainsSubstring("names tensor 17"));
}

TEST_CASE("a small file cannot demand a large memory") {
  Parts parts = take_apart(bundle::serialize(test::sample_bundle()));
  for (int i = 0; i < 200; ++i)
    parts.manifest["tensors"].push_back({{"name", "t" + std::to_string(i)},
                                         {"dtype", "int8"},
                                         {"shape", {parts.manifest["blobs"][1]}},
                                         {"constant", 1}});
  parts.rest.resize(parts.rest.size() - parts.manifest["blobs"].back().get<std::size_t>());
  CHECK_FALSE(bundle::parse(put_together(parts), "f.dvt", bundle::MachineCode::untrusted).ok());
}
