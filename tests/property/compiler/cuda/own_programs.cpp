// Loop programs that users write as kernels: the back end's schedule of each has the values of the interpreter, on a
// machine with threads.
#include <string>
#include <vector>

#include "base/file.h"
#include "compiler/target/cuda/schedule_group.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/threads/run_threads.h"
#include "tests/catch.h"
#include "tests/generator_loops/same_values.h"

using namespace dovetail;

namespace {

NdArray random_tensor(const loops::BufferNode& buffer, std::uint64_t seed) {
  NdArray result(buffer.dtype, buffer.shape);
  std::uint64_t state = seed * 977 + 1;
  for (std::int64_t i = 0; i < result.count(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto value = static_cast<std::int64_t>(state >> 40);
    if (is_floating(buffer.dtype)) result.set_double(i, static_cast<double>(value % 2001 - 1000) / 1024.0);
    else result.set_int64(i, value % 128);
  }
  return result;
}

// Row bounds, columns and the like, by the names that the examples give them.
NdArray tensor_of(const loops::BufferNode& buffer, std::uint64_t seed) {
  NdArray result = random_tensor(buffer, seed);
  const std::int64_t count = result.count();
  for (std::int64_t i = 0; i < count; ++i) {
    if (buffer.name == "begin") result.set_int64(i, i == 0 ? 0 : i * 3 - i % 2);
    if (buffer.name == "column" || buffer.name == "neighbor" || buffer.name == "from")
      result.set_int64(i, (i * 7 + static_cast<std::int64_t>(seed)) % 10);
    if (buffer.name == "place") result.set_int64(i, i % 2 * 2 + i / 2 % 2);
    if (buffer.name == "source") result.set_int64(i, 0);
  }
  return result;
}

}  // namespace

TEST_CASE("kernels of a user's programs have the values of the interpreter") {
  struct Row {
    std::string name;
    loops::Sizes sizes;
    std::string kind;  // of the schedule
  };
  const loops::Sizes graph{{"vertices", 10}, {"edges", 30}};
  const Row row = GENERATE_COPY(values<Row>({
      {"matmul", {{"m", 40}, {"n", 24}, {"k", 20}}, "matrix_product"},
      {"matmul_int8", {{"rows", 20}, {"columns", 12}, {"depth", 16}}, ""},
      {"blur", {{"rows", 9}, {"columns", 20}}, "generic"},
      {"heat_2d", {{"n", 11}}, "generic"},
      {"two_of_four", {{"rows", 9}, {"columns", 16}}, "generic"},
      {"csr_product", {{"rows", 10}, {"columns", 10}, {"elements", 30}}, "generic"},
      {"jacobi_2d", {{"n", 8}, {"t", 2}}, ""},
      {"histogram", {{"n", 64}, {"parts", 4}}, ""},
      {"prefix_sum", {{"n", 24}, {"parts", 4}}, ""},
      {"fft", {{"stages", 3}, {"n", 8}}, ""},
      {"bfs", graph, ""},
      {"triangles", graph, ""},
      {"lu", {{"n", 8}, {"b", 4}}, ""},
  }));
  INFO(row.name);
  const auto text = read_text_file(DOVETAIL_SOURCE_DIR "/examples/kernels/" + row.name + ".loops");
  REQUIRE(text.ok());
  const auto program = loops::parse_program(*text, row.name, row.sizes);
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const auto gpu = cuda::parse_gpu("gpu", "sm_80");
  REQUIRE(gpu.ok());
  const auto scheduled = cuda::schedule_program(*program, *gpu);
  REQUIRE((scheduled.ok() ? "" : to_string(scheduled.errors())) == "");
  if (!row.kind.empty()) CHECK(scheduled->kind == row.kind);
  std::vector<NdArray> arguments;
  for (const loops::Parameter& parameter : program->parameters)
    if (parameter.role != loops::ParameterRole::output)
      arguments.push_back(tensor_of(*parameter.buffer, arguments.size() + 1));
  const auto expected = loops::evaluate(*program, arguments);
  REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
  for (const std::uint64_t seed : {1, 2}) {
    const auto actual = loops::run_threads(scheduled->kernels, scheduled->program.parameters, arguments, seed);
    REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
    for (std::size_t i = 0; i < expected->size(); ++i) CHECK(loops::test::same_values((*actual)[i], (*expected)[i]));
  }
}
