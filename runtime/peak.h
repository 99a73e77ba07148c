// Measures the peak arithmetic performance of one core: multiply-adds between registers, without loads or stores.
#pragma once

#include <string>

#include "base/json.h"

namespace dovetail::runtime {

struct Peak {
  double giga_operations = 0;  // per second; a multiply-add is two
  std::string instruction;     // "vfmadd231ps zmm", ...; empty: the processor has no known instruction
};

Json to_json(const Peak& peak);  // {"gop_per_s", "instruction"}

Peak measure_float32_peak();
Peak measure_int8_peak();  // on bytes, summed in int32

}  // namespace dovetail::runtime
