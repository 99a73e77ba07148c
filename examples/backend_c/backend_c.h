// A back end in one folder: float products, sums and rectifiers as C. `--target c,cpu` compiles for it, and its device
// runs the result.
#pragma once

#include <memory>

#include "compiler/target/target.h"
#include "runtime/device.h"

namespace backend_c {

dovetail::TargetPointer make_target();
// Loads shared objects into this process. They are machine code: load only bundles that you trust.
std::shared_ptr<dovetail::runtime::Device> make_device();

}  // namespace backend_c
