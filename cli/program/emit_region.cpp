#include "cli/program/emit_region.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/text_table.h"
#include "bundle/code/accel.h"
#include "cli/program/program_map.h"
#include "cli/shell/arguments.h"
#include "cli/shell/standard_streams.h"
#include "driver/names.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"
#include "isa/codec.h"
#include "isa/emit/emit.h"
#include "isa/spec/registers.h"
#include "isa/system.h"
#include "isa/text.h"
#include "runtime/executor.h"

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 1;  // as `dovetail run` without --input and --seed

// A tensor of a region: where it is stored, and its elements in the sample run.
struct Port {
  std::string name;    // plain, and unique in the region
  std::string layout;  // mapping from the model's shape; empty: the same shape
  std::uint64_t address = 0;
  NdArray sample;  // zeros without a sample run
};

// The values of a run, by tensor name.
class Sample {
 public:
  static Result<Sample> make(const bundle::Bundle& bundle) {
    DOVETAIL_ASSIGN(driver::RunInputs inputs, driver::gather_inputs(bundle, {}, kSeed));
    DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory("functional"));
    DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(bundle, make_simulator));
    DOVETAIL_ASSIGN(runtime::RunResult run, executor.run(inputs.tensors, {.keep_tensors = true}));
    run.tensors.merge(inputs.tensors);
    return Sample(bundle, std::move(run.tensors));
  }

  NdArray of(bundle::TensorIndex index) const {
    const bundle::Tensor& tensor = at(index);
    if (tensor.constant) return *tensor.constant;
    const bundle::Tensor& root = at(bundle::root_of(bundle_, index));
    const NdArray& values = root.constant ? *root.constant : values_.at(root.name);
    return NdArray(tensor.dtype, tensor.shape, values.bytes());
  }

 private:
  Sample(const bundle::Bundle& bundle, std::map<std::string, NdArray> values)
      : bundle_(bundle), values_(std::move(values)) {}
  const bundle::Tensor& at(bundle::TensorIndex index) const { return bundle_.tensors[static_cast<std::size_t>(index)]; }

  const bundle::Bundle& bundle_;
  std::map<std::string, NdArray> values_;
};

std::string unique_name(std::string_view name, std::set<std::string>& taken) {
  std::string plain = driver::plain_name(name);
  if (plain.empty() || (plain.front() >= '0' && plain.front() <= '9')) plain.insert(0, "_");
  std::string unique = plain;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", plain, i);
  return unique;
}

std::string upper_name(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::toupper(c)) : '_';
  return text;
}

class Region {
 public:
  Region(const bundle::Bundle& bundle, const bundle::CodedStep<bundle::AccelCode>& step, const Sample* sample)
      : bundle_(bundle), step_(step), code_(step.code) {
    std::set<std::string> taken;
    const auto ports = [&](const auto& tensors, const auto& addresses) {
      std::vector<Port> list;
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        const bundle::Tensor& tensor = bundle_.tensors[static_cast<std::size_t>(tensors[i])];
        list.push_back({unique_name(tensor.logical.empty() ? tensor.name : tensor.logical, taken), tensor.layout,
                        addresses[i], sample ? sample->of(tensors[i]) : NdArray(tensor.dtype, tensor.shape)});
      }
      return list;
    };
    inputs_ = ports(step.step->arguments, code_.argument_addresses);
    outputs_ = ports(step.step->results, code_.result_addresses);
    if (code_.offset && sample)
      offset_ = static_cast<std::uint64_t>(sample->of(step.step->arguments.back()).as_int64(0)) * code_.offset->bytes;
  }

  Result<RegionProgram> program() const {
    const bundle::MemorySpace& space = bundle_.spaces[static_cast<std::size_t>(code_.space)];
    RegionProgram program{.name = step_.step->name, .image = bundle::initial_image(space, code_)};
    DOVETAIL_ASSIGN(program.instructions, isa::Codec(code_.config).encode_program(code_.program));
    std::vector<isa::SourceLine> lines;
    program.text = listing(lines);
    program.map = map(space, std::move(lines));
    return program;
  }

  Result<void> write(const fs::path& folder) const {
    DOVETAIL_ASSIGN(const RegionProgram own, program());
    const bundle::MemorySpace& space = bundle_.spaces[static_cast<std::size_t>(code_.space)];
    DOVETAIL_TRY(write_text_file(folder / "program.s", own.text));
    DOVETAIL_TRY(write_file(folder / "program.bin", own.instructions));
    DOVETAIL_TRY(write_file(folder / "image.bin", own.image));
    DOVETAIL_TRY(write_text_file(folder / "map.json", driver::json_text(to_json(own.map))));
    DOVETAIL_TRY(write_text_file(folder / "hardware.json", driver::json_text(isa::config_to_json(code_.config))));
    DOVETAIL_TRY(write_text_file(folder / "dovetail_isa.h", isa::emit_c_header(code_.config)));
    DOVETAIL_TRY(write_text_file(folder / "region.h", header(space)));
    DOVETAIL_TRY(write_text_file(folder / "commands.txt", commands()));
    for (const Port& port : inputs_) DOVETAIL_TRY(write_npy(folder / input_file(port), port.sample));
    for (const Port& port : outputs_) DOVETAIL_TRY(write_npy(folder / expected_file(port), port.sample));
    return {};
  }

  ProgramInput input() const {
    const bundle::MemorySpace& space = bundle_.spaces[static_cast<std::size_t>(code_.space)];
    ProgramInput input{.name = step_.step->name};
    input.machine.hardware = code_.config;
    input.program = code_.program;
    input.launches = code_.launches;
    input.dram = {space.base, bundle::initial_image(space, code_)};
    for (const Port& port : inputs_)
      std::copy(port.sample.bytes().begin(), port.sample.bytes().end(),
                input.dram.bytes.begin() + static_cast<std::ptrdiff_t>(port.address - space.base));
    input.has_image = true;
    input.symbols = map(space, {}).symbols;
    input.program_base = code_.program_base;
    input.offset = offset_;
    return input;
  }

  std::string summary(const fs::path& folder) const {
    return fmt::format("region        {}: {} instructions, {} launch{}, {} input{}, {} output{}\n", folder.string(),
                       with_separators(code_.program.size()), code_.launches.size(),
                       code_.launches.size() == 1 ? "" : "es", inputs_.size(), inputs_.size() == 1 ? "" : "s",
                       outputs_.size(), outputs_.size() == 1 ? "" : "s");
  }

 private:
  static std::string input_file(const Port& port) { return fmt::format("input_{}.npy", port.name); }
  static std::string expected_file(const Port& port) { return fmt::format("expected_{}.npy", port.name); }

  // The program as text. Appends to `lines` the line of each instruction.
  std::string listing(std::vector<isa::SourceLine>& lines) const {
    std::string text = isa::format_config_line(code_.config) + "\n";
    std::uint32_t number = 2;
    for (std::size_t i = 0; i < code_.program.size(); ++i) {
      const auto range = std::find_if(code_.ranges.begin(), code_.ranges.end(),
                                      [&](const bundle::InstructionRange& entry) { return entry.begin == i; });
      if (range != code_.ranges.end()) {
        text += "# " + driver::plain_name(range->name) + "\n";
        ++number;
      }
      if (i > 0 && std::any_of(code_.launches.begin(), code_.launches.end(),
                               [&](const isa::Launch& launch) { return launch.begin == i; })) {
        text += ".launch\n";
        ++number;
      }
      text += isa::format_instruction(code_.program[i]) + "\n";
      lines.push_back({number++, 0});
    }
    return text;
  }

  ProgramMap map(const bundle::MemorySpace& space, std::vector<isa::SourceLine> lines) const {
    ProgramMap map{code_.config,
                   space.base,
                   space.bytes,
                   code_.program.size(),
                   code_.launches,
                   {},
                   {"program.s", std::move(lines)}};
    map.program_base = code_.program_base;
    std::set<std::string> taken;
    const auto add_ports = [&](const std::vector<Port>& ports, std::vector<std::string>& names) {
      for (const Port& port : ports) {
        taken.insert(port.name);
        names.push_back(port.name);
        map.symbols.push_back({port.name, isa::SymbolKind::address, port.address, port.sample.bytes().size(),
                               port.sample.dtype(), port.sample.shape()});
      }
    };
    add_ports(inputs_, map.inputs);
    add_ports(outputs_, map.outputs);
    for (const bundle::Segment& segment : code_.segments)
      map.symbols.push_back({unique_name(segment.name, taken),
                             isa::SymbolKind::address,
                             segment.address,
                             segment.bytes.size(),
                             DType::uint8,
                             {static_cast<std::int64_t>(segment.bytes.size())}});
    for (const bundle::InstructionRange& range : code_.ranges)
      map.symbols.push_back({unique_name(range.name, taken), isa::SymbolKind::instruction, range.begin});
    return map;
  }

  std::string header(const bundle::MemorySpace& space) const {
    std::string text = fmt::format(
        "/* Written by `dovetail compile --emit`: step {} of {}. image.bin is at REGION_IMAGE_BASE and holds the "
        "program. */\n#ifndef DOVETAIL_REGION_H\n#define DOVETAIL_REGION_H\n\n#include \"dovetail_isa.h\"\n\n",
        driver::plain_name(step_.step->name), driver::plain_name(bundle_.name));
    const auto define = [&](std::string_view name, std::uint64_t value) {
      text += fmt::format("#define REGION_{} 0x{:x}ull\n", name, value);
    };
    define("IMAGE_BASE", space.base);
    define("IMAGE_BYTES", space.bytes);
    define("PROGRAM_BASE", code_.program_base);
    text += fmt::format("#define REGION_CONFIG 0x{:08x}u /* the value of register CONFIG */\n",
                        isa::spec::config_register(code_.config));
    text += fmt::format(
        "\n/* Launches, in this order: {{first instruction, number of instructions}}. */\n#define REGION_LAUNCH_COUNT "
        "{}\n",
        code_.launches.size());
    text += "#define REGION_LAUNCHES {";
    for (std::size_t i = 0; i < code_.launches.size(); ++i)
      text += fmt::format("{}{{{}u, {}u}}", i == 0 ? "" : ", ", code_.launches[i].begin, code_.launches[i].count);
    text += "}\n";
    if (code_.offset) {
      text += "\n/* The register OFFSET: a position from 0 to REGION_MOST_POSITION, times REGION_POSITION_BYTES. */\n";
      define("POSITION_BYTES", code_.offset->bytes);
      define("MOST_POSITION", static_cast<std::uint64_t>(code_.offset->most));
    }
    text +=
        "\n/* Addresses where inputs are written before the first launch, and outputs are read after the last. */\n";
    for (const auto& [kind, ports] : {std::pair{"INPUT", &inputs_}, {"OUTPUT", &outputs_}})
      for (const Port& port : *ports) {
        text += fmt::format("/* {}{}{} */\n", driver::type_text(port.sample.dtype(), port.sample.shape()),
                            port.layout.empty() ? "" : ", layout ", port.layout);
        define(fmt::format("{}_{}", kind, upper_name(port.name)), port.address);
        define(fmt::format("{}_{}_BYTES", kind, upper_name(port.name)), port.sample.bytes().size());
      }
    return text + "\n#endif\n";
  }

  std::string commands() const {
    const std::string program = "program.bin --map map.json --dram image.bin";
    std::string text = fmt::format("dovetail check {}\ndovetail simulate {} --engine cycle", program, program);
    if (code_.offset) text += fmt::format(" --offset {}", offset_);
    for (const Port& port : inputs_) text += fmt::format(" --place {}@{}", input_file(port), port.name);
    for (const Port& port : outputs_) text += fmt::format(" --output {}.npy@{}", port.name, port.name);
    return text + "\n";
  }

  const bundle::Bundle& bundle_;
  const bundle::CodedStep<bundle::AccelCode>& step_;
  const bundle::AccelCode& code_;
  std::vector<Port> inputs_, outputs_;
  std::uint64_t offset_ = 0;  // OFFSET in the sample run
};

}  // namespace

namespace {

// A program of instructions is of one configuration.
Result<void> check_uniform(const std::vector<bundle::CodedStep<bundle::AccelCode>>& steps) {
  for (const auto& step : steps)
    if (!step.code.others.empty())
      return Diagnostic{"cannot emit regions", step.step->name,
                        fmt::format("its program is for accelerators that differ, {}, and an emitted program is for "
                                    "one configuration",
                                    isa::name_of(step.code.configs())),
                        fmt::format("compile for one of them, for example --hw {}", step.code.config.name)};
  return {};
}

}  // namespace

Result<std::string> emit_regions(const bundle::Bundle& bundle, const fs::path& folder) {
  DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(bundle));
  if (steps.empty())
    return Diagnostic{"cannot emit regions", bundle.name, "no step of the bundle runs on the accelerator",
                      "put accel first in --target; the report says why no node runs on it"};
  DOVETAIL_TRY(check_uniform(steps));
  DOVETAIL_ASSIGN(const Sample sample, Sample::make(bundle));
  DOVETAIL_TRY(driver::make_result_folder("--emit", folder));
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Region region(bundle, steps[i], &sample);
    const fs::path at = folder / fmt::format("{:02}_{}", i, driver::plain_name(steps[i].step->name));
    DOVETAIL_TRY(driver::make_result_folder("--emit", at));
    DOVETAIL_TRY(region.write(at));
    text += region.summary(at);
  }
  return text;
}

Result<std::vector<RegionProgram>> region_programs(const bundle::Bundle& bundle) {
  DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(bundle));
  DOVETAIL_TRY(check_uniform(steps));
  std::vector<RegionProgram> programs;
  for (const auto& step : steps) {
    DOVETAIL_ASSIGN(RegionProgram program, Region(bundle, step, nullptr).program());
    programs.push_back(std::move(program));
  }
  return programs;
}

Result<ProgramInput> region_input(const bundle::Bundle& bundle, const std::string& number) {
  DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(bundle));
  if (steps.empty())
    return Diagnostic{"cannot debug", bundle.name, "no step of the bundle runs on the accelerator",
                      "compile the model with --target accel"};
  DOVETAIL_ASSIGN(const auto index, parse_count("--region", number, 0, static_cast<std::int64_t>(steps.size()) - 1));
  DOVETAIL_ASSIGN(const Sample sample, Sample::make(bundle));
  return Region(bundle, steps[static_cast<std::size_t>(index)], &sample).input();
}

}  // namespace dovetail::cli
