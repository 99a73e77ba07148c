// The apply functions of all primitives (Primitive::apply), generated from list.h.
#pragma once

#include "compiler/schedule/schedule.h"

namespace dovetail::schedule {

#define DOVETAIL_DECLARE(name, form)                                             \
  Result<loops::Program> apply_##name(const loops::Program& program, Step& step, \
                                      const loops::IntrinsicTable& intrinsics);
DOVETAIL_PRIMITIVES(DOVETAIL_DECLARE)
#undef DOVETAIL_DECLARE

}  // namespace dovetail::schedule
