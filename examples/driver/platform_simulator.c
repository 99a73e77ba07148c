/* platform.h on a simulated machine of Dovetail's library: `cc ... $(pkg-config --cflags --libs dovetail)`. The engine is
 * that of the environment variable DOVETAIL_ENGINE: functional (default), cycle or rtl. */
#include <dovetail.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform.h"

struct simulated;
struct accelerator {
  struct simulated* machine;
  uint32_t number;
};
struct simulated {
  struct dovetail_machine driven; /* the first member: platform_close gets a pointer to it */
  dvt_machine* machine;
  struct accelerator* contexts;
  struct dovetail_device* devices;
};

static void print(dvt_status* status) {
  if (status) fprintf(stderr, "%s\n", dvt_status_text(status));
  dvt_status_free(status);
}

static uint32_t read_register(void* context, uint32_t offset) {
  const struct accelerator* const accelerator = context;
  uint32_t value = 0;
  print(dvt_machine_read(accelerator->machine->machine, accelerator->number, offset, &value));
  return value;
}

static void write_register(void* context, uint32_t offset, uint32_t value) {
  const struct accelerator* const accelerator = context;
  print(dvt_machine_write(accelerator->machine->machine, accelerator->number, offset, value));
}

struct dovetail_machine* platform_open(const char* hardware, uint64_t base, uint64_t bytes) {
  struct simulated* const simulated = calloc(1, sizeof *simulated);
  dvt_session_options options = {0};
  dvt_status* status;
  uint32_t i, count;
  if (!simulated) return NULL;
  options.struct_size = sizeof options;
  options.engine = getenv("DOVETAIL_ENGINE");
  status = dvt_machine_create(hardware, &options, base, bytes, &simulated->machine);
  count = dvt_machine_accelerators(simulated->machine);
  simulated->contexts = calloc(count + 1, sizeof *simulated->contexts);
  simulated->devices = calloc(count + 1, sizeof *simulated->devices);
  if (status || !simulated->contexts || !simulated->devices) {
    print(status);
    platform_close(&simulated->driven);
    return NULL;
  }
  for (i = 0; i < count; ++i) {
    simulated->contexts[i].machine = simulated;
    simulated->contexts[i].number = i;
    simulated->devices[i].context = &simulated->contexts[i];
    simulated->devices[i].read = read_register;
    simulated->devices[i].write = write_register;
  }
  simulated->driven.accelerators = simulated->devices;
  simulated->driven.count = count;
  simulated->driven.base = base;
  simulated->driven.bytes = bytes;
  simulated->driven.memory = dvt_machine_memory(simulated->machine);
  return &simulated->driven;
}

void platform_close(struct dovetail_machine* machine) {
  struct simulated* const simulated = (struct simulated*)machine;
  if (!simulated) return;
  dvt_machine_free(simulated->machine);
  free(simulated->contexts);
  free(simulated->devices);
  free(simulated);
}
