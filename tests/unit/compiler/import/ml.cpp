// ai.onnx.ml, compared with plain loops: feature preparation, linear models, trees; and refused models.
#include <algorithm>

#include "tests/unit/compiler/import/contrib.h"

using namespace dovetail::test::contrib;

namespace dovetail {
namespace {

using Catch::Matchers::ContainsSubstring;
using Reals32 = std::vector<float>;
using Integers = std::vector<std::int64_t>;

ContribNode ml_node(std::string op) { return ContribNode{std::move(op), "ai.onnx.ml"}; }

TEST_CASE("ai.onnx.ml: Scaler, Normalizer and Binarizer") {
  const NdArray x = NdArray::from<float>({3, 2}, {1, -3, 0, 0, -2, 6});
  check_close(
      ml_node("Scaler").input("x", x).with("offset", Reals32{1, 2}).with("scale", Reals32{2, 3}).run1(),
      [&] {
        Reals y(x);
        for (std::int64_t i = 0; i < 6; ++i) y[i] = i % 2 == 0 ? (y[i] - 1) * 2 : (y[i] - 2) * 3;
        return y;
      }(),
      1e-6);
  const NdArray whole = NdArray::from<std::int64_t>({2}, {5, -1});
  const NdArray scaled =
      ml_node("Scaler").input("x", whole).with("offset", Reals32{1}).with("scale", Reals32{2}).run1();
  CHECK(scaled == NdArray::from<float>({2}, {8, -4}));
  for (const char* norm : {"MAX", "L1", "L2"}) {
    Reals y(x);
    for (std::int64_t r = 0; r < 3; ++r) {
      const double a = x.as_double(2 * r), b = x.as_double(2 * r + 1);
      const double size = norm[0] == 'M'   ? std::max(a, b)
                          : norm[1] == '1' ? std::abs(a) + std::abs(b)
                                           : std::sqrt(a * a + b * b);
      if (size != 0) y[2 * r] /= size, y[2 * r + 1] /= size;
    }
    INFO(norm);
    check_close(ml_node("Normalizer").input("x", x).with("norm", norm).run1(), y, 1e-6);
  }
  CHECK_THAT(ml_node("Normalizer").input("x", x).with("norm", "L3").refusal(), ContainsSubstring("norm L3"));
  CHECK(ml_node("Binarizer").input("x", x).with("threshold", 0.5f).run1() ==
        NdArray::from<float>({3, 2}, {1, 0, 0, 0, 0, 1}));
  CHECK_THAT(ml_node("Scaler").input("x", x).with("offset", Reals32{1, 2, 3}).with("scale", Reals32{2}).refusal(),
             ContainsSubstring("3 offsets and 1 scales are given for 2 features"));
}

TEST_CASE("ai.onnx.ml: feature selection, concatenation, and mapping of integers") {
  const NdArray x = NdArray::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                z = NdArray::from<std::int64_t>({2, 2}, {7, 8, 9, 10});
  CHECK(ml_node("ArrayFeatureExtractor")
            .input("x", x)
            .constant("i", NdArray::from<std::int64_t>({1, 2}, {2, 0}))
            .run1() == NdArray::from<float>({2, 2}, {3, 1, 6, 4}));
  CHECK(ml_node("FeatureVectorizer").input("x", x).input("z", z).with("inputdimensions", Integers{2, 3}).run1() ==
        NdArray::from<float>({2, 5}, {1, 2, 7, 8, 0, 4, 5, 9, 10, 0}));
  CHECK_THAT(ml_node("FeatureVectorizer").input("x", x).with("inputdimensions", Integers{2, 3}).refusal(),
             ContainsSubstring("2 inputdimensions are given for 1 inputs"));
  const NdArray label = NdArray::from<std::int64_t>({2, 2}, {1, 3, 2, 1});
  CHECK(ml_node("LabelEncoder")
            .input("x", label)
            .with("keys_int64s", Integers{1, 2, 1})
            .with("values_int64s", Integers{10, 20, 30})
            .run1() == NdArray::from<std::int64_t>({2, 2}, {10, -1, 20, 10}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(ml_node("LabelEncoder")
            .input("x", NdArray::from<float>({3}, {0.5f, nan, 2}))
            .with("keys_floats", Reals32{0.5f, nan})
            .with("values_floats", Reals32{7, 8})
            .with("default_float", 9.0f)
            .run1() == NdArray::from<float>({3}, {7, 8, 9}));
  CHECK_THAT(ml_node("LabelEncoder").input("x", label).with("keys_int64s", Integers{1}).refusal(),
             ContainsSubstring("the keys or values are strings, or missing"));
}

TEST_CASE("ai.onnx.ml: linear models") {
  const NdArray x = NdArray::from<float>({2, 2}, {1, 2, -3, 0.5f});
  const Reals32 weights{1, 0.5f, -1, 2, 0.25f, 0}, offsets{0.5f, 0, -1};
  Reals scores(Shape{2, 3});
  for (std::int64_t r = 0; r < 2; ++r)
    for (std::int64_t c = 0; c < 3; ++c)
      scores[r * 3 + c] = x.as_double(2 * r) * weights[static_cast<std::size_t>(2 * c)] +
                          x.as_double(2 * r + 1) * weights[static_cast<std::size_t>(2 * c + 1)] +
                          offsets[static_cast<std::size_t>(c)];
  const auto transformed = [&](const std::string& transform) {
    Reals y = scores;
    for (std::int64_t r = 0; r < 2 && transform != "NONE"; ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < 3; ++c) {
        double& v = y[r * 3 + c];
        v = transform == "LOGISTIC" ? 1 / (1 + std::exp(-v)) : transform == "SOFTMAX_ZERO" && v == 0 ? 0 : std::exp(v);
        sum += v;
      }
      for (std::int64_t c = 0; c < 3 && transform != "LOGISTIC"; ++c) y[r * 3 + c] /= sum;
    }
    return y;
  };
  for (const char* transform : {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"}) {
    INFO(transform);
    check_close(ml_node("LinearRegressor")
                    .input("x", x)
                    .with("coefficients", weights)
                    .with("intercepts", offsets)
                    .with("targets", 3)
                    .with("post_transform", transform)
                    .run1(),
                transformed(transform), 1e-6);
    ContribNode node = ml_node("LinearClassifier");
    node.outputs = {"label", "y"};
    const auto result = node.input("x", x)
                            .with("coefficients", weights)
                            .with("intercepts", offsets)
                            .with("classlabels_ints", Integers{5, 7, 9})
                            .with("post_transform", transform)
                            .run();
    check_close(result.at("y"), transformed(transform), 1e-6);
    for (std::int64_t r = 0; r < 2; ++r) {
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < 3; ++c)
        if (scores[r * 3 + c] > scores[r * 3 + best]) best = c;
      CHECK(result.at("label").as_int64(r) == 5 + 2 * best);
    }
  }
  // One score for two classes: that of the second.
  for (const bool logistic : {false, true}) {
    ContribNode node = ml_node("LinearClassifier");
    node.outputs = {"label", "y"};
    const auto result = node.input("x", x)
                            .with("coefficients", Reals32{0.5f, 0.25f})
                            .with("intercepts", Reals32{-0.25f})
                            .with("classlabels_ints", Integers{5, 7})
                            .with("post_transform", logistic ? "LOGISTIC" : "NONE")
                            .run();
    Reals both(Shape{2, 2});
    for (std::int64_t r = 0; r < 2; ++r) {
      const double score = 0.5 * x.as_double(2 * r) + 0.25 * x.as_double(2 * r + 1) - 0.25;
      both[2 * r + 1] = logistic ? 1 / (1 + std::exp(-score)) : score;
      both[2 * r] = 1 - both[2 * r + 1];
      CHECK(result.at("label").as_int64(r) == (score > (logistic ? 0 : 0.5) ? 7 : 5));
    }
    check_close(result.at("y"), both, 1e-6);
  }
  CHECK_THAT(ml_node("LinearRegressor").input("x", x).with("coefficients", weights).with("targets", 2).refusal(),
             ContainsSubstring("6 coefficients and 0 intercepts are given for 2 results of 2 features"));
  CHECK_THAT(ml_node("LinearRegressor")
                 .input("x", x)
                 .with("coefficients", Reals32{1, 2})
                 .with("post_transform", "PROBIT")
                 .refusal(),
             ContainsSubstring("post_transform is PROBIT"));
}

// ---- Trees

struct TreeNode {
  std::int64_t tree, id, feature;
  float value;
  std::string mode;
  std::int64_t when_true, when_false, missing;
  Reals32 weights;  // of a leaf, one per result
};

// Two trees of all kinds of comparisons over three features.
std::vector<TreeNode> two_trees() {
  return {{0, 0, 0, 0.5f, "BRANCH_LEQ", 1, 2, 0, {}}, {0, 1, 1, 0, "BRANCH_LT", 3, 4, 1, {}},
          {0, 2, 2, 1, "BRANCH_EQ", 5, 6, 0, {}},     {0, 3, 0, 0, "LEAF", 0, 0, 0, {1, -2}},
          {0, 4, 0, 0, "LEAF", 0, 0, 0, {2, 0.5f}},   {0, 5, 0, 0, "LEAF", 0, 0, 0, {-3, 1}},
          {0, 6, 0, 0, "LEAF", 0, 0, 0, {4, 3}},      {1, 0, 1, -0.5f, "BRANCH_GTE", 1, 2, 1, {}},
          {1, 1, 2, 0, "BRANCH_GT", 3, 4, 0, {}},     {1, 2, 0, 0, "LEAF", 0, 0, 0, {0.25f, 0.125f}},
          {1, 3, 0, 1, "BRANCH_NEQ", 5, 6, 0, {}},    {1, 4, 0, 0, "LEAF", 0, 0, 0, {-1, -1}},
          {1, 5, 0, 0, "LEAF", 0, 0, 0, {0.5f, 2}},   {1, 6, 0, 0, "LEAF", 0, 0, 0, {8, -4}}};
}

void add_trees(ContribNode& node, const std::vector<TreeNode>& nodes, const std::string& weights,
               const Integers& results) {
  Integers trees, ids, features, when_true, when_false, missing, weight_trees, weight_ids, weight_results;
  Reals32 values, numbers;
  std::vector<std::string> modes;
  for (const TreeNode& each : nodes) {
    trees.push_back(each.tree), ids.push_back(each.id), features.push_back(each.feature);
    when_true.push_back(each.when_true), when_false.push_back(each.when_false), missing.push_back(each.missing);
    values.push_back(each.value), modes.push_back(each.mode);
    for (std::size_t i = 0; i < results.size() && each.mode == "LEAF"; ++i) {
      weight_trees.push_back(each.tree), weight_ids.push_back(each.id), weight_results.push_back(results[i]);
      numbers.push_back(each.weights[i]);
    }
  }
  node.with("nodes_treeids", trees).with("nodes_nodeids", ids).with("nodes_featureids", features);
  node.with("nodes_truenodeids", when_true).with("nodes_falsenodeids", when_false).with("nodes_values", values);
  node.with("nodes_missing_value_tracks_true", missing).with("nodes_modes", modes);
  node.with(weights + "_treeids", weight_trees).with(weights + "_nodeids", weight_ids);
  node.with(weights + "_ids", weight_results).with(weights + "_weights", numbers);
}

const TreeNode& leaf_of(const std::vector<TreeNode>& nodes, std::int64_t tree, const NdArray& x, std::int64_t row) {
  std::int64_t id = 0;
  for (;;) {
    const TreeNode& at = *std::ranges::find_if(nodes, [&](const auto& n) { return n.tree == tree && n.id == id; });
    if (at.mode == "LEAF") return at;
    const float v = static_cast<float>(x.as_double(row * x.shape()[1] + at.feature));
    const bool holds = at.mode == "BRANCH_LEQ"   ? v <= at.value
                       : at.mode == "BRANCH_LT"  ? v < at.value
                       : at.mode == "BRANCH_GT"  ? v > at.value
                       : at.mode == "BRANCH_EQ"  ? v == at.value
                       : at.mode == "BRANCH_NEQ" ? v != at.value
                                                 : v >= at.value;
    id = holds || (std::isnan(v) && at.missing != 0) ? at.when_true : at.when_false;
  }
}

NdArray tree_rows() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  NdArray x(DType::float32, {27 + 3, 3});
  const float values[] = {0, 0.5f, 1};
  for (std::int64_t i = 0; i < 27; ++i) {
    x.set_double(3 * i, values[i % 3]);
    x.set_double(3 * i + 1, values[i / 3 % 3] - 0.5);
    x.set_double(3 * i + 2, values[i / 9]);
  }
  for (std::int64_t i = 27; i < 30; ++i)
    for (std::int64_t c = 0; c < 3; ++c) x.set_double(3 * i + c, c == i - 27 ? nan : 0.5f);
  return x;
}

TEST_CASE("ai.onnx.ml: TreeEnsembleRegressor evaluates all trees") {
  const std::vector<TreeNode> nodes = two_trees();
  const NdArray x = tree_rows();
  for (const std::string aggregate : {"SUM", "AVERAGE", "MIN", "MAX"}) {
    INFO(aggregate);
    Reals expected(Shape{30, 2});
    for (std::int64_t r = 0; r < 30; ++r)
      for (std::int64_t c = 0; c < 2; ++c) {
        const double a = leaf_of(nodes, 0, x, r).weights[static_cast<std::size_t>(c)],
                     b = leaf_of(nodes, 1, x, r).weights[static_cast<std::size_t>(c)];
        expected[2 * r + c] = (aggregate == "SUM"       ? a + b
                               : aggregate == "AVERAGE" ? (a + b) / 2
                               : aggregate == "MIN"     ? std::min(a, b)
                                                        : std::max(a, b)) +
                              (c == 0 ? 0.5 : -1);
      }
    ContribNode node = ml_node("TreeEnsembleRegressor");
    add_trees(node, nodes, "target", {0, 1});
    check_close(node.input("x", x)
                    .with("n_targets", 2)
                    .with("aggregate_function", aggregate)
                    .with("base_values", Reals32{0.5f, -1})
                    .run1(),
                expected, 1e-6);
  }
}

TEST_CASE("ai.onnx.ml: TreeEnsemble, with single leaves and shared ones") {
  const NdArray x = tree_rows();
  // (feature 0 <= 0.5 ? (feature 1 < 0 ? leaf 0 : leaf 1) : leaf 2), and (feature 2 == 1 ? leaf 3 : leaf 0).
  const auto node = [&](std::uint8_t mode) {
    ContribNode made = ml_node("TreeEnsemble");
    made.input("x", x).with("nodes_featureids", Integers{0, 1, 2}).with("tree_roots", Integers{0, 2});
    made.with("nodes_modes", NdArray::from<std::uint8_t>({3}, {0, 1, mode}));
    made.with("nodes_splits", NdArray::from<float>({3}, {0.5f, 0, 1}));
    made.with("nodes_truenodeids", Integers{1, 0, 3}).with("nodes_trueleafs", Integers{0, 1, 1});
    made.with("nodes_falsenodeids", Integers{2, 1, 0}).with("nodes_falseleafs", Integers{1, 1, 1});
    made.with("nodes_missing_value_tracks_true", Integers{0, 1, 0});
    made.with("leaf_targetids", Integers{0, 1, 0, 1}).with("n_targets", 2);
    return made.with("leaf_weights", NdArray::from<float>({4}, {1, 2, 4, 8}));
  };
  Reals expected(Shape{30, 2});
  for (std::int64_t r = 0; r < 30; ++r) {
    const double a = x.as_double(3 * r), b = x.as_double(3 * r + 1), c = x.as_double(3 * r + 2);
    const int first = a <= 0.5 ? (b < 0 || std::isnan(b) ? 0 : 1) : 2, second = c == 1 ? 3 : 0;
    for (const int leaf : {first, second})
      expected[2 * r + leaf % 2] += leaf == 0 ? 1 : leaf == 1 ? 2 : leaf == 2 ? 4 : 8;
  }
  check_close(node(4).run1(), expected, 1e-6);
  check_close(node(4).with("aggregate_function", 0).run1(), map(expected, [](double v) { return v / 2; }), 1e-6);
  CHECK_THAT(node(6).refusal(), ContainsSubstring("the mode of a node is 6"));
  CHECK_THAT(node(4).with("aggregate_function", 4).refusal(), ContainsSubstring("aggregate_function is 4"));
  CHECK_THAT(node(4).with("aggregate_function", 2).refusal(), ContainsSubstring("a leaf has no weight for result"));
}

TEST_CASE("ai.onnx.ml: TreeEnsembleClassifier, a score per class or one for two") {
  const std::vector<TreeNode> nodes = two_trees();
  const NdArray x = tree_rows();
  const auto classifier = [&](const Integers& results, const char* transform) {
    ContribNode node = ml_node("TreeEnsembleClassifier");
    node.outputs = {"label", "y"};
    add_trees(node, nodes, "class", results);
    return node.input("x", x).with("classlabels_int64s", Integers{5, 7}).with("post_transform", transform).run();
  };
  const auto both = classifier({0, 1}, "SOFTMAX"), one = classifier({0}, "LOGISTIC");
  for (std::int64_t r = 0; r < 30; ++r) {
    const Reals32 &a = leaf_of(nodes, 0, x, r).weights, &b = leaf_of(nodes, 1, x, r).weights;
    const double first = a[0] + b[0], second = a[1] + b[1];
    CHECK(both.at("label").as_int64(r) == (second > first ? 7 : 5));
    CHECK(std::abs(both.at("y").as_double(2 * r + 1) - 1 / (1 + std::exp(first - second))) < 1e-6);
    // If only the first class has weights, they give the second one's score; some are negative, so its sign decides.
    CHECK(one.at("label").as_int64(r) == (first > 0 ? 7 : 5));
    CHECK(std::abs(one.at("y").as_double(2 * r + 1) - 1 / (1 + std::exp(-first))) < 1e-6);
    CHECK(std::abs(one.at("y").as_double(2 * r) - 1 / (1 + std::exp(first))) < 1e-6);
  }
}

TEST_CASE("ai.onnx.ml: invalid trees, texts and dictionaries are refused") {
  const NdArray x = tree_rows();
  const auto refused = [&](const std::function<void(std::vector<TreeNode>&)>& damage) {
    std::vector<TreeNode> nodes = two_trees();
    damage(nodes);
    ContribNode node = ml_node("TreeEnsembleRegressor");
    add_trees(node, nodes, "target", {0, 1});
    return node.input("x", x).with("n_targets", 2).refusal();
  };
  CHECK_THAT(refused([](auto& nodes) { nodes[0].when_true = 40; }),
             ContainsSubstring("node 40 of tree 0, which does not exist"));
  CHECK_THAT(refused([](auto& nodes) { nodes[1].id = 2; }), ContainsSubstring("node 2 of tree 0 is defined twice"));
  CHECK_THAT(refused([](auto& nodes) { nodes[0].feature = 3; }),
             ContainsSubstring("a tree node reads feature 3, but there are only 3"));
  CHECK_THAT(refused([](auto& nodes) { nodes[0].mode = "BRANCH"; }), ContainsSubstring("the mode BRANCH"));
  CHECK_THAT(refused([](auto& nodes) { nodes[1].when_true = 0; }),
             ContainsSubstring("some nodes cannot be reached from a root"));
  CHECK_THAT(refused([](auto& nodes) { nodes[1].when_true = 5; }), ContainsSubstring("tree 0 has two roots"));
  CHECK_THAT(refused([](auto& nodes) { nodes[1].when_true = 1, nodes.erase(nodes.begin() + 3); }),
             ContainsSubstring("a node has two parents") || ContainsSubstring("from no root"));

  const NdArray row = NdArray::from<float>({1, 2}, {1, 2});
  ContribNode words = ml_node("LinearClassifier");
  words.outputs = {"label", "y"};
  words.input("x", row)
      .with("coefficients", Reals32{1, 2, 3, 4})
      .with("classlabels_strings", std::vector<std::string>{"cat", "dog"});
  CHECK_THAT(words.refusal(), ContainsSubstring("the labels are strings (\"cat\", ...)") &&
                                  ContainsSubstring("remove the labels output"));
  words.outputs = {"", "y"};  // without the labels the scores are numbers
  CHECK(words.run().at("y") == NdArray::from<float>({1, 2}, {5, 11}));

  ContribNode zip = ml_node("ZipMap");
  zip.input("x", row).with("classlabels_strings", std::vector<std::string>{"cat", "dog"});
  const auto imported = zip.imported();
  REQUIRE(imported.ok());
  CHECK(std::ranges::any_of(imported->report.notes, [](const std::string& note) {
    return note.find("ZipMap, a list of dictionaries, is removed") != std::string::npos &&
           note.find("(cat, dog)") != std::string::npos;
  }));
  CHECK(zip.run1() == row);
}

}  // namespace
}  // namespace dovetail
