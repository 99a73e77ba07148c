// The sample bundle with its last step on a device of the user's: y = a * payload[0].
#pragma once

#include "tests/unit/bundle/sample.h"

namespace dovetail::test {

inline bundle::Bundle sample_bundle_with_extern() {
  bundle::Bundle bundle = sample_bundle();
  bundle.steps[2] = bundle::ExternStep{"scale", {"Mul_2"}, "scaler", {std::byte{2}}, {2}, {4}};
  return bundle;
}

}  // namespace dovetail::test
