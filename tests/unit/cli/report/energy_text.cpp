// The energy of a multiplication is first that of the model's, then that of the executed ones.
#include "cli/report/energy_text.h"

#include "tests/catch.h"

namespace dovetail::cli {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

// A model with batch 1 on a design with batch 16, of which 15 rows are padding: 1000 multiplications of the model,
// 16,000 executed, for 4 nJ on the chip and 6 nJ in the DRAM.
driver::EnergyFacts padded() {
  driver::EnergyFacts facts;
  facts.energy.parts = {{"MAC", true, 4e-9}, {"DRAM by bytes", false, 6e-9}};
  facts.energy.joules = 10e-9;
  facts.energy.statement = "a model";
  facts.macs = 16000;
  facts.useful_macs = 1000;
  return facts;
}

}  // namespace

TEST_CASE("energy: picojoules of a multiplication of the model before those of an executed one") {
  // 10 nJ / 1000 = 10 pJ, of which 4 nJ / 1000 = 4 and 6 nJ / 1000 = 6; 10 nJ / 16,000 = 0.625, 0.25 and 0.375.
  CHECK_THAT(energy_text(padded()),
             StartsWith("energy        10 nJ: 4 nJ on the chip, 6 nJ in the DRAM\n"
                        "              10 pJ per MAC of the model: 4 on the chip, 6 in the DRAM\n"
                        "              0.625 pJ per MAC executed, padding included: 0.25 on the chip, 0.375 in the "
                        "DRAM\n"));
  CHECK_THAT(energy_summary(padded()),
             ContainsSubstring("60 % of it in the DRAM, 10 pJ per MAC of the model; a model"));
  const Json json = energy_json(padded());
  CHECK(json["pj_per_mac"]["chip"].get<double>() == Approx(4));
  CHECK(json["pj_per_mac"]["all"].get<double>() == Approx(10));
  CHECK(json["pj_per_executed_mac"]["chip"].get<double>() == Approx(0.25));
  CHECK(json["pj_per_executed_mac"]["all"].get<double>() == Approx(0.625));
}

TEST_CASE("energy: a program that is not of a model has only executed multiplications") {
  driver::EnergyFacts facts = padded();
  facts.useful_macs.reset();
  CHECK_THAT(energy_text(facts), !ContainsSubstring("of the model"));
  CHECK_THAT(energy_summary(facts), !ContainsSubstring("per MAC"));
  CHECK(energy_json(facts)["pj_per_mac"] == nullptr);
  // A sum with a part of unknown use is unknown, not too small.
  driver::EnergyFacts sum = padded();
  sum += facts;
  CHECK_FALSE(sum.useful_macs);
  CHECK(sum.macs == 32000);
}

}  // namespace dovetail::cli
