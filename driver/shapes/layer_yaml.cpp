#include "driver/shapes/layer_yaml.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "driver/shapes/yaml.h"

namespace dovetail::driver {

namespace {

using shapes::Convolution;
using shapes::Layer;
using shapes::Product;

using Sizes = std::map<std::string, std::int64_t>;

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::int64_t get(const Sizes& sizes, const std::string& name, std::int64_t otherwise = 1) {
  const auto found = sizes.find(name);
  return found == sizes.end() ? otherwise : found->second;
}

// What readers of both forms share.
class LayerReader {
 public:
  explicit LayerReader(std::string where) : where_(std::move(where)) {}

 protected:
  // Returns nothing, so that a caller can leave with it.
  std::nullopt_t fault(const Yaml& at, std::string why, std::string hint) {
    problems_.push_back({"cannot read the layer", place(at), std::move(why), std::move(hint)});
    return std::nullopt;
  }
  std::string place(const Yaml& at) const { return fmt::format("{}, line {}", where_, at.line); }

  // A number in the range of extents; with `least` 0, of pads.
  std::optional<std::int64_t> number(const Yaml& at, std::string_view name, std::int64_t least = 1) {
    const auto value = at.is_scalar() ? integer(at.text) : std::nullopt;
    if (value && *value >= least && *value <= shapes::kMostExtent) return value;
    return fault(at,
                 fmt::format("{} is {}, and must be a number from {} to {}", printable(name),
                             at.is_scalar() ? fmt::format("\"{}\"", printable(at.text)) : "not a number", least,
                             shapes::kMostExtent),
                 "write a decimal number");
  }

  std::optional<Layer> checked(const Yaml& at, Layer layer) {
    const auto result = shapes::check(layer, place(at));
    if (result.ok()) return layer;
    problems_.insert(problems_.end(), result.errors().begin(), result.errors().end());
    return std::nullopt;
  }

  std::string where_;
  Diagnostics problems_;
};

// ---- Timeloop
// ----------------------------------------------------------------------------------------------------------------------

class ProblemReader : public LayerReader {
 public:
  using LayerReader::LayerReader;

  Result<Layer> run(const Yaml& problem) {
    const auto layer = read(problem);
    if (!layer) return problems_;
    return *layer;
  }

 private:
  // The names of the numbers that scale a result's and a kernel's coordinate along one axis of the image.
  struct Axis {
    std::string result, kernel, stride, dilation;
  };

  std::optional<Layer> read(const Yaml& problem) {
    if (!problem.is_map()) return fault(problem, "problem is not a map", "write `problem:` with shape and instance");
    const Yaml* instance = problem.find("instance");
    const Yaml* shape = problem.find("shape");
    axes_ = {Axis{"Q", "S", "Hstride", "Hdilation"}, Axis{"P", "R", "Wstride", "Wdilation"}};
    std::string name = std::filesystem::path(where_).stem().string();
    if (const Yaml* given = problem.find("name"); given != nullptr && given->is_scalar()) name = given->text;
    if (shape != nullptr && shape->is_map() && !read_shape(*shape)) return std::nullopt;
    const Yaml& sizes = instance != nullptr ? *instance : problem;
    if (!sizes.is_map()) return fault(sizes, "instance is not a map", "write the extents of the dimensions");
    for (const auto& [key, value] : sizes.entries) {
      if (&sizes == &problem && (key == "shape" || key == "name" || key == "version")) continue;
      if (key == "densities" || key == "commonDensities" || key == "density") {
        if (!is_dense(value))
          return fault(value, "the layer is sparse: this hardware multiplies zeros like all other numbers",
                       "remove the densities, and give only the channels that remain");
        continue;
      }
      const auto size = number(value, key);
      if (!size) return std::nullopt;
      sizes_[key] = *size;
    }
    return layer_of(sizes, printable(name));
  }

  static bool is_dense(const Yaml& value) {
    if (value.is_scalar()) return value.text == "1" || value.text == "1.0";
    return value.is_map() && std::ranges::all_of(value.entries, [](const auto& each) { return is_dense(each.second); });
  }

  // Checks how the shape's dimensions address the inputs, and reads the names of strides and their defaults.
  bool read_shape(const Yaml& shape) {
    if (const Yaml* coefficients = shape.find("coefficients"); coefficients != nullptr)
      for (const Yaml& row : coefficients->items) {
        const Yaml *name = row.find("name"), *given = row.find("default");
        if (name == nullptr || given == nullptr || !name->is_scalar()) continue;
        const auto value = number(*given, name->text);
        if (!value) return false;
        sizes_[name->text] = *value;
      }
    const Yaml* spaces = shape.find("data-spaces");
    if (spaces == nullptr) spaces = shape.find("data_spaces");
    if (spaces == nullptr) return true;
    for (const Yaml& space : spaces->items) {
      const Yaml *name = space.find("name"), *projection = space.find("projection");
      if (name == nullptr || projection == nullptr || !name->text.starts_with("Input") || !projection->is_list())
        continue;
      // A list of dimensions; each is a sum of products.
      for (const Yaml& sum : projection->items) {
        std::set<std::string> words;
        std::map<std::string, std::string> factor;  // of a dimension
        for (const Yaml& product : sum.items) {
          for (const Yaml& word : product.items) words.insert(word.text);
          if (product.items.size() == 2) {
            factor[product.items[0].text] = product.items[1].text;
            factor[product.items[1].text] = product.items[0].text;
          }
        }
        for (Axis& axis : axes_) {
          if (!words.contains(axis.kernel)) continue;
          if (!words.contains(axis.result)) {
            fault(sum, fmt::format("the inputs are addressed by {} without {}", axis.kernel, axis.result),
                  "use the shape of a convolution: R moves with P, and S with Q");
            return false;
          }
          if (factor.contains(axis.result)) axis.stride = factor[axis.result];
          if (factor.contains(axis.kernel)) axis.dilation = factor[axis.kernel];
        }
      }
    }
    return true;
  }

  std::optional<Layer> layer_of(const Yaml& at, const std::string& name) {
    std::set<std::string> of_convolution{"C", "M", "R", "S", "N", "P", "Q", "G"};
    for (const Axis& axis : axes_) of_convolution.insert({axis.stride, axis.dilation});
    const std::set<std::string> of_product{"M", "N", "K"};
    const auto only = [&](const std::set<std::string>& known) {
      return std::ranges::all_of(sizes_, [&](const auto& each) { return known.contains(each.first); });
    };
    if (sizes_.size() == of_product.size() && only(of_product))
      return checked(at, {name, Product{.rows = sizes_["M"], .inner = sizes_["K"], .columns = sizes_["N"]}});
    if (!only(of_convolution) || !sizes_.contains("C") || !sizes_.contains("M")) {
      std::vector<std::string> names;
      for (const auto& [key, size] : sizes_) names.push_back(printable(key));
      return fault(
          at, fmt::format("no kind of layer has the dimensions {}", fmt::join(names, ", ")),
          "a convolution has C, M, R, S, P, Q, and may have N, G, strides and dilations; a product has M, N, K");
    }
    Convolution c;
    c.batch = get(sizes_, "N");
    c.groups = get(sizes_, "G");  // C and M are those of a group
    c.channels = get(sizes_, "C") * c.groups;
    c.filters = get(sizes_, "M") * c.groups;
    for (std::size_t i = 0; i < 2; ++i) {
      c.kernel[i] = get(sizes_, axes_[i].kernel);
      c.stride[i] = get(sizes_, axes_[i].stride);
      c.dilation[i] = get(sizes_, axes_[i].dilation);
      c.image[i] = (get(sizes_, axes_[i].result) - 1) * c.stride[i] + (c.kernel[i] - 1) * c.dilation[i] + 1;
    }
    return checked(at, {name, c});
  }

  std::array<Axis, 2> axes_;
  Sizes sizes_;
};

// ---- ZigZag
// ----------------------------------------------------------------------------------------------------------------------

// One layer of a workload: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix].
class WorkloadReader : public LayerReader {
 public:
  using LayerReader::LayerReader;

  Result<Layer> run(const Yaml& row) {
    const auto layer = read(row);
    if (!layer) return problems_;
    return *layer;
  }

 private:
  using Indices = std::vector<std::string>;
  // An index that is a sum: stride * result + dilation * kernel.
  struct Relation {
    std::string result, kernel;
    std::int64_t stride = 1, dilation = 1;
  };

  std::optional<Layer> read(const Yaml& row) {
    if (!row.is_map()) return fault(row, "the layer is not a map", "write name, equation, loop_dims and loop_sizes");
    const Yaml *name = row.find("name"), *id = row.find("id");
    const std::string title = name != nullptr && name->is_scalar() && !name->text.empty() ? printable(name->text)
                              : id != nullptr && id->is_scalar() ? fmt::format("layer{}", printable(id->text))
                                                                 : std::string();
    if (!read_precision(row) || !read_sizes(row) || !read_relations(row) || !read_equation(row)) return std::nullopt;
    return layer_of(row, title);
  }

  bool read_precision(const Yaml& row) {
    const Yaml* precision = row.find("operand_precision");
    if (precision == nullptr) return true;
    for (const char* operand : {"W", "I"})
      if (const Yaml* bits = precision->find(operand); bits != nullptr && bits->text != "8") {
        fault(*bits, fmt::format("operand {} has {} bits, and must have 8", operand, printable(bits->text)),
              "write 8; int4 weights need a model: `dovetail quantize --weight-bits 4`");
        return false;
      }
    return true;
  }

  bool read_sizes(const Yaml& row) {
    const Yaml *dims = row.find("loop_dims"), *sizes = row.find("loop_sizes");
    if (dims == nullptr || sizes == nullptr || !dims->is_list() || !sizes->is_list() ||
        dims->items.size() != sizes->items.size()) {
      fault(row, "loop_dims and loop_sizes are missing, or not lists of equal length",
            "write the names of the loops and their extents");
      return false;
    }
    for (std::size_t i = 0; i < dims->items.size(); ++i) {
      const auto size = number(sizes->items[i], dims->items[i].text);
      if (!size) return false;
      sizes_[lower(dims->items[i].text)] = *size;
    }
    return true;
  }

  static std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    std::erase(text, ' ');
    return text;
  }

  // "ix=2*ox+1*fx"
  bool read_relations(const Yaml& row) {
    const Yaml* relations = row.find("dimension_relations");
    if (relations == nullptr) return true;
    for (const Yaml& each : relations->items) {
      const std::string text = lower(each.text);
      const std::size_t equals = text.find('='), plus = text.find('+', equals == text.npos ? 0 : equals);
      const auto term = [&](std::string part, std::string& name, std::int64_t& factor) {
        if (const std::size_t star = part.find('*'); star != part.npos) {
          const auto value = integer(part.substr(0, star));
          if (!value || *value < 1 || *value > shapes::kMostExtent) return false;
          factor = *value;
          part = part.substr(star + 1);
        }
        name = part;
        return sizes_.contains(name);
      };
      Relation relation;
      if (equals == text.npos || plus == text.npos ||
          !term(text.substr(equals + 1, plus - equals - 1), relation.result, relation.stride) ||
          !term(text.substr(plus + 1), relation.kernel, relation.dilation)) {
        fault(each, fmt::format("\"{}\" is not a relation of loops", printable(each.text)),
              "write it as in \"ix=2*ox+1*fx\": stride times a loop of the results, plus dilation times one of the "
              "kernel");
        return false;
      }
      relations_[text.substr(0, equals)] = relation;
    }
    return true;
  }

  // "O[b][k]+=W[k][c]*I[b][c]"
  bool read_equation(const Yaml& row) {
    const Yaml* equation = row.find("equation");
    const auto bad = [&](std::string why) {
      fault(equation == nullptr ? row : *equation, std::move(why),
            "write it as in \"O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]\"; sums and poolings can be given with "
            "--layer");
      return false;
    };
    if (equation == nullptr || !equation->is_scalar()) return bad("the layer has no equation");
    const std::string text = lower(equation->text);
    std::size_t at = 0;
    const auto operand = [&](Indices& indices) -> char {
      const char name = at < text.size() ? text[at++] : '\0';
      while (at < text.size() && text[at] == '[') {
        const std::size_t end = std::min(text.find(']', at), text.size());
        indices.push_back(text.substr(at + 1, end - at - 1));
        at = std::min(end + 1, text.size());
      }
      return name;
    };
    const auto takes = [&](std::string_view word) {
      const bool there = text.compare(at, word.size(), word) == 0;
      at += there ? word.size() : 0;
      return there;
    };
    Indices results, first, second;
    const char name = operand(results);
    if (name != 'o' || !(takes("+=") || takes("="))) return bad("the equation does not begin with O[...]+=");
    const char left = operand(first);
    if (!takes("*")) return bad("the equation is not a product of W and I");
    const char right = operand(second);
    if (at != text.size() || !((left == 'w' && right == 'i') || (left == 'i' && right == 'w')))
      return bad("the equation is not a product of W and I");
    for (const auto* list : {&results, &first, &second})
      for (const std::string& index : *list)
        if (!sizes_.contains(index) && !relations_.contains(index))
          return bad(fmt::format("index \"{}\" is neither a loop nor in dimension_relations", printable(index)));
    outputs_ = {results.begin(), results.end()};
    weights_ = left == 'w' ? std::set(first.begin(), first.end()) : std::set(second.begin(), second.end());
    inputs_ = left == 'w' ? std::set(second.begin(), second.end()) : std::set(first.begin(), first.end());
    return true;
  }

  std::optional<Layer> layer_of(const Yaml& row, const std::string& name) {
    std::vector<std::pair<std::string, Relation>> axes;  // rows, then columns
    std::set<std::string> in_axes;
    for (const std::string& index : inputs_)
      if (const auto found = relations_.find(index); found != relations_.end()) {
        axes.emplace_back(*found);
        in_axes.insert({found->second.result, found->second.kernel});
      }
    // "iy" is the axis of rows.
    std::ranges::sort(axes, {}, [](const auto& axis) { return !axis.first.ends_with('y'); });
    if (axes.size() > 2)
      return fault(row, fmt::format("the kernel has {} axes > 2", axes.size()), "give a layer of one image");
    std::int64_t batch = 1, filters = 1, channels = 1, groups = 1;
    for (const auto& [loop, size] : sizes_) {
      if (in_axes.contains(loop)) continue;
      const bool o = outputs_.contains(loop), w = weights_.contains(loop), i = inputs_.contains(loop);
      std::int64_t* of = o && w && i    ? &groups
                         : o && i && !w ? &batch
                         : o && w       ? &filters
                         : i && w       ? &channels
                                        : nullptr;
      if (of == nullptr && size > 1)
        return fault(
            row,
            fmt::format("loop {} of {} is in {} of the operands", printable(loop), size, o || w || i ? "one" : "none"),
            "a loop is in two operands of the equation, or in all three");
      if (of != nullptr && *of > shapes::kMostExtent / size)
        return fault(row, "the loops' extents are too large", "split the layer");
      if (of != nullptr) *of *= size;
    }
    if (axes.empty() && groups == 1)
      return checked(row, {name, Product{.rows = batch, .inner = channels, .columns = filters}});
    if (axes.empty())
      return fault(row, fmt::format("the layer has {} products of different weights", groups),
                   "give one product, or the heads of attention as --layer \"attention heads=... seq=... dim=...\"");
    Convolution c{.batch = batch, .channels = channels * groups, .filters = filters * groups, .groups = groups};
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto& [index, relation] = axes[i];
      const std::size_t axis = axes.size() == 1 ? 1 : i;
      c.kernel[axis] = get(sizes_, relation.kernel);
      c.stride[axis] = relation.stride;
      c.dilation[axis] = relation.dilation;
      c.image[axis] =
          (get(sizes_, relation.result) - 1) * relation.stride + (c.kernel[axis] - 1) * relation.dilation + 1;
      if (!apply_padding(row, index, axis, c)) return std::nullopt;
    }
    return checked(row, {name, c});
  }

  // `padding` has [before, after] for each of `pr_loop_dims`: the image is smaller by them.
  bool apply_padding(const Yaml& row, const std::string& index, std::size_t axis, Convolution& c) {
    const Yaml *dims = row.find("pr_loop_dims"), *padding = row.find("padding"), *sizes = row.find("pr_loop_sizes");
    if (padding == nullptr) return true;
    if (dims == nullptr || !dims->is_list() || !padding->is_list() || padding->items.size() != dims->items.size()) {
      fault(*padding, "padding has no pair for each of pr_loop_dims", "write pr_loop_dims: [IX, IY] and two pairs");
      return false;
    }
    for (std::size_t i = 0; i < dims->items.size(); ++i) {
      if (lower(dims->items[i].text) != index) continue;
      const Yaml& pair = padding->items[i];
      if (!pair.is_list() || pair.items.size() != 2) {
        fault(pair, "padding is not a pair", "write [before, after]");
        return false;
      }
      const auto before = number(pair.items[0], "padding", 0), after = number(pair.items[1], "padding", 0);
      if (!before || !after) return false;
      c.pads[axis] = *before;
      c.pads[axis + 2] = *after;
      const std::int64_t needed = c.image[axis] - *before - *after;
      c.image[axis] = needed;
      if (sizes == nullptr || !sizes->is_list() || i >= sizes->items.size()) return true;
      const auto size = number(sizes->items[i], dims->items[i].text);
      if (!size) return false;
      // A stride may leave rows that no window reaches.
      if (*size < needed || *size >= needed + c.stride[axis]) {
        fault(sizes->items[i],
              fmt::format("{} is {}, but the loops and the padding need {}", printable(dims->items[i].text), *size,
                          needed),
              "correct the size, the padding or the loops");
        return false;
      }
      c.image[axis] = *size;
    }
    return true;
  }

  Sizes sizes_;
  std::map<std::string, Relation> relations_;
  std::set<std::string> outputs_, weights_, inputs_;
};

}  // namespace

Result<std::vector<Layer>> read_layer_yaml(std::string_view text, const std::string& where) {
  DOVETAIL_ASSIGN(const std::vector<Yaml> documents, parse_yaml(text, where));
  std::vector<Layer> layers;
  Diagnostics problems;
  const auto add = [&](Result<Layer> layer) {
    if (layer.ok()) layers.push_back(*std::move(layer));
    else problems.insert(problems.end(), layer.errors().begin(), layer.errors().end());
  };
  for (const Yaml& document : documents) {
    if (const Yaml* problem = document.find("problem")) add(ProblemReader(where).run(*problem));
    else if (document.is_list())
      for (const Yaml& row : document.items) add(WorkloadReader(where).run(row));
    else
      problems.push_back(
          {"cannot read the layers", fmt::format("{}, line {}", where, document.line),
           "the file is neither Timeloop's problem nor ZigZag's workload",
           "begin it with `problem:`, or with a list of layers that have equation, loop_dims and loop_sizes"});
  }
  if (problems.empty() && layers.empty())
    problems.push_back({"cannot read the layers", where, "the file has no layers", "add a layer"});
  if (!problems.empty()) return problems;
  return layers;
}

}  // namespace dovetail::driver
