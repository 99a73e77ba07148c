#include "base/file.h"
#include "bundle/format.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;

TEST_CASE("a bundle is read back as it was written") {
  const bundle::Bundle original = test::sample_bundle();
  REQUIRE(bundle::verify(original).ok());
  const auto bytes = bundle::serialize(original);
  const auto parsed = bundle::parse(bytes, "test", bundle::MachineCode::untrusted);
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(bundle::serialize(*parsed) == bytes);

  CHECK(parsed->name == "sample");
  CHECK(parsed->report == original.report);
  REQUIRE(parsed->tensors.size() == 5);
  CHECK(parsed->tensors[3].constant == original.tensors[3].constant);
  REQUIRE(parsed->steps.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const bundle::Step &step = parsed->steps[i], &expected = original.steps[i];
    CHECK(step.name == expected.name);
    CHECK(step.target == expected.target);
    CHECK(step.origins == expected.origins);
    CHECK(step.arguments == expected.arguments);
    CHECK(step.results == expected.results);
    CHECK(step.code == expected.code);
    CHECK(step.data == expected.data);
  }
}

TEST_CASE("states are read back, and only a bundle with states needs their format") {
  bundle::Bundle original = test::sample_bundle();
  const auto version = [&] {
    return std::to_integer<int>(bundle::serialize(original)[bundle::format::kVersionOffset]);
  };
  CHECK(version() == 3);
  original.states = {{0, 4}};
  CHECK(version() == 5);
  const auto parsed = bundle::parse(bundle::serialize(original), "test", bundle::MachineCode::untrusted);
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(parsed->states == original.states);
}

TEST_CASE("large pieces of a bundle are written in place, small ones are collected between them") {
  bundle::Bundle original = test::sample_bundle();
  const auto blob = [](std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
    return bundle::Blob(std::move(bytes));
  };
  original.steps[2].data = {blob(40000), blob(3), blob(70001), blob(50001), blob(17)};
  const bundle::Serialized file = bundle::serialize_in_pieces(original);
  CHECK(file.pieces.size() > 5);
  const auto bytes = bundle::serialize(original);
  CHECK(bytes.size() == file.size());
  const auto parsed = bundle::parse(bytes, "test", bundle::MachineCode::untrusted);
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(parsed->steps[2].data == original.steps[2].data);
  const test::TemporaryFolder folder;
  REQUIRE(bundle::write_bundle(folder.path() / "large.dvt", original).ok());
  const auto written = read_file(folder.path() / "large.dvt");
  REQUIRE(written.ok());
  CHECK(*written == bytes);
}

TEST_CASE("code of an unknown target, and modules, are preserved") {
  bundle::Bundle original = test::sample_bundle();
  original.steps[2].target = "abacus";
  original.steps[2].code = {std::byte{7}, std::byte{0}};
  original.steps[2].data = {std::vector<std::byte>{std::byte{1}}, {}};
  original.modules = {{"abacus", "ten beads", {std::byte{3}}}};
  const auto parsed = bundle::parse(bundle::serialize(original), "test", bundle::MachineCode::untrusted);
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(parsed->steps[2].target == "abacus");
  CHECK(parsed->steps[2].code == original.steps[2].code);
  CHECK(parsed->steps[2].data == original.steps[2].data);
  const bundle::Module* module = bundle::find_module(*parsed, "abacus");
  REQUIRE(module != nullptr);
  CHECK(module->made_for == "ten beads");
  CHECK(module->code == original.modules[0].code);
  CHECK(bundle::find_module(*parsed, "cpu") == nullptr);
}

TEST_CASE("equal data is one piece, in the file and after reading") {
  const std::vector<std::byte> weights(10000, std::byte{5});
  bundle::Bundle original = test::sample_bundle();
  const std::size_t without = bundle::serialize(original).size();
  original.steps[0].data = {weights};
  original.steps[2].data = {weights, weights};
  const auto bytes = bundle::serialize(original);
  CHECK(bytes.size() < without + weights.size() + 200);
  const auto parsed = bundle::parse(bytes, "test", bundle::MachineCode::untrusted);
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(parsed->steps[0].data[0].is_same_as(parsed->steps[2].data[1]));
}

TEST_CASE("constants of every type survive, scalars and empty ones too") {
  bundle::Bundle original;
  original.name = "constants";
  for (const DTypeInfo& row : kDTypes)
    for (const Shape& shape : {Shape{}, Shape{3, 2}, Shape{2, 0}}) {
      NdArray array(row.dtype, shape);
      for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, row.dtype == DType::boolean ? i % 2 : i + 1);
      original.tensors.push_back({std::string(row.name) + to_string(shape), row.dtype, shape, array});
    }
  const auto parsed = bundle::parse(bundle::serialize(original), "test", bundle::MachineCode::untrusted);
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  for (std::size_t i = 0; i < original.tensors.size(); ++i)
    CHECK(parsed->tensors[i].constant == original.tensors[i].constant);
}

TEST_CASE("a file is written completely, and a wrong bundle not at all") {
  const test::TemporaryFolder folder;
  REQUIRE(bundle::write_bundle(folder / "s.dvt", test::sample_bundle()).ok());
  CHECK(bundle::read_bundle(folder / "s.dvt", bundle::MachineCode::untrusted).ok());
  bundle::Bundle wrong = test::sample_bundle();
  wrong.outputs = {9};
  CHECK_FALSE(bundle::write_bundle(folder / "wrong.dvt", wrong).ok());
  CHECK_FALSE(std::filesystem::exists(folder / "wrong.dvt"));
}
