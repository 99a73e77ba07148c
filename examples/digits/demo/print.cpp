#include "examples/digits/demo/print.h"

#include <cstdio>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/text_table.h"
#include "isa/spec/config.h"
#include "isa/spec/memories.h"

namespace digits {

using namespace dovetail;

namespace {

std::string extensions(const isa::HardwareConfig& config) {
  std::string text;
  for (const isa::spec::Extension& extension : isa::spec::kExtensions)
    if (config.*extension.member) text += (text.empty() ? "with " : ", ") + std::string(extension.key);
  return text.empty() ? "base instruction set" : text;
}

// Nodes with code are rows; nodes folded into another follow its row.
void print_placement(const std::vector<NodePlacement>& placement) {
  std::map<std::string, int> totals;
  std::map<std::string, std::vector<std::string>> folded;  // why -> operators
  TextTable table({"node", "operator", "runs on", "why, or what was folded into it"});
  for (const NodePlacement& row : placement) {
    ++totals[row.target];
    if (row.target == "folded") folded[row.why].push_back(row.op);
  }
  const auto summary = [&](const std::string& why) {
    std::map<std::string, int> operators;
    for (const std::string& op : folded[why]) ++operators[op];
    std::string text;
    for (const auto& [op, count] : operators) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, op);
    return text;
  };
  for (const NodePlacement& row : placement) {
    if (row.target == "folded") continue;
    const std::string inside = summary("into " + row.node);
    table.add({row.node, row.op, row.target,
               row.why + (row.why.empty() || inside.empty() ? "" : "; ") + (inside.empty() ? "" : "with " + inside)});
    folded.erase("into " + row.node);
  }
  fmt::print("Placement: {} nodes on the accelerator, {} on the host, {} folded\n\n{}", totals["accel"], totals["host"],
             totals["folded"], table.to_string());
  for (const auto& [why, operators] : folded)
    if (!operators.empty()) fmt::print("  folded: {} ({})\n", summary(why), why);
}

void print_program(const Demonstration& demo) {
  TextTable kinds({"instructions", ">in the program"});
  for (const auto& [kind, count] : demo.program.kinds) kinds.add({kind, with_separators(count)});
  kinds.add({"all", with_separators(demo.program.instructions)});
  fmt::print("\nThe program: {} micro-ops, {} tokens between the queues, bundle of {} bytes\n\n{}",
             with_separators(demo.program.uops), with_separators(demo.program.tokens),
             with_separators(demo.bundle_bytes), kinds.to_string());

  const simulator::Counters& counters = demo.counters;
  TextTable table({"executed for one image", ">count"});
  for (const isa::spec::MemoryInfo& memory : isa::spec::kMemories)
    if (const auto bytes = counters.bytes_loaded[static_cast<std::size_t>(memory.id)]; bytes > 0)
      table.add({fmt::format("DRAM bytes loaded, {}", memory.name), with_separators(bytes)});
  table.add({"DRAM bytes stored", with_separators(counters.bytes_stored)});
  table.add({"GEMM micro-ops", with_separators(counters.gemm_uops)});
  table.add({"GEMM reset micro-ops", with_separators(counters.gemm_reset_uops)});
  table.add({"ALU micro-ops", with_separators(counters.alu_uops)});
  table.add({"MACs", with_separators(counters.macs)});
  table.add({"tokens", with_separators(counters.tokens)});
  fmt::print("\n{}", table.to_string());
}

void print_stages(const std::vector<Stage>& stages, const std::vector<Stage>& compile_stages, std::size_t images) {
  TextTable table({"stage", ">seconds"});
  double total = 0;
  for (const Stage& stage : stages) {
    const bool per_image = stage.name == "run" || stage.name.ends_with("reference");
    table.add({per_image ? fmt::format("{}, {} images", stage.name, images) : stage.name,
               fmt::format("{:.3f}", stage.seconds)});
    total += stage.seconds;
    if (stage.name != "compile") continue;
    for (const Stage& part : compile_stages) table.add({"  " + part.name, fmt::format("{:.3f}", part.seconds)});
  }
  table.add({"all", fmt::format("{:.3f}", total)});
  fmt::print("\n{}\n", table.to_string());
}

}  // namespace

void print_demonstration(const Demonstration& demo) {
  fmt::print("==== {} on {}: {} x {} x {}, {} ====\n\n", demo.variant.model, demo.hardware.name, demo.hardware.batch,
             demo.hardware.block_in, demo.hardware.block_out, extensions(demo.hardware));
  std::string operators;
  for (const auto& [name, count] : demo.import.operators)
    operators += fmt::format("{}{} {}", operators.empty() ? "" : ", ", count, name);
  fmt::print("Imported: ONNX IR {}, opset {}: {}\n", demo.import.ir_version, demo.import.opset, operators);
  for (const std::string& note : demo.import.notes) fmt::print("  note: {}\n", note);
  fmt::print("\n");
  print_placement(demo.placement);
  print_program(demo);
  print_stages(demo.stages, demo.compile_stages, demo.images);
  for (const auto& file : demo.files) fmt::print("Written: {}\n", file.string());
  fmt::print("\n");
  std::fflush(stdout);  // the next model takes seconds
}

void print_verdict(const std::vector<Demonstration>& demos, std::size_t float_correct,
                   const std::vector<Stage>& stages) {
  const std::size_t images = demos.front().images;
  fmt::print("==== Verdict on {} test images ====\n", images);
  print_stages(stages, {}, images);
  TextTable accuracy({"model", "evaluated", ">correct", ">accuracy"});
  const auto add = [&](const std::string& model, const std::string& how, std::size_t correct) {
    accuracy.add({model, how, fmt::format("{}/{}", correct, images),
                  fmt::format("{:.2f} %", 100.0 * static_cast<double>(correct) / static_cast<double>(images))});
  };
  add("digits_float.onnx", "float, node by node", float_correct);
  for (const Demonstration& demo : demos) {
    add(demo.variant.model, "integers, node by node", demo.reference_correct);
    add(demo.variant.model, fmt::format("accelerator {}", demo.hardware.name), demo.accelerator_correct);
  }
  fmt::print("{}\n", accuracy.to_string());

  TextTable agreement({"int8 logits of the accelerator, bit for bit", "compared with", ">equal"});
  for (const Demonstration& demo : demos) {
    const std::string what = fmt::format("{} on {}", demo.variant.model, demo.hardware.name);
    agreement.add(
        {what, "the integer graph, node by node", fmt::format("{} of {}", demo.equal_to_reference, demo.logits)});
    agreement.add(
        {what, "numpy (" + demo.variant.golden + ")", fmt::format("{} of {}", demo.equal_to_golden, demo.logits)});
  }
  fmt::print("{}\n", agreement.to_string());
}

void print_on_design(const OnDesign& design, const std::string& model) {
  fmt::print("==== The design itself: {} on {}, in SystemVerilog, through Verilator ====\n\n", model, design.hardware);
  if (!design.skipped.empty()) {
    fmt::print("Not run. {}\n\n", design.skipped);
    return;
  }
  TextTable table({"of the design", "compared with", ">equal"});
  table.add(
      {"int8 logits", "functional simulator", fmt::format("{} of {}", design.equal_to_functional, design.logits)});
  table.add({"int8 logits", "cycle simulator", fmt::format("{} of {}", design.equal_to_cycle, design.logits)});
  table.add({fmt::format("issue, start and end of {} instructions", design.instructions), "cycle simulator",
             fmt::format("{} of {} images", design.equal_times, design.images)});
  fmt::print(
      "{}\nCycles for one image: {}. Seconds for {} images: {:.2f} on the design, {:.2f} on the cycle simulator; "
      "{:.1f} to build the model of the design.\n\n",
      table.to_string(), with_separators(design.cycles), design.images, design.design_seconds, design.cycle_seconds,
      design.build_seconds);
}

}  // namespace digits
