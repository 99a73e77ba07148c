// Tensors that share memory, in each space, and views.
#include <functional>

#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

// x -> one -> two -> three, each a copy of int8[100] by the host; `three` is the output.
bundle::Bundle chain() {
  bundle::Bundle bundle;
  bundle.name = "chain";
  for (const char* name : {"x", "one", "two", "three"}) bundle.tensors.push_back({name, DType::int8, {100}, {}});
  bundle.inputs = {0};
  bundle.outputs = {3};
  for (bundle::TensorIndex i = 0; i < 3; ++i)
    bundle.steps.push_back(test::host_step("copy " + std::to_string(i), {},
                                           "program copy {\n input a: int8[100]\n output b: int8[100]\n for i in "
                                           "100 { block c { spatial k in 100 = i\n"
                                           " reads a[k]\n writes b[k]\n b[k] = a[k] + 1\n } } }",
                                           {i}, {i + 1}));
  return bundle;
}
std::string errors_of_spaces(const std::function<void(bundle::Bundle&)>& change) {
  bundle::Bundle bundle = chain();
  change(bundle);
  const auto verified = bundle::verify(bundle);
  return verified.ok() ? "" : to_string(verified.errors());
}
void place(bundle::Bundle& bundle, std::uint64_t one, std::uint64_t two, std::uint64_t three, std::uint64_t bytes) {
  bundle.tensors[1].offset = one;
  bundle.tensors[2].offset = two;
  bundle.tensors[3].offset = three;
  bundle.spaces[0].bytes = bytes;
}

}  // namespace

TEST_CASE("live ranges: from the step that writes to the last that reads, through views") {
  bundle::Bundle bundle = chain();
  const auto ranges = bundle::live_ranges(bundle);
  CHECK((ranges[0].first == -1 && ranges[0].last == 0));
  CHECK((ranges[1].first == 0 && ranges[1].last == 1));
  CHECK((ranges[3].first == 2 && ranges[3].last == 3));
  bundle.tensors.push_back({"view", DType::int8, {10, 10}, {}, {}, {}, {}, 1});
  bundle.outputs.push_back(4);
  CHECK(bundle::verify(bundle).ok());
  CHECK(bundle::live_ranges(bundle)[1].last == 3);
  CHECK(bundle::live_ranges(bundle)[4].last == 3);
}

TEST_CASE("tensors share memory only if their lifetimes do not overlap") {
  CHECK(errors_of_spaces([](auto& b) { place(b, 0, 128, 0, 256); }) == "");
  CHECK(errors_of_spaces([](auto& b) { place(b, 0, 128, 256, 356); }) == "");
  CHECK_THAT(
      errors_of_spaces([](auto& b) { place(b, 0, 64, 0, 256); }),
      ContainsSubstring("\"two\", 100 bytes at 64, overlaps \"one\", 100 bytes at 0, and both are live at step 1"));
  CHECK_THAT(errors_of_spaces([](auto& b) { place(b, 0, 128, 0, 227); }),
             ContainsSubstring("\"two\", 100 bytes at 128, exceeds the memory of 227 bytes"));
  CHECK(errors_of_spaces([](auto& b) { place(b, 0, 128, 0, 228); }) == "");
  CHECK_THAT(errors_of_spaces([](auto& b) { place(b, 0, 130, 0, 256); }),
             ContainsSubstring("is at 130, which is not a multiple of 64"));
  CHECK_THAT(errors_of_spaces([](auto& b) { place(b, ~std::uint64_t{63}, 128, 0, 256); }),
             ContainsSubstring("exceeds the memory of 256 bytes"));
  CHECK_THAT(errors_of_spaces([](auto& b) { b.tensors[0].offset = 0; }),
             ContainsSubstring("input \"x\" has an offset, though it is in the caller's memory"));
}

TEST_CASE("a result overwrites an argument of its step, in one place of a device's memory") {
  const auto overwriting = [](const std::function<void(bundle::Bundle&)>& change) {
    return errors_of_spaces([&](bundle::Bundle& b) {
      b.spaces.push_back({"device", "memory", 0, 256});
      for (const std::size_t i : {1, 2}) b.tensors[i].space = 1, b.tensors[i].offset = 64;
      b.tensors[2].overwrites = 1;
      b.residents = {{0, 3, 1, 2}};
      change(b);
    });
  };
  CHECK(overwriting([](auto&) {}) == "");
  CHECK_THAT(overwriting([](auto& b) { b.tensors[2].overwrites.reset(), b.residents.clear(); }),
             ContainsSubstring("both are live at step 1"));
  CHECK_THAT(overwriting([](auto& b) { b.tensors[2].overwrites = 0; }), ContainsSubstring("is not an argument"));
  CHECK_THAT(overwriting([](auto& b) { b.tensors[2].overwrites = 99; }), ContainsSubstring("is not an argument"));
  CHECK_THAT(overwriting([](auto& b) { b.tensors[2].offset = 128; }), ContainsSubstring("has another type or place"));
  CHECK_THAT(overwriting([](auto& b) {
               b.tensors[2].shape = {50, 2};
             }),
             ContainsSubstring("has another type or place"));
  CHECK_THAT(overwriting([](auto& b) { b.steps[2].arguments = {1}; }), ContainsSubstring("which is read later"));
  for (const bundle::Resident wrong : {bundle::Resident{1, 3, 1, 2}, {0, 2, 1, 2}, {0, 3, 0, 2}, {0, 3, 1, 99}})
    CHECK_THAT(overwriting([&](auto& b) { b.residents = {wrong}; }), ContainsSubstring("does not stay between"));
}

TEST_CASE("views have their tensor's type and size, come after it and are not computed") {
  const auto view = [](Shape shape, bundle::TensorIndex of) {
    return bundle::Tensor{"view", DType::int8, std::move(shape), {}, {}, {}, {}, of};
  };
  CHECK(errors_of_spaces([&](auto& b) { b.tensors.push_back(view({10, 10}, 3)), b.outputs = {4}; }) == "");
  CHECK_THAT(
      errors_of_spaces([&](auto& b) {
        b.tensors.push_back(view({10, 11}, 3));
      }),
      ContainsSubstring("\"view\", int8[10, 11], is a view of \"three\", int8[100], which differs in type or size"));
  CHECK_THAT(errors_of_spaces([&](auto& b) { b.tensors.push_back(view({100}, 4)), b.outputs = {4}; }),
             ContainsSubstring("a view of tensor 4, which must precede it"));
  CHECK_THAT(errors_of_spaces([&](auto& b) { b.tensors[2].view_of = 1; }),
             ContainsSubstring("a result defines tensor \"two\", which is a view"));
  CHECK_THAT(errors_of_spaces([&](auto& b) { b.tensors.push_back(view({100}, 3)), b.tensors[4].offset = 0; }),
             ContainsSubstring("has an offset, but is a constant or a view"));
  // Before the tensor that it shows is computed.
  CHECK_THAT(errors_of_spaces([&](auto& b) { b.tensors.push_back(view({100}, 2)), b.steps[1].arguments = {4}; }),
             ContainsSubstring("uses tensor \"view\", which no step has computed yet"));
}

TEST_CASE("places, views and layouts survive the file") {
  bundle::Bundle bundle = chain();
  place(bundle, 0, 128, 0, 256);
  bundle.tensors.push_back({"view", DType::int8, {10, 10}, {}, "i0,i1", "one", {}, 3});
  const auto read = bundle::parse(bundle::serialize(bundle), "chain", bundle::MachineCode::untrusted);
  REQUIRE((read.ok() ? "" : to_string(read.errors())) == "");
  CHECK(read->spaces[0].bytes == 256);
  CHECK(read->tensors[2].offset == 128);
  CHECK_FALSE(read->tensors[0].offset.has_value());
  CHECK(read->tensors[4].view_of == 3);
  CHECK(read->tensors[4].layout == "i0,i1");
  CHECK(read->tensors[4].logical == "one");
}

TEST_CASE("tensors are in existing spaces, and at an offset there") {
  // Two and three are in a device's memory.
  const auto errors_on_device = [](const std::function<void(bundle::Bundle&)>& change) {
    return errors_of_spaces([&](bundle::Bundle& b) {
      b.spaces.push_back({"gpu", "vram", 0x4000, 256});
      place(b, 0, 0, 128, 100);
      b.tensors[2].space = b.tensors[3].space = 1;
      change(b);
    });
  };
  CHECK(errors_on_device([](auto&) {}) == "");
  CHECK_THAT(errors_on_device([](auto& b) { b.tensors[3].offset = 64; }),
             ContainsSubstring("\"three\", 100 bytes at 64, overlaps \"two\", 100 bytes at 0"));
  CHECK_THAT(errors_on_device([](auto& b) { b.spaces[1].bytes = 227; }),
             ContainsSubstring("exceeds the memory of 227 bytes"));
  CHECK_THAT(errors_on_device([](auto& b) { b.tensors[3].space = 2; }),
             ContainsSubstring("\"three\" is in memory space 2, but there are only 2"));
  CHECK_THAT(errors_on_device([](auto& b) { b.tensors[3].space = -1; }), ContainsSubstring("is in memory space -1"));
  CHECK_THAT(errors_on_device([](auto& b) { b.tensors[3].offset.reset(); }),
             ContainsSubstring("\"three\" is in memory \"vram\", but has no offset there"));
  CHECK_THAT(errors_on_device([](auto& b) { b.tensors[0].space = 1; }), ContainsSubstring("has no offset there"));
  CHECK_THAT(errors_on_device([](auto& b) { b.spaces[1].base = ~std::uint64_t{254}; }),
             ContainsSubstring("end beyond the last address"));
  CHECK_THAT(errors_on_device([](auto& b) { b.spaces[1].target = ""; }),
             ContainsSubstring("spaces[1] \"vram\"): the target is missing"));
  CHECK_THAT(errors_on_device([](auto& b) { b.spaces.clear(); }),
             ContainsSubstring("the host's memory space is missing"));
  CHECK_THAT(errors_on_device([](auto& b) {
               b.tensors.push_back({"view", DType::int8, {10, 10}, {}, {}, {}, {}, 3}), b.outputs = {4};
             }),
             ContainsSubstring("view \"view\" of \"three\" is in memory space 0, but its base is in 1"));
  CHECK(errors_on_device([](auto& b) {
          b.tensors.push_back({"view", DType::int8, {10, 10}, {}, {}, {}, {}, 3, 1}), b.outputs = {4};
        }) == "");
}

TEST_CASE("spaces survive the file") {
  const auto read = bundle::parse(bundle::serialize(test::sample_bundle()), "sample", bundle::MachineCode::untrusted);
  REQUIRE((read.ok() ? "" : to_string(read.errors())) == "");
  REQUIRE(read->spaces.size() == 2);
  CHECK(read->spaces[1].target == "accel");
  CHECK(read->spaces[1].name == "DRAM");
  CHECK(read->spaces[1].base == test::kSampleBase);
  CHECK(read->spaces[1].bytes == test::kSampleBytes);
  CHECK(read->tensors[2].space == 1);
  CHECK(read->tensors[2].offset == test::kSampleOutput - test::kSampleBase);
}
