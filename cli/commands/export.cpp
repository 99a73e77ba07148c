#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/accel.h"
#include "bundle/code/move_memory.h"
#include "cli/commands/all.h"
#include "cli/commands/export_report.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "cli/shell/session_arguments.h"
#include "cli/shell/standard_streams.h"
#include "compiler/target/cpu/cpu.h"
#include "driver/bundle_file.h"
#include "driver/export_model.h"
#include "driver/mlir_model.h"
#include "driver/targets.h"
#include "driver/tensor_files.h"
#include "driver/value_text.h"
#include "export/project.h"

namespace dovetail::cli {

namespace {

class Export : public Command {
 public:
  void declare(Options& options) override {
    options.positional("MODEL.onnx|BUNDLE.dvt", model_.model,
                       "a model, or a bundle whose steps are loop programs and programs of the accelerator (`dovetail "
                       "compile --target accel,cpu --cpu portable`)",
                       Need::optional, File::read);
    model_.source.declare(options);
    options.value("-o", "DIR", folder_, "write the files into this folder, which is new, empty or of an earlier export",
                  Need::required, File::folder);
    options
        .value(
            "--format", "FORMAT", format_,
            "c: portable C99 (default); object: an archive of machine code for --cpu, and a header; mlir: the graph as "
            "linalg on tensors, NAME.mlir (docs/howto/mlir.md)")
        .choices({"c", "object", "mlir"});
    options.value("--cpu", "NAME", cpu_, "--format object: the processor (default native)").choices(cpu::cpu_names());
    options
        .value(
            "--target", "LIST", model_.targets,
            "cpu: kernels in C or objects (default); accel,cpu: what the accelerator can do as programs of it, with a "
            "driver")
        .list({"accel", "cpu"});
    options.value("--hw", "CONFIG", model_.hardware,
                  fmt::format("--target accel,cpu: {} (default {})", kHardwareHelp, driver::kDefaultHardware),
                  File::read);
    options.value(
        "--memory-base", "ADDRESS", memory_base_,
        "address of the accelerator's memory, as the accelerator sees it: a multiple of 4096 (default 0x1000, "
        "or the bundle's)");
    options.value("--name", "NAME", name_, "begins all external names and file names (default net)");
    options.values("--shape", "NAME=SHAPE", model_.shapes,
                   "extent of a symbolic dimension, or shape of an input: batch=1, x=1x3x224x224; repeatable");
    options
        .value("-O", "N", model_.level,
               "optimization level, as of `dovetail compile` (default 2); 1 keeps every bit of a float model in C, and "
               "of an "
               "object without exp, log, tanh and erf")
        .choices({"0", "1", "2", "3"});
    options.flag("--no-libm", no_libm_, "refuse models with nodes that call the mathematical library, for example exp");
    options.value("--max-arena", "BYTES", max_arena_, "refuse models whose intermediate values need more memory");
    options.values("--input", "NAME=FILE", inputs_,
                   "the input of the test, .npy or TensorProto .pb; others are pseudo-random; repeatable");
    options.value("--seed", "N", seed_, "seed of the pseudo-random inputs of the test (default 1)");
    options.json(json_);
    options.footer("Example: dovetail export examples/digits/digits_int8.onnx -o digits --name digits");
  }

  Result<Exit> run() override {
    if (!model_.given())
      return Diagnostic{"bad usage of `dovetail export`", "MODEL.onnx|BUNDLE.dvt", "it is missing",
                        "give a model or a bundle, or layers with --layer"};
    const bool object = format_ == "object";
    if (!object && format_ != "c" && format_ != "mlir")
      return Diagnostic{"invalid value for --format", format_, "the format is unknown",
                        "give --format c, mlir, or object with --cpu"};
    if (cpu_ && !object)
      return Diagnostic{"bad usage of `dovetail export`", "--cpu", "C runs on every processor",
                        "add --format object, or remove --cpu"};
    if (format_ == "mlir") return write_mlir();
    exporting::Options options{.name = name_, .libm = !no_libm_};
    DOVETAIL_TRY(exporting::check_name(name_));
    DOVETAIL_TRY(exporting::check_folder(folder_, name_));
    if (max_arena_) {
      DOVETAIL_ASSIGN(const std::int64_t bytes, parse_count("--max-arena", *max_arena_, 0, std::int64_t{1} << 40));
      options.most_arena_bytes = static_cast<std::uint64_t>(bytes);
    }
    driver::GoldenOptions golden;
    DOVETAIL_ASSIGN(golden.files, parse_assignments("--input", inputs_));
    DOVETAIL_ASSIGN(golden.seed, parse_address("--seed", seed_));
    DOVETAIL_ASSIGN(bundle::Bundle bundle, read_or_compile(options));
    DOVETAIL_ASSIGN(bundle, placed(std::move(bundle)));
    DOVETAIL_ASSIGN(const driver::Exported exported,
                    object ? export_objects(bundle, std::move(options), golden)
                           : driver::export_bundle(bundle, model_.title(), std::move(options), golden));
    DOVETAIL_TRY(exporting::write_project(folder_, exported.plan, exported.golden, exported.archive));
    const ExportReport report{exported, model_.title(), folder_};
    if (json_) print_json(report.json());
    else print("{}", report.text());
    return Exit::success;
  }

 private:
  // The graph after all passes, without a target.
  Result<Exit> write_mlir() {
    if (no_libm_ || max_arena_ || memory_base_ || !inputs_.empty() || model_.targets || model_.hardware)
      return Diagnostic{"bad usage of `dovetail export`", "--format mlir",
                        "options of programs for a target are given, and MLIR has none",
                        "remove --no-libm, --max-arena, --memory-base, --input, --target and --hw"};
    DOVETAIL_TRY(exporting::check_name(name_));
    DOVETAIL_ASSIGN(driver::ModelOptions model, model_.parse());
    if (model.shapes.size() > 1)
      return Diagnostic{"invalid value for --shape", model_.title(), "the option gives several shapes for one name",
                        "give one shape for each name: types of MLIR have static shapes"};
    CompileOptions compile;
    compile.stop_after = "graph";
    DOVETAIL_ASSIGN(const driver::CompiledModel compiled,
                    compile_shown(driver::portable_model(std::move(model)), std::move(compile)));
    const graph::Graph& graph = compiled.compiled.optimized;
    DOVETAIL_ASSIGN(const std::string text, driver::graph_to_mlir(graph));
    DOVETAIL_TRY(driver::make_result_folder("-o", folder_));
    const std::string file = fmt::format("{}/{}.mlir", folder_, name_);
    DOVETAIL_TRY(write_result_text(file, text));
    const auto ports = [&](const std::vector<graph::ValueId>& values) {
      Json list = Json::array();
      for (const graph::ValueId id : values)
        list.push_back({{"name", graph.value(id).name},
                        {"dtype", std::string(dovetail::name(graph.value(id).type.dtype))},
                        {"shape", graph.value(id).type.shape}});
      return list;
    };
    if (json_)
      print_json({{"kind", "export-mlir"},
                  {"model", model_.title()},
                  {"name", name_},
                  {"file", file},
                  {"inputs", ports(graph.inputs)},
                  {"outputs", ports(graph.outputs)}});
    else print("model         {}\nfile          {}\n", model_.title(), file);
    return Exit::success;
  }

  bool wants_accelerator() const { return model_.targets && *model_.targets == "accel,cpu"; }

  Result<void> check_targets() const {
    if (model_.targets && *model_.targets != "cpu" && !wants_accelerator())
      return Diagnostic{"invalid value for --target", *model_.targets,
                        "kernels are exported for a processor, and programs for the accelerator before it",
                        "give --target cpu or --target accel,cpu"};
    if (model_.hardware && !wants_accelerator())
      return Diagnostic{"bad usage of `dovetail export`", "--hw", "no step is compiled for the accelerator",
                        "add --target accel,cpu, or remove --hw"};
    return {};
  }

  // The bundle with the accelerator's memory at --memory-base.
  Result<bundle::Bundle> placed(bundle::Bundle bundle) const {
    const bool has_regions =
        std::ranges::find(bundle.steps, bundle::kAccelTarget, &bundle::Step::target) != bundle.steps.end();
    if (!has_regions && (wants_accelerator() || memory_base_))
      return Diagnostic{
          "cannot export", model_.title(), "no step of it runs on the accelerator",
          wants_accelerator()
              ? "`dovetail run --target accel,cpu --report R.json` says why; remove --target to export C alone"
              : "remove --memory-base, or compile for --target accel,cpu"};
    if (!memory_base_) return bundle;
    DOVETAIL_ASSIGN(const std::uint64_t base, parse_address("--memory-base", *memory_base_));
    return bundle::with_memory_at(std::move(bundle), base);
  }

  // `reference`: the model's portable bundle.
  Result<driver::Exported> export_objects(const bundle::Bundle& reference, exporting::Options options,
                                          const driver::GoldenOptions& golden) {
    DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu(cpu_.value_or("native")));
    options.object = exporting::ObjectKernels{.processor = processor.name};
    if (is_bundle_ || processor.vector_bytes == 0) {
      DOVETAIL_ASSIGN(const bundle::Bundle objects, driver::object_bundle(reference, processor.name, name_));
      return driver::export_objects(objects, reference, model_.title(), std::move(options), golden);
    }
    DOVETAIL_ASSIGN(driver::ModelOptions model, model_.parse());
    DOVETAIL_ASSIGN(driver::CompiledModel compiled,
                    compile_shown(driver::object_model(std::move(model), processor.name, name_), CompileOptions()));
    DOVETAIL_ASSIGN(const bundle::Bundle objects, placed(std::move(compiled.compiled.bundle)));
    return driver::export_objects(objects, reference, model_.title(), std::move(options), golden);
  }

  Result<bundle::Bundle> read_or_compile(exporting::Options& options) {
    DOVETAIL_ASSIGN(is_bundle_, model_.model.empty() ? Result<bool>(false) : driver::is_bundle_file(model_.model));
    if (is_bundle_) {
      auto given = model_.compile_only_options();
      if (model_.targets) given.emplace_back("--target");
      if (model_.hardware) given.emplace_back("--hw");
      if (!given.empty())
        return Diagnostic{"bad usage of `dovetail export`", fmt::format("{}", fmt::join(given, ", ")),
                          "the options apply to a model, but a bundle is compiled already",
                          "leave them out, or give the model"};
      DOVETAIL_ASSIGN(bundle::Bundle bundle, bundle::read_bundle(model_.model, bundle::MachineCode::untrusted));
      DOVETAIL_TRY(bundle::verify(bundle));
      return bundle;
    }
    DOVETAIL_TRY(check_targets());
    DOVETAIL_ASSIGN(driver::ModelOptions model, model_.parse());
    if (model.shapes.size() > 1)
      return Diagnostic{"invalid value for --shape", model_.title(), "the option gives several shapes for one name",
                        "give one shape for each name: an exported program has one set of shapes"};
    DOVETAIL_ASSIGN(driver::CompiledModel compiled,
                    compile_shown(driver::portable_model(std::move(model)), CompileOptions()));
    options.quantization = driver::border_quantization(compiled.compiled.imported);
    return std::move(compiled.compiled.bundle);
  }

  ModelArguments model_;
  std::string folder_, format_ = "c", name_ = "net", seed_ = "1";
  std::optional<std::string> cpu_, max_arena_, memory_base_;
  std::vector<std::string> inputs_;
  bool no_libm_ = false, json_ = false, is_bundle_ = false;
};

}  // namespace

std::unique_ptr<Command> make_export() { return std::make_unique<Export>(); }

}  // namespace dovetail::cli
