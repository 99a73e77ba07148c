
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "cli/commands/all.h"
#include "cli/commands/write_bundle.h"
#include "cli/program/emit_region.h"
#include "cli/report/compile_report.h"
#include "cli/shell/output.h"
#include "cli/shell/session_arguments.h"
#include "cli/shell/standard_streams.h"
#include "driver/bundle_file.h"
#include "driver/compile_model.h"
#include "driver/value_text.h"
#include "runtime/device/all.h"
#include "runtime/machine_code.h"

namespace dovetail::cli {

namespace {

class Compile : public Command {
 public:
  void declare(Options& options) override {
    std::vector<std::string_view> passes;
    for (const passes::Row& row : passes::kPasses) passes.push_back(row.name);
    const std::vector<std::string_view> whole_stages = whole_stage_names();
    options.positional("MODEL.onnx", model_.model, kModelHelp, Need::optional, File::read);
    model_.declare(options);
    model_.declare_cache(options);
    options.flag("--all-tensors", all_tensors_,
                 "do not fuse operations into kernels, so that `run --dump-tensors` and `--expect` of the bundle have "
                 "the result of every operation");
    options.flag("--verify", verify_, "prove every program free of races, deadlock and undefined reads (isa/verify)");
    options.values(
        "--dump", "NAME", dump_,
        fmt::format(
            "print the result of this stage: all, {}; or the graph before and after a pass: passes, {}; repeatable",
            fmt::join(stage_names(), ", "), fmt::join(passes, ", ")));
    options.value("--stop-after", "STAGE", stop_after_, "stop compiling after this stage")
        .choices({whole_stages.begin(), whole_stages.end()});
    options.value("--report", "R.json", report_, "write the report as JSON", File::written_text);
    options.json(json_);
    options.value(
        "-o", "OUT.dvt", output_,
        "write the bundle; if it contains machine code, its SHA-256 is recorded, so that `dovetail run` of the "
        "same user accepts it without --trust",
        File::written);
    options.value(
        "--emit", "DIR", emit_,
        "write each accelerator region as files: program, image, map, configuration, C header, sample tensors; "
        "a missing DIR is created",
        File::folder);
    options.footer(
        "Example: dovetail compile examples/digits/digits_int8.onnx --target accel --hw 1x16x16-ext --verify -o "
        "digits.dvt");
  }

  Result<Exit> run() override {
    CompileOptions options;
    DOVETAIL_TRY(check_stages());
    if (output_) DOVETAIL_TRY(check_bundle_name(*output_, "compile"));
    options.expose_all = all_tensors_;
    options.dump = dump_;
    options.stop_after = stop_after_;
    options.on_dump = [](std::string_view stage, std::string_view text) {
      write_result(fmt::format("---- {} ----\n{}\n", stage, text));
    };
    DOVETAIL_ASSIGN(const driver::ModelOptions model_options, model_.parse());
    DOVETAIL_ASSIGN(const driver::CompiledModel model, compile_shown(model_options, std::move(options)));
    print("{}", report_text(model, model_.title()));
    if (verify_) {
      DOVETAIL_ASSIGN(const driver::VerifiedBundle verified, driver::verify_programs(model.compiled.bundle));
      if (!verified.problems.empty()) return fail(Exit::failed, verified.problems);
      print("verified      {}\n", verified.summary);
    }
    if (report_) DOVETAIL_TRY(write_result_text(*report_, driver::json_text(report_json(model, model_.title()))));
    if (output_) DOVETAIL_TRY(write_bundle(model.compiled.bundle, *output_));
    if (emit_) {
      DOVETAIL_ASSIGN(const std::string written, emit_regions(model.compiled.bundle, *emit_));
      print("{}", written);
    }
    if (json_) print_json(report_json(model, model_.title()));
    return Exit::success;
  }

 private:
  Result<void> check_stages() const {
    if (json_ && !dump_.empty())
      return Diagnostic{"bad usage of `dovetail compile`", "--json", "--dump prints to stdout too",
                        "write the report with --report R.json"};
    if (stop_after_.empty()) return {};
    if ((output_ || verify_ || emit_) && stop_after_ != stage_names().back())
      return Diagnostic{"bad usage of `dovetail compile`", "--stop-after", "there is no bundle before the last stage",
                        "remove -o, --emit and --verify, or --stop-after"};
    return {};
  }

  ModelArguments model_;
  bool verify_ = false, all_tensors_ = false, json_ = false;
  std::vector<std::string> dump_;
  std::string stop_after_;
  std::optional<std::string> report_, output_, emit_;
};

}  // namespace

std::unique_ptr<Command> make_compile() { return std::make_unique<Compile>(); }

}  // namespace dovetail::cli
