/* Firmware of the LiteX test: launches the program with the kit's driver, waits for the interrupt, and prints what is in memory afterwards. */
#include <stdint.h>

#include "dovetail_driver.h"
#include "dovetail_isa.h"
#include "system.h"

static void put(char c) {
  while (*(volatile uint32_t*)UART_TXFULL) {}
  *(volatile uint32_t*)UART_RXTX = (uint32_t)(unsigned char)c;
}
static void text(const char* s) {
  while (*s) put(*s++);
}
static void hex(uint32_t value, int digits) {
  for (int i = digits - 1; i >= 0; i--) put("0123456789abcdef"[value >> 4 * i & 15]);
}
static uint32_t read(void* context, uint32_t offset) { return *(volatile uint32_t*)((char*)context + offset); }
static void write(void* context, uint32_t offset, uint32_t value) { *(volatile uint32_t*)((char*)context + offset) = value; }
static uint32_t looks;
static void pause(void* context) {
  (void)context;
  looks++;
}

int main(void) {
  static const struct dovetail_device device = {(void*)DOVETAIL_BASE, read, write, pause};
  static const struct dovetail_launch launch = {PROGRAM_BEGIN, PROGRAM_COUNT};
  struct dovetail_error error = {0, 0};
  *(volatile uint32_t*)DOVETAIL_EV_ENABLE = 1;
  write((void*)DOVETAIL_BASE, DOVETAIL_REG_INTERRUPT_ENABLE, 3);
  int result = dovetail_probe(&device, DOVETAIL_REG_CONFIG_RESET);
  if (result == DOVETAIL_OK) result = dovetail_start(&device, PROGRAM_BASE, launch);
  if (result == DOVETAIL_OK) result = dovetail_wait(&device, 0, &error);
  text("result "), hex((uint32_t)result, 8), text(" error "), hex(error.code, 2), hex(error.instruction, 8);
  text(" pending "), hex(*(volatile uint32_t*)DOVETAIL_EV_STATUS, 1);
  write((void*)DOVETAIL_BASE, DOVETAIL_REG_INTERRUPT_STATUS, 3);
  hex(*(volatile uint32_t*)DOVETAIL_EV_STATUS, 1);
  text(" cycles "), hex((uint32_t)dovetail_cycles(&device), 8), text("\n");
  for (uint32_t i = 0; i < RESULT_BYTES; i++) {
    hex(*(volatile uint8_t*)(RESULT_BASE + i), 2);
    if (i % 32 == 31) put('\n');
  }
  text("\nend\n");
  return 0;
}
