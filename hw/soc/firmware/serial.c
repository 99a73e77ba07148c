#include "dovetail_soc.h"
#include "soc.h"

#ifndef SOC_DIVIDER /* -DSOC_DIVIDER: cycles of a bit of a real line, less one */
#define SOC_DIVIDER SOC_SIMULATED_DIVIDER
#endif

static volatile uint32_t* at(uint32_t address) {
  return (volatile uint32_t*)(uintptr_t)address;
}

static void put(char byte) {
  while (!(*at(SOC_UART_STATUS) & 1u)) {
  }
  *at(SOC_UART_DATA) = (unsigned char)byte;
}

void soc_serial_begin(void) {
  *at(SOC_UART_DIVIDER) = SOC_DIVIDER;
}

void soc_print(const char* text) {
  while (*text) put(*text++);
}

void soc_print_number(uint64_t value) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + value % 10);
  while (value /= 10);
  while (count) put(digits[--count]);
}

static void print_digits(uint32_t value, int digits) {
  while (digits--) put("0123456789abcdef"[value >> 4 * digits & 15]);
}
void soc_print_hex(uint32_t value) {
  print_digits(value, 8);
}

void soc_print_output(const char* name, const void* bytes, uint32_t count) {
  const unsigned char* const from = bytes;
  uint32_t i;
  soc_print("output ");
  soc_print(name);
  for (i = 0; i < count; ++i) {
    if (i % 32 == 0) soc_print(i == 0 ? " " : "\ndata ");
    print_digits(from[i], 2);
  }
  soc_print("\n");
}

int soc_read(void) {
  uint32_t data;
  put(SOC_ASK_FOR_INPUT);
  do data = *at(SOC_UART_DATA);
  while (!(data & 0x100u));
  data &= 0xffu;
  return data == SOC_END_OF_INPUT ? -1 : (int)data;
}

void soc_end(int status) {
  soc_print("end ");
  if (status < 0) soc_print("-");
  soc_print_number((uint64_t)(status < 0 ? -(int64_t)status : status));
  soc_print("\n");
  put(SOC_END_OF_RUN);
  for (;;) {
  }
}
