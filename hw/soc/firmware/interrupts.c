/* Interrupts and time. A program may define the functions that are weak here. */
#include "dovetail_soc.h"
#include "soc.h"

#define OWN_LINES 7u /* of PicoRV32: its timer, illegal instructions, accesses that are not aligned */

static volatile uint32_t* at(uint32_t address) {
  return (volatile uint32_t*)(uintptr_t)address;
}

/* PicoRV32's instructions: maskirq disables the lines whose bits are set; waitirq waits until a line is pending, also
 * one that is disabled. */
void soc_mask_interrupts(uint32_t mask) {
  __asm__ volatile(".insn r 0x0b, 0, 3, x0, %0, x0" ::"r"(mask) : "memory");
}
uint32_t soc_wait_for_interrupt(void) {
  uint32_t pending;
  __asm__ volatile(".insn r 0x0b, 0, 4, %0, x0, x0" : "=r"(pending)::"memory");
  return pending;
}

uint64_t soc_time(void) {
  const uint32_t low = *at(SOC_SYSTEM_TIME_LO);
  return low | (uint64_t)*at(SOC_SYSTEM_TIME_HI) << 32;
}

__attribute__((weak)) void soc_device_interrupt(uint32_t lines) {
  (void)lines;
}

__attribute__((weak)) void soc_interrupt(uint32_t lines, uint32_t address) {
  if (lines & SOC_LINE(FAULT)) {
    soc_print("fault ");
    soc_print(*at(SOC_SYSTEM_FAULT) & 2u ? "write " : "read ");
    soc_print_hex(*at(SOC_SYSTEM_FAULT_ADDRESS));
    soc_print("\n");
    soc_end(1);
  }
  if (lines & OWN_LINES) {
    soc_print("trap ");
    soc_print_hex(address);
    soc_print("\n");
    soc_end(1);
  }
  soc_device_interrupt(lines);
}
