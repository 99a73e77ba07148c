// The table of schedule primitives, generated from list.h.
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

std::span<const Primitive> all_primitives() {
  static constexpr Primitive kRows[] = {
#define DOVETAIL_ROW(name, form) {form_of(form), apply_##name},
      DOVETAIL_PRIMITIVES(DOVETAIL_ROW)
#undef DOVETAIL_ROW
  };
  return kRows;
}

}  // namespace dovetail::schedule
