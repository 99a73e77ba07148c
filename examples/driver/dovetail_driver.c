#include "dovetail_driver.h"

#include "dovetail_isa.h"

#define FIELD(value, name) (((value) & DOVETAIL_REG_##name##_MASK) >> DOVETAIL_REG_##name##_SHIFT)

static uint32_t get(const struct dovetail_device* device, uint32_t offset) {
  return device->read(device->context, offset);
}

static void set(const struct dovetail_device* device, uint32_t offset, uint32_t value) {
  device->write(device->context, offset, value);
}

int dovetail_probe(const struct dovetail_device* device, uint32_t config) {
  if (get(device, DOVETAIL_REG_ID) != DOVETAIL_REG_ID_RESET) return DOVETAIL_NO_DEVICE;
  if (FIELD(get(device, DOVETAIL_REG_VERSION), VERSION_MAJOR) != FIELD(DOVETAIL_REG_VERSION_RESET, VERSION_MAJOR))
    return DOVETAIL_OTHER_VERSION;
  return get(device, DOVETAIL_REG_CONFIG) == config ? DOVETAIL_OK : DOVETAIL_OTHER_CONFIG;
}

void dovetail_set_offset(const struct dovetail_device* device, uint64_t offset) {
  set(device, DOVETAIL_REG_OFFSET_LO, (uint32_t)offset);
  set(device, DOVETAIL_REG_OFFSET_HI, (uint32_t)(offset >> 32));
}

int dovetail_start(const struct dovetail_device* device, uint64_t program_base, struct dovetail_launch launch) {
  if (FIELD(get(device, DOVETAIL_REG_STATUS), STATUS_BUSY)) return DOVETAIL_BUSY;
  set(device, DOVETAIL_REG_PROGRAM_BASE_LO, (uint32_t)program_base);
  set(device, DOVETAIL_REG_PROGRAM_BASE_HI, (uint32_t)(program_base >> 32));
  set(device, DOVETAIL_REG_INSTRUCTION_BEGIN, launch.begin);
  set(device, DOVETAIL_REG_INSTRUCTION_COUNT, launch.count);
  /* Clear events of earlier launches, so that the interrupt belongs to this one. */
  set(device, DOVETAIL_REG_INTERRUPT_STATUS,
      DOVETAIL_REG_INTERRUPT_STATUS_DONE_MASK | DOVETAIL_REG_INTERRUPT_STATUS_ERROR_MASK);
  set(device, DOVETAIL_REG_INTERRUPT_ENABLE,
      DOVETAIL_REG_INTERRUPT_ENABLE_DONE_MASK | DOVETAIL_REG_INTERRUPT_ENABLE_ERROR_MASK);
  set(device, DOVETAIL_REG_CONTROL, DOVETAIL_REG_CONTROL_START_MASK);
  return DOVETAIL_OK;
}

int dovetail_wait(const struct dovetail_device* device, uint64_t looks, struct dovetail_error* error) {
  uint64_t look;
  for (look = 0; looks == 0 || look < looks; ++look) {
    const uint32_t status = get(device, DOVETAIL_REG_STATUS);
    if (FIELD(status, STATUS_DONE)) return DOVETAIL_OK;
    if (FIELD(status, STATUS_ERROR)) {
      if (error) {
        error->code = FIELD(status, STATUS_ERROR_CODE);
        error->instruction = get(device, DOVETAIL_REG_ERROR_INSTRUCTION);
      }
      return DOVETAIL_LAUNCH_FAILED;
    }
    if (device->pause) device->pause(device->context);
  }
  return DOVETAIL_TIMED_OUT;
}

int dovetail_run(const struct dovetail_device* device, uint64_t program_base, const struct dovetail_launch* launches,
                 uint32_t count, uint64_t looks, struct dovetail_error* error) {
  uint32_t i;
  for (i = 0; i < count; ++i) {
    int result = dovetail_start(device, program_base, launches[i]);
    if (result == DOVETAIL_OK) result = dovetail_wait(device, looks, error);
    if (result != DOVETAIL_OK) return result;
  }
  return DOVETAIL_OK;
}

uint64_t dovetail_cycles(const struct dovetail_device* device) {
  const uint64_t low = get(device, DOVETAIL_REG_CYCLES_LO);
  return low | (uint64_t)get(device, DOVETAIL_REG_CYCLES_HI) << 32;
}
