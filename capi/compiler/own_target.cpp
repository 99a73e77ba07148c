#include "capi/compiler/own_target.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/overloaded.h"
#include "capi/arguments.h"
#include "capi/include/dovetail.h"
#include "capi/status.h"
#include "capi/tensor.h"
#include "compiler/graph/graph.h"

// The functions on a region store here the texts and views that they return.
struct dvt_region {
  const dovetail::graph::Graph& graph;
  std::string name;
  std::vector<dovetail::graph::NodeId> nodes;
  std::vector<dovetail::graph::ValueId> inputs, outputs;
  mutable std::map<std::size_t, std::string> attributes = {};
  mutable std::map<std::int64_t, DLTensor> constants = {};

  const dovetail::graph::Node* node(std::size_t index) const {
    return index < nodes.size() ? &graph.node(nodes[index]) : nullptr;
  }
  const dovetail::graph::Value* value(std::int64_t index) const {
    return index >= 0 && static_cast<std::size_t>(index) < graph.values.size()
               ? &graph.values[static_cast<std::size_t>(index)]
               : nullptr;
  }
};

namespace dovetail::capi {

namespace {

std::int64_t number_of(graph::ValueId value) { return value.valid() ? static_cast<std::int64_t>(value.index) : -1; }

std::int64_t number_at(std::span<const graph::ValueId> values, std::size_t index) {
  return index < values.size() ? number_of(values[index]) : -1;
}

Json to_json(const graph::Attribute& attribute) {
  return std::visit(Overloaded{[](const NdArray& array) -> Json {
                                 Json values = Json::array();
                                 for (std::int64_t i = 0; i < array.count(); ++i) values.push_back(array.as_double(i));
                                 return {{"dtype", name(array.dtype())}, {"shape", array.shape()}, {"values", values}};
                               },
                               [](const auto& other) -> Json { return other; }},
                    attribute);
}

// The caller's table as a target of the compiler.
class Adapter : public Target {
 public:
  Adapter(std::shared_ptr<OwnTarget> own, std::vector<PatternRow> rows) : own_(std::move(own)), rows_(std::move(rows)) {
    if (own_->table.refuse == nullptr) return;
    for (PatternRow& row : rows_)
      row.take = [this](const graph::Graph& graph, const pattern::Found& found) { return take(graph, found); };
  }

  std::string_view name() const override { return own_->name; }
  std::span<const PatternRow> patterns() const override { return rows_; }
  double border_seconds(const graph::TensorType&) const override { return 0; }  // it runs on the host's memory

  Cost cost(const graph::Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = static_cast<double>(cost.operations) * 1e-9;
    if (own_->table.seconds == nullptr) return cost;
    const dvt_region region{graph, match.row, match.nodes, match.inputs, match.outputs};
    const std::scoped_lock lock(own_->mutex);
    cost.seconds = own_->table.seconds(own_->table.user, &region);
    return cost;
  }

  Result<RegionPlanPointer> plan(const graph::Graph& graph, const GraphRegion& region,
                                 const PlanOptions&) const override {
    return RegionPlanPointer(std::make_unique<Plan>(own_, graph, region));
  }

 private:
  Result<TakenPointer> take(const graph::Graph& graph, const pattern::Found& found) const {
    const std::vector<graph::ValueId>& outputs = graph.node(found.nodes.back()).outputs;
    const dvt_region region{graph, "match", found.nodes, found.inputs, outputs};
    const std::scoped_lock lock(own_->mutex);
    const char* why = own_->table.refuse(own_->table.user, &region);
    if (why == nullptr) return TakenPointer();
    return Diagnostic{fmt::format("target {} rejects the node", own_->name), graph.node(found.nodes.back()).name, why,
                      "place it on another target"};
  }

  class Plan : public RegionPlan {
   public:
    Plan(std::shared_ptr<OwnTarget> own, const graph::Graph& graph, const GraphRegion& region)
        : RegionPlan(plain_offer(graph, region)), own_(std::move(own)), region_(region) {}

    Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump&) const override {
      const dvt_region region{builder.graph(), region_.name, region_.nodes(), region_.inputs, region_.outputs};
      bundle::Step step{region_.name, own_->name, builder.origins(region_.nodes()), {}, {}};
      {
        const std::scoped_lock lock(own_->mutex);
        if (const char* why = own_->table.generate(own_->table.user, &region, append, &step.code); why != nullptr)
          return Diagnostic{fmt::format("target {} cannot compile a region", own_->name), region_.name, why,
                            "place its nodes on another target"};
      }
      for (const graph::ValueId input : region_.inputs) step.arguments.push_back(builder.in_layout(input, ""));
      for (const graph::ValueId output : region_.outputs) step.results.push_back(builder.result(output, ""));
      builder.add_step(std::move(step));
      return {};
    }

   private:
    static void append(void* code, const void* bytes, std::size_t size) {
      auto& all = *static_cast<std::vector<std::byte>*>(code);
      const auto* begin = static_cast<const std::byte*>(bytes);
      all.insert(all.end(), begin, begin + size);
    }

    std::shared_ptr<OwnTarget> own_;
    const GraphRegion& region_;
  };

  std::shared_ptr<OwnTarget> own_;
  std::vector<PatternRow> rows_;
};

}  // namespace

Result<TargetPointer> make_target(const std::shared_ptr<OwnTarget>& target) {
  DOVETAIL_TRY(
      require(reinterpret_cast<const void*>(target->table.generate), fmt::format("target {}: generate", target->name)));
  std::vector<PatternRow> rows;
  for (const std::string& text : target->patterns) {
    DOVETAIL_ASSIGN(pattern::Pattern pattern, pattern::parse(text));
    rows.push_back({text, std::move(pattern)});
  }
  return TargetPointer(std::make_shared<Adapter>(target, std::move(rows)));
}

}  // namespace dovetail::capi

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

const char* dvt_region_name(const dvt_region* region) { return region == nullptr ? nullptr : region->name.c_str(); }

size_t dvt_region_node_count(const dvt_region* region) { return region == nullptr ? 0 : region->nodes.size(); }

const char* dvt_region_node_name(const dvt_region* region, size_t node) {
  return node < dvt_region_node_count(region) ? region->node(node)->name.c_str() : nullptr;
}

const char* dvt_region_node_operator(const dvt_region* region, size_t node) {
  return node < dvt_region_node_count(region) ? region->node(node)->op.c_str() : nullptr;
}

const char* dvt_region_node_attributes(const dvt_region* region, size_t node) {
  if (node >= dvt_region_node_count(region)) return nullptr;
  std::string& text = region->attributes[node];
  if (!text.empty()) return text.c_str();
  Json json = Json::object();
  for (const auto& [name, attribute] : region->node(node)->attributes) json[name] = capi::to_json(attribute);
  text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.c_str();
}

size_t dvt_region_node_input_count(const dvt_region* region, size_t node) {
  return node < dvt_region_node_count(region) ? region->node(node)->inputs.size() : 0;
}

size_t dvt_region_node_output_count(const dvt_region* region, size_t node) {
  return node < dvt_region_node_count(region) ? region->node(node)->outputs.size() : 0;
}

int64_t dvt_region_node_input(const dvt_region* region, size_t node, size_t index) {
  return node < dvt_region_node_count(region) ? number_at(region->node(node)->inputs, index) : -1;
}

int64_t dvt_region_node_output(const dvt_region* region, size_t node, size_t index) {
  return node < dvt_region_node_count(region) ? number_at(region->node(node)->outputs, index) : -1;
}

size_t dvt_region_input_count(const dvt_region* region) { return region == nullptr ? 0 : region->inputs.size(); }

size_t dvt_region_output_count(const dvt_region* region) { return region == nullptr ? 0 : region->outputs.size(); }

int64_t dvt_region_input(const dvt_region* region, size_t index) {
  return region == nullptr ? -1 : number_at(region->inputs, index);
}

int64_t dvt_region_output(const dvt_region* region, size_t index) {
  return region == nullptr ? -1 : number_at(region->outputs, index);
}

dvt_status* dvt_region_value(const dvt_region* region, int64_t value, dvt_tensor_info* info) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(region, "dvt_region_value: region"));
    DOVETAIL_TRY(require(info, "dvt_region_value: info"));
    DOVETAIL_TRY(options_of(info, "dvt_region_value: info"));
    const graph::Value* found = region->value(value);
    if (found == nullptr)
      return bad_argument("dvt_region_value: value", fmt::format("the graph has no value {}", value),
                          "use a number that a function of the region returned");
    info->name = found->name.c_str();
    info->dtype = dl_dtype(found->type.dtype);
    info->ndim = static_cast<std::int32_t>(found->type.shape.size());
    info->shape = found->type.shape.data();
    return {};
  });
}

const DLTensor* dvt_region_constant(const dvt_region* region, int64_t value) {
  const graph::Value* found = region == nullptr ? nullptr : region->value(value);
  if (found == nullptr || !found->constant) return nullptr;
  const NdArray& array = *found->constant;
  DLTensor& view = region->constants[value];
  view = {.data = const_cast<std::byte*>(array.bytes().data()),
          .device = {kDLCPU, 0},
          .ndim = array.rank(),
          .dtype = dl_dtype(array.dtype()),
          .shape = const_cast<std::int64_t*>(array.shape().data()),
          .strides = nullptr,
          .byte_offset = 0};
  return &view;
}

}  // extern "C"
