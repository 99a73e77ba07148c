// ai.onnx.ml: ensembles of decision trees. All rows step down all trees at once, one level per step: the next node is
// looked up in tables, and a leaf leads to itself.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "compiler/import/ml_rules.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

constexpr std::int64_t kDeepestTree = 512;
constexpr std::int64_t kMostWeights = std::int64_t{1} << 26;  // nodes times results

struct Comparison {
  std::string_view mode, op;
};
// The true branch is taken if `feature op value`.
constexpr Comparison kComparisons[] = {
    {"BRANCH_EQ", "Equal"},        {"BRANCH_GT", "Greater"}, {"BRANCH_GTE", "GreaterOrEqual"},
    {"BRANCH_LEQ", "LessOrEqual"}, {"BRANCH_LT", "Less"},    {"BRANCH_NEQ", "NotEqual"}};

// Tables indexed by node.
struct Forest {
  std::vector<std::int64_t> features, when_true, when_false, roots;
  std::vector<double> values;
  std::vector<std::string> modes;
  std::vector<bool> missing_is_true;
  std::vector<double> weights;   // [nodes, results]
  std::vector<bool> has_weight;  // likewise
  std::int64_t results = 0, depth = 0;

  std::int64_t nodes() const { return static_cast<std::int64_t>(features.size()); }
};

class ForestReader {
 public:
  // The weights of leaves are lists named `weights` + _treeids, _nodeids, _ids and _weights.
  ForestReader(const NodeWriter& writer, const std::string& weights, std::int64_t results, std::int64_t columns)
      : writer_(writer), weights_(weights), columns_(columns) {
    forest_.results = results;
  }

  Result<Forest> read() {
    DOVETAIL_TRY(read_nodes());
    DOVETAIL_TRY(read_weights());
    DOVETAIL_TRY(measure());
    return std::move(forest_);
  }

 private:
  Diagnostic broken(std::string why) const { return writer_.refused(std::move(why), "export the model again"); }

  Result<void> read_nodes() {
    const auto trees = integers_of(writer_, "nodes_treeids"), ids = integers_of(writer_, "nodes_nodeids"),
               features = integers_of(writer_, "nodes_featureids"),
               when_true = integers_of(writer_, "nodes_truenodeids"),
               when_false = integers_of(writer_, "nodes_falsenodeids"),
               missing = integers_of(writer_, "nodes_missing_value_tracks_true");
    const auto values = numbers_of(writer_, "nodes_values");
    const auto modes = texts_of(writer_, "nodes_modes");
    const std::size_t count = ids.size();
    if (count == 0 || trees.size() != count || features.size() != count || when_true.size() != count ||
        when_false.size() != count || values.size() != count || modes.size() != count ||
        (!missing.empty() && missing.size() != count))
      return broken(fmt::format("the lists for its {} tree nodes are empty, or differ in length", count));
    for (std::size_t i = 0; i < count; ++i)
      if (!places_.emplace(std::pair(trees[i], ids[i]), static_cast<std::int64_t>(i)).second)
        return broken(fmt::format("node {} of tree {} is defined twice", ids[i], trees[i]));
    std::set<std::int64_t> children;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_leaf = modes[i] == "LEAF";
      if (!is_leaf && std::ranges::find(kComparisons, modes[i], &Comparison::mode) == std::end(kComparisons))
        return broken(fmt::format("the mode {} of a node is unknown", modes[i]));
      if (!is_leaf && (features[i] < 0 || features[i] >= columns_))
        return broken(fmt::format("a tree node reads feature {}, but there are only {}", features[i], columns_));
      const auto own = static_cast<std::int64_t>(i);
      std::int64_t next[2] = {own, own};
      for (int branch = 0; branch < 2 && !is_leaf; ++branch) {
        const std::int64_t id = branch == 0 ? when_true[i] : when_false[i];
        const auto found = places_.find(std::pair(trees[i], id));
        if (found == places_.end())
          return broken(fmt::format("a branch leads to node {1} of tree {0}, which does not exist", trees[i], id));
        next[branch] = found->second;
        children.insert(found->second);
      }
      forest_.features.push_back(is_leaf ? 0 : features[i]);
      forest_.values.push_back(is_leaf ? 0 : values[i]);
      forest_.modes.push_back(is_leaf ? "" : modes[i]);
      forest_.when_true.push_back(next[0]);
      forest_.when_false.push_back(next[1]);
      forest_.missing_is_true.push_back(!is_leaf && !missing.empty() && missing[i] != 0);
    }
    std::set<std::int64_t> rooted;
    for (std::size_t i = 0; i < count; ++i)
      if (!children.contains(static_cast<std::int64_t>(i))) {
        if (!rooted.insert(trees[i]).second) return broken(fmt::format("tree {} has two roots", trees[i]));
        forest_.roots.push_back(static_cast<std::int64_t>(i));
      }
    if (rooted != std::set<std::int64_t>(trees.begin(), trees.end())) return broken("a tree has no root");
    return {};
  }

  Result<void> read_weights() {
    const auto trees = integers_of(writer_, weights_ + "_treeids"), ids = integers_of(writer_, weights_ + "_nodeids"),
               results = integers_of(writer_, weights_ + "_ids");
    const auto weights = numbers_of(writer_, weights_ + "_weights");
    if (trees.size() != ids.size() || results.size() != ids.size() || weights.size() != ids.size())
      return broken(fmt::format("the lists for its {} weights differ in length", ids.size()));
    if (forest_.results < 1 || forest_.nodes() > kMostWeights / forest_.results)
      return writer_.refused(
          fmt::format("{} nodes and {} results", forest_.nodes(), forest_.results),
          fmt::format("there must be at least one result, and their product must be at most {}", kMostWeights));
    const auto size = static_cast<std::size_t>(forest_.nodes() * forest_.results);
    forest_.weights.resize(size);
    forest_.has_weight.resize(size);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = places_.find(std::pair(trees[i], ids[i]));
      if (found == places_.end() || results[i] < 0 || results[i] >= forest_.results)
        return broken(fmt::format("a weight of node {} of tree {} is for result {}, which does not exist", ids[i],
                                  trees[i], results[i]));
      const auto at = static_cast<std::size_t>(found->second * forest_.results + results[i]);
      forest_.weights[at] += weights[i];
      forest_.has_weight[at] = true;
    }
    return {};
  }

  // Finds the longest path down; checks that every node is reached exactly once.
  Result<void> measure() {
    std::vector<std::int64_t> level = forest_.roots;
    std::int64_t reached = 0;
    for (forest_.depth = 0; !level.empty(); ++forest_.depth) {
      if (forest_.depth > kDeepestTree)
        return writer_.refused(fmt::format("a tree is deeper than {} nodes", kDeepestTree), "train shallower trees");
      std::vector<std::int64_t> next;
      for (const std::int64_t node : level) {
        const auto at = static_cast<std::size_t>(node);
        if (++reached > forest_.nodes()) return broken("a node has two parents");
        if (forest_.modes[at].empty()) continue;
        next.push_back(forest_.when_true[at]);
        next.push_back(forest_.when_false[at]);
      }
      level = std::move(next);
    }
    --forest_.depth;
    if (reached != forest_.nodes()) return broken("some nodes cannot be reached from a root");
    return {};
  }

  const NodeWriter& writer_;
  const std::string weights_;
  const std::int64_t columns_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> places_;
  Forest forest_;
};

// The form of operator set 5: lists of inner nodes, lists of leaves, and the index of each tree's root among the inner
// nodes.
class EnsembleReader {
 public:
  EnsembleReader(const NodeWriter& writer, std::int64_t columns) : writer_(writer), columns_(columns) {
    forest_.results = writer.integer("n_targets", 1);
  }

  Result<Forest> read() {
    const auto features = integers_of(writer_, "nodes_featureids"), roots = integers_of(writer_, "tree_roots"),
               targets = integers_of(writer_, "leaf_targetids"),
               missing = integers_of(writer_, "nodes_missing_value_tracks_true");
    const auto modes = numbers("nodes_modes"), splits = numbers("nodes_splits"), weights = numbers("leaf_weights");
    const std::size_t inner = features.size(), leaves = targets.size();
    if (inner == 0 || leaves == 0 || modes.size() != inner || splits.size() != inner || weights.size() != leaves ||
        (!missing.empty() && missing.size() != inner) || roots.empty())
      return broken("the lists of nodes, leaves or roots are empty, or differ in length");
    const auto all = static_cast<std::int64_t>(inner + leaves);
    if (forest_.results < 1 || all > kMostWeights / forest_.results)
      return writer_.refused(
          fmt::format("{} nodes and {} results", all, forest_.results),
          fmt::format("there must be at least one result, and their product must be at most {}", kMostWeights));
    for (std::size_t i = 0; i < inner; ++i) {
      constexpr const char* kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
      const double mode = modes[i];
      if (!(mode >= 0 && mode < 6))
        return writer_.refused(
            fmt::format("the mode of a node is {}", mode),
            "0 to 5, comparisons with a number, are supported; write BRANCH_MEMBER as several nodes");
      if (features[i] < 0 || features[i] >= columns_)
        return broken(fmt::format("a tree node reads feature {}, but there are only {}", features[i], columns_));
      forest_.features.push_back(features[i]);
      forest_.values.push_back(splits[i]);
      forest_.modes.emplace_back(kModes[static_cast<std::size_t>(mode)]);
      forest_.missing_is_true.push_back(!missing.empty() && missing[i] != 0);
    }
    DOVETAIL_TRY(read_branch("true", forest_.when_true));
    DOVETAIL_TRY(read_branch("false", forest_.when_false));
    forest_.weights.resize(static_cast<std::size_t>(all * forest_.results));
    forest_.has_weight.resize(forest_.weights.size());
    for (std::size_t i = 0; i < leaves; ++i) {
      if (targets[i] < 0 || targets[i] >= forest_.results)
        return broken(fmt::format("a leaf is for result {}, but there are only {}", targets[i], forest_.results));
      const auto leaf = static_cast<std::int64_t>(inner + i);
      forest_.features.push_back(0);
      forest_.values.push_back(0);
      forest_.modes.emplace_back();
      forest_.missing_is_true.push_back(false);
      forest_.when_true.push_back(leaf);
      forest_.when_false.push_back(leaf);
      const auto at = static_cast<std::size_t>(leaf * forest_.results + targets[i]);
      forest_.weights[at] = weights[i];
      forest_.has_weight[at] = true;
    }
    for (const std::int64_t root : roots)
      if (root < 0 || root >= static_cast<std::int64_t>(inner))
        return broken(fmt::format("root {} does not exist: there are {} nodes", root, inner));
    forest_.roots = roots;
    DOVETAIL_TRY(measure(static_cast<std::int64_t>(inner)));
    return std::move(forest_);
  }

 private:
  Diagnostic broken(std::string why) const { return writer_.refused(std::move(why), "export the model again"); }

  std::vector<double> numbers(const std::string& name) const {
    std::vector<double> values;
    const auto found = writer_.node().attributes.find(name);
    if (const auto* array = found == writer_.node().attributes.end() ? nullptr : std::get_if<NdArray>(&found->second))
      for (std::int64_t i = 0; i < array->count(); ++i) values.push_back(array->as_double(i));
    return values;
  }

  // Indices: inner nodes first, then leaves.
  Result<void> read_branch(const std::string& branch, std::vector<std::int64_t>& next) const {
    const auto ids = integers_of(writer_, fmt::format("nodes_{}nodeids", branch)),
               are_leaves = integers_of(writer_, fmt::format("nodes_{}leafs", branch));
    const auto inner = static_cast<std::int64_t>(forest_.features.size()),
               leaves = static_cast<std::int64_t>(integers_of(writer_, "leaf_targetids").size());
    if (static_cast<std::int64_t>(ids.size()) != inner || ids.size() != are_leaves.size())
      return broken(fmt::format("{} {} branches are given for {} nodes", ids.size(), branch, inner));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool is_leaf = are_leaves[i] != 0;
      if (ids[i] < 0 || ids[i] >= (is_leaf ? leaves : inner))
        return broken(fmt::format("a node leads to {} {}, but there are only {}", is_leaf ? "leaf" : "node", ids[i],
                                  is_leaf ? leaves : inner));
      next.push_back(is_leaf ? inner + ids[i] : ids[i]);
    }
    return {};
  }

  // Finds the longest path down. Leaves may be shared; inner nodes are reached once.
  Result<void> measure(std::int64_t inner) {
    std::vector<std::int64_t> level = forest_.roots;
    std::int64_t reached = 0;
    for (; !level.empty(); ++forest_.depth) {
      if (forest_.depth > kDeepestTree)
        return writer_.refused(fmt::format("a tree is deeper than {} nodes", kDeepestTree), "train shallower trees");
      std::vector<std::int64_t> next;
      for (const std::int64_t node : level) {
        if (++reached > inner) return broken("a node has two parents");
        for (const auto* branch : {&forest_.when_true, &forest_.when_false})
          if (const std::int64_t child = (*branch)[static_cast<std::size_t>(node)]; child < inner)
            next.push_back(child);
      }
      level = std::move(next);
    }
    return {};
  }

  const NodeWriter& writer_;
  const std::int64_t columns_;
  Forest forest_;
};

// The leaf that each row reaches in each tree, [rows, trees].
ValueId reached_leaves(NodeWriter& writer, const Forest& forest, const Features& x, DType dtype) {
  const auto trees = static_cast<std::int64_t>(forest.roots.size());
  const graph::TensorType places{DType::int64, {x.rows, trees}};
  const ValueId features = writer.integers("features", forest.features),
                values = writer.constant("values", real_list(dtype, forest.values)),
                when_true = writer.integers("when_true", forest.when_true),
                when_false = writer.integers("when_false", forest.when_false);
  std::map<std::string_view, ValueId> flags;  // nodes with each comparison, if the forest uses several
  for (const Comparison& comparison : kComparisons) {
    NdArray uses(DType::boolean, {forest.nodes()});
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < forest.nodes(); ++i) {
      const bool used = forest.modes[static_cast<std::size_t>(i)] == comparison.mode;
      uses.set_int64(i, used), count += used;
    }
    if (count > 0) flags[comparison.mode] = writer.constant(fmt::format("uses_{}", comparison.mode), std::move(uses));
  }
  ValueId missing;
  if (std::ranges::find(forest.missing_is_true, true) != forest.missing_is_true.end()) {
    NdArray tracks(DType::boolean, {forest.nodes()});
    for (std::int64_t i = 0; i < forest.nodes(); ++i)
      tracks.set_int64(i, forest.missing_is_true[static_cast<std::size_t>(i)]);
    missing = writer.constant("missing_is_true", std::move(tracks));
  }
  ValueId at = writer.op("Expand", "roots",
                         {writer.constant("root_list", int64_list(forest.roots).reshaped({1, trees})),
                          writer.integers("roots_shape", {x.rows, trees})},
                         {}, places);
  for (std::int64_t step = 0; step < forest.depth; ++step) {
    const auto named = [&](std::string_view stem) { return fmt::format("{}_{}", stem, step); };
    const auto looked_up = [&](ValueId table, std::string_view stem) {
      return writer.op("Gather", named(stem), {table, at}, {{"axis", std::int64_t{0}}});
    };
    const ValueId feature = writer.op("GatherElements", named("feature"), {x.value, looked_up(features, "which")},
                                      {{"axis", std::int64_t{1}}});
    const ValueId value = looked_up(values, "value");
    ValueId holds;
    for (const auto& [mode, table] : flags) {
      const auto row = std::ranges::find(kComparisons, mode, &Comparison::mode);
      const bool differs = row->op == "NotEqual";
      ValueId result = writer.op(differs ? "Equal" : row->op, named(mode), {feature, value});
      if (differs) result = writer.op("Not", named("not_equal"), {result});
      holds = holds.valid()
                  ? writer.op("Where", named("holds_" + std::string(mode)), {looked_up(table, mode), result, holds})
                  : result;
    }
    if (missing.valid())
      holds =
          writer.op("Or", named("or_missing"),
                    {holds, writer.op("And", named("is_missing"),
                                      {writer.op("IsNaN", named("is_nan"), {feature}), looked_up(missing, "tracks")})});
    at = writer.op("Where", named("at"), {holds, looked_up(when_true, "true"), looked_up(when_false, "false")}, {},
                   places);
  }
  return at;
}

// The aggregated result of all trees, [rows, results], in `dtype`, plus base values.
Result<ValueId> forest_scores(NodeWriter& writer, const Forest& forest, const Features& x, DType dtype,
                              const std::string& aggregate, const std::vector<double>& base_values) {
  const bool selects = aggregate == "MIN" || aggregate == "MAX";
  if (!selects && aggregate != "SUM" && aggregate != "AVERAGE")
    return writer.refused(fmt::format("aggregate_function is {}", aggregate), "use SUM, AVERAGE, MIN or MAX");
  for (std::int64_t i = 0; i < forest.nodes() * forest.results && selects; ++i)
    if (forest.modes[static_cast<std::size_t>(i / forest.results)].empty() &&
        !forest.has_weight[static_cast<std::size_t>(i)])
      return writer.refused(fmt::format("aggregate_function is {}, and a leaf has no weight for result {}", aggregate,
                                        i % forest.results),
                            "give each leaf a weight per result");
  const ValueId leaves = reached_leaves(writer, forest, x, dtype);
  const NdArray weights = real_list(dtype, forest.weights).reshaped({forest.nodes(), forest.results});
  const ValueId said =
      writer.op("Gather", "said", {writer.constant("weights", weights), leaves}, {{"axis", std::int64_t{0}}});
  const char* reduce = aggregate == "MIN"       ? "ReduceMin"
                       : aggregate == "MAX"     ? "ReduceMax"
                       : aggregate == "AVERAGE" ? "ReduceMean"
                                                : "ReduceSum";
  ValueId scores = writer.op(reduce, "scores", {said, writer.integers("trees", {1})}, {{"keepdims", std::int64_t{0}}},
                             graph::TensorType{dtype, {x.rows, forest.results}});
  if (!base_values.empty()) {
    if (base_values.size() != 1 && static_cast<std::int64_t>(base_values.size()) != forest.results)
      return writer.refused(fmt::format("{} base values are given for {} results", base_values.size(), forest.results),
                            "give one per result");
    scores = writer.op("Add", "based", {scores, writer.constant("base_values", real_list(dtype, base_values))}, {},
                       graph::TensorType{dtype, {x.rows, forest.results}});
  }
  return writer.cast(scores, "real_scores", DType::float32);
}

// Features are compared in their own type if it is float64, else in float32.
DType compared_dtype(const NodeWriter& writer) {
  return writer.type(0).dtype == DType::float64 ? DType::float64 : DType::float32;
}

Result<void> write_tree_regressor(NodeWriter& writer) {
  const DType dtype = compared_dtype(writer);
  DOVETAIL_ASSIGN(const Features x, features_of(writer, dtype));
  DOVETAIL_ASSIGN(const Forest forest,
                  ForestReader(writer, "target", writer.integer("n_targets", 1), x.columns).read());
  DOVETAIL_ASSIGN(
      const ValueId scores,
      forest_scores(writer, forest, x, dtype, graph::string_attribute(writer.node(), "aggregate_function", "SUM"),
                    numbers_of(writer, "base_values")));
  DOVETAIL_ASSIGN(const ValueId transformed, post_transformed(writer, scores));
  writer.finish("Identity", {transformed});
  return {};
}

Result<void> write_tree_ensemble(NodeWriter& writer) {
  const DType dtype = compared_dtype(writer);
  DOVETAIL_ASSIGN(const Features x, features_of(writer, dtype));
  DOVETAIL_ASSIGN(const Forest forest, EnsembleReader(writer, x.columns).read());
  constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::int64_t aggregate = writer.integer("aggregate_function", 1),
                     transform = writer.integer("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    return writer.refused(fmt::format("aggregate_function is {}, post_transform {}", aggregate, transform),
                          "they must be 0 to 3, and 0 to 4");
  DOVETAIL_ASSIGN(const ValueId scores,
                  forest_scores(writer, forest, x, dtype, kAggregates[static_cast<std::size_t>(aggregate)], {}));
  DOVETAIL_ASSIGN(const ValueId transformed,
                  post_transformed(writer, scores, kTransforms[static_cast<std::size_t>(transform)]));
  if (dtype == DType::float32) writer.finish("Identity", {transformed});
  else writer.finish("Cast", {transformed}, {{"to", std::int64_t{info(dtype).onnx}}});  // results have the input's type
  return {};
}

// Two classes with weights for the first only: their sum is a score for the second class, which is chosen if the score
// exceeds 1/2 (no weight is negative) or 0. The first class gets the complement.
Result<void> finish_two_classes(NodeWriter& writer, ValueId scores, bool positive,
                                const std::vector<std::int64_t>& labels) {
  give_by_threshold(writer, scores, 0, positive ? 0.5 : 0, labels);
  const std::string transform = graph::string_attribute(writer.node(), "post_transform", "NONE");
  if (transform != "LOGISTIC" && transform != "NONE")
    return writer.refused(fmt::format("post_transform is {}, with one score for two classes", transform),
                          "use NONE or LOGISTIC, or export with weights of both classes");
  const auto made = [&](const char* op, const char* stem, std::vector<ValueId> inputs) {
    return writer.op(op, stem, std::move(inputs), {}, graph::TensorType{DType::float32, {}});
  };
  ValueId first, second = scores;
  if (transform == "NONE" && positive) {
    first = made("Sub", "first_score", {writer.number("whole", DType::float32, 1), scores});
  } else {
    first = made("Neg", "first_score", {scores});
    if (transform == "LOGISTIC") {
      first = made("Sigmoid", "first_logistic", {first});
      second = made("Sigmoid", "second_logistic", {scores});
    }
  }
  finish_scores(writer, writer.op("Concat", "both_scores", {first, second}, {{"axis", std::int64_t{1}}}));
  return {};
}

Result<void> write_tree_classifier(NodeWriter& writer) {
  const DType dtype = compared_dtype(writer);
  DOVETAIL_ASSIGN(const std::vector<std::int64_t> labels, class_labels(writer, "classlabels_int64s"));
  DOVETAIL_ASSIGN(const Features x, features_of(writer, dtype));
  const auto classes = static_cast<std::int64_t>(labels.size());
  const std::vector<std::int64_t> ids = integers_of(writer, "class_ids");
  const std::set<std::int64_t> weighted(ids.begin(), ids.end());
  const bool one_class = classes == 2 && weighted.size() == 1, one_score = one_class && *weighted.begin() == 0;
  const std::vector<double> base_values = numbers_of(writer, "base_values"),
                            weights = numbers_of(writer, "class_weights");
  if (!base_values.empty() && base_values.size() != (one_score ? 1U : labels.size()))
    return writer.refused(fmt::format("{} base values are given for {} scores of {} classes", base_values.size(),
                                      one_score ? 1 : classes, classes),
                          "give one per score");
  const bool positive = std::ranges::none_of(weights, [](double weight) { return weight < 0; });
  DOVETAIL_ASSIGN(const Forest forest, ForestReader(writer, "class", one_score ? 1 : classes, x.columns).read());
  DOVETAIL_ASSIGN(const ValueId scores, forest_scores(writer, forest, x, dtype, "SUM", base_values));
  if (one_score) return finish_two_classes(writer, scores, positive, labels);
  if (one_class) give_by_threshold(writer, scores, 1, positive ? 0.5 : 0, labels);
  else give_largest(writer, scores, labels);
  DOVETAIL_ASSIGN(const ValueId transformed, post_transformed(writer, scores));
  finish_scores(writer, transformed);
  return {};
}

std::vector<ops::AttributeRule> tree_attributes(std::vector<ops::AttributeRule> more) {
  constexpr auto integers = ops::AttributeKind::integers, reals = ops::AttributeKind::reals,
                 tensor = ops::AttributeKind::tensor;
  const std::vector<ops::AttributeRule> nodes{{"base_values", reals},
                                              {"base_values_as_tensor", tensor},
                                              {"nodes_falsenodeids", integers},
                                              {"nodes_featureids", integers},
                                              {"nodes_hitrates", reals},
                                              {"nodes_hitrates_as_tensor", tensor},
                                              {"nodes_missing_value_tracks_true", integers},
                                              {"nodes_modes", ops::AttributeKind::texts},
                                              {"nodes_nodeids", integers},
                                              {"nodes_treeids", integers},
                                              {"nodes_truenodeids", integers},
                                              {"nodes_values", reals},
                                              {"nodes_values_as_tensor", tensor},
                                              {"post_transform", ops::AttributeKind::text}};
  more.insert(more.end(), nodes.begin(), nodes.end());
  return more;
}

}  // namespace

std::vector<DomainRow> ml_tree_rows() {
  constexpr auto integers = ops::AttributeKind::integers, reals = ops::AttributeKind::reals,
                 tensor = ops::AttributeKind::tensor;
  constexpr auto integer = ops::AttributeKind::integer;
  constexpr auto required = ops::Presence::required;
  return {{"ai.onnx.ml.TreeEnsemble",
           write_tree_ensemble,
           {{"aggregate_function", integer},
            {"leaf_targetids", integers, required},
            {"leaf_weights", tensor, required},
            {"membership_values", tensor},
            {"n_targets", integer},
            {"nodes_falseleafs", integers, required},
            {"nodes_falsenodeids", integers, required},
            {"nodes_featureids", integers, required},
            {"nodes_hitrates", tensor},
            {"nodes_missing_value_tracks_true", integers},
            {"nodes_modes", tensor, required},
            {"nodes_splits", tensor, required},
            {"nodes_trueleafs", integers, required},
            {"nodes_truenodeids", integers, required},
            {"post_transform", integer},
            {"tree_roots", integers, required}},
           1,
           1},
          {"ai.onnx.ml.TreeEnsembleClassifier", write_tree_classifier,
           tree_attributes({{"class_ids", integers},
                            {"class_nodeids", integers},
                            {"class_treeids", integers},
                            {"class_weights", reals},
                            {"class_weights_as_tensor", tensor},
                            {"classlabels_int64s", integers},
                            {"classlabels_strings", ops::AttributeKind::texts}}),
           1, 1},
          {"ai.onnx.ml.TreeEnsembleRegressor", write_tree_regressor,
           tree_attributes({{"aggregate_function", ops::AttributeKind::text},
                            {"n_targets", ops::AttributeKind::integer},
                            {"target_ids", integers},
                            {"target_nodeids", integers},
                            {"target_treeids", integers},
                            {"target_weights", reals},
                            {"target_weights_as_tensor", tensor}}),
           1, 1}};
}

}  // namespace dovetail::import
