// `dovetail export --target accel,cpu`: the files, the memory map, and what is refused.
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/exported_program.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;

namespace {

void cannot_export(std::vector<std::string> words, const std::string& why, const std::string& hint) {
  words.insert(words.begin(), "export");
  const Finished finished = test::dovetail(words);
  CHECK(finished.exit == 2);
  CHECK(finished.out == "");
  CHECK_THAT(finished.error, ContainsSubstring(why));
  CHECK_THAT(finished.error, ContainsSubstring("Hint: ") && ContainsSubstring(hint));
}

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path().filename());
  return files;
}

}  // namespace

TEST_CASE("export with an accelerator: the header says where its memory is") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "out";
  const Finished exported = test::dovetail({"export", kDigits, "--target", "accel,cpu", "--hw", "1x16x16-ext",
                                            "--memory-base", "0x40000000", "-o", out, "--name", "digits", "--json"});
  CHECK(exported.error == "");
  REQUIRE(exported.exit == 0);
  const Json report = parse_json(exported.out, "report").value();
  const Json& accelerator = report["accelerator"];
  CHECK(accelerator["memory_base"] == 0x40000000);
  CHECK(accelerator["hardware"][0]["requant"] == true);
  CHECK(accelerator["regions"].size() == 1);
  CHECK(accelerator["image_bytes"].get<std::int64_t>() > 0);
  std::set<std::string> named;
  for (const Json& file : report["files"]) named.insert(file.get<std::string>());
  CHECK(named == files_in(out));
  const std::string header = read_text_file(out + "/digits.h").value();
  CHECK_THAT(header, ContainsSubstring("#define DIGITS_MEMORY_BASE UINT64_C(0x40000000)\n") &&
                         ContainsSubstring(fmt::format("#define DIGITS_MEMORY_BYTES UINT64_C({})\n",
                                                       accelerator["memory_bytes"].get<std::int64_t>())) &&
                         ContainsSubstring("#define DIGITS_ACCELERATORS 1\n") &&
                         ContainsSubstring("int digits_load(const struct dovetail_machine* machine);"));
  CHECK(test::dovetail({"hw", "show", out + "/hardware.json"}).exit == 0);
  // The text has the same numbers.
  const Finished text = test::dovetail({"export", kDigits, "--target", "accel,cpu", "--hw", "1x16x16-ext",
                                        "--memory-base", "0x40000000", "-o", out, "--name", "digits"});
  CHECK_THAT(text.out, ContainsSubstring("accelerator   1x16x16-ext: ") &&
                           ContainsSubstring(fmt::format("its memory    {} B from 0x40000000 to ",
                                                         accelerator["memory_bytes"].get<std::int64_t>())));
  // An export without an accelerator leaves none of these files.
  REQUIRE(test::dovetail({"export", kDigits, "-o", out, "--name", "digits"}).exit == 0);
  CHECK(files_in(out).size() == 7);
}

TEST_CASE("export with an accelerator: the shared files are those of examples/driver") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "out";
  REQUIRE(test::dovetail({"export", kDigits, "--target", "accel,cpu", "-o", out}).exit == 0);
  for (const std::string name : {"dovetail_driver.h", "dovetail_driver.c", "dovetail_machine.h", "dovetail_machine.c",
                                 "platform.h", "platform_simulator.c"})
    CHECK(read_text_file(out + "/" + name).value() ==
          read_text_file(std::string(DOVETAIL_SOURCE_DIR "/examples/driver/") + name).value());
}

TEST_CASE("export with an accelerator: a bundle, and what is refused") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "out", bundle = folder / "b.dvt";
  REQUIRE(
      test::dovetail({"compile", kDigits, "--target", "accel,cpu", "--cpu", "portable", "--hw", "tiny", "-o", bundle})
          .exit == 0);
  REQUIRE(test::dovetail({"export", bundle, "-o", out}).exit == 0);
  CHECK_THAT(read_text_file(out + "/net.h").value(), ContainsSubstring("#define NET_MEMORY_BASE UINT64_C(0x1000)\n"));
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {kDigits, "-o", out});
    return words;
  };
  cannot_export(with({"--target", "accel"}), "programs for the accelerator before it", "--target accel,cpu");
  cannot_export(with({"--target", "cpu,accel"}), "programs for the accelerator before it", "--target accel,cpu");
  cannot_export(with({"--hw", "tiny"}), "no step is compiled for the accelerator", "add --target accel,cpu");
  cannot_export(with({"--target", "accel,cpu", "--hw", "nonesuch"}), "nonesuch", "");
  cannot_export(with({"--target", "accel,cpu", "--memory-base", "0x1234"}), "not a multiple of 4096",
                "for example 0x1000");
  cannot_export(with({"--target", "accel,cpu", "--memory-base", "0xfffff000"}), "would end beyond 0x100000000",
                "give a lower address");
  cannot_export(with({"--target", "accel,cpu", "--memory-base", "here"}), "here", "");
  cannot_export(with({"--memory-base", "0x2000"}), "no step of it runs on the accelerator", "remove --memory-base");
  cannot_export({test::kFloatDigits, "-o", folder / "float", "--target", "accel,cpu"},
                "no step of it runs on the accelerator", "remove --target");
  cannot_export({bundle, "-o", out, "--hw", "tiny"}, "apply to a model", "give the model");
}
