// A user's program: writes an array, reads it back.
#include <cstdio>

#include <base/npy.h>

int main(int argument_count, char** arguments) {
  if (argument_count != 2) return 2;
  const auto array = dovetail::NdArray::from<int>({2, 2}, {1, 2, 3, 4});
  if (!dovetail::write_npy(arguments[1], array).ok()) return 1;
  const auto back = dovetail::read_npy(arguments[1]);
  if (!back.ok() || *back != array) return 1;
  std::puts("the installed kit works");
  return 0;
}
