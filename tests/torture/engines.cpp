#include "tests/torture/engines.h"

#include <utility>

#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "simulator/systemc_engine.h"

namespace dovetail::test {

Result<EngineSet> make_engines(const isa::HardwareConfig& config, const TortureCase& how, const Engines& engines,
                               simulator::RtlOptions rtl_options) {
  const simulator::EngineOptions options{.memory = how.memory, .trace = true};
  EngineSet set;
  set.functional = simulator::make_functional(config);
  set.cycle = simulator::make_cycle(config, options);
  if (engines.systemc) {
    DOVETAIL_ASSIGN(set.systemc, simulator::make_systemc(config, options));
  }
  if (engines.rtl) {
    rtl_options.engine = options;
    rtl_options.power_up_seed = how.power_up_seed;
    rtl_options.slave = how.slave;
    rtl_options.model = engines.model;
    DOVETAIL_ASSIGN(set.rtl, simulator::make_rtl(config, rtl_options));
  }
  return set;
}

void set_offset(EngineSet& engines, std::uint64_t offset) {
  for (auto* engine : {&engines.functional, &engines.cycle, &engines.systemc})
    if (*engine) (*engine)->set_offset(offset);
  if (engines.rtl) engines.rtl->set_offset(offset);
}

}  // namespace dovetail::test
