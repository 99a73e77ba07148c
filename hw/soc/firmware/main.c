/* Runs a model once, and reports over the serial line: steps, launches, outputs. `dovetail soc run` reads it. */
#include "dovetail_machine.h"
#include "soc.h"

void soc_print_step(const char* name, int result) {
  soc_print("step ");
  soc_print(name);
  soc_print(result < 0 ? " -" : " ");
  soc_print_number((uint64_t)(result < 0 ? -(int64_t)result : result));
  soc_print(" ");
  soc_print_number(soc_time());
  soc_print("\n");
}

int main(void) {
  struct dovetail_machine* machine;
  int result;
  uint32_t i;
  machine = soc_machine();
  result = soc_run_model(machine);
  if (result == DOVETAIL_LAUNCH_FAILED) {
    soc_print("error ");
    soc_print_number(machine->error.code);
    soc_print(" ");
    soc_print_number(machine->error.instruction);
    soc_print("\n");
  }
  for (i = 0; i < soc_launch_count && i < SOC_MOST_LAUNCHES; ++i) {
    soc_print("launch ");
    soc_print_number(soc_launches[i].begin);
    soc_print(" ");
    soc_print_number(soc_launches[i].count);
    soc_print(" ");
    soc_print_number(soc_launches[i].cycles);
    soc_print("\n");
  }
  soc_print("interrupts ");
  soc_print_number(soc_interrupt_count);
  soc_print("\n");
  soc_end(result);
  return 0;
}
