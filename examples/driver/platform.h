/* The machine that the test of an exported program runs on. platform_simulator.c makes one in software; for a board,
 * write these two functions. README.txt has examples. */
#pragma once

#include "dovetail_machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A machine with memory that covers [base, base + bytes). `hardware` names the file of its configuration, for a
 * simulator. Null: there is none; it has printed why. */
struct dovetail_machine* platform_open(const char* hardware, uint64_t base, uint64_t bytes);
void platform_close(struct dovetail_machine* machine);

#ifdef __cplusplus
}
#endif
