/* Measures one call of a function with three pointers (-DMEASURED=NAME -Wl,--wrap=NAME) on a board in QEMU, and prints
 * the bytes of stack and, with `-icount shift=0`, the instructions: each then takes a nanosecond of the board's time.
 *
 * -DTIMER=ADDRESS: a CMSDK timer of an MPS2 board, which counts down; -DTIMER_NS: nanoseconds of a step. -DRISCV: none
 * is needed. */
#include <stdint.h>
#include <stdio.h>

#define JOINED(a, b) a##b
#define NAME(a, b) JOINED(a, b)
#define WRAPPED NAME(__wrap_, MEASURED)
#define REAL NAME(__real_, MEASURED)

enum { kStackBytes = 65536, kPaint = 0x5a };

int REAL(const void* inputs, const void* outputs, void* arena);
int WRAPPED(const void* inputs, const void* outputs, void* arena);

#ifndef RISCV
static uint64_t nanoseconds(void) {
  volatile uint32_t* const timer = (volatile uint32_t*)TIMER; /* control, value, reload */
  if (timer[0] == 0) {
    timer[1] = timer[2] = UINT32_MAX;
    timer[0] = 1;
  }
  return (uint64_t)(UINT32_MAX - timer[1]) * TIMER_NS;
}
#else
static uint64_t nanoseconds(void) {
  uint32_t high, low, again;
  do __asm__ volatile("rdinstreth %0\n\trdinstret %1\n\trdinstreth %2" : "=r"(high), "=r"(low), "=r"(again));
  while (high != again);
  return (uint64_t)high << 32 | low;
}
#endif

int WRAPPED(const void* inputs, const void* outputs, void* arena) {
  volatile unsigned char* bottom; /* of the stack, which grows down: nothing below its pointer is in use */
#ifdef RISCV
  __asm__ volatile("mv %0, sp" : "=r"(bottom));
#else
  __asm__ volatile("mov %0, sp" : "=r"(bottom));
#endif
  bottom -= kStackBytes;
  for (long i = 0; i < kStackBytes; ++i) bottom[i] = kPaint;
  const uint64_t begin = nanoseconds();
  const int status = REAL(inputs, outputs, arena);
  const uint64_t end = nanoseconds();
  long untouched = 0;
  while (untouched < kStackBytes && bottom[untouched] == kPaint) ++untouched;
  printf("stack %ld instructions %.0f\n", (long)kStackBytes - untouched, (double)(end - begin));
  return status;
}
