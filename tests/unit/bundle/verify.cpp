// Each rule of bundle::verify, violated once.
#include <functional>

#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string errors_of(const std::function<void(bundle::Bundle&)>& change) {
  bundle::Bundle bundle = test::sample_bundle();
  change(bundle);
  const auto verified = bundle::verify(bundle);
  return verified.ok() ? "" : to_string(verified.errors());
}
}  // namespace

TEST_CASE("tensors: named, unique, with constants of their type") {
  CHECK(errors_of([](auto&) {}) == "");
  CHECK_THAT(errors_of([](auto& b) { b.tensors[1].name = "x"; }), ContainsSubstring("two tensors are named \"x\""));
  CHECK_THAT(errors_of([](auto& b) { b.tensors[1].name = ""; }), ContainsSubstring("a tensor has no name"));
  CHECK_THAT(errors_of([](auto& b) { b.tensors[3].shape = {2}; }),
             ContainsSubstring("\"two\" is int8[2], but its constant is int8[1]"));
}

TEST_CASE("order: every tensor is defined once, before it is used") {
  CHECK_THAT(errors_of([](auto& b) { b.inputs = {}; }),
             ContainsSubstring("an argument uses tensor \"x\", which no step has computed yet"));
  CHECK_THAT(errors_of([](auto& b) {
               b.inputs = {0, 3};
             }),
             ContainsSubstring("the list of inputs defines tensor \"two\", which is defined already"));
  CHECK_THAT(errors_of([](auto& b) { std::swap(b.steps[0], b.steps[1]); }),
             ContainsSubstring("an argument uses tensor \"h\""));
  CHECK_THAT(errors_of([](auto& b) { b.outputs = {-1}; }), ContainsSubstring("names tensor -1, but there are only 5"));
  CHECK_THAT(errors_of([](auto& b) { b.outputs = {4, 4}; }), ContainsSubstring("tensor \"y\" is listed twice"));
}

TEST_CASE("states: from an input to an output of its type and shape, each once") {
  CHECK(errors_of([](auto& b) { b.states = {{0, 4}}; }) == "");
  for (const bundle::State wrong : {bundle::State{1, 4}, {0, 1}, {-1, 4}, {0, 99}})
    CHECK_THAT(errors_of([&](auto& b) { b.states = {wrong}; }), ContainsSubstring("but is not both"));
  CHECK_THAT(errors_of([](auto& b) {
               b.states = {{0, 4}, {0, 4}};
             }),
             ContainsSubstring("the state from \"x\" to \"y\" shares a tensor with another state"));
  CHECK_THAT(errors_of([](auto& b) {
               b.tensors[4].shape = {16, 1};
               b.states = {{0, 4}};
             }),
             ContainsSubstring("the state \"x\" is int8[1, 16], and its output \"y\" is int8[16, 1]"));
}

TEST_CASE("steps name a target; each module names another one") {
  CHECK_THAT(errors_of([](auto& b) { b.steps[2].target = ""; }),
             ContainsSubstring("steps[2] \"twice\"): the target is missing"));
  CHECK(errors_of([](auto& b) { b.steps[2].target = "abacus", b.steps[2].code = {}; }) == "");
  CHECK(errors_of([](auto& b) { b.modules = {{"abacus", "", {}}, {"gpu", "", {}}}; }) == "");
  CHECK_THAT(errors_of([](auto& b) {
               b.modules = {{"gpu", "", {}}, {"gpu", "", {}}};
             }),
             ContainsSubstring("two modules are for target gpu"));
}
