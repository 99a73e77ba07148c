// Writes the C header of the register map for the driver that engine axi contains: `dovetail isa --format c` before
// there is a `dovetail`.
#include <fstream>

#include "isa/emit/emit.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::ofstream file(arguments[1]);
  file << dovetail::isa::emit_c_header(dovetail::isa::HardwareConfig{});
  file.close();
  return file ? 0 : 1;
}
