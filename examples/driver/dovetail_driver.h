/* A driver for the accelerator's registers in C99, for firmware, a kernel module or a virtual platform. The register
 * map is in dovetail_isa.h (`dovetail isa --format c`, or `dovetail compile --emit`); the platform provides two
 * functions to access the device. The platform is also responsible for caches and memory barriers: the data that a
 * launch reads must be in memory before dovetail_start, and its results can be read after dovetail_wait. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The platform: 32-bit accesses at byte offsets of the register window. */
struct dovetail_device {
  void* context; /* handed to the functions below */
  uint32_t (*read)(void* context, uint32_t offset);
  void (*write)(void* context, uint32_t offset, uint32_t value);
  void (*pause)(void* context); /* between two looks at STATUS; may sleep until the interrupt, may be null */
};

enum dovetail_result {
  DOVETAIL_OK = 0,
  DOVETAIL_NO_DEVICE = -1,     /* ID is another */
  DOVETAIL_OTHER_VERSION = -2, /* the major version of the register map is another */
  DOVETAIL_OTHER_CONFIG = -3,  /* the program is for another design point */
  DOVETAIL_BUSY = -4,          /* a launch is running */
  DOVETAIL_LAUNCH_FAILED = -5, /* see dovetail_error */
  DOVETAIL_TIMED_OUT = -6,     /* still busy after so many looks */
  /* Of dovetail_machine.h and exported programs. */
  DOVETAIL_BAD_MEMORY = -7,  /* the machine's memory does not have the program's addresses, or is not aligned */
  DOVETAIL_BAD_ARENA = -8,   /* the arena is not aligned */
  DOVETAIL_BAD_POSITION = -9 /* a position is outside its tensor */
};

struct dovetail_launch {
  uint32_t begin, count; /* instructions, counted from the program's first */
};

struct dovetail_error {
  uint32_t code;        /* DOVETAIL_ERROR_... */
  uint32_t instruction; /* that met it */
};

/* Whether the device is an accelerator that runs programs for `config` (the register CONFIG). */
int dovetail_probe(const struct dovetail_device* device, uint32_t config);

/* The register OFFSET in later launches, in bytes; only designs with the extension `offset` have it. */
void dovetail_set_offset(const struct dovetail_device* device, uint64_t offset);

/* Starts a launch of the program at `program_base`, a physical address. */
int dovetail_start(const struct dovetail_device* device, uint64_t program_base, struct dovetail_launch launch);

/* Waits for its end, reading STATUS at most `looks` times (0: no limit). `error` may be null. */
int dovetail_wait(const struct dovetail_device* device, uint64_t looks, struct dovetail_error* error);

/* All launches of a program, one after the other. */
int dovetail_run(const struct dovetail_device* device, uint64_t program_base, const struct dovetail_launch* launches,
                 uint32_t count, uint64_t looks, struct dovetail_error* error);

/* Clock cycles of the last launch. */
uint64_t dovetail_cycles(const struct dovetail_device* device);

#ifdef __cplusplus
}
#endif
