// Steps that choose and repeat: the rules of the bundle and of their code.
#include "tests/catch.h"
#include "tests/unit/bundle/flow_sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string why_not(const bundle::Bundle& bundle) {
  if (const auto verified = bundle::verify(bundle); !verified.ok()) return to_string(verified.errors());
  const auto steps = bundle::flow_steps(bundle);
  return steps.ok() ? "" : to_string(steps.errors());
}
// A choice whose then-program is a choice, and so on.
bundle::Bundle nested_choice(int depth) {
  bundle::Bundle bundle = test::if_bundle();
  for (int i = 1; i < depth; ++i) {
    bundle::Bundle outer = test::if_bundle();
    outer.steps[0].arguments = {0, 0, 1, 1};
    outer.steps[0].programs[0] = std::move(bundle);
    bundle = std::move(outer);
  }
  return bundle;
}

}  // namespace

TEST_CASE("flow: code of steps is read back as it was written") {
  for (const bundle::Bundle& bundle : {test::if_bundle(), test::loop_bundle(), test::loop_bundle(false)}) {
    CHECK(why_not(bundle) == "");
    const auto bytes = bundle::serialize(bundle);
    const auto read = bundle::parse(bytes, "test", bundle::MachineCode::untrusted);
    REQUIRE((read.ok() ? "" : to_string(read.errors())) == "");
    CHECK(bundle::serialize(*read) == bytes);
    CHECK(read->extents == bundle.extents);
    CHECK(bundle::all_programs(*read).size() == 1 + bundle.steps[0].programs.size());
    CHECK(why_not(*read) == "");
  }
  const auto loop = bundle::decode_flow(test::loop_bundle().steps[0]);
  REQUIRE((loop.ok() && loop->loop));
  CHECK(loop->loop->carried == 1);
  CHECK(loop->loop->limit == 5);
}

TEST_CASE("flow: arguments, results and programs agree") {
  bundle::Bundle bundle = test::if_bundle();
  bundle.steps[0].arguments = {1, 1, 1};
  CHECK_THAT(why_not(bundle), ContainsSubstring("the condition is int8[4], expected one bool"));
  bundle = test::if_bundle();
  bundle.steps[0].arguments = {0, 1};
  CHECK_THAT(why_not(bundle), ContainsSubstring("arguments: 2, expected 3"));
  bundle = test::if_bundle();
  bundle.steps[0].programs.pop_back();
  CHECK_THAT(why_not(bundle), ContainsSubstring("the step has 1 programs, expected 2"));
  bundle = test::if_bundle();
  bundle.tensors[2].shape = {5};
  CHECK_THAT(why_not(bundle), ContainsSubstring("results of program then 0 is int8[4], expected int8[5]"));
  bundle = test::if_bundle();
  bundle.steps[0].programs[1].outputs = {0, 1};
  CHECK_THAT(why_not(bundle), ContainsSubstring("results of program else: 2, expected 1"));

  bundle = test::loop_bundle();
  bundle.steps[0].arguments = {1, 0};
  CHECK_THAT(why_not(bundle), ContainsSubstring("the trip count is int8[4], expected one int64"));
  bundle = test::loop_bundle();
  bundle.tensors[3].shape = {6, 4};
  CHECK_THAT(why_not(bundle), ContainsSubstring("results 1 is int8[6, 4], expected int8[5, 4]"));
  bundle = test::loop_bundle();
  bundle.steps[0].programs[0].outputs = {1, 1, 4};
  CHECK_FALSE(why_not(bundle).empty());
  bundle = test::loop_bundle();
  bundle.steps[0].programs[0].outputs = {};
  CHECK_THAT(why_not(bundle), ContainsSubstring("the loop carries 1 values"));
  bundle = test::loop_bundle();
  bundle.steps[0].programs[0].inputs = {0};
  CHECK_THAT(why_not(bundle), ContainsSubstring("inputs of program body: 1, expected 2"));
}

TEST_CASE("flow: programs of steps are verified, to a stated depth") {
  bundle::Bundle bundle = test::if_bundle();
  bundle.steps[0].programs[1].steps[0].arguments = {7};
  CHECK_THAT(why_not(bundle), ContainsSubstring("steps[0] \"choose\", programs[1], steps[0] \"else\"") &&
                                  ContainsSubstring("names tensor 7, but there are only 2"));
  bundle = test::if_bundle();
  bundle.steps[0].programs[0].other_shapes.push_back(test::elementwise_program("other", "x[i]"));
  CHECK_THAT(why_not(bundle), ContainsSubstring("programs[0] has programs for other shapes"));
  CHECK(why_not(nested_choice(bundle::kMostNestedPrograms)) == "");
  const bundle::Bundle deep = nested_choice(bundle::kMostNestedPrograms + 1);
  CHECK_THAT(why_not(deep), ContainsSubstring("nested more than 8 deep"));
  const auto read = bundle::parse(bundle::serialize(deep), "deep.dvt", bundle::MachineCode::untrusted);
  REQUIRE_FALSE(read.ok());
  CHECK_THAT(to_string(read.errors()), ContainsSubstring("nested more than 8 deep"));
}

TEST_CASE("flow: an extent belongs to an output, and is one number") {
  bundle::Bundle bundle = test::loop_bundle();
  bundle.extents = {{4, 0, 4}};
  CHECK_THAT(why_not(bundle), ContainsSubstring("has a run-time extent, but only outputs may have one"));
  bundle.extents = {{3, 2, 4}};
  CHECK_THAT(why_not(bundle), ContainsSubstring("a run-time extent along axis 2, which does not exist"));
  bundle.extents = {{3, 0, 2}};
  CHECK_THAT(why_not(bundle), ContainsSubstring("expected int64[1]"));
  bundle.extents = {{3, 0, 4}, {3, 1, 4}};
  CHECK_THAT(why_not(bundle), ContainsSubstring("has two run-time extents"));
  bundle.extents = {{99, 0, 4}};
  CHECK_THAT(why_not(bundle), ContainsSubstring("only outputs may have one"));
  bundle.extents = {{3, 0, 99}};
  CHECK_THAT(why_not(bundle), ContainsSubstring("names tensor 99, but there are only 5"));
}
