// Latencies and estimates, as text and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "driver/latency.h"
#include "driver/system.h"

namespace dovetail::cli {

// "time          93.10 % accel, 6.90 % cpu of all steps", or nothing.
std::string time_shares_text(std::span<const driver::StepTime> steps);

std::string milliseconds_text(double seconds);  // "0.01612 ms"
std::string rate_text(double seconds);          // rate per second, "62,035"
// "8,060 cycles = 0.01612 ms at 500 MHz, 62,035/s"
std::string cycles_text(std::uint64_t cycles, double clock_mhz);

// The latency, then its parts, then what it does not include. `how`: how the steps on this machine were measured.
std::string latency_text(const driver::Latency& latency, const driver::System& system, std::string_view how);
// {"cycles", "clock_mhz", "accelerator_ms", "other_ms", "ms", "inferences_per_second", "regions", "other_steps",
// "simulating_ms"}; null: no latency, the engine counts no cycles
Json latency_json(const driver::Latency& latency, const driver::System& system);
// Adds a step's "cycles", "ms" and "simulating_ms", as far as they are known.
void add_time(Json& step, const driver::StepTime& time);

std::string estimate_text(const PlacementSummary& summary, const driver::System& system);
Json estimate_json(const PlacementSummary& summary, const driver::System& system);

}  // namespace dovetail::cli
