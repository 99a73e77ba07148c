// The sample bundle with its last step on a user's device: y = a * code[0].
#pragma once

#include "tests/unit/bundle/sample.h"

namespace dovetail::test {

inline bundle::Bundle sample_bundle_with_scaler() {
  bundle::Bundle bundle = sample_bundle();
  bundle.steps[2] = bundle::Step{"scale", "scaler", {"Mul_2"}, {2}, {4}, {std::byte{2}}};
  return bundle;
}

}  // namespace dovetail::test
