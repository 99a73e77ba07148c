// Matrix products.
#include "compiler/target/cpu/schedules/schedules.h"

namespace dovetail::cpu {

bool schedule_matmul(Builder&) { return false; }

}  // namespace dovetail::cpu
