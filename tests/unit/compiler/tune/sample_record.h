// Records for tests.
#pragma once

#include <string>

#include "compiler/tune/records.h"

namespace dovetail::test {

// A record with the decision tile=TILE; everything else is equal.
inline tune::Record sample_record(int tile, double cost = 100) {
  tune::Record record;
  record.task = "0123456789abcdef";
  record.machine = "cycle simulator, ideal memory";
  record.target = "accel";
  record.kind = "convolution";
  record.name = "conv1";
  record.sketch_version = 2;
  record.decisions = {{"tile", std::to_string(tile)}, {"order", "y,x"}};
  record.trace = "sample tile among 1,2 = 1\nsplit y $tile -> yo yi\n";
  record.unit = "cycles";
  record.cost = cost;
  record.default_cost = 200;
  record.features = {0, 1.5, -2.25, 1e300, 0.1};
  record.search = "evolutionary";
  record.time = "2026-07-01T12:00:00Z";
  return record;
}

inline tune::Record sample_failure(int tile, tune::Outcome outcome) {
  tune::Record record = sample_record(tile);
  record.outcome = outcome;
  record.cost = std::numeric_limits<double>::infinity();
  record.why = "it ended";
  return record;
}

}  // namespace dovetail::test
