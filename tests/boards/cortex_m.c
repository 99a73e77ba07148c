/* The start of a program on a Cortex-M board in QEMU, with newlib's semihosting (librdimon). Memory that no section
 * fills is zero in QEMU, so .bss is not cleared. */
#include <stdint.h>
#include <stdlib.h>

extern char stack_end[];
int main(int argc, char** argv);
void initialise_monitor_handles(void);
void start(void);

/* Newlib's exit calls it. */
void _fini(void) {}

void start(void) {
  char name[] = "test", *arguments[] = {name, 0};
#ifdef __ARM_FP
  *(volatile uint32_t*)0xe000ed88 |= 0xfu << 20; /* CPACR: access to the unit for floats */
  __asm__ volatile("dsb\n\tisb");
#endif
  initialise_monitor_handles();
  exit(main(1, arguments));
}

/* A fault ends the run: QEMU's semihosting call SYS_EXIT, with a reason that is not ADP_Stopped_ApplicationExit. */
static void fault(void) { __asm__ volatile("mov r0, #0x18\n\tmovw r1, #0x23\n\tmovt r1, #2\n\tbkpt #0xab"); }

/* The initial stack pointer and the first four exceptions: reset, NMI, HardFault, MemManage. */
static const void* const vectors[] __attribute__((section(".vectors"), used)) = {
    stack_end, (void*)(uintptr_t)start, (void*)(uintptr_t)fault, (void*)(uintptr_t)fault, (void*)(uintptr_t)fault};
