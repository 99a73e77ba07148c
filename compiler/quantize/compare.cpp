#include "compiler/quantize/compare.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/saturating.h"
#include "compiler/passes/rewriting.h"

namespace dovetail::quantize {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using passes::qdq::Quantization;

// Statistics of one tensor's steps, and the error of the real values compared with the float graph.
struct Tally {
  std::array<std::int64_t, 256> steps{};
  std::int64_t count = 0, cut_low = 0, cut_high = 0;
  SignalAndNoise ratio;

  void add(const NdArray& quantized, const NdArray& real, const Quantization& q) {
    const auto bytes = quantized.data<std::int8_t>();
    const auto reals = real.data<float>();
    const double scale = q.scale, lowest = (-128.5 - q.zero_point) * scale, highest = (127.5 - q.zero_point) * scale;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      cut_low += bytes[i] == -128 && static_cast<double>(reals[i]) < lowest;
      cut_high += bytes[i] == 127 && static_cast<double>(reals[i]) > highest;
      ++steps[static_cast<std::size_t>(bytes[i] + 128)];
      ratio.add(reals[i], static_cast<double>(bytes[i] - q.zero_point) * static_cast<double>(q.scale));
    }
    count += static_cast<std::int64_t>(bytes.size());
  }
  Json to_json() const { return {steps, count, cut_low, cut_high, ratio.signal, ratio.noise}; }
  static Tally from_json(const Json& json) {
    return {
        json.at(0).get<std::array<std::int64_t, 256>>(), json.at(1), json.at(2), json.at(3), {json.at(4), json.at(5)}};
  }
  TensorReport report(std::string value, const Quantization& q, const Limits& bounds) const {
    const auto share = [&](std::int64_t part) {
      return count == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(count);
    };
    // An end that is the zero point or a bound clips nothing.
    const double scale = q.scale, half = scale / 2;
    const bool cuts_low = q.zero_point != -128 && (-128 - q.zero_point) * scale > bounds.low + half,
               cuts_high = q.zero_point != 127 && (127 - q.zero_point) * scale < bounds.high - half;
    const std::int64_t ends = (cuts_low ? cut_low : 0) + (cuts_high ? cut_high : 0);
    return {.value = std::move(value),
            .q = q,
            .saturated = share(ends),
            .commonest = share(*std::max_element(steps.begin(), steps.end())),
            .signal_to_noise_db = ratio.decibels()};
  }
};

std::int64_t arg_max_of_row(const NdArray& array, std::int64_t row, std::int64_t rows) {
  const std::int64_t count = array.count() / std::max<std::int64_t>(1, rows), begin = row * count;
  std::int64_t best = begin;
  for (std::int64_t i = begin; i < begin + count; ++i)
    if (array.as_double(i) > array.as_double(best)) best = i;
  return best - begin;
}

struct ComparedOutput {
  SignalAndNoise ratio;
  std::int64_t rows = 0, same_rows = 0, same_choice = 0;

  void add(const NdArray& reals, const NdArray& others) {
    for (std::int64_t i = 0; i < reals.count(); ++i) ratio.add(reals.as_double(i), others.as_double(i));
    const std::int64_t all = reals.rank() > 1 ? reals.shape()[0] : 1;
    rows += all;
    for (std::int64_t row = 0; row < all; ++row)
      same_rows += arg_max_of_row(reals, row, all) == arg_max_of_row(others, row, all);
    same_choice += arg_max(reals) == arg_max(others);
  }
  Json to_json() const { return {ratio.signal, ratio.noise, rows, same_rows, same_choice}; }
  static ComparedOutput from_json(const Json& json) {
    return {{json.at(0), json.at(1)}, json.at(2), json.at(3), json.at(4)};
  }
};

struct Place {
  std::string name, steps;
  Quantization q;
  Limits bounds;
  ValueId value;
  Tally tally;
};
struct Output {
  std::string name;
  ValueId real, other;
  ComparedOutput tally;
};

class Comparison {
 public:
  Comparison(const Graph& model, const Graph& quantized, const Places& places,
             const std::map<ValueId, Quantization>& ranges)
      : model_(model), quantized_(quantized) {
    const auto take = [&](ValueId value) {
      if (!ranges.count(value)) return;
      const std::string& name = model.value(value).name;
      places_.push_back(
          {name, steps_name(name), ranges.at(value), bounds_of(model, source_of(places, value)), value, {}});
    };
    for (const ValueId input : model.inputs) take(input);
    for (const NodeId id : model.topological_order())
      for (const ValueId output : model.node(id).outputs) take(output);
    for (std::size_t i = 0; i < model.outputs.size(); ++i)
      outputs_.push_back({model.value(model.outputs[i]).name, model.outputs[i], quantized.outputs[i], {}});
  }

  Result<void> run(const Runs& runs, const MakeForward& make_forward) {
    std::vector<Sum> sums;
    for (Place& place : places_)
      sums.push_back({.name = "steps " + place.name,
                      .add = [this, &place]() -> Result<void> {
                        DOVETAIL_ASSIGN(const NdArray real, value_of(exact_, place.name));
                        DOVETAIL_ASSIGN(const NdArray steps, value_of(integer_, place.steps));
                        place.tally.add(steps, real, place.q);
                        return {};
                      },
                      .to_json = [&place] { return place.tally.to_json(); },
                      .from_json = [&place](const Json& json) { place.tally = Tally::from_json(json); }});
    for (Output& output : outputs_)
      sums.push_back({.name = "output " + output.name,
                      .add = [this, &output]() -> Result<void> {
                        // An output that is also an input has no error.
                        if (!model_.value(output.real).producer.valid()) return {};
                        DOVETAIL_ASSIGN(const NdArray real, value_of(exact_, output.name));
                        DOVETAIL_ASSIGN(const NdArray other, value_of(integer_, output.name));
                        output.tally.add(real, other);
                        return {};
                      },
                      .to_json = [&output] { return output.tally.to_json(); },
                      .from_json = [&output](const Json& json) { output.tally = ComparedOutput::from_json(json); }});
    return runs.sum(
        "comparison", sums, model_.name,
        [&](Range range) {
          return saturating_sum(peak_bytes(model_, reals(range)), peak_bytes(quantized_, others(range)));
        },
        [&](Range range) -> Result<Runs::Run> {
          exact_ = integer_ = {};  // their memory, before the next ones are made
          DOVETAIL_ASSIGN(exact_, make_forward(with_outputs(model_, reals(range))));
          DOVETAIL_ASSIGN(integer_, make_forward(with_outputs(quantized_, others(range))));
          return Runs::Run([this](const Values& sample) -> Result<void> {
            inputs_ = &sample;
            DOVETAIL_TRY(exact_.run(sample));
            return integer_.run(sample);
          });
        });
  }

  Compared report() const {
    Compared compared;
    for (const Place& place : places_) {
      compared.tensors.push_back(place.tally.report(place.name, place.q, place.bounds));
      compared.values.push_back(place.value);
    }
    for (const Output& output : outputs_)
      compared.outputs.push_back(
          {output.name, output.tally.ratio.decibels(), output.tally.rows, output.tally.same_rows});
    if (!outputs_.empty()) compared.same_choice = static_cast<int>(outputs_.front().tally.same_choice);
    return compared;
  }

 private:
  // The values for a range of the sums: those of the quantized places come first, then the outputs.
  template <typename OfPlace, typename OfOutput>
  std::vector<ValueId> values_of(Range range, OfPlace of_place, OfOutput of_output) const {
    std::vector<ValueId> values;
    for (std::size_t i = range.begin; i < range.end; ++i)
      values.push_back(i < places_.size() ? of_place(places_[i]) : of_output(outputs_[i - places_.size()]));
    return values;
  }
  std::vector<ValueId> reals(Range range) const {
    return values_of(
        range, [](const Place& place) { return place.value; }, [](const Output& output) { return output.real; });
  }
  std::vector<ValueId> others(Range range) const {
    return values_of(
        range, [&](const Place& place) { return *quantized_.find_value(place.steps); },
        [](const Output& output) { return output.other; });
  }
  Result<NdArray> value_of(const Forward& forward, const std::string& name) const {
    const auto input = inputs_->find(name);
    return input != inputs_->end() ? Result<NdArray>(input->second) : forward.output(name);
  }

  const Graph &model_, &quantized_;
  std::vector<Place> places_;
  std::vector<Output> outputs_;
  Forward exact_, integer_;
  const Values* inputs_ = nullptr;
};

}  // namespace

Limits bounds_of(const Graph& graph, ValueId value) {
  Limits bounds;
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).op != "Clip") return bounds;
  const std::vector<ValueId>& inputs = graph.node(producer).inputs;
  if (inputs.size() > 1 && inputs[1].valid()) bounds.low = passes::uniform(graph, inputs[1]).value_or(bounds.low);
  if (inputs.size() > 2 && inputs[2].valid()) bounds.high = passes::uniform(graph, inputs[2]).value_or(bounds.high);
  return bounds;
}

ValueId source_of(const Places& places, ValueId value) {
  while (places.same_as.count(value)) value = places.same_as.at(value);
  return value;
}

Result<Compared> compare(const Graph& model, const Graph& quantized, const Places& places,
                         const std::map<ValueId, Quantization>& ranges, const Runs& runs,
                         const MakeForward& make_forward) {
  Comparison comparison(model, quantized, places, ranges);
  DOVETAIL_TRY(comparison.run(runs, make_forward));
  return comparison.report();
}

}  // namespace dovetail::quantize
