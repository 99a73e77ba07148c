// cuDNN on NVIDIA GPUs: convolutions, pools and softmax, as operations of a library that the runtime opens where it is
// there. docs/vendor-backends.md
#pragma once

#include "compiler/target/target.h"

namespace dovetail::cudnn {

TargetPointer make_target();

}  // namespace dovetail::cudnn
