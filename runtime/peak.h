// What one core can do at most, measured: multiply-adds between registers, nothing loaded or stored.
#pragma once

#include <string>

namespace dovetail::runtime {

struct Peak {
  double giga_operations = 0;  // per second; a multiply-add is two
  std::string instruction;     // "vfmadd231ps zmm", ...; empty: the processor has none that is known here
};

Peak measure_float32_peak();
Peak measure_int8_peak();  // of bytes, summed in int32

}  // namespace dovetail::runtime
