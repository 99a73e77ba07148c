/* Exercises the timer's interrupt, the receiver of the serial line, and errors of the bus, for soc.py: what it prints is
 * in chip.txt. Its input begins with the bytes of received_bytes(). */
#include "dovetail_soc.h"
#include "soc.h"

#define LOW(time) ((uint32_t)(time))
#define HIGH(time) ((uint32_t)((time) >> 32))

static volatile uint32_t* at(uint32_t address) {
  return (volatile uint32_t*)(uintptr_t)address;
}

static void report(const char* name, uint32_t value) {
  soc_print(name);
  soc_print(" ");
  soc_print_hex(value);
  soc_print("\n");
}

static void pass(uint32_t cycles) {
  const uint64_t from = soc_time();
  while (soc_time() - from < cycles) {
  }
}

/* ---- Interrupts: what the handler has seen ---- */
static volatile uint32_t timer_count, fault_count, fault, fault_address, other_lines;
static volatile uint64_t timer_time;

void soc_interrupt(uint32_t lines, uint32_t address) {
  (void)address;
  if (lines & SOC_LINE(TIMER)) {
    timer_time = soc_time();
    ++timer_count;
    *at(SOC_SYSTEM_TIMER_ENABLE) = 0; /* the level falls */
  }
  if (lines & SOC_LINE(FAULT)) {
    ++fault_count;
    fault = *at(SOC_SYSTEM_FAULT);
    fault_address = *at(SOC_SYSTEM_FAULT_ADDRESS);
    *at(SOC_SYSTEM_FAULT) = 1;
  }
  other_lines |= lines & ~(SOC_LINE(TIMER) | SOC_LINE(FAULT));
}

/* ---- The timer ---- */
static void set_timer(uint64_t time) {
  *at(SOC_SYSTEM_COMPARE_HI) = ~0u; /* not reached meanwhile */
  *at(SOC_SYSTEM_COMPARE_LO) = LOW(time);
  *at(SOC_SYSTEM_COMPARE_HI) = HIGH(time);
}

static void timer(void) {
  uint64_t due;
  soc_mask_interrupts(~(SOC_ALWAYS_ENABLED | SOC_LINE(TIMER)));
  report("COMPARE after reset", *at(SOC_SYSTEM_COMPARE_LO) & *at(SOC_SYSTEM_COMPARE_HI));
  set_timer(1);
  pass(200);
  report("timer that is not enabled: interrupts", timer_count);
  set_timer((uint64_t)1 << 32 | 1);
  *at(SOC_SYSTEM_TIMER_ENABLE) = 1;
  pass(8000);
  report("due in 2^32 cycles: interrupts", timer_count);
  report("its COMPARE_LO", *at(SOC_SYSTEM_COMPARE_LO));
  report("its COMPARE_HI", *at(SOC_SYSTEM_COMPARE_HI));

  due = soc_time() + 3000;
  set_timer(due);
  while (timer_count == 0) soc_wait_for_interrupt();
  report("due in 3000 cycles, asleep: interrupts", timer_count);
  report("too early", timer_time < due);
  report("too late", timer_time > due + 1000);
  pass(200);
  report("disabled by its handler: interrupts", timer_count);
  report("TIMER_ENABLE", *at(SOC_SYSTEM_TIMER_ENABLE));

  set_timer(soc_time() + 3000);
  *at(SOC_SYSTEM_TIMER_ENABLE) = 1;
  while (timer_count == 1) {
  }
  report("due in 3000 cycles, awake: interrupts", timer_count);

  soc_mask_interrupts(~SOC_ALWAYS_ENABLED);
  *at(SOC_SYSTEM_TIMER_ENABLE) = 1;
  report("line disabled: it is pending", soc_wait_for_interrupt());
  report("line disabled: interrupts", timer_count);
  set_timer(~(uint64_t)0);
  pass(20);
  *at(SOC_SYSTEM_TIMER_ENABLE) = 0;
  soc_mask_interrupts(~(SOC_ALWAYS_ENABLED | SOC_LINE(TIMER)));
  pass(200);
  report("COMPARE in the future again: interrupts", timer_count);
}

/* ---- The serial line ---- */
static void ask(void) {
  while (!(*at(SOC_UART_STATUS) & 1u)) {
  }
  *at(SOC_UART_DATA) = SOC_ASK_FOR_INPUT;
}

static void received_bytes(void) {
  static const unsigned char expected[] = {0x55, 0x00, 0xff, 0x80, 0x01};
  uint32_t i;
  int byte;
  report("received before it is asked for", *at(SOC_UART_STATUS) & 2u);
  for (i = 0; i < sizeof expected; ++i) {
    ask();
    while (!(*at(SOC_UART_STATUS) & 2u)) {
    }
    report("new byte", *at(SOC_UART_DATA));
    report("its STATUS", *at(SOC_UART_STATUS) & 2u);
    report("read again", *at(SOC_UART_DATA));
  }
  ask();
  ask();
  pass(400);
  report("second of two bytes", *at(SOC_UART_DATA));
  report("the first is not kept", *at(SOC_UART_STATUS) & 2u);
  soc_print("text ");
  while ((byte = soc_read()) >= 0) {
    const char text[2] = {(char)byte, 0};
    soc_print(text);
  }
  report("\nafter the end", (uint32_t)soc_read());
}

/* ---- Errors of the bus ---- */
enum access { READ, WRITE, WRITE_BYTE };

static void access(enum access how, uint32_t address) {
  if (how == READ) (void)*at(address);
  else if (how == WRITE) *at(address) = 0x5a5a5a5a;
  else *(volatile unsigned char*)(uintptr_t)address = 0x5a;
}

/* Prints FAULT, which the handler found; it must have found it once, with this address. */
static void fails(const char* name, enum access how, uint32_t address) {
  const uint32_t before = fault_count;
  fault = 0;
  access(how, address);
  pass(20);
  report(name, fault);
  if (fault_count != before + 1) report("  faults", fault_count - before);
  if (fault_address != address) report("  other FAULT_ADDRESS", fault_address);
}

static void outside_the_windows(void) {
  fails("read between windows", READ, 0x20000000);
  fails("write between windows", WRITE, 0x20000000);
  fails("read after the accelerator", READ, SOC_ACCELERATOR_BASE + SOC_ACCELERATOR_WINDOW_BYTES);
  fails("write after the accelerator", WRITE, SOC_ACCELERATOR_BASE + SOC_ACCELERATOR_WINDOW_BYTES);
  fails("read before the memory", READ, SOC_MEMORY_BASE - 4);
  fails("write after the memory", WRITE, SOC_MEMORY_BASE + SOC_MEMORY_WINDOW_BYTES);
  fails("read at the end", READ, 0xfffffffc);
  fails("write of a byte at the end", WRITE_BYTE, 0xfffffffc);
}

static void within_the_windows(void) {
  const uint32_t end = SOC_MEMORY_BASE + *at(SOC_SYSTEM_MEMORY_BYTES), before = fault_count;
  *at(SOC_MEMORY_BASE) = 0x01234567;
  *at(end - 4) = 0x89abcdef;
  report("first word of the memory", *at(SOC_MEMORY_BASE));
  report("last word of the memory", *at(end - 4));
  report("faults of these", fault_count - before);
  fails("read after the memory's end", READ, end);
  fails("write after the memory's end", WRITE, end);
  fails("read after RAM", READ, SOC_SIMULATED_RAM_BYTES);
  fails("write after RAM", WRITE, SOC_SIMULATED_RAM_BYTES);
  fails("read of no register of the UART", READ, SOC_UART_BASE + 0x0c);
  fails("write of no register of the UART", WRITE, SOC_UART_BASE + SOC_UART_WINDOW_BYTES - 4);
  fails("write of UART_STATUS", WRITE, SOC_UART_STATUS);
  fails("write of a byte of UART_DIVIDER", WRITE_BYTE, SOC_UART_DIVIDER);
  fails("read of no register of the system", READ, SOC_SYSTEM_BASE + 0x20);
  fails("write of SYSTEM_TIME_LO", WRITE, SOC_SYSTEM_TIME_LO);
  fails("write of SYSTEM_FAULT_ADDRESS", WRITE, SOC_SYSTEM_FAULT_ADDRESS);
  fails("write of a byte of SYSTEM_COMPARE_LO", WRITE_BYTE, SOC_SYSTEM_COMPARE_LO);
  report("its value", *at(SOC_SYSTEM_COMPARE_LO));
  fails("read of no register of the accelerator", READ, SOC_ACCELERATOR_BASE + SOC_ACCELERATOR_WINDOW_BYTES - 4);
  fails("write of no register of the accelerator", WRITE, SOC_ACCELERATOR_BASE + SOC_ACCELERATOR_WINDOW_BYTES - 4);
}

/* The transmitter has room for the byte that it sends, and one more. */
static void too_many_bytes(void) {
  const uint32_t before = fault_count;
  pass(200);
  *at(SOC_UART_DATA) = 'a';
  *at(SOC_UART_DATA) = 'b';
  *at(SOC_UART_DATA) = 'c';
  pass(200);
  report(" was sent: faults", fault_count - before);
  report("FAULT", fault);
  report("FAULT_ADDRESS", fault_address);
}

static void several_faults(void) {
  const uint32_t before = fault_count;
  soc_mask_interrupts(~0u);
  access(READ, 0x20000004);
  access(WRITE, 0x30000008);
  pass(20);
  report("line disabled: faults", fault_count - before);
  report("it is pending", soc_wait_for_interrupt());
  report("FAULT of the first", *at(SOC_SYSTEM_FAULT));
  report("FAULT_ADDRESS of the first", *at(SOC_SYSTEM_FAULT_ADDRESS));
  soc_mask_interrupts(~SOC_ALWAYS_ENABLED);
  pass(20);
  report("line enabled: faults", fault_count - before);
  report("FAULT after it is cleared", *at(SOC_SYSTEM_FAULT) & 1u);
}

int main(void) {
  timer();
  received_bytes();
  outside_the_windows();
  within_the_windows();
  too_many_bytes();
  several_faults();
  report("other interrupts", other_lines);
  return 0;
}
