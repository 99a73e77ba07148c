// JSON, and hardware configurations in it: what is read is legal, and printing and reading it gives the same.
#include "base/json.h"
#include "isa/config.h"
#include "tests/fuzz/target.h"

namespace dovetail::test {
namespace {

using namespace isa;

std::vector<FuzzSeed> hardware_seeds() {
  std::vector<FuzzSeed> list;
  for (const HardwareConfig& config : named_configs())
    list.push_back({config.name + ".json", bytes_of(config_to_json(config).dump())});
  list.push_back({"vta.json", bytes_of(R"({"LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5, "LOG_BATCH": 0,
    "LOG_BLOCK": 4, "LOG_UOP_BUFF_SIZE": 15, "LOG_INP_BUFF_SIZE": 15, "LOG_WGT_BUFF_SIZE": 18, "LOG_ACC_BUFF_SIZE": 17})")});
  list.push_back({"every_kind.json", bytes_of(R"([null, true, -1.5e300, "\u00e9\ud83d\ude00", {"a": [], "": {}}])")});
  return list;
}

std::string take_hardware(std::span<const std::byte> bytes) {
  const auto json = parse_json(text_of(bytes), "fuzz.json");
  if (!json) return incomplete_diagnostic(json.errors());
  const auto again = parse_json(json->dump(), "again.json");
  if (!again) return "printed, it is refused: " + to_string(again.errors());
  const auto config = config_from_json(*json, "fuzz.json");
  if (!config) return incomplete_diagnostic(config.errors());
  if (!validate(*config)) return "what was read is not legal";
  const auto same = config_from_json(config_to_json(*config), "again.json");
  if (!same) return "written, the hardware is refused: " + to_string(same.errors());
  return config_to_json(*same) == config_to_json(*config) ? "" : "written, it is other hardware";
}

}  // namespace

FuzzTarget hardware_target() { return {hardware_seeds, take_hardware}; }

}  // namespace dovetail::test
