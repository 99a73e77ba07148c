/* The accelerator's registers, interrupt and memory. */
#include "dovetail_isa.h"
#include "dovetail_machine.h"
#include "dovetail_soc.h"
#include "soc.h"

struct soc_launch soc_launches[SOC_MOST_LAUNCHES];
uint32_t soc_launch_count;
volatile uint32_t soc_interrupt_count;

static volatile uint32_t* at(uint32_t address) {
  return (volatile uint32_t*)(uintptr_t)address;
}

void soc_device_interrupt(uint32_t lines) {
  if (lines & SOC_LINE(ACCELERATOR)) {
    volatile uint32_t* const status = at(SOC_ACCELERATOR_BASE + DOVETAIL_REG_INTERRUPT_STATUS);
    ++soc_interrupt_count;
    *status = *status; /* the level falls */
  }
}

static int is_running;
static struct soc_launch current;

static uint32_t read_register(void* context, uint32_t offset) {
  const uint32_t value = *at(SOC_ACCELERATOR_BASE + offset);
  (void)context;
  if (offset == DOVETAIL_REG_STATUS && is_running &&
      (value & (DOVETAIL_REG_STATUS_DONE_MASK | DOVETAIL_REG_STATUS_ERROR_MASK))) {
    is_running = 0;
    current.cycles = *at(SOC_ACCELERATOR_BASE + DOVETAIL_REG_CYCLES_LO);
    current.cycles |= (uint64_t)*at(SOC_ACCELERATOR_BASE + DOVETAIL_REG_CYCLES_HI) << 32;
    if (soc_launch_count < SOC_MOST_LAUNCHES) soc_launches[soc_launch_count] = current;
    ++soc_launch_count;
  }
  return value;
}

static void write_register(void* context, uint32_t offset, uint32_t value) {
  (void)context;
  if (offset == DOVETAIL_REG_INSTRUCTION_BEGIN) current.begin = value;
  if (offset == DOVETAIL_REG_INSTRUCTION_COUNT) current.count = value;
  if (offset == DOVETAIL_REG_CONTROL) is_running = 1;
  *at(SOC_ACCELERATOR_BASE + offset) = value;
}

#ifdef SOC_WAIT_INTERRUPT
/* The accelerator's line is enabled only here, where no launch can end between a look at STATUS and the wait. */
static void pause(void* context) {
  const uint32_t before = soc_interrupt_count;
  (void)context;
  while (soc_interrupt_count == before) {
    soc_wait_for_interrupt();
    soc_mask_interrupts(~(SOC_ALWAYS_ENABLED | SOC_LINE(ACCELERATOR)));
    soc_mask_interrupts(~SOC_ALWAYS_ENABLED);
  }
}
#endif

struct dovetail_machine* soc_machine(void) {
  static struct dovetail_device device = {0, read_register, write_register, 0};
  static struct dovetail_machine machine;
  soc_mask_interrupts(~SOC_ALWAYS_ENABLED);
#ifdef SOC_WAIT_INTERRUPT
  device.pause = pause;
#endif
  machine.accelerators = &device;
  machine.count = 1;
  machine.base = 0;
  machine.bytes = *at(SOC_SYSTEM_MEMORY_BYTES);
  machine.memory = (unsigned char*)(uintptr_t)SOC_MEMORY_BASE;
  return &machine;
}
