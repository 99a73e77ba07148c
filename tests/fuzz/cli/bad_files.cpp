// Truncated, oversized, random, empty and missing files, and folders, given to every command: exit code 2 and one
// paragraph, nothing written.
#include <algorithm>
#include <functional>
#include <random>

#include "base/file.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/unit/bundle/sample.h"
#include "tests/unit/compiler/tune/sample_record.h"

using namespace dovetail;

namespace {

using Bytes = std::vector<std::byte>;

// A file of each kind, and the command lines that read one; FILE stands for its path, GOOD for a bundle, OUT for a file
// that must not appear.
struct Kind {
  std::string name, extension;
  Bytes good;
  std::vector<std::vector<std::string>> commands;
  bool text = false;            // a prefix of a text may be a valid text
  bool end_is_ignored = false;  // bytes after the end are ignored
};

std::vector<Kind> kinds() {
  const bundle::Bundle bundle = test::sample_bundle();
  const bundle::AccelCode accel = test::sample_accel_code();
  const auto program = accel.segments[1].bytes.bytes();
  const auto text = [](const std::string& content) {
    const auto bytes = std::as_bytes(std::span(content.data(), content.size()));
    return Bytes(bytes.begin(), bytes.end());
  };
  const auto model = read_file(std::filesystem::path(DOVETAIL_SOURCE_DIR) / "examples/digits/digits_int8.onnx");
  REQUIRE(model.ok());
  const test::TemporaryFolder folder;
  REQUIRE(tune::Records::open(folder / "r.db", tune::Records::Open::write).value().add({test::sample_record(1)}).ok());
  REQUIRE(write_npz(folder / "a.npz", {{"x", NdArray(DType::int8, {1, 16})}}).ok());
  return {
      {"model",
       ".onnx",
       *model,
       {{"compile", "FILE", "--target", "accel", "-o", "OUT.dvt"},
        {"run", "FILE", "--target", "accel", "--report", "OUT"},
        {"inspect", "FILE"}}},
      {"bundle",
       ".dvt",
       bundle::serialize(bundle),
       {{"run", "FILE", "--report", "OUT"}, {"export", "FILE", "-o", "OUT"}, {"inspect", "FILE"}}},
      {"npy",
       ".npy",
       format_npy(NdArray(DType::int8, {1, 16})),
       {{"run", "GOOD", "--input", "x=FILE", "--report", "OUT"}, {"inspect", "FILE"}}},
      {"npz", ".npz", read_file(folder / "a.npz").value(), {{"inspect", "FILE"}}},
      {"tensor",
       ".pb",
       text("\x08\x01\x08\x10\x10\x03\x4a\x10"
            "0123456789abcdef"),
       {{"run", "GOOD", "--input", "x=FILE", "--report", "OUT"}, {"inspect", "FILE"}}},
      {"program",
       ".bin",
       Bytes(program.begin(), program.end()),
       {{"check", "FILE", "--hw", "1x16x16"},
        {"disasm", "FILE", "-o", "OUT"},
        {"inspect", "FILE", "--hw", "1x16x16"},
        {"simulate", "FILE", "--hw", "1x16x16", "--dram", "GOOD", "--dram-out", "OUT", "--engine", "functional"}}},
      {"hardware",
       ".json",
       text(isa::config_to_json(isa::HardwareConfig()).dump()),
       {{"hw", "show", "FILE"},
        {"inspect", "FILE"},
        {"isa", "--format", "c", "--hw", "FILE", "-o", "OUT"},
        {"check", "GOOD", "--hw", "FILE"},
        {"compile", "MODEL", "--target", "accel", "--hw", "FILE", "-o", "OUT.dvt"}}},
      {"assembly",
       ".s",
       text("load.inp sram=0 dram=0 size=1x1\nfinish\n"),
       {{"asm", "FILE", "-o", "OUT"}, {"inspect", "FILE"}},
       true},
      {"records",
       ".db",
       read_file(folder / "r.db").value(),
       {{"records", "list", "FILE"},
        {"records", "show", "FILE", "0"},
        {"records", "export", "FILE", "-o", "OUT"},
        {"records", "merge", "OUT", "FILE"}},
       false,
       true},
      {"lines of records",
       ".jsonl",
       text(to_json(test::sample_record(1)).dump()),
       {{"records", "import", "OUT", "FILE"}}},
  };
}

struct Bad {
  std::string name;
  Bytes bytes;
};

std::vector<Bad> damaged(const Kind& kind, std::mt19937& random) {
  std::vector<Bad> list{{"empty", {}}};
  const auto cut = [&](std::size_t size) {
    return Bytes(kind.good.begin(), kind.good.begin() + static_cast<std::ptrdiff_t>(size));
  };
  if (!kind.text) {
    for (std::size_t eighth = 1; eighth < 8; ++eighth)
      list.push_back({"truncated", cut(kind.good.size() * eighth / 8 | 1)});
    list.push_back({"a byte short", cut(kind.good.size() - 1)});
    Bytes longer = kind.good;
    for (int i = 0; i < 7; ++i) longer.push_back(std::byte{0xff});
    if (!kind.end_is_ignored) list.push_back({"longer", longer});
  }
  for (const std::size_t size : {1u, 15u, 16u, 100u, 4096u}) {
    Bytes noise(size);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
    noise[0] = std::byte{0xff};  // 16 random bytes may be an instruction: 0xff is not one, nor a letter
    list.push_back({"random", noise});
    if (size <= kind.good.size()) continue;
    Bytes head = cut(std::min<std::size_t>(kind.good.size(), 12));  // a correct beginning
    head.insert(head.end(), noise.begin(), noise.end());
    list.push_back({"random after a right beginning", head});
  }
  return list;
}

class Desk {
 public:
  Desk() { REQUIRE(bundle::write_bundle(folder_ / "good.dvt", test::sample_bundle()).ok()); }

  void expect_refusal(const Kind& kind, const std::string& what, const std::string& file) const {
    for (std::vector<std::string> line : kind.commands) {
      std::string joined;
      for (std::string& word : line) {
        for (const auto& [name, path] : {std::pair{std::string("FILE"), file},
                                         {"GOOD", folder_ / "good.dvt"},
                                         {"OUT", folder_ / "out"},
                                         {"MODEL", DOVETAIL_SOURCE_DIR "/examples/digits/digits_int8.onnx"}})
          if (const auto at = word.find(name); at != std::string::npos) word.replace(at, name.size(), path);
        joined += word + " ";
      }
      const test::Finished refused = test::dovetail(line);
      INFO(kind.name << ", " << what << ": dovetail " << joined << "\n" << refused.error);
      CHECK(refused.exit == 2);
      CHECK(refused.error.starts_with("error: "));
      CHECK(refused.error.find("\n\n") == std::string::npos);
      CHECK(refused.error.size() < 100000);
      for (const char* written : {"out", "out.dvt"}) CHECK_FALSE(std::filesystem::exists(folder_ / written));
    }
  }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("damaged files are refused by every command that reads them") {
  const Desk desk;
  std::mt19937 random(1);
  for (const Kind& kind : kinds())
    for (const Bad& bad : damaged(kind, random)) {
      const std::string file = desk / ("bad" + kind.extension);
      REQUIRE(write_file(file, bad.bytes).ok());
      desk.expect_refusal(kind, bad.name + ", " + std::to_string(bad.bytes.size()) + " bytes", file);
    }
}

TEST_CASE("bundles with wrong code are refused by every command that reads them") {
  const Desk desk;
  const auto refused = [&](const std::string& what, const std::function<void(bundle::Bundle&)>& change) {
    bundle::Bundle bundle = test::sample_bundle();
    change(bundle);
    const std::string file = desk / "bad.dvt";
    REQUIRE(write_file(file, bundle::serialize(bundle)).ok());
    for (const Kind& kind : kinds())
      if (kind.name == "bundle") desk.expect_refusal(kind, what, file);
  };
  refused("no code", [](auto& b) { b.steps[1].code.clear(); });
  refused("a program cut off", [](auto& b) { b.steps[0].code.resize(40); });
  refused("a launch of more than there is",
          [](auto& b) { test::change_accel(b.steps[1], [](auto& code) { code.launches[0].count = 6; }); });
  refused("memory beyond the address bits", [](auto& b) { b.spaces[1].bytes = std::uint64_t{1} << 33; });
  refused("a kernel, and no module", [](auto& b) { b.steps[0].target = "cpu"; });
  refused("in a program for another shape", [](auto& b) {
    bundle::Bundle other = b;
    for (bundle::Tensor& tensor : other.tensors)
      if (!tensor.constant) tensor.shape = {2, 16};
    b.other_shapes = {other};
  });
}

TEST_CASE("missing files, folders and files too large for any memory are refused by every command") {
  const Desk desk;
  for (const Kind& kind : kinds()) {
    desk.expect_refusal(kind, "missing", desk / ("missing" + kind.extension));
    const std::string folder = desk / ("folder" + kind.extension), large = desk / ("large" + kind.extension);
    std::filesystem::create_directory(folder);
    desk.expect_refusal(kind, "a folder", folder);
    std::error_code error;
    REQUIRE(write_text_file(large, "").ok());
    std::filesystem::resize_file(large, std::uintmax_t{1} << 40, error);  // sparse: it takes no space
    if (!error) desk.expect_refusal(kind, "1 TiB", large);
    std::filesystem::remove(large);
  }
  // A memory image may contain anything, but must exist.
  Kind image{
      "image",
      ".bin",
      {},
      {{"simulate", "GOOD", "--hw", "1x16x16", "--dram", "FILE", "--dram-out", "OUT", "--engine", "functional"}}};
  REQUIRE(write_file(desk / "p.bin", test::sample_accel_code().segments[1].bytes.bytes()).ok());
  for (std::string& word : image.commands[0])
    if (word == "GOOD") word = desk / "p.bin";
  desk.expect_refusal(image, "missing", desk / "none.bin");
  desk.expect_refusal(image, "a folder", desk / "folder.json");
}
