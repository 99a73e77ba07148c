#include "export/c_source.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "export/c_accelerator.h"
#include "export/c_object_calls.h"
#include "export/c_place.h"
#include "export/c_text.h"

namespace dovetail::exporting {

namespace {

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", dovetail::name(dtype), to_string(shape));
}

// A comment of several lines.
std::string comment(const std::vector<std::string>& lines) {
  std::string text = "/*";
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i == 0 ? "" : "\n *") + (lines[i].empty() ? "" : " " + lines[i]);
  return text + " */\n";
}

bool needs_math_header(const Plan& plan) {
  if (!plan.needs.libm.empty()) return true;
  for (const PlannedConstant& constant : plan.constants)
    if (constant.value->dtype() == DType::float32 || constant.value->dtype() == DType::float64)
      for (std::int64_t i = 0; i < constant.value->count(); ++i)
        if (!std::isfinite(constant.value->as_double(i))) return true;  // for INFINITY and NAN
  return false;
}

std::string port_lines(const Plan& plan, const Port& port, std::string_view kind) {
  std::string text = fmt::format("{} {}: {}", kind, comment_text(port.tensor), type_text(port.dtype, port.shape));
  if (!port.note.empty()) text += "; " + port.note;
  text = fmt::format("\n/* {}{} */\n", text, port.quantization ? "; real = (value - zero point) * scale" : "");
  const std::string name = upper_case(port.field);
  text += fmt::format("#define {} {}\n", macro(plan, name + "_COUNT"), element_count(port.shape));
  if (!port.shape.empty())
    text += fmt::format("#define {} {{{}}}\n", macro(plan, name + "_SHAPE"), fmt::join(port.shape, ", "));
  if (port.quantization) {
    text += fmt::format("#define {} {}\n", macro(plan, name + "_SCALE"),
                        float_literal(port.quantization->scale, DType::float32));
    text += fmt::format("#define {} ({})\n", macro(plan, name + "_ZERO_POINT"), port.quantization->zero_point);
  }
  return text;
}

std::string members(const Plan& plan, const std::vector<Port>& ports, bool constant) {
  if (ports.empty()) return "  const void* none;\n";
  std::string text;
  for (const Port& port : ports)
    text += fmt::format("  {}{}* {}; /* {} */\n", constant ? "const " : "", element_type(port.dtype), port.field,
                        macro(plan, upper_case(port.field) + "_COUNT") + " elements");
  return text;
}

// The accelerators' machine is the first parameter.
std::string run_signature(const Plan& plan) {
  return fmt::format(
      "int {0}_run({1}const struct {0}_inputs* inputs, const struct {0}_outputs* outputs,{2}void* arena)",
      plan.options.name, plan.accelerator ? "struct dovetail_machine* machine, " : "",
      plan.accelerator ? "\n    " : " ");
}

}  // namespace

std::string header_text(const Plan& plan) {
  const std::string& name = plan.options.name;
  const auto& object = plan.options.object;
  const std::string form = object ? fmt::format("an object for {}", object->processor) : "C99";
  std::vector<std::string> about{fmt::format("{} as {}, written by `dovetail export`.", comment_text(plan.model), form),
                                 "",
                                 plan.accelerator ? "No state is kept from run to run, and nothing is allocated. One "
                                                    "run at a time may use a machine."
                                                  : "No state is kept from run to run, nothing is allocated, and "
                                                    "several threads may run it, each with an arena.",
                                 fmt::format("16-bit floats are passed as their bits, bools as 0 or 1.")};
  if (plan.needs.libm.empty()) about.emplace_back("The mathematical library is not used.");
  else
    about.push_back(fmt::format("Functions of the mathematical library (-lm): {}.", fmt::join(plan.needs.libm, ", ")));
  std::string text = comment(about);
  text +=
      fmt::format("#ifndef {0}\n#define {0}\n\n#include <stdint.h>\n{1}\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
                  macro(plan, "H"), plan.accelerator ? "\n#include \"dovetail_machine.h\"\n" : "");
  text += fmt::format(
      "\n/* Memory for intermediate values: its size, and what its address must be a multiple of. */\n#define {} "
      "{}\n#define {} {}\n",
      macro(plan, "ARENA_BYTES"), plan.arena_bytes, macro(plan, "ARENA_ALIGNMENT"), plan.arena_alignment);
  for (const Port& port : plan.inputs) text += port_lines(plan, port, "Input");
  for (const Port& port : plan.outputs) text += port_lines(plan, port, "Output");
  text += fmt::format("\nstruct {}_inputs {{\n{}}};\n", name, members(plan, plan.inputs, true));
  text += fmt::format(
      "\n/* Written completely; they must not overlap inputs, the arena or each other. */\nstruct {}_outputs "
      "{{\n{}}};\n",
      name, members(plan, plan.outputs, false));
  if (plan.accelerator) text += accelerator_header(plan);
  std::vector<std::string> returns{"Returns 0, or -1 if the arena is not aligned; outputs are then not written."};
  if (plan.accelerator)
    returns = {
        "Returns 0, or a negative number of enum dovetail_result (dovetail_driver.h): DOVETAIL_BAD_ARENA if the",
        "arena is not aligned, or why a launch failed, with the error in `machine`. Outputs are then not valid."};
  if (!plan.sites.texts.empty()) {
    returns.emplace_back(
        "A positive number reports values for which the model is not defined; outputs are then not valid:");
    for (std::size_t i = 0; i < plan.sites.texts.size(); ++i)
      returns.push_back(fmt::format("  {}: {}", i + 1, comment_text(plan.sites.texts[i])));
  }
  text += "\n" + comment(returns);
  text += run_signature(plan) + ";\n";
  text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::string initializer(const NdArray& values, std::string_view indent) {
  const DType dtype = values.dtype();
  std::string text;
  std::size_t column = 0;
  const auto add = [&](const std::string& one) {
    if (column == 0 || column + one.size() + 2 > kColumns) {
      if (column != 0) text += ",\n";
      text += indent;
      column = indent.size();
    } else {
      text += ", ";
      column += 2;
    }
    text += one;
    column += one.size();
  };
  const auto bits16 = [&](std::int64_t i) {
    const auto bytes = values.bytes().subspan(static_cast<std::size_t>(2 * i), 2);
    return std::to_integer<unsigned>(bytes[0]) | std::to_integer<unsigned>(bytes[1]) << 8;
  };
  for (std::int64_t i = 0; i < values.count(); ++i) {
    if (dtype == DType::float16 || dtype == DType::bfloat16) add(fmt::format("0x{:04x}", bits16(i)));
    else if (dtype == DType::uint64)
      add(integer_literal(static_cast<std::int64_t>(values.data<std::uint64_t>()[static_cast<std::size_t>(i)]), dtype));
    else if (is_floating(dtype)) add(float_initializer(values.as_double(i), dtype));
    else add(integer_literal(values.as_int64(i), dtype));
  }
  if (values.count() == 0) add("0");
  return text + "\n";
}

namespace {

std::string statements(const Plan& plan, const KernelCall& call) {
  const PlannedKernel& kernel = plan.kernels[call.kernel];
  if (plan.options.object) return object_call(plan, kernel, call);
  std::vector<std::string> arguments;
  for (const Place& place : call.arguments) arguments.push_back(place_text(plan, place));
  for (const Place& place : call.workspace) arguments.push_back(place_text(plan, place));
  if (kernel.code.fails) arguments.emplace_back("&failure");
  std::string text = fmt::format("  {}(", kernel.function);
  std::size_t column = text.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) {
      const bool breaks = column + arguments[i].size() + 2 > kColumns;
      text += breaks ? ",\n      " : ", ";
      column = breaks ? 6 : column + 2;
    }
    text += arguments[i];
    column += arguments[i].size();
  }
  text += ");\n";
  if (kernel.code.fails) text += "  if (failure != 0) return failure;\n";
  return text;
}

std::string statements(const Plan& plan, const RegionCall& call) {
  return region_statements(plan, call, call.position ? place_text(plan, *call.position) : "");
}

std::string statements(const Plan& plan, const Copy& copy) {
  return fmt::format("  memcpy({}, {}, {});\n", place_text(plan, copy.to), place_text(plan, copy.from), copy.bytes);
}

}  // namespace

std::string source_text(const Plan& plan) {
  const std::string& name = plan.options.name;
  std::string text = fmt::format("/* {} as C99, written by `dovetail export`: {}.h has its interface. */\n",
                                 comment_text(plan.model), name);
  text += fmt::format("#include \"{}.h\"\n\n", name);
  if (needs_math_header(plan)) text += "#include <math.h>\n\n";
  text += "#include \"dovetail_tiny.h\"\n";
  if (plan.needs.doubles)
    text += "\n#if DBL_MANT_DIG != 53\n#error \"this program needs a double in the format binary64\"\n#endif\n";
  for (const std::string& extra : plan.needs.extra) text += "\n" + extra_definition(extra);
  if (!plan.constants.empty()) text += "\n/* ---- Constants ---- */\n";
  for (const PlannedConstant& constant : plan.constants) {
    const NdArray& value = *constant.value;
    text += fmt::format("\n/* {}: {} */\nstatic const {} {}[{}] = {{\n{}}};\n", comment_text(constant.tensor),
                        type_text(value.dtype(), value.shape()), element_type(value.dtype()), constant.name,
                        std::max<std::int64_t>(value.count(), 1), initializer(value, "  "));
  }
  text += "\n/* ---- Kernels ---- */\n";
  const bool object = plan.options.object && !plan.kernels.empty();
  if (object) text += object_services();
  for (const PlannedKernel& kernel : plan.kernels) {
    if (kernel.is_empty) continue;
    text += "\n" + comment(kernel.comments);
    if (object) text += object_kernel(kernel);
    else text += fmt::format("{} {{\n{}}}\n", kernel.code.signature(kernel.function, kernel.program), kernel.code.body);
  }
  if (plan.accelerator) text += accelerator_tables(plan);
  text += "\n/* ---- The run ---- */\n\n";
  text += run_signature(plan) + " {\n";
  std::string calls = plan.accelerator ? accelerator_begin(plan) : "";
  for (const PlannedCall& call : plan.calls)
    calls += std::visit([&](const auto& one) { return statements(plan, one); }, call);
  const auto has = [&](std::string_view word) { return calls.find(word) != calls.npos; };
  if (has("(memory + ")) text += "  unsigned char* const memory = arena;\n";
  if (has("(device + "))
    text +=
        fmt::format("  unsigned char* const device = dovetail_machine_at(machine, {});\n", macro(plan, "MEMORY_BASE"));
  if (object) text += object_variables();
  if (has("&failure")) text += "  int failure = 0;\n";
  if (has("  position = ")) text += "  int64_t position;\n";
  if (has("  status = ")) text += "  int status;\n";
  if (!has("inputs->")) text += "  (void)inputs;\n";
  if (!has("outputs->")) text += "  (void)outputs;\n";
  text += fmt::format("  if ((uintptr_t)arena % {} != 0) return {};\n", macro(plan, "ARENA_ALIGNMENT"),
                      plan.accelerator ? "DOVETAIL_BAD_ARENA" : "-1");
  return text + calls + "  return 0;\n}\n";
}

namespace {

// The element as a double.
std::string decoded(const Port& port, std::string_view array) {
  const std::string_view decode = port.dtype == DType::float16    ? "(double)dovetail_f16_to_f32"
                                  : port.dtype == DType::bfloat16 ? "(double)dovetail_bf16_to_f32"
                                                                  : "(double)";
  return fmt::format("{}({}_{}[i])", decode, array, port.field);
}

// Compares all elements of an output.
std::string comparison(const Port& port, std::int64_t count, bool exact) {
  const std::string found = decoded(port, "found"), expected = decoded(port, "expected");
  const std::string report = fmt::format(
      "return report(\"{}\", i,\n                    {},\n                    {});\n", port.field, found, expected);
  if (!is_floating(port.dtype))
    return fmt::format("  for (i = 0; i < {0}; ++i)\n    if (found_{1}[i] != expected_{1}[i])\n      {2}", count,
                       port.field, report);
  std::string text;
  if (!exact)
    text = fmt::format(
        "  margin = 0;\n  for (i = 0; i < {0}; ++i) {{\n    const double value = fabs({1});\n    if (value > margin && "
        "value < 1e300) margin = value;\n  }}\n  margin *= TOLERANCE;\n",
        count, expected);
  return text + fmt::format(
                    "  for (i = 0; i < {0}; ++i)\n    if (memcmp(&found_{1}[i], &expected_{1}[i], sizeof "
                    "found_{1}[0]) != 0 &&\n        differs({2}, {3}, {4}))\n      {5}",
                    count, port.field, found, expected, exact ? "-1" : "margin", report);
}

}  // namespace

std::string test_text(const Plan& plan, const GoldenVector& golden) {
  const std::string& name = plan.options.name;
  // Kernels of objects may add and multiply floats with one rounding, or in another order.
  const bool exact = plan.needs.libm.empty() && !(plan.options.object && plan.needs.floats);
  const bool floats = std::ranges::any_of(
      plan.outputs, [](const Port& port) { return is_floating(port.dtype) && element_count(port.shape) > 0; });
  std::string text =
      comment({fmt::format("Runs {} on one vector and compares the outputs with those of the reference.",
                           comment_text(plan.model)),
               fmt::format("Inputs: {}.", comment_text(golden.origin)),
               exact ? "Exit status 0 if all bits are equal; a NaN equals a NaN."
                     : "Exit status 0 if integers are equal, and floats up to TOLERANCE times the largest one.",
               "An argument N runs it N times, to measure the time. -DSILENT: there is no standard output."});
  text += fmt::format("#include \"{}.h\"\n\n", name);
  if (plan.accelerator) text += "#include \"platform.h\"\n\n";
  const auto is_float = [](const Port& port) { return is_floating(port.dtype) && !is_half(port.dtype); };
  if (floats || std::ranges::any_of(plan.inputs, is_float)) text += "#include <math.h>\n";
  text += "#include <stdlib.h>\n#include <string.h>\n#ifndef SILENT\n#include <stdio.h>\n#endif\n\n";
  text += "#include \"dovetail_tiny.h\"\n";
  if (!exact) text += "\n#ifndef TOLERANCE\n#define TOLERANCE 1e-4\n#endif\n";
  const auto array = [&](std::string_view kind, const Port& port, const NdArray& value) {
    text += fmt::format("\nstatic const {} {}_{}[{}] = {{\n{}}};\n", element_type(port.dtype), kind, port.field,
                        std::max<std::int64_t>(value.count(), 1), initializer(value, "  "));
  };
  for (const Port& port : plan.inputs) array("given", port, golden.inputs.at(port.tensor));
  for (const Port& port : plan.outputs)
    if (element_count(port.shape) > 0) array("expected", port, golden.outputs.at(port.tensor));
  text += "\n";
  for (const Port& port : plan.outputs)
    text += fmt::format("static {} found_{}[{}];\n", element_type(port.dtype), port.field,
                        std::max<std::int64_t>(element_count(port.shape), 1));
  if (plan.arena_alignment <= kArenaAlignment)
    text += fmt::format("static uint64_t arena[{0} / sizeof(uint64_t) + 1]; /* {0} bytes, aligned */\n",
                        macro(plan, "ARENA_BYTES"));
  else
    text += fmt::format("static unsigned char memory[{} + {}];\n", macro(plan, "ARENA_BYTES"),
                        macro(plan, "ARENA_ALIGNMENT"));
  if (floats)
    text += R"(
/* For values whose bits differ. A negative margin: only a NaN equals another value. */
static int differs(double found, double expected, double margin) {
  if (found != found || expected != expected) return !(found != found && expected != expected);
  if (margin < 0) return 1;
  return found != expected && !(fabs(found - expected) <= margin);
}
)";
  text += R"(
static int report(const char* output, long index, double found, double expected) {
#ifndef SILENT
  printf("%s[%ld] is %.17g, expected %.17g\n", output, index, found, expected);
#else
  (void)output, (void)index, (void)found, (void)expected;
#endif
  return 1;
}

int main(int argc, char** argv) {
)";
  const auto fields = [&](const std::vector<Port>& ports, std::string_view kind) {
    std::vector<std::string> names;
    for (const Port& port : ports) names.push_back(fmt::format("{}_{}", kind, port.field));
    return names.empty() ? std::string("0") : fmt::format("{}", fmt::join(names, ",\n      "));
  };
  text += fmt::format(
      "  const struct {0}_inputs inputs = {{\n      {1}}};\n  const struct {0}_outputs outputs = {{\n      {2}}};\n",
      name, fields(plan.inputs, "given"), fields(plan.outputs, "found"));
  text += "  long runs = argc > 1 ? atol(argv[1]) : 1;\n  long i;\n";
  if (plan.arena_alignment > kArenaAlignment)
    text += fmt::format("  unsigned char* const arena =\n      memory + ({0} - (uintptr_t)memory % {0}) % {0};\n",
                        macro(plan, "ARENA_ALIGNMENT"));
  if (floats && !exact) text += "  double margin;\n";
  if (plan.accelerator)
    text += fmt::format(
        "  struct dovetail_machine* const machine = platform_open(\"{}\", {}, {});\n"
        "  int status = machine ? {}_load(machine) : DOVETAIL_NO_DEVICE;\n",
        kHardwareFile, macro(plan, "MEMORY_BASE"), macro(plan, "MEMORY_BYTES"), name);
  else text += "  int status = 0;\n";
  text += fmt::format("  for (; runs > 0 && status == 0; --runs) status = {}_run({}&inputs, &outputs, arena);\n", name,
                      plan.accelerator ? "machine, " : "");
  if (plan.accelerator)
    text += R"(#ifndef SILENT
  if (status == DOVETAIL_LAUNCH_FAILED)
    printf("error %u at instruction %u of accelerator %u\n", (unsigned)machine->error.code,
           (unsigned)machine->error.instruction, (unsigned)machine->failed);
#endif
  platform_close(machine);
)";
  text += R"(  if (status != 0) {
#ifndef SILENT
    printf("the run returned %d\n", status);
#endif
    return 1;
  }
)";
  for (const Port& port : plan.outputs)
    if (element_count(port.shape) > 0) text += comparison(port, element_count(port.shape), exact);
  if (std::ranges::all_of(plan.outputs, [](const Port& port) { return element_count(port.shape) == 0; }))
    text += "  (void)i, (void)report; /* the outputs have no elements */\n";
  text += "#ifndef SILENT\n  printf(\"all outputs are as expected\\n\");\n#endif\n  return 0;\n}\n";
  return text;
}

std::string cmake_text(const Plan& plan) {
  const std::string& name = plan.options.name;
  if (plan.accelerator) return accelerator_cmake(plan);
  if (plan.options.object)
    return fmt::format(
        "# Written by `dovetail export`: the program as a library of objects for {1}, and its test.\n"
        "cmake_minimum_required(VERSION 3.13)\nproject({0} C)\n\n"
        "add_library({0} STATIC IMPORTED GLOBAL)\n"
        "set_target_properties({0} PROPERTIES IMPORTED_LOCATION ${{CMAKE_CURRENT_SOURCE_DIR}}/{0}.a\n"
        "  INTERFACE_INCLUDE_DIRECTORIES ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
        "{2}\n"
        "enable_testing()\nadd_executable(test_{0} test_{0}.c dovetail_tiny.c)\n"
        "set_target_properties(test_{0} PROPERTIES C_STANDARD 99)\n"
        "target_link_libraries(test_{0} PRIVATE {0} m)\nadd_test(NAME {0} COMMAND test_{0})\n",
        name, plan.options.object->processor,
        plan.needs.libm.empty() ? "" : fmt::format("target_link_libraries({} INTERFACE m)\n", name));
  return fmt::format(
      "# Written by `dovetail export`: the program as a static library, and its test.\n"
      "cmake_minimum_required(VERSION 3.13)\nproject({0} C)\n\n"
      "add_library({0} STATIC {0}.c dovetail_tiny.c)\n"
      "target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
      "set_target_properties({0} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)\n"
      "if(CMAKE_C_COMPILER_ID MATCHES \"GNU|Clang\")\n"
      "  target_compile_options({0} PRIVATE -ffp-contract=off)  # every operation rounds separately\nendif()\n"
      "{1}\n"
      "enable_testing()\nadd_executable(test_{0} test_{0}.c)\n"
      "set_target_properties(test_{0} PROPERTIES C_STANDARD 99)\n"
      "target_link_libraries(test_{0} PRIVATE {0}{2})\nadd_test(NAME {0} COMMAND test_{0})\n",
      name, plan.needs.libm.empty() ? "" : fmt::format("target_link_libraries({} PUBLIC m)\n", name),
      plan.needs.libm.empty() ? " m" : "");
}

namespace {

std::string readme_of_c(const Plan& plan) {
  const std::string& name = plan.options.name;
  return fmt::format("{}, exported to C99 by Dovetail\n\n", comment_text(plan.model)) +
         file_list({{name + ".h", "the interface: inputs, outputs, the size of the arena, " + name + "_run"},
                    {name + ".c", "constants and kernels"},
                    {"dovetail_tiny.h", "arithmetic that C does not define in all cases"},
                    {"dovetail_tiny.c", "likewise; several exported programs share one copy"},
                    {"test_" + name + ".c", "compares one run with the reference; exit status 0 if it agrees"},
                    {"CMakeLists.txt", "library " + name + ", and the test"}}) +
         fmt::format(
             "\nBuild and test, without CMake:\n\n"
             "  cc -std=c99 -O2 -ffp-contract=off {0}.c dovetail_tiny.c test_{0}.c -lm -o test_{0} && ./test_{0}\n\n"
             "Your project needs {0}.h, {0}.c and the two files dovetail_tiny. ",
             name);
}

std::string readme_of_object(const Plan& plan) {
  const std::string& name = plan.options.name;
  const ObjectKernels& object = *plan.options.object;
  return fmt::format("{}, exported by Dovetail as objects for {}\n\n", comment_text(plan.model), object.processor) +
         file_list({{name + ".h", "the interface: inputs, outputs, the size of the arena, " + name + "_run"},
                    {name + ".a", "constants and kernels"},
                    {"test_" + name + ".c", "compares one run with the reference; exit status 0 if it agrees"},
                    {"dovetail_tiny.h", "for the test"},
                    {"dovetail_tiny.c", "likewise"},
                    {"CMakeLists.txt", "library " + name + ", and the test"}}) +
         fmt::format(
             "\nBuild the test with a compiler for that processor; a board also needs its start code and linker "
             "script:\n\n"
             "  gcc{1} -std=c99 -O2 test_{0}.c dovetail_tiny.c {0}.a -lm -o test_{0}\n\n"
             "Your project needs {0}.h and {0}.a. ",
             name, object.flags.empty() ? "" : " " + object.flags);
}

}  // namespace

std::string readme_text(const Plan& plan) {
  const std::string& name = plan.options.name;
  const bool object = plan.options.object.has_value();
  std::string text = plan.accelerator ? accelerator_readme(plan) : object ? readme_of_object(plan) : readme_of_c(plan);
  const std::string arena =
      plan.arena_alignment > kArenaAlignment
          ? fmt::format("static _Alignas({0}_ARENA_ALIGNMENT) unsigned char arena[{0}_ARENA_BYTES + 1]; /* C11 */",
                        upper_case(name))
          : fmt::format("static uint64_t arena[{}_ARENA_BYTES / 8 + 1];", upper_case(name));
  text += fmt::format(
      "Declare the arena, for example\n\n  {}\n\n"
      "and call {}_run. {}\n\n"
      "Memory: arena {} bytes, constants {} bytes{} (read-only), local arrays at most {} bytes.\n",
      arena, name,
      plan.accelerator ? "It keeps no state; one run at a time may use a machine."
                       : "It keeps no state, so threads need only an arena each.",
      plan.arena_bytes, plan.constant_bytes,
      plan.accelerator ? fmt::format(" and {} bytes of the accelerator's", plan.accelerator->blob_bytes()) : "",
      plan.stack_bytes);
  if (object && !plan.options.object->helpers.empty())
    text += fmt::format("Functions of the compiler's run-time library (libgcc or compiler-rt): {}.\n",
                        fmt::join(plan.options.object->helpers, ", "));
  if (!object && (plan.needs.floats || plan.needs.doubles))
    text += "Floats: compile without -ffast-math and with -ffp-contract=off; every operation is rounded separately.\n";
  if (plan.needs.libm.empty()) text += "The mathematical library is not needed (the test uses fabs).\n";
  else {
    text += "Nodes that call the mathematical library:\n";
    for (const auto& [function, nodes] : plan.libm_nodes)
      text += fmt::format("  {}: {}\n", function, comment_text(fmt::format("{}", fmt::join(nodes, ", "))));
  }
  text += "\nKernels:\n";
  for (const PlannedKernel& kernel : plan.kernels)
    if (!kernel.is_empty)
      for (const std::string& line : kernel.comments)
        if (!line.starts_with("  ")) text += fmt::format("  {}: {}\n", kernel.function, line);
  return text;
}

}  // namespace dovetail::exporting
