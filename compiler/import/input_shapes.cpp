#include "compiler/import/input_shapes.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "base/onnx_types.h"
#include "base/printable.h"
#include "compiler/import/messages.h"
#include "compiler/import/narrow_types.h"
#include "compiler/import/tensor_proto.h"

namespace dovetail::import {
namespace {

// An extent in the file: a number, a name, or nothing. Exporters also write 0 or a negative number for "unknown", with
// a name or alone.
bool is_known(const onnx::Dimension& dimension) { return dimension.value.value_or(-1) >= 0 && dimension.param.empty(); }
std::string symbol(const onnx::Dimension& dimension) { return printable(dimension.param); }

class Binder {
 public:
  Binder(const std::vector<const onnx::ValueInfo*>& inputs, const std::string& where, const ImportOptions& options,
         std::vector<std::string>& notes)
      : inputs_(inputs), where_(where), options_(options), notes_(notes) {}

  Result<std::vector<graph::TensorType>> run() {
    read_options();
    for (const onnx::ValueInfo* input : inputs_) bind_batch(*input);
    const auto has_batch = [&](const onnx::ValueInfo* input) {
      return !input->dims().empty() && input->dims()[0].value == options_.batch;
    };
    if (options_.batch && !batch_is_bound_ && !std::ranges::all_of(inputs_, has_batch))
      report("", fmt::format("no input has a batch that can be {}: their first extents are fixed", *options_.batch),
             "export the model with a symbolic first extent");
    std::vector<graph::TensorType> types;
    for (const onnx::ValueInfo* input : inputs_) types.push_back(type_of(*input));
    if (!unbound_.empty())
      report("", "these extents are unknown: " + unbound_,
             "set each: --shape NAME=1x3x224x224 for an input, or --shape SYMBOL=N for a symbol");
    for (const auto& [name, shape] : options_.shapes)
      if (!used_.count(name))
        report(name, fmt::format("--shape {}: the model has no input and no symbolic extent of this name", name),
               fmt::format("known names: {}", known_names()));
    if (!findings_.empty()) return findings_;
    return types;
  }

 private:
  void report(const std::string& name, std::string why, std::string hint) {
    findings_.push_back({"cannot fix the shapes of the inputs", name.empty() ? where_ : where_ + ", input " + name,
                         std::move(why), std::move(hint)});
  }

  std::string known_names() const {
    std::set<std::string> names;
    for (const onnx::ValueInfo* input : inputs_) {
      names.insert(printable(input->name));
      for (const onnx::Dimension& dimension : input->dims())
        if (!symbol(dimension).empty()) names.insert(symbol(dimension));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // Reads the entries that name a symbol; type_of() looks up those that name an input.
  void read_options() {
    for (const onnx::ValueInfo* input : inputs_)
      for (const onnx::Dimension& dimension : input->dims()) {
        const auto entry = options_.shapes.find(symbol(dimension));
        if (symbol(dimension).empty() || entry == options_.shapes.end() || !used_.insert(entry->first).second) continue;
        if (entry->second.size() == 1 && entry->second[0] >= 0) extent_of_[entry->first] = entry->second[0];
        else
          report("",
                 fmt::format("--shape {}={}: a symbolic extent needs one number, at least 0", entry->first,
                             to_string(entry->second)),
                 "give one number");
      }
  }

  // The shape given by --shape or by the value for the input.
  const Shape* whole_shape(const onnx::ValueInfo& input) {
    const std::string name = printable(input.name);
    if (const auto entry = options_.shapes.find(name); entry != options_.shapes.end()) {
      used_.insert(entry->first);
      return &entry->second;
    }
    const auto value = options_.values.find(name);
    return value == options_.values.end() ? nullptr : &value->second.shape();
  }

  // A symbolic first extent is the batch: 1 unless the options give another. Bound before the other extents, which may
  // repeat its name.
  void bind_batch(const onnx::ValueInfo& input) {
    const std::vector<onnx::Dimension>& dims = input.dims();
    if (whole_shape(input) || dims.empty() || is_known(dims[0])) return;
    const std::string name = symbol(dims[0]);
    batch_is_bound_ = true;
    if (!name.empty() && !extent_of_.emplace(name, batch()).second) return;
    if (options_.batch) return;
    notes_.push_back(fmt::format("input {}: batch{} = 1 assumed; --shape {}=N sets another", printable(input.name),
                                 name.empty() ? "" : " " + name,
                                 name.empty() ? printable(input.name) + "=Nx..." : name));
  }

  graph::TensorType type_of(const onnx::ValueInfo& input) {
    const std::string name = printable(input.name);
    const onnx::TensorType& declared = input.tensor_type();
    if (!input.type.tensor_type) {
      report(name, "the input's type is not a tensor, but a sequence, map, optional or sparse tensor, or missing",
             "export the model with tensor inputs");
      return {};
    }
    const auto dtype = held_dtype(declared.elem_type);
    if (!dtype) {
      report(name, fmt::format("element type {} is not supported", onnx_type_name(declared.elem_type)),
             "cast the input before the model");
      return {};
    }
    if (find_narrow(declared.elem_type) != nullptr)
      notes_.push_back(fmt::format("input {}: elements of {} are stored as {}", name,
                                   onnx_type_name(declared.elem_type), dovetail::name(*dtype)));
    graph::TensorType type{*dtype, {}};
    if (const Shape* given = whole_shape(input)) {
      type.shape = *given;
      check_against_file(name, input, *given);
    } else if (!declared.shape) {
      add_unbound(name + " (no shape at all)");
    } else {
      for (std::size_t axis = 0; axis < input.dims().size(); ++axis)
        type.shape.push_back(extent(name, input.dims()[axis], axis));
    }
    if (auto bytes = tensor_bytes(type.dtype, type.shape, where_ + ", input " + name); !bytes)
      findings_.insert(findings_.end(), bytes.errors().begin(), bytes.errors().end());
    return type;
  }

  std::int64_t extent(const std::string& name, const onnx::Dimension& dimension, std::size_t axis) {
    if (is_known(dimension)) return *dimension.value;
    const std::string by_name = symbol(dimension);
    if (const auto bound = extent_of_.find(by_name); !by_name.empty() && bound != extent_of_.end())
      return bound->second;
    if (axis == 0) return batch();  // bind_batch added the note
    add_unbound(fmt::format("{} axis {}{}", name, axis, by_name.empty() ? "" : " (" + by_name + ")"));
    return 1;
  }

  void check_against_file(const std::string& name, const onnx::ValueInfo& declared, const Shape& given) {
    if (!declared.tensor_type().shape) return;
    const std::size_t rank = declared.dims().size();
    if (rank != given.size()) {
      report(name,
             fmt::format("shape {} has {} extents, but the model declares {}", to_string(given), given.size(), rank),
             "give as many extents as the model");
      return;
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const onnx::Dimension& dimension = declared.dims()[axis];
      if (is_known(dimension) && dimension.value != given[axis])
        report(name,
               fmt::format("axis {} is set to {}, but the model fixes it to {}", axis, given[axis], *dimension.value),
               "set only symbolic extents");
      const std::string by_name = symbol(dimension);
      if (const auto set = options_.shapes.find(by_name);
          !by_name.empty() && set != options_.shapes.end() && set->second != Shape{given[axis]})
        report(name,
               fmt::format("axis {} is set to {}, but {}, which it is, is set to {}", axis, given[axis], by_name,
                           to_string(set->second)),
               "set one of them");
    }
  }

  std::int64_t batch() const { return options_.batch.value_or(1); }
  void add_unbound(const std::string& text) { unbound_ += (unbound_.empty() ? "" : ", ") + text; }

  const std::vector<const onnx::ValueInfo*>& inputs_;
  const std::string& where_;
  const ImportOptions& options_;
  std::vector<std::string>& notes_;
  std::map<std::string, std::int64_t> extent_of_;  // extent of each symbol
  bool batch_is_bound_ = false;                    // some input has the batch of the options, or 1
  std::set<std::string> used_;                     // entries of the options that name something
  std::string unbound_;
  Diagnostics findings_;
};

}  // namespace

Result<std::vector<graph::TensorType>> bind_input_shapes(const std::vector<const onnx::ValueInfo*>& inputs,
                                                         const std::string& where, const ImportOptions& options,
                                                         std::vector<std::string>& notes) {
  return Binder(inputs, where, options, notes).run();
}

}  // namespace dovetail::import
