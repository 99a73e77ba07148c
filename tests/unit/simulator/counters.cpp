// Counters as values: sums, JSON in both directions, and differences.
#include "simulator/counters.h"

#include "tests/catch.h"

namespace dovetail::simulator {

namespace {

// All numbers are different.
Counters distinct(std::uint64_t first) {
  Counters counters;
  counters.fetch.emplace();
  counters.dram.emplace();
  Json json = to_json(counters).flatten();
  for (auto& number : json) number = first++;
  return counters_from_json(json.unflatten());
}

}  // namespace

TEST_CASE("counters survive JSON, with and without the parts that an engine may lack") {
  const Counters all = distinct(1);
  CHECK(all.sram_of(isa::Memory::acc).reads != all.sram_of(isa::Memory::acc).writes);
  CHECK(counters_from_json(to_json(all)) == all);
  CHECK(counters_from_json(to_json(without_time(all))) == without_time(all));
  CHECK(to_json(all).at("dram").size() == 5);
  CHECK(to_json(all).at("port").contains("fetch"));
  CHECK_FALSE(to_json(without_time(all)).contains("dram"));
  CHECK_FALSE(to_json(without_time(all)).at("port").contains("fetch"));
  CHECK_THROWS_AS(counters_from_json(Json::object()), Json::exception);
}

TEST_CASE("counters sum number by number, and a missing part adds nothing") {
  const Counters one = distinct(1), other = distinct(1000);
  Counters sum = one;
  sum += other;
  const Json a = to_json(one).flatten(), b = to_json(other).flatten(), c = to_json(sum).flatten();
  for (const auto& [place, number] : c.items()) {
    INFO(place);
    if (!place.ends_with("/total"))
      CHECK(number.get<std::uint64_t>() == a.at(place).get<std::uint64_t>() + b.at(place).get<std::uint64_t>());
  }
  Counters from_nothing;
  from_nothing += one;
  CHECK(from_nothing == one);
  Counters with_nothing = one;
  with_nothing += Counters{};
  CHECK(with_nothing == one);
}

TEST_CASE("the first difference of counters is named, and a missing part is not a difference") {
  const Counters counters = distinct(1);
  CHECK(difference(counters, counters).empty());
  CHECK(difference(counters, without_time(counters)).empty());
  CHECK(difference(without_time(counters), counters).empty());
  Counters other = counters;
  other.sram_of(isa::Memory::acc).reads = 7;
  other.dram.value()[DramCommand::Kind::refresh] = 8;
  CHECK(difference(other, counters) ==
        "/sram/acc/reads 7, not " + std::to_string(counters.sram_of(isa::Memory::acc).reads));
  other = counters;
  ++other.dram.value()[DramCommand::Kind::refresh];
  CHECK_THAT(difference(other, counters), Catch::Matchers::StartsWith("/dram/refreshes "));
}

}  // namespace dovetail::simulator
