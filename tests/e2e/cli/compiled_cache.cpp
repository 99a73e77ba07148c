// --cache: what is kept, when an entry is used, and when it is not.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/environment.h"
#include "tests/process.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
namespace fs = std::filesystem;

namespace {

struct CacheFolder {
  test::TemporaryFolder folder;
  test::Environment cache{"XDG_CACHE_HOME", folder / "cache"};
  std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / "cache" / "dovetail" / "compiled", none))
      files.push_back(entry.path());
    return files;
  }
};

Finished cached(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--cache", "--json"});
  Finished done = test::dovetail(arguments);
  INFO(done.error);
  REQUIRE(done.exit == 0);
  return done;
}
// Whether the result was found rather than compiled. `report`: of `compile`.
bool was_found(const Json& report) { return report.at("stages").at(0).at("name") == "cache"; }
bool finds(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compile");
  return was_found(parse_json(cached(arguments).out, "compile").value());
}

}  // namespace

TEST_CASE("compiled cache: an entry that is found equals the result of compiling") {
  const CacheFolder folder;
  for (const char* target : {"accel", "accel,cpu", "cpu"}) {
    std::vector<std::string> bundles;
    std::vector<Json> reports;
    for (const bool cache : {false, true, true}) {
      bundles.push_back(folder.folder / (std::to_string(bundles.size()) + ".dvt"));
      std::vector<std::string> arguments{"compile", test::kDigits, "--target", target, "-o", bundles.back(), "--json"};
      if (cache) arguments.emplace_back("--cache");
      const Finished done = test::dovetail(arguments);
      INFO(done.error);
      REQUIRE(done.exit == 0);
      reports.push_back(parse_json(done.out, "compile").value());
    }
    CHECK_FALSE(was_found(reports[1]));
    CHECK(was_found(reports[2]));
    for (Json& report : reports) {
      report.erase("stages");
      report.at("compiler").erase("stages");
      for (Json& kernel : report.at("compiler").at("kernels")) kernel.erase("compile_seconds");
    }
    CHECK(reports[0] == reports[1]);
    CHECK(reports[0] == reports[2]);
    CHECK(read_file(bundles[0]).value() == read_file(bundles[1]).value());
    CHECK(read_file(bundles[0]).value() == read_file(bundles[2]).value());
  }
  CHECK(folder.kept().size() == 3);
}

TEST_CASE("compiled cache: run and profile use what compile has kept, with the same output") {
  const CacheFolder folder;
  const std::vector<std::string> of_model{test::kDigits, "--target", "accel,cpu", "--engine", "cycle"};
  const auto text_of = [&](const char* command, bool cache) {
    std::vector<std::string> arguments{command, "--details"};
    arguments.insert(arguments.end(), of_model.begin(), of_model.end());
    if (cache) arguments.emplace_back("--cache");
    if (std::string(command) == "profile") arguments.insert(arguments.end(), {"--repeat", "1"});
    const Finished done = test::dovetail(arguments);
    INFO(done.error);
    REQUIRE(done.exit == 0);
    return done.out;
  };
  const auto line = [](const std::string& text, const std::string& word) {
    const std::size_t begin = text.find(word);
    REQUIRE(begin != std::string::npos);
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const std::string plain = text_of("run", false);
  for (int i = 0; i < 2; ++i) {
    const std::string again = text_of("run", true);
    for (const char* word : {"output ", "MACs ", "cycles "}) CHECK(line(again, word) == line(plain, word));
  }
  CHECK(folder.kept().size() == 1);
  CHECK_THAT(text_of("profile", true), ContainsSubstring(line(plain, "MACs ")));
  CHECK(folder.kept().size() == 1);
  // --check compares with graphs that are not kept: it compiles.
  const Finished checked = test::dovetail({"run", test::kDigits, "--target", "accel,cpu", "--check", "--cache"});
  CHECK(checked.exit == 0);
  CHECK_THAT(checked.out, ContainsSubstring("all equal"));
  CHECK(folder.kept().size() == 1);
}

TEST_CASE("compiled cache: another model, option, machine or system is another entry") {
  const CacheFolder folder;
  const std::vector<std::vector<std::string>> all{
      {test::kDigits, "--target", "accel"},
      {test::kFloatDigits, "--target", "cpu"},
      {test::kDigits, "--target", "cpu"},
      {test::kDigits, "--target", "cpu", "--cpu", "baseline"},
      {test::kDigits, "--target", "accel", "--hw", "1x16x16-ext"},
      {test::kDigits, "--target", "accel", "--hw", "1x16x16-ext,inp_buffer_bytes=65536"},
      {test::kDigits, "--target", "accel", "--memory", "ideal:latency=9"},
      {test::kDigits, "--target", "accel", "--clock", "77"},
      {test::kDigits, "--target", "accel", "-O", "1"},
      {test::kDigits, "--target", "accel", "--all-tensors"},
      {test::kDigits, "--target", "accel", "--decide", "slots_inp=1"},
      {test::kDigits, "--target", "accel", "--count-cycles", "2"},
      {test::kDigits, "--target", "accel,cpu", "--offload", "cost"},
      {test::kDigits, "--target", "accel,cpu", "--place", "conv1=cpu"},
      {test::kDigits, "--target", "accel", "--no-pass", "fold_constants"}};
  for (const auto& arguments : all) {
    INFO(arguments.back());
    CHECK_FALSE(finds(arguments));
  }
  CHECK(folder.kept().size() == all.size());
  for (const auto& arguments : all) CHECK(finds(arguments));
  // The key is the content, not the name.
  fs::copy_file(test::kDigits, folder.folder / "copy.onnx");
  CHECK(finds({folder.folder / "copy.onnx", "--target", "accel"}));
}

TEST_CASE("compiled cache: an entry that is damaged, or that others may write to, is compiled anew") {
  const CacheFolder folder;
  const std::vector<std::string> arguments{test::kDigits, "--target", "cpu"};
  CHECK_FALSE(finds(arguments));
  REQUIRE(folder.kept().size() == 1);
  const fs::path file = folder.kept().front();
  const std::vector<std::byte> whole = read_file(file).value();
  for (const std::size_t at : {std::size_t{0}, std::size_t{40}, whole.size() / 2, whole.size() - 1}) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{1};
    REQUIRE(write_file(file, damaged).ok());
    CHECK_FALSE(finds(arguments));
    CHECK(finds(arguments));
  }
  REQUIRE(write_file(file, std::span(whole).first(whole.size() / 2)).ok());
  CHECK_FALSE(finds(arguments));
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  CHECK_FALSE(finds(arguments));
  CHECK(finds(arguments));
  // A bundle that was not kept: its report lacks the required entry.
  const std::string bundle = folder.folder / "b.dvt";
  REQUIRE(test::dovetail({"compile", test::kDigits, "--target", "cpu", "-o", bundle}).exit == 0);
  fs::copy_file(bundle, file, fs::copy_options::overwrite_existing);
  CHECK_FALSE(finds(arguments));
  fs::permissions(file.parent_path(), fs::perms::others_write, fs::perm_options::add);
  const Finished refused = test::dovetail({"compile", test::kDigits, "--target", "cpu", "--cache"});
  CHECK(refused.exit != 0);
  CHECK_THAT(refused.error, ContainsSubstring(file.parent_path().string()));
}

TEST_CASE("compiled cache: external tensor files are part of the key") {
  using namespace test::onnx;
  const CacheFolder folder;
  const auto path = [&](const char* name) { return (folder.folder / name).string(); };
  Message entries = Message().number(1, 2).number(2, 1).text(8, "w").number(14, 1);
  entries.message(13, Message().text(1, "location").text(2, "w.bin"));
  Model model;
  model.inputs = {value_info("x", DType::float32, {2})};
  model.initializers = {entries};
  model.nodes = {node("Add", {"x", "w"}, {"y"})};
  model.outputs = {value_info("y", DType::float32, {2})};
  const Message message = model.message();
  REQUIRE(write_file(path("m.onnx"), message.bytes()).ok());
  REQUIRE(write_npy(path("x.npy"), NdArray(DType::float32, {2})).ok());
  const auto sum_with = [&](float value) {
    const float values[] = {value, value};
    REQUIRE(write_file(path("w.bin"), std::as_bytes(std::span(values))).ok());
    cached({"run", path("m.onnx"), "--target", "cpu", "--input", "x=" + path("x.npy"), "--output-dir", path("out")});
    return read_npy(path("out/y.npy")).value().as_double(1);
  };
  CHECK(sum_with(3) == 3);
  CHECK(finds({path("m.onnx"), "--target", "cpu"}));
  CHECK(sum_with(4) == 4);
  CHECK(finds({path("m.onnx"), "--target", "cpu"}));
  // The same model with other external tensors.
  fs::create_directories(path("other"));
  fs::copy_file(path("m.onnx"), path("other/m.onnx"));
  fs::copy_file(path("x.npy"), path("other/w.bin"));
  CHECK_FALSE(finds({path("other/m.onnx"), "--target", "cpu"}));
  CHECK(sum_with(4) == 4);
  CHECK(finds({path("m.onnx"), "--target", "cpu"}));
  CHECK(folder.kept().size() == 1);
}

TEST_CASE("compiled cache: above a gigabyte, the least recently used entry is removed") {
  const CacheFolder folder;
  const std::vector<std::string> first{test::kDigits, "--target", "cpu"}, second{test::kDigits, "--target", "accel"};
  CHECK_FALSE(finds(first));
  const fs::path small = folder.kept().front(), large = small.parent_path() / "old.dvt";
  std::ofstream(large).close();
  fs::resize_file(large, std::uintmax_t{1} << 30);
  const auto hours_ago = [](int hours) { return fs::file_time_type::clock::now() - std::chrono::hours(hours); };
  fs::last_write_time(small, hours_ago(2));
  fs::last_write_time(large, hours_ago(1));
  CHECK(finds(first));  // which counts as a use
  CHECK_FALSE(finds(second));
  CHECK_FALSE(fs::exists(large));
  CHECK(fs::exists(small));
  CHECK(finds(first));
}

TEST_CASE("compiled cache: --cache is refused where the result cannot be cached") {
  const CacheFolder folder;
  const auto refused = [&](std::vector<std::string> arguments, const char* why) {
    arguments.emplace_back("--cache");
    const Finished done = test::dovetail(arguments);
    INFO(done.error);
    CHECK(done.exit == 2);
    CHECK_THAT(done.error, ContainsSubstring(why));
  };
  const std::string records = folder.folder / "r.db";
  refused({"compile", test::kDigits, "--target", "accel", "--records", records}, "may change");
  refused({"compile", test::kDigits, "--target", "accel", "--dump", "graph"}, "no stages");
  refused({"compile", test::kDigits, "--target", "onednn,cpu"}, "the cache does not store code for onednn");
  refused({"compile", test::kDigits, "--target", "accel", "--place", "conv1=onednn"},
          "the cache does not store code for onednn");
  refused({"compile", folder.folder / "none.onnx", "--target", "accel"}, "none.onnx");
  const std::string bundle = folder.folder / "b.dvt";
  REQUIRE(test::dovetail({"compile", test::kDigits, "--target", "accel", "-o", bundle}).exit == 0);
  refused({"run", bundle}, "--cache needs a model");
  CHECK(folder.kept().empty());
}
