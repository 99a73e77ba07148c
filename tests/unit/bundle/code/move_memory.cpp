// The accelerator's memory at another address: the same code, moved; and addresses that it cannot have.
#include "bundle/code/move_memory.h"

#include "bundle/code/accel.h"
#include "isa/verify/accesses.h"
#include "tests/catch.h"
#include "tests/unit/bundle/sample.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("moved memory: every address moves by the same distance, and moving back gives the bundle") {
  const bundle::Bundle before = test::sample_bundle();
  const auto old = bundle::accel_steps(before).value();
  const std::uint64_t base = before.spaces[1].base, target = base + 0x7000;
  const auto moved = bundle::with_memory_at(before, target);
  REQUIRE((moved.ok() ? "" : to_string(moved.errors())) == "");
  CHECK(moved->spaces[1].base == target);
  const auto steps = bundle::accel_steps(*moved);
  REQUIRE((steps.ok() ? "" : to_string(steps.errors())) == "");
  REQUIRE(steps->size() == old.size());
  for (std::size_t s = 0; s < old.size(); ++s) {
    const bundle::AccelCode &was = old[s].code, &is = (*steps)[s].code;
    CHECK(is.program_base == was.program_base + 0x7000);
    for (std::size_t i = 0; i < was.argument_addresses.size(); ++i)
      CHECK(is.argument_addresses[i] == was.argument_addresses[i] + 0x7000);
    for (std::size_t i = 0; i < was.segments.size(); ++i) {
      CHECK(is.segments[i].address == was.segments[i].address + 0x7000);
      if (was.segments[i].address != was.program_base) CHECK(is.segments[i].bytes == was.segments[i].bytes);
    }
    for (std::size_t i = 0; i < was.program.size(); ++i) {
      const isa::DramAccess from = isa::dram_access(was.config, was.program[i]),
                            to = isa::dram_access(is.config, is.program[i]);
      CHECK(to.rows == from.rows);
      if (!from.empty()) CHECK(to.begin == from.begin + 0x7000);
    }
  }
  const auto back = bundle::with_memory_at(*moved, base);
  REQUIRE(back.ok());
  CHECK(bundle::serialize(*back) == bundle::serialize(before));
}

TEST_CASE("moved memory: an address must be a multiple of 4096, and leave room for the memory") {
  const bundle::Bundle bundle = test::sample_bundle();
  CHECK_THAT(to_string(bundle::with_memory_at(bundle, 0x1234).errors()),
             ContainsSubstring("not a multiple of 4096") && ContainsSubstring("for example 0x1000"));
  CHECK_THAT(to_string(bundle::with_memory_at(bundle, std::uint64_t{1} << 32).errors()),
             ContainsSubstring("would end beyond 0x100000000") && ContainsSubstring("address_bits 32"));
  CHECK_THAT(to_string(bundle::with_memory_at(bundle, std::uint64_t{1} << 60).errors()),
             ContainsSubstring("give a lower address"));
}
