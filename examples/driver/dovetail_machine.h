/* A machine with accelerators, in C99: their registers, the memory that they share with the processor, and the
 * processor's caches. Programs of `dovetail export` run on it; several programs share one machine if their addresses
 * do not overlap and their runs do not. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dovetail_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dovetail_machine {
  const struct dovetail_device* accelerators;
  uint32_t count; /* of accelerators */

  /* One physically contiguous block: at `base` as accelerators address it, at `memory` as the processor does. It must
   * be ordinary memory for the processor, cached or not: not mapped as registers are. */
  uint64_t base, bytes;
  unsigned char* memory;

  /* Caches that the accelerators do not see, with the barriers that the processor needs; null: there are none.
   * clean: writes these bytes back to memory. invalidate: the next reads of them come from memory. Both may handle
   * whole cache lines: no program has data of the processor and of an accelerator in one line of up to 64 bytes. */
  void* context; /* handed to these functions */
  void (*clean)(void* context, const void* address, size_t bytes);
  void (*invalidate)(void* context, void* address, size_t bytes);

  uint64_t looks; /* at STATUS in a launch, before it has timed out; 0: no limit */

  /* Of the last launch that failed. */
  struct dovetail_error error;
  uint32_t failed; /* the accelerator */
};

struct dovetail_machine_launch {
  uint32_t begin, count; /* instructions, counted from the program's first */
  uint32_t accelerator;  /* that runs it */
  uint32_t together;     /* 1: begins with the launch before it, not after its end */
};

/* Bytes that the processor puts into memory. */
struct dovetail_segment {
  uint64_t address, bytes;
  const void* data; /* null: all bytes are `fill` */
  unsigned char fill;
};

/* Whether the machine's memory has [base, base + bytes), at a multiple of `alignment` for the processor, and its first
 * accelerators have these values of the register CONFIG. */
int dovetail_machine_check(const struct dovetail_machine* machine, uint64_t base, uint64_t bytes, uint32_t alignment,
                           const uint32_t* configs, uint32_t count);

/* The functions below need a machine that was checked. */

/* Where the processor finds an address. */
unsigned char* dovetail_machine_at(const struct dovetail_machine* machine, uint64_t address);
/* Writes segments to memory, in order. */
void dovetail_machine_fill(const struct dovetail_machine* machine, const struct dovetail_segment* segments,
                           uint32_t count);
/* Before a launch reads what the processor wrote; and after it, before the processor reads what it wrote. */
void dovetail_machine_clean(const struct dovetail_machine* machine, uint64_t address, uint64_t bytes);
void dovetail_machine_invalidate(const struct dovetail_machine* machine, uint64_t address, uint64_t bytes);
/* The register OFFSET of the first `count` accelerators, in later launches. */
void dovetail_machine_offset(const struct dovetail_machine* machine, uint32_t count, uint64_t offset);
/* All launches of a program. On an error no accelerator runs any more, unless one has timed out. */
int dovetail_machine_run(struct dovetail_machine* machine, uint64_t program_base,
                         const struct dovetail_machine_launch* launches, uint32_t count);

#ifdef __cplusplus
}
#endif
