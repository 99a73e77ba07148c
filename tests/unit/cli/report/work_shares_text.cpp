#include "cli/report/work_shares_text.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;

namespace {

NodePlacement node(const char* target, const char* why) {
  NodePlacement row{"n", "Conv", target, why};
  if (*why != '\0') row.refused = {{"accel", why}};
  row.cost = Cost{.macs = 100};
  return row;
}

PlacementSummary macs(std::uint64_t accel, std::uint64_t cpu) {
  PlacementSummary summary;
  summary.macs = {{"accel", accel}, {"cpu", cpu}};
  return summary;
}

}  // namespace

TEST_CASE("shares of the multiplications") {
  CHECK(macs_text(macs(1500, 500)) == "MACs          2,000 of the compiled graph, 75.00 % accel, 25.00 % cpu\n");
  CHECK(macs_text(macs(0, 0)).empty());
}

TEST_CASE("the reason why nothing is on the accelerator, as text and JSON") {
  const driver::LeftAccelerator left{"Conv computes in floating point", 3, 4, "quantize it"};
  CHECK(left_text(left) ==
        "not on accel  3 of 4 nodes that multiply: Conv computes in floating point\nremedy        quantize it\n");
  CHECK(left_json(left)["nodes"] == 3);
  CHECK(left_json(std::nullopt).is_null());
  CHECK(left_text(std::nullopt).empty());
}

TEST_CASE("on the host: the total, then each reason with its nodes, the most frequent first") {
  std::vector<NodePlacement> rows{node("cpu", "")};
  const auto add = [&](const char* name, const char* op, const char* why) {
    rows.push_back({name, op, std::string(kOnHost), why});
  };
  add("top", "TopK", "no target sorts");
  for (const char* name : {"a", "b", "c", "d", "e"}) add(name, "Softmax", "accel computes no exp");
  PlacementSummary summary;
  summary.macs = {{"accel", 900}, {"host", 100}};
  CHECK(host_text(rows, summary, {{"accel", 0.25}, {"host", 0.75}}) ==
        "on the host   6 of 7 nodes, 10.00 % of the multiplications, 75.00 % of the time\n"
        "              5 Softmax (a, b, c, d, ...): accel computes no exp\n"
        "              1 TopK (top): no target sorts\n");
  // Times are not always known, and not every graph has multiplications.
  CHECK(host_text(rows, {}, {}).starts_with("on the host   6 of 7 nodes\n"));
  const Json json = host_json(rows, summary);
  CHECK(json["nodes"] == 6);
  CHECK(json["macs"].get<double>() == Approx(0.1));
  CHECK(json["reasons"][0]["nodes"].size() == 5);
  CHECK(host_text(std::vector{node("cpu", "")}, summary, {}).empty());
}
