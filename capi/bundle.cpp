#include "capi/bundle.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/json.h"
#include "bundle/code/accel.h"
#include "bundle/code/target_facts.h"
#include "bundle/format.h"
#include "capi/arguments.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "isa/config.h"
#include "runtime/device/all.h"
#include "runtime/machine_code.h"

namespace dovetail::capi {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 32;

Json tensor_json(const bundle::Tensor& tensor) {
  return {{"name", tensor.name}, {"dtype", name(tensor.dtype)}, {"shape", tensor.shape}};
}

Json tensors_json(const bundle::Bundle& bundle, const std::vector<bundle::TensorIndex>& indices) {
  Json rows = Json::array();
  for (const bundle::TensorIndex index : indices) rows.push_back(tensor_json(tensor_at(bundle, index)));
  return rows;
}

Result<Json> describe(const LoadedBundle& loaded) {
  const bundle::Bundle& bundle = loaded.bundle;
  std::map<std::string, std::size_t> targets;
  Json hardware = nullptr;
  for (const bundle::Bundle* program : bundle::all_programs(bundle)) {
    for (const bundle::Step& step : program->steps) ++targets[step.target];
    DOVETAIL_ASSIGN(const auto steps, bundle::accel_steps(*program));
    if (!steps.empty() && hardware.is_null()) hardware = isa::config_to_json(steps.front().code.config);
  }
  Json shapes = Json::array({tensors_json(bundle, bundle.inputs)});
  for (const bundle::Bundle& other : bundle.other_shapes) shapes.push_back(tensors_json(other, other.inputs));
  Json states = Json::object();
  for (const bundle::State& state : bundle.states)
    states[tensor_at(bundle, state.input).name] = tensor_at(bundle, state.output).name;
  return Json{{"name", bundle.name},
              {"inputs", tensors_json(bundle, bundle.inputs)},
              {"outputs", tensors_json(bundle, bundle.outputs)},
              {"targets", targets},
              {"hardware", hardware},
              {"steps", bundle.steps.size()},
              {"machine_code", loaded.machine_code},
              {"may_run", loaded.why_not.empty()},
              {"shapes", shapes},
              {"states", std::move(states)},
              {"report", bundle.report}};
}

Result<dvt_bundle*> load(std::span<const std::byte> bytes, const std::string& where, const dvt_load_options* given,
                         std::string_view argument) {
  DOVETAIL_ASSIGN(const dvt_load_options options, options_of(given, fmt::format("{}: options", argument)));
  DOVETAIL_TRY(check_value(options.trust, DVT_TRUST_RECORDED, DVT_TRUST_NEVER, fmt::format("{}: trust", argument)));
  DOVETAIL_ASSIGN(bundle::Bundle bundle, bundle::parse(bytes, where, bundle::MachineCode::untrusted));
  DOVETAIL_ASSIGN(const std::shared_ptr<LoadedBundle> loaded, checked(std::move(bundle), where));
  if (!loaded->machine_code.empty()) {
    if (options.trust == DVT_TRUST_NEVER) loaded->why_not = "the bundle was loaded with DVT_TRUST_NEVER";
    else if (options.trust == DVT_TRUST_RECORDED) loaded->why_not = runtime::not_recorded(bytes).value_or("");
  }
  if (loaded->why_not.empty()) loaded->bundle.machine_code = bundle::MachineCode::trusted;
  return new dvt_bundle{loaded};
}

// `indices`: the bundle's inputs or outputs.
Result<void> fill_info(const dvt_bundle* bundle, std::vector<bundle::TensorIndex> bundle::Bundle::*indices,
                       std::size_t index, dvt_tensor_info* info, std::string_view function) {
  DOVETAIL_TRY(require(bundle, fmt::format("{}: bundle", function)));
  DOVETAIL_TRY(require(info, fmt::format("{}: info", function)));
  const bundle::Bundle& own = bundle->loaded->bundle;
  const std::vector<bundle::TensorIndex>& all = own.*indices;
  if (info->struct_size < sizeof(dvt_tensor_info))
    return bad_argument(
        fmt::format("{}: info", function),
        fmt::format("struct_size is {}, and the struct has {} bytes", info->struct_size, sizeof(dvt_tensor_info)),
        "set struct_size to sizeof of the struct");
  if (index >= all.size())
    return bad_argument(fmt::format("{}: index", function), fmt::format("it is {} of {}", index, all.size()),
                        "give an index below the count");
  const bundle::Tensor& tensor = tensor_at(own, all[index]);
  info->name = tensor.name.c_str();
  info->dtype = dl_dtype(tensor.dtype);
  info->ndim = static_cast<std::int32_t>(tensor.shape.size());
  info->shape = tensor.shape.data();
  return {};
}

}  // namespace

const bundle::Tensor& tensor_at(const bundle::Bundle& bundle, bundle::TensorIndex index) {
  return bundle.tensors[static_cast<std::size_t>(index)];
}

Result<std::shared_ptr<LoadedBundle>> checked(bundle::Bundle bundle, std::string where) {
  const auto devices = runtime::built_in_devices({});
  if (auto code = runtime::check_code(bundle, devices); !code.ok()) {
    Diagnostics problems = code.errors();
    for (Diagnostic& problem : problems) problem.where = fmt::format("{}, {}", where, problem.where);
    return problems;
  }
  auto loaded = std::make_shared<LoadedBundle>();
  // Code of a caller's target is treated as machine code, since nothing is known about it.
  std::set<std::string> direct;
  for (std::string& target : runtime::machine_code_targets(bundle, devices)) direct.insert(std::move(target));
  for (const bundle::Bundle* program : bundle::all_programs(bundle))
    for (const bundle::Step& step : program->steps)
      if (bundle::find_target_facts(step.target) == nullptr) direct.insert(step.target);
  loaded->machine_code.assign(direct.begin(), direct.end());
  loaded->bundle = std::move(bundle);
  loaded->where = std::move(where);
  return loaded;
}

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_bundle_load_file(const char* path, const dvt_load_options* options, dvt_bundle** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_bundle_load_file: out"));
    *out = nullptr;
    DOVETAIL_TRY(require(path, "dvt_bundle_load_file: path"));
    DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, kMostBytes, bundle::format::kExpected));
    DOVETAIL_ASSIGN(*out, load(bytes, path, options, "dvt_bundle_load_file"));
    return {};
  });
}

dvt_status* dvt_bundle_load_memory(const void* bytes, size_t size, const char* name, const dvt_load_options* options,
                                   dvt_bundle** out) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(out, "dvt_bundle_load_memory: out"));
    *out = nullptr;
    if (size > 0) DOVETAIL_TRY(require(bytes, "dvt_bundle_load_memory: bytes"));
    DOVETAIL_ASSIGN(*out, load({static_cast<const std::byte*>(bytes), size}, text_or(name, "bundle in memory"), options,
                               "dvt_bundle_load_memory"));
    return {};
  });
}

void dvt_bundle_free(dvt_bundle* bundle) { delete bundle; }

dvt_status* dvt_bundle_serialize(const dvt_bundle* bundle, void** bytes, size_t* size) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(bundle, "dvt_bundle_serialize: bundle"));
    DOVETAIL_TRY(require(bytes, "dvt_bundle_serialize: bytes"));
    DOVETAIL_TRY(require(size, "dvt_bundle_serialize: size"));
    const std::vector<std::byte> file = bundle::serialize(bundle->loaded->bundle);
    *bytes = std::malloc(file.size());
    if (*bytes == nullptr) throw std::bad_alloc();
    std::memcpy(*bytes, file.data(), file.size());
    *size = file.size();
    return {};
  });
}

dvt_status* dvt_bundle_save(const dvt_bundle* bundle, const char* path) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(bundle, "dvt_bundle_save: bundle"));
    DOVETAIL_TRY(require(path, "dvt_bundle_save: path"));
    const LoadedBundle& loaded = *bundle->loaded;
    if (!std::string_view(path).ends_with(bundle::kFileExtension))
      return bad_argument("dvt_bundle_save: path", fmt::format("{} does not end in {}", path, bundle::kFileExtension),
                          fmt::format("name it {}{}", path, bundle::kFileExtension));
    const bundle::Serialized file = bundle::serialize_in_pieces(loaded.bundle);
    DOVETAIL_TRY(write_file(path, file.pieces));
    if (loaded.made_here && !loaded.machine_code.empty()) DOVETAIL_TRY(runtime::record_bundle(file.pieces, path));
    return {};
  });
}

size_t dvt_bundle_input_count(const dvt_bundle* bundle) {
  return bundle == nullptr ? 0 : bundle->loaded->bundle.inputs.size();
}

size_t dvt_bundle_output_count(const dvt_bundle* bundle) {
  return bundle == nullptr ? 0 : bundle->loaded->bundle.outputs.size();
}

dvt_status* dvt_bundle_input(const dvt_bundle* bundle, size_t index, dvt_tensor_info* info) {
  return guarded([&] { return fill_info(bundle, &bundle::Bundle::inputs, index, info, "dvt_bundle_input"); });
}

dvt_status* dvt_bundle_output(const dvt_bundle* bundle, size_t index, dvt_tensor_info* info) {
  return guarded([&] { return fill_info(bundle, &bundle::Bundle::outputs, index, info, "dvt_bundle_output"); });
}

dvt_status* dvt_bundle_describe(const dvt_bundle* bundle, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(bundle, "dvt_bundle_describe: bundle"));
    DOVETAIL_TRY(require(json, "dvt_bundle_describe: json"));
    *json = nullptr;
    DOVETAIL_ASSIGN(const Json described, describe(*bundle->loaded));
    *json = owned_json(described);
    return {};
  });
}

}  // extern "C"
