// Why two runs differ: layers and causes add up, and layers of the same nodes are one row however they are fused.
#include "driver/explanation.h"

#include <string>

#include "simulator/trace/profile.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

Json layer(const std::string& name, std::uint64_t gemm, std::uint64_t load_token, std::uint64_t bytes, double joules) {
  Json by_cause;
  for (const std::string_view cause : simulator::kCycleCauseNames) by_cause[std::string(cause)] = 0;
  by_cause["gemm"] = gemm;
  by_cause["load token"] = load_token;
  return {{"name", name},
          {"cycles", gemm + load_token},
          {"bytes_read", bytes},
          {"bytes_written", 0},
          {"joules", joules},
          {"cycles_by_cause", by_cause},
          {"bounds", {{"tightest", "compute"}}}};
}

Json profile_of(double clock_mhz, const Json& layers, const Json& host_steps) {
  Json steps = host_steps;
  steps.push_back({{"name", "region1"},
                   {"seconds", 1},
                   {"timing", {{"clock_mhz", clock_mhz}, {"memory", "ideal"}, {"layers", layers}}}});
  return {{"kind", "profile"}, {"file", "m.onnx"}, {"latency", {{"regions", 1}, {"cycles", 1}}}, {"steps", steps}};
}

}  // namespace

TEST_CASE("explanation: layers and causes add up to the whole") {
  // A fuses conv and pool, B fuses pool and add: all three are one row. A has add on the host.
  const Json a = profile_of(100, {layer("conv+pool", 700, 300, 64, 1), layer("dense", 200, 100, 32, 2)},
                            Json::array({{{"name", "k0"}, {"seconds", 2e-6}, {"origins", {"add"}}}}));
  const Json b = profile_of(
      200, {layer("conv", 500, 0, 100, 0.5), layer("pool+add", 100, 200, 8, 0.25), layer("dense", 200, 500, 16, 2)},
      Json::array({{{"name", "relayout y"}, {"seconds", 1e-6}}}));
  const auto explained = explain({"a", a}, {"b", b});
  REQUIRE(explained.ok());
  // A: 1,000 + 300 cycles at 100 MHz = 13 us, and 2 us of the host. B: 800 + 700 at 200 MHz = 7.5 us, and 1 us.
  CHECK(explained->at("a").at("ms").get<double>() == Approx(15e-3));
  CHECK(explained->at("b").at("ms").get<double>() == Approx(8.5e-3));
  const Json& whole = explained->at("difference");
  CHECK(whole.at("ms").get<double>() == Approx(-6.5e-3));
  CHECK(whole.at("cycles") == 200);
  CHECK(whole.at("bytes_read") == 28);
  CHECK(whole.at("joules").get<double>() == Approx(-0.25));
  // In B's cycles of 5 ns: products 800 - 900, waits 700 - 400; A's 1,300 cycles take 5 ns instead of 10; host -1 us.
  const Json& causes = whole.at("ms_by_cause");
  CHECK(causes.at("gemm").get<double>() == Approx(-0.5e-3));
  CHECK(causes.at("load token").get<double>() == Approx(1.5e-3));
  CHECK(causes.at("clock").get<double>() == Approx(-6.5e-3));
  CHECK(causes.at("host").get<double>() == Approx(-1e-3));
  CHECK(causes.size() == 4);
  const Json& layers = explained->at("layers");
  REQUIRE(layers.size() == 3);
  // 800 cycles at 5 ns = 4 us, instead of 10 us and 2 us of the host.
  CHECK(layers[0].at("name") == "add+conv+pool");
  CHECK(layers[0].at("difference").at("ms").get<double>() == Approx(-8e-3));
  CHECK(layers[0].at("b").at("bytes_read") == 108);
  // Dense: 700 cycles at 5 ns = 3.5 us, instead of 3 us.
  CHECK(layers[2].at("name") == "dense");
  CHECK(layers[2].at("difference").at("ms").get<double>() == Approx(0.5e-3));
  CHECK(layers[1].at("name") == "relayout y");
  CHECK(layers[1].at("a").is_null());
}

TEST_CASE("explanation: other JSON is an error with a remedy") {
  const Json good = profile_of(100, Json::array({layer("conv", 1, 1, 1, 1)}), Json::array());
  for (const Json& bad : {Json(1), Json::object(), Json{{"kind", "run"}}}) {
    const auto explained = explain({"a", good}, {"b.json", bad});
    REQUIRE_FALSE(explained.ok());
    CHECK(explained.errors().front().where == "b.json");
    CHECK_THAT(explained.errors().front().why, ContainsSubstring("not the JSON of a profile"));
  }
  Json incomplete = good;
  incomplete["steps"][0]["timing"]["layers"][0].erase("cycles_by_cause");
  CHECK_THAT(explain({"a", incomplete}, {"b", good}).errors().front().why, ContainsSubstring("cycles_by_cause"));
  Json wrong = good;
  wrong["steps"][0]["timing"]["layers"][0]["cycles"] = 3;
  CHECK_THAT(explain({"a", wrong}, {"b", good}).errors().front().why,
             ContainsSubstring("have 2 cycles, and the layer 3"));
  wrong = good;
  wrong["steps"][0]["timing"]["clock_mhz"] = -1;
  CHECK_THAT(explain({"a", wrong}, {"b", good}).errors().front().why, ContainsSubstring("clock"));
  wrong = good;
  wrong["system"]["accelerators"] = 2;
  CHECK_THAT(explain({"a", wrong}, {"b", good}).errors().front().why, ContainsSubstring("several accelerators"));
  wrong = good;
  wrong["file"] = -1;
  CHECK_FALSE(explain({"a", wrong}, {"b", good}).ok());
  // What ran elsewhere has no energy, which is not an energy of 0.
  const Json cpu = {{"kind", "profile"},
                    {"latency", {{"regions", 0}, {"cycles", nullptr}}},
                    {"steps", Json::array({{{"name", "k"}, {"seconds", 1}}})}};
  CHECK(explain({"a", cpu}, {"b", good})->at("a").at("joules").is_null());
  Json no_clock = good;
  no_clock["latency"]["cycles"] = nullptr;
  CHECK_THAT(explain({"a", no_clock}, {"b", good}).errors().front().hint, ContainsSubstring("--engine cycle"));
}
