/* The C library's, which move bytes one by one, take a third of a run: these move words where they can. */
#include <stddef.h>
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) word;

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void* memcpy(void* restrict to, const void* restrict from,
                                                                          size_t count) {
  unsigned char* out = to;
  const unsigned char* in = from;
  if ((((uintptr_t)out ^ (uintptr_t)in) & 3u) == 0) {
    for (; count && ((uintptr_t)out & 3u); --count) *out++ = *in++;
    for (; count >= 16; count -= 16, out += 16, in += 16) {
      const word a = ((const word*)in)[0], b = ((const word*)in)[1], c = ((const word*)in)[2], d = ((const word*)in)[3];
      ((word*)out)[0] = a;
      ((word*)out)[1] = b;
      ((word*)out)[2] = c;
      ((word*)out)[3] = d;
    }
    for (; count >= 4; count -= 4, out += 4, in += 4) *(word*)out = *(const word*)in;
  }
  while (count--) *out++ = *in++;
  return to;
}

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void* memset(void* to, int value, size_t count) {
  unsigned char* out = to;
  const word all = (unsigned char)value * 0x01010101u;
  for (; count && ((uintptr_t)out & 3u); --count) *out++ = (unsigned char)value;
  for (; count >= 16; count -= 16, out += 16) {
    ((word*)out)[0] = all;
    ((word*)out)[1] = all;
    ((word*)out)[2] = all;
    ((word*)out)[3] = all;
  }
  for (; count >= 4; count -= 4, out += 4) *(word*)out = all;
  while (count--) *out++ = (unsigned char)value;
  return to;
}
