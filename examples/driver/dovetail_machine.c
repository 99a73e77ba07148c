#include "dovetail_machine.h"

#include <string.h>

int dovetail_machine_check(const struct dovetail_machine* machine, uint64_t base, uint64_t bytes, uint32_t alignment,
                           const uint32_t* configs, uint32_t count) {
  uint32_t i;
  if (base < machine->base || base - machine->base > machine->bytes ||
      bytes > machine->bytes - (base - machine->base) ||
      (uintptr_t)dovetail_machine_at(machine, base) % alignment != 0)
    return DOVETAIL_BAD_MEMORY;
  if (machine->count < count) return DOVETAIL_NO_DEVICE;
  for (i = 0; i < count; ++i) {
    const int result = dovetail_probe(&machine->accelerators[i], configs[i]);
    if (result != DOVETAIL_OK) return result;
  }
  return DOVETAIL_OK;
}

unsigned char* dovetail_machine_at(const struct dovetail_machine* machine, uint64_t address) {
  return machine->memory + (size_t)(address - machine->base);
}

void dovetail_machine_fill(const struct dovetail_machine* machine, const struct dovetail_segment* segments,
                           uint32_t count) {
  uint32_t i;
  for (i = 0; i < count; ++i) {
    unsigned char* const to = dovetail_machine_at(machine, segments[i].address);
    if (segments[i].data) memcpy(to, segments[i].data, (size_t)segments[i].bytes);
    else memset(to, segments[i].fill, (size_t)segments[i].bytes);
    dovetail_machine_clean(machine, segments[i].address, segments[i].bytes);
  }
}

void dovetail_machine_clean(const struct dovetail_machine* machine, uint64_t address, uint64_t bytes) {
  if (machine->clean) machine->clean(machine->context, dovetail_machine_at(machine, address), (size_t)bytes);
}

void dovetail_machine_invalidate(const struct dovetail_machine* machine, uint64_t address, uint64_t bytes) {
  if (machine->invalidate) machine->invalidate(machine->context, dovetail_machine_at(machine, address), (size_t)bytes);
}

void dovetail_machine_offset(const struct dovetail_machine* machine, uint32_t count, uint64_t offset) {
  uint32_t i;
  for (i = 0; i < count; ++i) dovetail_set_offset(&machine->accelerators[i], offset);
}

int dovetail_machine_run(struct dovetail_machine* machine, uint64_t program_base,
                         const struct dovetail_machine_launch* launches, uint32_t count) {
  uint32_t begin, end, i;
  int result = DOVETAIL_OK;
  for (begin = 0; begin < count && result == DOVETAIL_OK; begin = end) {
    /* Those that run together: start all, then wait for all, also after an error. */
    uint32_t started = begin;
    for (end = begin + 1; end < count && launches[end].together; ++end) {
    }
    for (; started < end && result == DOVETAIL_OK; ++started) {
      const struct dovetail_launch part = {launches[started].begin, launches[started].count};
      result = dovetail_start(&machine->accelerators[launches[started].accelerator], program_base, part);
      if (result != DOVETAIL_OK) break;
    }
    for (i = begin; i < started; ++i) {
      struct dovetail_error error = {0, 0};
      const uint32_t accelerator = launches[i].accelerator;
      const int waited = dovetail_wait(&machine->accelerators[accelerator], machine->looks, &error);
      if (waited == DOVETAIL_OK || result != DOVETAIL_OK) continue;
      result = waited;
      machine->error = error;
      machine->failed = accelerator;
    }
  }
  return result;
}
