#include "driver/compiled_cache.h"

#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/user_folder.h"
#include "compiler/import/onnx.h"
#include "compiler/target/cpu/cpu.h"
#include "driver/targets.h"

namespace dovetail::driver {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
// The key in a cached bundle's report for data that other bundles do not have.
constexpr const char* kKept = "kept";

Json facts_of(std::string_view processor) {
  const auto cpu = cpu::find_cpu(processor);
  if (!cpu.ok()) return Json();
  return {cpu->name, cpu->llvm_cpu, cpu->llvm_features, cpu->l1_bytes, cpu->l2_bytes};
}

Result<void> check_kept(const ModelOptions& model, const CompileOptions& options) {
  const auto refused = [](std::string why, std::string hint) {
    return Diagnostic{"cannot use --cache", "", std::move(why), std::move(hint)};
  };
  if (model.records)
    return refused("the schedules of --records may change between runs", "remove one of the two options");
  if (!options.dump.empty() || !options.stop_after.empty())
    return refused("a compilation from the cache has no stages for --dump and --stop-after",
                   "remove one of the two options");
  if (model.rewrite || !model.values.empty() || options.recorded || !options.machine_code)
    return refused("the cache stores only models that are unchanged from their files",
                   "compile without --cache if the caller changes the model");
  std::vector<std::string> kept, asked = model.targets;
  for (const TargetRow& row : target_table())
    if (row.made_by_program) kept.emplace_back(row.name());
  for (const auto& [node, target] : model.place) asked.push_back(target);
  for (const std::string& target : asked)
    if (std::ranges::find(kept, target) == kept.end())
      return refused(fmt::format("the cache does not store code for {}", target),
                     fmt::format("remove --cache, which stores code only for {}", fmt::join(kept, ", ")));
  return {};
}

// Hashes by path relative to `folder`. Null if a file cannot be read.
Json hashes_of(const std::set<fs::path>& files, const fs::path& folder) {
  Json hashes = Json::object();
  for (const fs::path& file : files) {
    const auto bytes = read_file(file);
    if (!bytes.ok()) return Json();
    hashes[file.lexically_relative(folder).string()] = sha256(*bytes);
  }
  return hashes;
}

Json import_json(const import::ImportReport& report) {
  return {{"ir_version", report.ir_version}, {"opset", report.opset}, {"producer", report.producer},
          {"operators", report.operators},   {"notes", report.notes}, {"metadata", report.metadata}};
}
import::ImportReport import_from_json(const Json& json){
    import::ImportReport report{json.at("ir_version"), json.at("opset"), json.at("producer"), json.at("operators"),
                                json.at("notes"), json.at("metadata")};
return report;
}  // namespace

// Fills in the results of compile() other than the bundle.
void fill(Compiled& compiled, const Json& kept) {
  compiled.report = kept.at("report");
  for (const Json& row : compiled.report.at("nodes")) compiled.placement.push_back(placement_from_json(row));
  compiled.summary = summary_from_json(compiled.report.at("summary"));
  for (const Json& row : compiled.report.at("schedules")) {
    schedule::Origin origin{row.at("task"), row.at("recorded"), row.at("counted"), row.at("from")};
    compiled.schedules.push_back({row.at("name"), row.at("target"), row.at("kind"), std::move(origin)});
  }
  const Json& codes = compiled.report.at("codes");
  for (std::size_t i = 0; i < codes.size(); ++i)
    compiled.codes.push_back({codes[i].at("region"), codes[i].at("target"), kept.at("codes").at(i), codes[i]});
}

}  // namespace dovetail::driver

Json program_files() {
  Json files = Json::array();
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    struct stat file;
    if (stat(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", &file) == 0)
      static_cast<Json*>(to)->push_back(
          {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec});
    return 0;
  };
  dl_iterate_phdr(add, &files);
  return files;
}

Result<CompiledCache> CompiledCache::of(const ModelOptions& options, const CompileOptions& compile,
                                        const CompiledModel& model) {
  DOVETAIL_TRY(check_kept(options, compile));
  const ModelSource source = options.source();
  std::vector<std::byte> bytes;
  if (has_shapes(source.path)) {
    DOVETAIL_ASSIGN(bytes, read_file(source.path));
  } else if (!source.path.empty()) {
    DOVETAIL_ASSIGN(bytes, import::read_onnx_file(source.path));
  }
  DOVETAIL_ASSIGN(fs::path folder, user_folder(UserFolder::cache));
  folder /= "compiled";
  DOVETAIL_TRY(make_private_folder(folder));
  const Json content{{"program", program_files()},
                     {"model", sha256(bytes)},
                     {"layers", source.layers},
                     {"part", {source.part.only, source.part.from, source.part.to}},
                     {"format", has_shapes(source.path) ? fs::path(source.path).extension().string() : ""},
                     {"targets", model.targets},
                     {"hardware", isa::config_to_json(model.hardware)},
                     {"system", isa::system_to_json(config_of(model.system))},
                     {"processors", {options.cpu, facts_of(options.cpu), facts_of("native")}},
                     {"check_bounds", options.check_bounds},
                     {"place", options.place},
                     {"shapes", options.shapes},
                     {"batch", options.batch.value_or(0)},
                     {"states", options.states},
                     {"passes", {options.with_passes, options.without_passes}},
                     {"decide", options.decide},
                     {"loop_limit", options.loop_limit},
                     {"counted_candidates", options.counted_candidates},
                     {"level", static_cast<int>(options.level)},
                     {"strict", options.strict},
                     {"offload", static_cast<int>(options.offload)},
                     {"expose_all", compile.expose_all}};
  const std::string text = content.dump();
  std::error_code error;
  return CompiledCache(folder / (sha256(std::as_bytes(std::span(text))) + std::string(bundle::kFileExtension)),
                       fs::weakly_canonical(import::external_data_folder(options.path), error));
}

std::optional<CompiledModel> CompiledCache::find(const CompiledModel& model) const {
  const auto start = std::chrono::steady_clock::now();
  std::error_code error;
  if (!fs::is_regular_file(file_, error) || other_hands(file_)) return std::nullopt;
  auto bundle = bundle::read_bundle(file_, bundle::MachineCode::trusted);
  if (!bundle.ok()) return std::nullopt;
  CompiledModel found = model;
  try {
    const Json kept = bundle->report.at(kKept);
    bundle->report.erase(kKept);
    std::set<fs::path> data_files;
    for (const auto& [path, hash] : kept.at("data_files").items()) data_files.insert(model_folder_ / path);
    if (hashes_of(data_files, model_folder_) != kept.at("data_files")) return std::nullopt;
    found.import = import_from_json(kept.at("import"));
    found.compiled.bundle = *std::move(bundle);
    fill(found.compiled, kept);
  } catch (const Json::exception&) {  // the file was changed by hand
    return std::nullopt;
  }
  fs::last_write_time(file_, fs::file_time_type::clock::now(), error);
  found.from_cache = true;
  found.compiled.stages = {{"cache", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
  return found;
}

Result<void> CompiledCache::keep(const CompiledModel& model) const {
  const Json hashes = hashes_of(model.import.data_files, model_folder_);
  if (hashes.is_null()) return {};  // a file was removed since: compiling again is an error anyway
  Json codes = Json::array();
  for (const CodeReport& code : model.compiled.codes) codes.push_back(code.text);
  bundle::Bundle bundle = model.compiled.bundle;
  bundle.report[kKept] = {{"import", import_json(model.import)},
                          {"data_files", hashes},
                          {"codes", codes},
                          {"report", model.compiled.report}};
  DOVETAIL_TRY(bundle::write_bundle(file_, bundle));
  keep_recent_files(file_, kMostBytes);
  return {};
}

}  // namespace dovetail::driver
