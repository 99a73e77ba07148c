// The interface between the kit and a Verilated system on chip: plain C, as simulator/rtl/model_api.h.
// hw/soc/tb/dovetail_soc_model.cpp implements it.
#pragma once

#include <stdint.h>

#include "simulator/rtl/model_api.h"

#define DOVETAIL_SOC_API_VERSION 2u

extern "C" {

typedef struct {
  // accept, read, write and goes_on are used. Cycles are those since the last launch began.
  dovetail_rtl_host memory;
  // The accelerator's next launch begins in this cycle: cycle 0 of the memory.
  void (*launch)(void* context);
  // A byte came over the serial line.
  void (*serial)(void* context, int byte);
  // Firmware asked for a byte over the serial line: the one that it is sent.
  int (*input)(void* context);
} dovetail_soc_host;

enum {
  DOVETAIL_SOC_ENDED = 0,      // by the byte that ends a run
  DOVETAIL_SOC_LIMIT = 1,      // the cycles have passed
  DOVETAIL_SOC_TRAP = 2,       // the processor stopped
  DOVETAIL_SOC_ASSERTION = 3,  // its message is in the result; the model can then only be destroyed
  DOVETAIL_SOC_STOPPED = 4     // by goes_on()
};

typedef struct {
  uint32_t bit_cycles;       // of the serial line
  int end_of_run;            // the byte
  int ask_for_input;         // likewise
  uint64_t limit;            // cycles
  uint32_t address_to_data;  // as of dovetail_rtl_launch
  uint32_t memory_bytes;     // what the design reports to firmware
} dovetail_soc_run;

typedef struct {
  int outcome;
  uint64_t cycles, waiting;  // since reset; of these, those in which the processor waited for an interrupt
  char assertion[256];
} dovetail_soc_result;

typedef struct {
  uint32_t version;  // DOVETAIL_SOC_API_VERSION
  // Null: an assertion failed during reset.
  void* (*create)(uint64_t power_up_seed, int assertions);
  void (*destroy)(void* model);
  // Fills RAM from its first byte on; the rest keeps its contents of power-up. Returns the bytes that RAM has.
  uint64_t (*load)(void* model, const uint8_t* bytes, uint64_t count);
  // From reset to the end of the run.
  void (*run)(void* model, const dovetail_soc_host* host, const dovetail_soc_run* what, dovetail_soc_result* result);
  // Writes the waveform of everything from now on. False: the model was built without waveforms.
  int (*open_waves)(void* model, const char* path);
} dovetail_soc_api;

// The only exported symbol of a model.
typedef const dovetail_soc_api* (*dovetail_soc_entry)(void);
#define DOVETAIL_SOC_ENTRY "dovetail_soc_model"
}
