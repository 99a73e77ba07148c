#include "export/c_place.h"

#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "export/c_text.h"

namespace dovetail::exporting {

namespace {

std::string pointer_into(std::string_view bytes, const Place& place) {
  return size_bytes(place.dtype) > 1 ? fmt::format("({0}{1}*)({0}void*)({2} + {3})", place.is_written ? "" : "const ",
                                                   element_type(place.dtype), bytes, place.at)
                                     : fmt::format("({}{}*)({} + {})", place.is_written ? "" : "const ",
                                                   element_type(place.dtype), bytes, place.at);
}

}  // namespace

std::string macro(const Plan& plan, std::string_view name) {
  return upper_case(plan.options.name + "_") + std::string(name);
}

std::string place_text(const Plan& plan, const Place& place) {
  switch (place.of) {
    case Place::Of::constant: return plan.constants[place.at].name;
    case Place::Of::input: return "inputs->" + plan.inputs[place.at].field;
    case Place::Of::output: return "outputs->" + plan.outputs[place.at].field;
    case Place::Of::arena: return pointer_into("memory", place);
    case Place::Of::device: return pointer_into("device", place);
  }
  throw InternalError("place_text: unknown place");
}

}  // namespace dovetail::exporting
