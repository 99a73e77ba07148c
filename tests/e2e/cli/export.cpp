// `dovetail export`: a folder that a C compiler builds without the kit, and what is refused.
#include <filesystem>
#include <set>
#include <sstream>

#include "base/file.h"
#include "loops/parse.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/exported_program.h"
#include "tests/skip.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;
using test::kFloatDigits;

namespace {

std::string text_of(const std::filesystem::path& path) {
  const auto text = read_text_file(path);
  return text.ok() ? *text : to_string(text.errors());
}

void refuses(std::vector<std::string> words, const std::string& why, const std::string& hint) {
  words.insert(words.begin(), "export");
  const Finished finished = test::dovetail(words);
  CHECK(finished.exit == 2);
  CHECK(finished.out == "");
  CHECK_THAT(finished.error, ContainsSubstring(why));
  CHECK_THAT(finished.error, ContainsSubstring("Hint: ") && ContainsSubstring(hint));
}

}  // namespace

TEST_CASE("export: the digits models build without warnings, and their tests pass") {
  const std::string gcc = test::find_program("gcc"), clang = test::find_program("clang");
  if (gcc.empty()) return test::skip(test::kNoCompiler);
  for (const std::string& model : {kDigits, kFloatDigits, test::kDigitsFolder + "digits_int8_pow2.onnx"}) {
    INFO(model);
    const test::TemporaryFolder folder;
    const Finished exported = test::dovetail({"export", model, "-o", folder / "out", "--name", "digits", "--no-libm"});
    CHECK(exported.error == "");
    REQUIRE(exported.exit == 0);
    CHECK_THAT(exported.out, ContainsSubstring("memory        arena ") && ContainsSubstring("libm          not used"));
    CHECK(test::build_and_run(folder / "out", "digits", gcc, {"-O2"}) == "");
    CHECK(test::build_and_run(folder / "out", "digits", gcc,
                              {"-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"}) == "");
    if (!clang.empty()) CHECK(test::build_and_run(folder / "out", "digits", clang, {"-O2"}) == "");
  }
}

TEST_CASE("export: objects for this machine link with their test, which passes") {
  const std::string gcc = test::find_program("gcc");
  if (gcc.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  const std::string out = folder / "out";
  for (const std::string& model : {kDigits, kFloatDigits, test::kDigitsFolder + "digits_int8_pow2.onnx"}) {
    INFO(model);
    // At level 1 the kernels keep every bit.
    const Finished exported = test::dovetail(
        {"export", model, "-o", out, "--name", "digits", "--format", "object", "--cpu", "baseline", "-O", "1"});
    CHECK(exported.error == "");
    REQUIRE(exported.exit == 0);
    CHECK_THAT(exported.out, ContainsSubstring("processor     baseline") && ContainsSubstring("digits.a"));
    CHECK_FALSE(std::filesystem::exists(out + "/digits.c"));
    CHECK(test::build_and_run(out, "digits", gcc, {"-O2"}) == "");
  }
  // The other format takes the archive's place.
  REQUIRE(test::dovetail({"export", kDigits, "-o", out, "--name", "digits"}).exit == 0);
  CHECK_FALSE(std::filesystem::exists(out + "/digits.a"));
  // A bundle of loop programs, and no kernels at all.
  const std::string bundle = folder / "b.dvt";
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "cpu", "--cpu", "portable", "-o", bundle}).exit == 0);
  REQUIRE(test::dovetail({"export", bundle, "-o", out, "--name", "digits", "--format", "object"}).exit == 0);
  CHECK(test::build_and_run(out, "digits", gcc, {"-O2"}) == "");
}

TEST_CASE("export: objects of two programs link together") {
  const std::string gcc = test::find_program("gcc");
  if (gcc.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  for (const std::string name : {"one", "two"})
    REQUIRE(test::dovetail({"export", kDigits, "-o", folder / name, "--name", name, "--format", "object"}).exit == 0);
  REQUIRE(write_text_file(folder / "main.c", R"(static unsigned char memory[ONE_ARENA_BYTES + TWO_ARENA_BYTES + 64];
int main(void) {
  static float image[ONE_IMAGE_COUNT], a[ONE_LOGITS_COUNT], b[TWO_LOGITS_COUNT];
  const struct one_inputs x = {image};
  const struct one_outputs y = {a};
  const struct two_inputs u = {image};
  const struct two_outputs v = {b};
  void* arena = memory + (64 - (uintptr_t)memory % 64) % 64;
  if (one_run(&x, &y, arena) != 0 || two_run(&u, &v, arena) != 0) return 2;
  for (int i = 0; i < ONE_LOGITS_COUNT; ++i)
    if (a[i] != b[i]) return 3;
  return 0;
}
)")
              .ok());
  const std::string run = folder / "run";
  const Finished built = test::run_process({gcc, "-std=c99", "-Wall", "-Wextra", "-Werror", "-include",
                                            folder / "one/one.h", "-include", folder / "two/two.h", folder / "main.c",
                                            folder / "one/one.a", folder / "two/two.a", "-o", run});
  CHECK(built.error == "");
  CHECK(test::run_process({run}).exit == 0);
}

TEST_CASE("export: a folder has seven files, and another export of the name replaces them") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "out";
  for (const std::string& model : {kDigits, kFloatDigits})
    REQUIRE(test::dovetail({"export", model, "-o", out, "--name", "digits"}).exit == 0);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(out)) files.insert(entry.path().filename());
  CHECK(files == std::set<std::string>{"CMakeLists.txt", "README.txt", "digits.c", "digits.h", "dovetail_tiny.c",
                                       "dovetail_tiny.h", "test_digits.c"});
  const std::string header = text_of(out + "/digits.h");
  CHECK_THAT(header, ContainsSubstring("#define DIGITS_ARENA_BYTES ") &&
                         ContainsSubstring("/* Input image: float32[1, 1, 8, 8] */\n#define DIGITS_IMAGE_COUNT 64\n"
                                           "#define DIGITS_IMAGE_SHAPE {1, 1, 8, 8}\n") &&
                         ContainsSubstring("int digits_run(const struct digits_inputs* inputs, const struct "
                                           "digits_outputs* outputs, void* arena);"));
  for (const std::string name : {"digits.c", "digits.h", "dovetail_tiny.c", "dovetail_tiny.h", "test_digits.c"}) {
    INFO(name);
    std::istringstream lines(text_of(out + "/" + name));
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 130);
  }
}

TEST_CASE("export: every external name of a program has its prefix, and no function of libc but memcpy is needed") {
  const std::string gcc = test::find_program("gcc"), nm = test::find_program("nm");
  if (gcc.empty() || nm.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  REQUIRE(test::dovetail({"export", kDigits, "-o", folder / "out", "--name", "my_net"}).exit == 0);
  for (const std::string source : {"my_net.c", "dovetail_tiny.c"})
    REQUIRE(test::run_process({gcc, "-std=c99", "-O2", "-ffreestanding", "-fno-builtin-memset", "-c",
                               folder / "out/" / source, "-o", folder / (source + ".o")})
                .exit == 0);
  const auto symbols = [&](const std::string& object) {
    std::istringstream lines(test::run_process({nm, folder / object}).out);
    std::set<std::string> names;
    for (std::string line; std::getline(lines, line);)
      if (const char kind = line[17]; kind == 'T' || kind == 'U' || kind == 'D' || kind == 'B' || kind == 'C')
        names.insert(line.substr(17));
    return names;
  };
  for (const std::string& name : symbols("my_net.c.o"))
    CHECK((name == "T my_net_run" || name == "U memcpy" || name == "U memset"));
  for (const std::string& name : symbols("dovetail_tiny.c.o"))
    CHECK((name.starts_with("T dovetail_") || name == "U memcpy"));
}

TEST_CASE("export: a bundle of loop programs, with another seed") {
  const std::string gcc = test::find_program("gcc");
  if (gcc.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  for (const std::string processor : {"interpreter", "portable"}) {
    INFO(processor);
    const std::string bundle = folder / (processor + ".dvt"), out = folder / processor;
    REQUIRE(test::dovetail({"compile", kDigits, "--target", "cpu", "--cpu", processor, "-o", bundle}).exit == 0);
    const Finished outputs = test::dovetail({"run", bundle, "--output-dir", folder / ("values_" + processor)});
    REQUIRE(outputs.exit == 0);
    REQUIRE(test::dovetail({"export", bundle, "-o", out, "--seed", "3"}).exit == 0);
    CHECK(test::build_and_run(out, "net", gcc, {"-O2"}) == "");
  }
  CHECK(text_of(folder / "values_interpreter/logits.npy") == text_of(folder / "values_portable/logits.npy"));
}

TEST_CASE("export: portable kernels compute what the operators define") {
  const Finished checked = test::dovetail({"run", kDigits, "--target", "cpu", "--cpu", "portable", "--check"});
  CHECK(checked.error == "");
  CHECK(checked.exit == 0);
  CHECK_THAT(checked.out, ContainsSubstring("elements: all equal\n"));
}

TEST_CASE("export: what C cannot run is refused by name") {
  const test::TemporaryFolder folder;
  const std::string out = folder / "out", bundle = folder / "b.dvt";
  const std::string kernels = folder / "kernels.dvt";
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "cpu", "--cpu", "aarch64", "-o", kernels}).exit == 0);
  for (const char* format : {"c", "object"})
    refuses({kernels, "-o", out, "--format", format},
            "of target cpu: only loop programs and programs of the accelerator are exported", "give the model instead");
  refuses({kDigits, "-o", out, "--format", "cobol"}, "the format is unknown", "--format c");
  refuses({kDigits, "-o", out, "--name", "int"}, "it cannot begin the names of a C program", "for example net");
  refuses({kDigits, "-o", out, "--name", "a-b"}, "it cannot begin the names of a C program", "for example net");
  refuses({kDigits, "-o", out, "--max-arena", "1000"}, "bytes > 1000 bytes of --max-arena; the largest parts are",
          "allow a larger arena");
  refuses({kDigits}, "-o", "");
  refuses({kDigits, "-o", out, "--cpu", "riscv32"}, "C runs on every processor", "--format object");
  refuses({kDigits, "-o", out, "--format", "object", "--cpu", "z80"}, "z80", "armv7m");
  const Finished compiled = test::dovetail({"compile", kDigits, "--target", "cpu", "--cpu", "armv7m", "-o", bundle});
  CHECK(compiled.exit == 2);
  refuses({"-o", out}, "it is missing", "give a model or a bundle");
  refuses({kDigits, "-o", out, "--shape", "image=1x1x8x8", "--shape", "image=2x1x8x8"}, "several shapes",
          "one set of shapes");
  refuses({kDigits, "-o", kDigits}, "it exists and is not a folder", "name another folder");
  refuses({kDigits, "-o", test::kDigitsFolder}, "the folder has files of another origin", "a new or an empty folder");
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("export: --no-libm names the nodes, and without it the header names the functions") {
  const std::string gcc = test::find_program("gcc");
  if (gcc.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  const std::string model = folder / "vit.onnx", out = folder / "out";
  REQUIRE(test::dovetail({"zoo", "bert_tiny", "--sequence", "4", "-o", model}).exit == 0);
  refuses({model, "-o", out, "--no-libm"}, "of the mathematical library, which --no-libm excludes",
          "quantize the model");
  REQUIRE(test::dovetail({"export", model, "-o", out}).exit == 0);
  CHECK_THAT(text_of(out + "/net.h"), ContainsSubstring("Functions of the mathematical library (-lm): "));
  CHECK(test::build_and_run(out, "net", gcc, {"-O2"}) == "");
}

TEST_CASE("export: an index of data that is out of bounds ends the run with the number of the rule") {
  const std::string gcc = test::find_program("gcc");
  if (gcc.empty()) return test::skip(test::kNoCompiler);
  const bool object = GENERATE(false, true);
  const test::TemporaryFolder folder;
  const auto program = loops::parse_program(R"(program gather {
  input table: float32[4]
  input at: int64[2]
  output y: float32[2]
  for l in 2 {
    block gather {
      spatial i in 2 = l
      reads table[0 +: 4], at[i]
      writes y[i]
      y[i] = table[at[i]]
    }
  }
}
)",
                                            "gather");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  std::map<std::string, NdArray> inputs{{"at", NdArray::from<std::int64_t>({2}, {3, 0})}};
  const bundle::Bundle bundle = test::bundle_of(*program, "gather");
  const auto exported =
      object ? driver::export_objects(driver::object_bundle(bundle, "baseline", "net").value(), bundle, "gather",
                                      {.object = exporting::ObjectKernels{.processor = "baseline"}},
                                      {.tensors = std::move(inputs)})
             : driver::export_bundle(bundle, "gather", {}, {.tensors = std::move(inputs)});
  REQUIRE((exported.ok() ? "" : to_string(exported.errors())) == "");
  REQUIRE(exporting::write_project(folder / "net", exported->plan, exported->golden, exported->archive).ok());
  CHECK(test::build_and_run(folder / "net", "net", gcc, {"-O2"}) == "");
  CHECK_THAT(text_of(folder / "net/net.h"),
             ContainsSubstring("1: an index of table is outside 0 <= index < 4 (dimension 0)"));
  REQUIRE(write_text_file(folder / "main.c", R"(#include "net.h"
int main(void) {
  const float table[4] = {1, 2, 3, 4};
  int64_t at[2] = {3, 4};
  float y[2];
  unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGNMENT + 1];
  unsigned char* arena = memory + (NET_ARENA_ALIGNMENT - (uintptr_t)memory % NET_ARENA_ALIGNMENT) % NET_ARENA_ALIGNMENT;
  const struct net_inputs inputs = {table, at};
  const struct net_outputs outputs = {y};
  if (net_run(&inputs, &outputs, arena) != 1) return 2;
  at[1] = -1;
  if (net_run(&inputs, &outputs, arena) != 1) return 3;
  if (net_run(&inputs, &outputs, arena + 1) != -1) return 4;
  at[1] = 2;
  return net_run(&inputs, &outputs, arena) == 0 && y[0] == 4 && y[1] == 3 ? 0 : 5;
}
)")
              .ok());
  const std::string run = folder / "run";
  const Finished built = test::run_process({gcc, "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", folder / "net",
                                            folder / "main.c", folder / (object ? "net/net.a" : "net/net.c"),
                                            folder / "net/dovetail_tiny.c", "-fsanitize=undefined,address", "-o", run});
  CHECK(built.error == "");
  CHECK(test::run_process({run}).exit == 0);
}
