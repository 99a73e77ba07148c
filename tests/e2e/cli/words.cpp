// Output of the CLI and the files it writes, under hostile names, closed streams, and equal paths.
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;
using test::Finished;

namespace {

// A color, a C1 control sequence, a delete, a change of direction, a forged line.
const std::string kEvil =
    "a\x1b[31mb\xc2\x9b"
    "31mc\x7f"
    "d\xe2\x80\xae"
    "e\nok";

Finished shell(const std::string& line) {
  return test::run_process({"/bin/sh", "-c", "dovetail() { \"" DOVETAIL_CLI "\" \"$@\"; }; " + line});
}

bool is_harmless(const std::string& text) {
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) return false;
  return text.find("\xc2\x9b") == text.npos && text.find("\xe2\x80\xae") == text.npos && text.find("\nok") == text.npos;
}

Model relu(const std::string& name) {
  Model model;
  model.inputs = {value_info("x" + name, DType::float32, {1, 4})};
  model.nodes = {node("Relu", {"x" + name}, {"y" + name}, {}, "relu" + name)};
  model.outputs = {value_info("y" + name, DType::float32, {1, 4})};
  return model;
}

std::string write(const Model& model, const std::string& path) {
  REQUIRE(write_file(path, model.message().bytes()).ok());
  return path;
}

// The form of every refusal of this kind.
void check_refused(const Finished& finished, const std::string& by, const std::string& what) {
  INFO(finished.error);
  CHECK(finished.exit == 2);
  CHECK_THAT(finished.error, ContainsSubstring(by + " would overwrite the file that " + what));
}

}  // namespace

TEST_CASE("names from files are never printed to a terminal unescaped") {
  const test::TemporaryFolder folder;
  const std::string model = write(relu(kEvil), folder / "m.onnx"), bundle = folder / "m.dvt";
  const std::string hardware = folder / "evil.json";
  Json config = parse_json(test::dovetail({"hw", "show", "tiny", "--json"}).out, "tiny").value();
  config["name"] = kEvil;
  REQUIRE(write_text_file(hardware, config.dump()).ok());
  const std::string report = folder / "r.json";
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"inspect", model},
           {"inspect", model, "--json"},
           {"compile", model, "--target", "cpu", "--dump", "all", "-o", bundle, "--report", report},
           {"inspect", bundle},
           {"inspect", bundle, "--json"},
           {"run", model, "--target", "cpu", "--check", "--report", folder / "run.json"},
           {"run", bundle, "--input", kEvil + "=" + model},
           {"profile", model, "--target", "cpu", "--repeat", "1"},
           {"inspect", folder / "run.json"},
           {"hw", "show", hardware},
           {"hw", "show", hardware, "--json"},
           {"run", folder / kEvil}}) {
    const Finished finished = test::dovetail(line);
    INFO(line.front() << "\n" << finished.out << finished.error);
    CHECK(finished.exit != -1);
    CHECK(is_harmless(finished.out));
    CHECK(is_harmless(finished.error));
  }
  CHECK(is_harmless(read_text_file(report).value()));
}

TEST_CASE("a closed or full stream does not abort the command") {
  for (const std::string to : {"2>&-", "2>/dev/full", ">&- 2>&-"}) {
    INFO(to);
    CHECK(shell("dovetail fly " + to).exit == 2);
    CHECK(shell("dovetail " + to).exit == 2);
    CHECK(shell("dovetail run /nowhere.onnx --target cpu " + to).exit == 2);
  }
  for (const std::string to : {">/dev/full", ">&-"}) {
    INFO(to);
    for (const std::string command : {"isa --format markdown", "hw show tiny --json", "zoo list", "--help"}) {
      const Finished finished = shell("dovetail " + command + " " + to);
      CHECK(finished.exit == 1);
      CHECK_THAT(finished.error, ContainsSubstring("cannot write the output (stdout)"));
    }
  }
}

TEST_CASE("no output of a command overwrites a file that the command reads or writes") {
  const test::TemporaryFolder folder;
  const std::string model = write(relu(""), folder / "m.onnx"), linked = folder / "link.onnx";
  fs::create_symlink(model, linked);
  fs::create_directory(folder / "d");
  const auto before = read_file(model).value();
  check_refused(test::dovetail({"compile", model, "--target", "cpu", "-o", model}), "-o", "MODEL.onnx reads");
  check_refused(test::dovetail({"compile", model, "--target", "cpu", "-o", linked}), "-o", "MODEL.onnx reads");
  check_refused(test::dovetail({"compile", linked, "--target", "cpu", "--report", folder / "d/../m.onnx"}), "--report",
                "MODEL.onnx reads");
  check_refused(
      test::dovetail({"compile", model, "--target", "cpu", "-o", folder / "new", "--report", folder / "d/../new"}),
      "--report", "-o writes");
  check_refused(test::dovetail({"zoo", "resnet8", "--int8", "-o", folder / "z", "--report", folder / "z"}), "-o",
                "--report writes");
  REQUIRE(write_npy(folder / "y.npy", NdArray(DType::float32, {1, 4})).ok());
  check_refused(test::dovetail({"run", model, "--target", "cpu", "--input", "x=" + std::string(folder / "y.npy"),
                                "--output-dir", folder / "."}),
                "--output-dir", "--input reads");
  CHECK(read_file(model).value() == before);
  CHECK_FALSE(fs::exists(folder / "new"));
  // Devices may be written more than once.
  CHECK(test::dovetail({"compile", model, "--target", "cpu", "-o", "/dev/null", "--report", "/dev/null"}).exit == 0);
}

TEST_CASE("a bare file name finds its external data next to it, for every command") {
  const test::TemporaryFolder folder;
  Model model = relu("");
  model.nodes = {node("Add", {"x", "w"}, {"y"}, {}, "add")};
  const Message w = Message()
                        .number(1, 4)
                        .number(2, 1)
                        .text(8, "w")
                        .message(13, Message().text(1, "location").text(2, "w.bin"))
                        .number(14, 1);
  model.initializers = {w};
  write(model, folder / "m.onnx");
  REQUIRE(write_file(folder / "w.bin", std::vector<std::byte>(16)).ok());
  for (const std::string command : {"inspect m.onnx", "run m.onnx --target cpu"}) {
    const Finished finished = shell("cd '" + std::string(folder / "") + "' && dovetail " + command);
    INFO(finished.error);
    CHECK(finished.exit == 0);
  }
}

}  // namespace dovetail
