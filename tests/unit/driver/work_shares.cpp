#include "driver/work_shares.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;

namespace {

NodePlacement node(const char* target, const char* why) {
  NodePlacement row{"n", "Conv", target, why};
  if (*why != '\0') row.refused = {{"accel", why}};
  row.cost = Cost{.macs = 100};
  return row;
}

const std::vector<std::string> kAccelFirst{"accel", "cpu"};

PlacementSummary macs(std::uint64_t accel, std::uint64_t cpu) {
  PlacementSummary summary;
  summary.macs = {{"accel", accel}, {"cpu", cpu}};
  return summary;
}

}  // namespace

TEST_CASE("shares of the multiplications") {
  CHECK(mac_shares(macs(1500, 500)) == std::map<std::string, double>{{"accel", 0.75}, {"cpu", 0.25}});
  CHECK(mac_shares(macs(0, 0)).empty());
}

TEST_CASE("why nothing is on the accelerator: the most frequent refusal, and its remedy") {
  const std::vector<NodePlacement> rows{
      node("cpu", "Conv computes in floating point, and the accelerator in int8"),
      node("cpu", "Gemm computes in floating point, and the accelerator in int8"),
      node("cpu", "Conv computes in floating point, and the accelerator in int8"),
      node("cpu", "its 2 matrices are not at borders of blocks of 16"),
  };
  const auto left = left_accelerator(rows, macs(0, 400), kAccelFirst);
  REQUIRE(left);
  CHECK(left->why.starts_with("Conv computes in floating point"));
  CHECK(left->nodes == 3);
  CHECK(left->of == 4);
  CHECK(left->remedy.find("--int8") != std::string::npos);

  CHECK_FALSE(left_accelerator(rows, macs(1, 399), kAccelFirst));  // some of it is on the accelerator
  CHECK_FALSE(
      left_accelerator(rows, macs(0, 400), std::vector<std::string>{"cpu"}));  // the accelerator was not requested
}

TEST_CASE("the remedy of each refusal") {
  const auto remedy = [](const char* why, std::vector<std::string> targets) {
    return left_accelerator(std::vector{node("cpu", why)}, macs(0, 100), targets).value().remedy;
  };
  CHECK(remedy("the transfers of its region of 1 operation cost 5 us, all of it on cpu costs 1 us", kAccelFirst) ==
        "--offload always");
  CHECK(remedy("", kAccelFirst) == "leave out --place");
  CHECK(remedy("", {"cpu", "accel"}) == "put accel first in --target");
  CHECK(remedy("it has 7 spatial axes", kAccelFirst).starts_with("another --hw may support them"));
}

TEST_CASE("on the host: each reason with its nodes, the most frequent first") {
  std::vector<NodePlacement> rows{node("cpu", "")};
  const auto add = [&](const char* name, const char* op, const char* why) {
    rows.push_back({name, op, std::string(kOnHost), why});
  };
  add("top", "TopK", "no target sorts");
  for (const char* name : {"a", "b", "c", "d", "e"}) add(name, "Softmax", "accel computes no exp");
  const std::vector<OnHost> reasons = on_host(rows);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0].op == "Softmax");
  CHECK(reasons[0].nodes.size() == 5);
  CHECK(reasons[1].why == "no target sorts");
}
