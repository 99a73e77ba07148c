#include "capi/compiler/model.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "capi/arguments.h"
#include "capi/compiler/own_target.h"
#include "capi/status.h"
#include "cli/shell/arguments.h"
#include "compiler/import/onnx.h"
#include "compiler/ops/control_flow.h"
#include "driver/model_source.h"
#include "isa/system.h"

namespace dovetail::capi {

namespace {

Json borders_json(const std::vector<import::OnnxOutline::Border>& borders) {
  Json rows = Json::array();
  for (const auto& border : borders) rows.push_back({{"name", border.name}, {"type", border.type}});
  return rows;
}

Result<import::OnnxOutline> outline_of(const Model& model) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, import::read_onnx_file(model.path));
  return import::outline_onnx(bytes, model.name);
}

// "accel,cpu": the compiler checks the names.
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    names.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// The model of a source that is not a whole ONNX file.
Result<dvt_model*> model_of(const driver::ModelSource& source, std::string name) {
  DOVETAIL_ASSIGN(const auto content, driver::content_of(source));
  DOVETAIL_CHECK(content.has_value(), name);
  return model_in_memory(*content, std::move(name));
}

}  // namespace

Diagnostics Model::named(Diagnostics problems) const {
  if (path == name) return problems;
  for (Diagnostic& problem : problems)
    for (std::string* text : {&problem.what, &problem.where, &problem.why})
      for (std::size_t at = text->find(path); at != std::string::npos; at = text->find(path, at + name.size()))
        text->replace(at, path.size(), name);
  return problems;
}

Result<dvt_model*> model_in_memory(std::span<const std::byte> bytes, std::string name) {
  DOVETAIL_ASSIGN(MemoryFile file, MemoryFile::make("dovetail-model"));
  DOVETAIL_TRY(file.write(bytes));
  std::string path = file.path();
  return new dvt_model{{std::move(path), std::move(name), std::move(file)}};
}

Result<void> check_models(const dvt_model* const* models, std::size_t count, std::string_view function) {
  DOVETAIL_TRY(check_value(static_cast<std::int64_t>(count), 1, 1024, fmt::format("{}: count", function)));
  DOVETAIL_TRY(require(models, fmt::format("{}: models", function)));
  for (std::size_t i = 0; i < count; ++i) DOVETAIL_TRY(require(models[i], fmt::format("{}: models[{}]", function, i)));
  return {};
}

Result<void> check_texts(const dvt_texts& texts, std::string_view argument) {
  if (texts.count > 0) DOVETAIL_TRY(require(texts.items, argument));
  for (std::size_t i = 0; i < texts.count; ++i)
    DOVETAIL_TRY(require(texts.items[i], fmt::format("{}[{}]", argument, i)));
  return {};
}

std::vector<std::string> texts_of(const dvt_texts& texts) { return {texts.items, texts.items + texts.count}; }

Result<CompileSettings> compile_settings_of(const Model& model, const dvt_compile_options* given,
                                            std::string_view argument) {
  DOVETAIL_ASSIGN(const dvt_compile_options options,
                  options_of(given, argument, offsetof(dvt_compile_options, states)));
  const auto member = [&](std::string_view name) { return fmt::format("{}, {}", argument, name); };
  DOVETAIL_TRY(check_value(options.level, DVT_LEVEL_DEFAULT, DVT_LEVEL_FAST, member("level")));
  DOVETAIL_TRY(check_value(options.offload, DVT_OFFLOAD_POSSIBLE, DVT_OFFLOAD_COST, member("offload")));
  DOVETAIL_TRY(check_value(options.threads, 0, 1024, member("threads")));
  DOVETAIL_TRY(check_value(options.accelerators, 0, isa::kMostAccelerators, member("accelerators")));
  DOVETAIL_TRY(
      check_value(options.counted_candidates, 0, driver::kMostCountedCandidates, member("counted_candidates")));
  DOVETAIL_TRY(check_value(options.loop_limit, 0, ops::kMostIterations, member("loop_limit")));
  for (const auto& [texts, name] :
       {std::pair(&options.place, "place"), std::pair(&options.shapes, "shapes"), std::pair(&options.decide, "decide"),
        std::pair(&options.states, "states"), std::pair(&options.with_passes, "with_passes"),
        std::pair(&options.without_passes, "without_passes")})
    DOVETAIL_TRY(check_texts(*texts, member(name)));

  CompileSettings settings;
  driver::ModelOptions& to = settings.model;
  to.path = model.path;
  DOVETAIL_TRY(require(options.targets, member("targets")));
  DOVETAIL_ASSIGN(const OwnTargets own,
                  own_targets_of(options.own_targets, options.own_target_count, member("own_targets")));
  for (const auto& target : own) {
    DOVETAIL_ASSIGN(TargetPointer made, make_target(target));
    to.own_targets.push_back(std::move(made));
  }
  to.targets = names_in(options.targets);
  if (options.hardware != nullptr) to.hardware = options.hardware;
  if (options.memory != nullptr) to.system.memory = options.memory;
  if (options.clock_mhz != 0) to.system.clock_mhz = options.clock_mhz;
  if (options.accelerators != 0) to.system.accelerators = options.accelerators;
  to.cpu = text_or(options.cpu, to.cpu);
  to.gpu = text_or(options.gpu, to.gpu);
  if (options.level != DVT_LEVEL_DEFAULT) to.level = static_cast<passes::Level>(options.level - DVT_LEVEL_NEEDED);
  constexpr Offload kOffloads[] = {Offload::possible, Offload::always, Offload::cost};
  to.offload = kOffloads[options.offload];
  to.strict = options.strict != 0;
  to.tf32 = options.tf32 != 0;
  to.check_bounds = options.check_bounds != 0;
  to.threads = options.threads;
  if (options.records != nullptr) to.records = options.records;
  if (options.counted_candidates > 0) to.counted_candidates = options.counted_candidates;
  if (options.loop_limit > 0) to.loop_limit = options.loop_limit;
  DOVETAIL_ASSIGN(to.place, cli::parse_assignments("place", texts_of(options.place)));
  DOVETAIL_ASSIGN(to.states, cli::parse_assignments("states", texts_of(options.states)));
  DOVETAIL_ASSIGN(to.shapes, cli::parse_shapes(texts_of(options.shapes)));
  DOVETAIL_ASSIGN(to.decide, cli::parse_assignments("decide", texts_of(options.decide)));
  to.with_passes = texts_of(options.with_passes);
  to.without_passes = texts_of(options.without_passes);
  settings.all_tensors = options.all_tensors != 0;
  DOVETAIL_ASSIGN(settings.callbacks, Callbacks::of(options.callbacks, member("callbacks")));
  return settings;
}

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_model_load_file(const char* path, dvt_model** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_model_load_file: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(path, "dvt_model_load_file: path"));
    if (driver::has_shapes(path)) {
      DOVETAIL_ASSIGN(*out, model_of({.path = path}, path));
      return {};
    }
    DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, import::read_onnx_file(path));
    DOVETAIL_TRY(import::outline_onnx(bytes, path));
    if (std::filesystem::is_regular_file(path)) {
      *out = new dvt_model{{path, path}};
    } else {  // a pipe, which can be read once
      DOVETAIL_ASSIGN(*out, model_in_memory(bytes, path));
    }
    return {};
  });
}

dvt_status* dvt_model_load_memory(const void* bytes, size_t size, const char* name, dvt_model** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_model_load_memory: out"));
    *out = nullptr;
    if (size > 0) DOVETAIL_TRY(require(bytes, "dvt_model_load_memory: bytes"));
    const std::span content(static_cast<const std::byte*>(bytes), size);
    const std::string named = text_or(name, "model in memory");
    DOVETAIL_TRY(import::outline_onnx(content, named));
    DOVETAIL_ASSIGN(*out, model_in_memory(content, named));
    return {};
  });
}

dvt_status* dvt_model_of_layers(const dvt_texts* layers, dvt_model** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_model_of_layers: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(layers, "dvt_model_of_layers: layers"));
    DOVETAIL_TRY(check_texts(*layers, "dvt_model_of_layers: layers"));
    const driver::ModelSource source{.layers = texts_of(*layers)};
    if (source.layers.empty()) return bad_argument("dvt_model_of_layers: layers", "there are none", "give a layer");
    DOVETAIL_ASSIGN(*out, model_of(source, source.title()));
    return {};
  });
}

dvt_status* dvt_model_part(const dvt_model* model, const dvt_texts* only, const dvt_texts* from, const dvt_texts* to,
                           dvt_model** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_model_part: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(model, "dvt_model_part: model"));
    driver::ModelSource source{.path = model->model.path};
    for (const auto& [texts, names, argument] : {std::tuple(only, &source.part.only, "dvt_model_part: only"),
                                                 std::tuple(from, &source.part.from, "dvt_model_part: from"),
                                                 std::tuple(to, &source.part.to, "dvt_model_part: to")}) {
      DOVETAIL_TRY(require(texts, argument));
      DOVETAIL_TRY(check_texts(*texts, argument));
      *names = texts_of(*texts);
    }
    if (source.part.is_whole())
      return bad_argument("dvt_model_part", "all lists are empty", "name nodes, or tensors between which the part is");
    const auto part = model_of(source, driver::ModelSource{.path = model->model.name, .part = source.part}.title());
    if (!part.ok()) return model->model.named(part.errors());
    *out = *part;
    return {};
  });
}

void dvt_model_free(dvt_model* model) { delete model; }

dvt_status* dvt_model_describe(const dvt_model* model, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_model_describe: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(model, "dvt_model_describe: model"));
    DOVETAIL_ASSIGN(const import::OnnxOutline outline, outline_of(model->model));
    *json = owned_json({{"graph", outline.graph},
                        {"producer", outline.producer},
                        {"ir_version", outline.ir_version},
                        {"opset", outline.opset},
                        {"inputs", borders_json(outline.inputs)},
                        {"outputs", borders_json(outline.outputs)},
                        {"operators", outline.operators},
                        {"symbols", outline.symbols}});
    return {};
  });
}

dvt_status* dvt_model_save(const dvt_model* model, const char* path) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(model, "dvt_model_save: model"));
    DOVETAIL_TRY(require(path, "dvt_model_save: path"));
    DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, import::read_onnx_file(model->model.path));
    return write_file(path, bytes);
  });
}

}  // extern "C"
