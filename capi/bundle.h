// A bundle that a caller holds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "capi/include/dovetail.h"

namespace dovetail::driver {
struct CompiledModel;
}

namespace dovetail::capi {

struct LoadedBundle {
  bundle::Bundle bundle;
  std::string where;                                        // in diagnostics
  std::vector<std::string> machine_code = {};               // targets whose steps are machine code
  std::string why_not = {};                                 // why machine code may not run; empty: it may
  bool made_here = false;                                   // this process compiled it
  std::shared_ptr<const driver::CompiledModel> model = {};  // of a model that this process compiled: its graphs
};

// Checks the code, and finds what is machine code.
Result<std::shared_ptr<LoadedBundle>> checked(bundle::Bundle bundle, std::string where);

const bundle::Tensor& tensor_at(const bundle::Bundle& bundle, bundle::TensorIndex index);

}  // namespace dovetail::capi

// Immutable, so that it needs no lock.
struct dvt_bundle {
  std::shared_ptr<const dovetail::capi::LoadedBundle> loaded;
};
