// The interface between the kit and a Verilated model: plain C, because a model is a separate shared object, built for
// one configuration and loaded at run time. hw/tb/dovetail_model.cpp implements it.
#pragma once

#include <stdint.h>

#define DOVETAIL_RTL_API_VERSION 12u

extern "C" {

// The functions through which the test bench accesses memory and reports events. `context` is always the first
// argument.
typedef struct {
  void* context;
  // simulator::Memory::accept; direction 0 read, 1 write. Returns whether it is accepted.
  int (*accept)(void* context, uint64_t cycle, int direction, uint64_t address, uint32_t beats, uint64_t* answer);
  // One beat of `bus_bytes`, at a multiple of it; `of_fetch`: requested by the unit that fetches instructions. Returns
  // the AXI response: 0 OKAY, 2 SLVERR, 3 DECERR.
  int (*read)(void* context, uint64_t address, int of_fetch, uint8_t* beat);
  int (*write)(void* context, uint64_t address, const uint8_t* beat,
               const uint8_t* strobes);  // bit i of the strobes: byte i is written
  // kind: 0 issue, 1 start, 2 end; unit: isa::Queue; cause: StallCause, for a start.
  void (*event)(void* context, int kind, int unit, uint32_t instruction, uint64_t cycle, int cause);
  // The activity of the memory port in each cycle of the launch, after accept(): bits as named in
  // simulator/rtl/port_watch.h. `moved`: for each unit (isa::Queue), the instruction whose data it transfers. Not
  // called with a slave.
  void (*port)(void* context, uint64_t cycle, uint32_t signals, const uint32_t moved[3]);
  // Called every DOVETAIL_RTL_POLL_CYCLES cycles of a launch. False ends it at once.
  int (*goes_on)(void* context);
} dovetail_rtl_host;

enum { DOVETAIL_RTL_POLL_CYCLES = 4096 };

// When a slave may accept an address and its data: the dependencies that AXI4 allows.
enum {
  DOVETAIL_RTL_ADDRESS_FIRST = 0,  // no data before its address
  DOVETAIL_RTL_DATA_FIRST = 1,     // no address before all its data
  DOVETAIL_RTL_DATA_OFFERED = 2,   // no address before data is offered, no data before its address
  DOVETAIL_RTL_TOGETHER = 3,       // the address with the first beat
  DOVETAIL_RTL_ANY_ORDER = 4
};

// A slave at the memory port with randomized times: back-pressure on every channel, gaps within bursts.
typedef struct {
  uint64_t seed;
  uint32_t write_order;
  uint32_t ready_percent;      // share of cycles, among those in which it may be ready, in which it is
  uint32_t valid_percent;      // likewise for what it has to send
  uint32_t most_read_latency;  // cycles from acceptance to the first beat, beyond 1: 0 to this
  uint32_t most_response_latency;
} dovetail_rtl_slave;

typedef struct {
  uint64_t program_base;
  uint64_t offset;  // the register OFFSET, if the design has it; otherwise 0
  uint32_t begin, count;
  uint32_t address_to_data;  // docs/reference/timing.md, section 5: cycles from an address to its first beat of data
  const dovetail_rtl_slave* slave;  // not null: replaces accept(), to compare values
} dovetail_rtl_launch;

enum {
  DOVETAIL_RTL_DONE = 0,
  DOVETAIL_RTL_ERROR = 1,
  DOVETAIL_RTL_DEADLOCK = 2,
  DOVETAIL_RTL_ASSERTION = 3,
  DOVETAIL_RTL_STOPPED = 4  // by goes_on(); the design is as after power-up except for its memories
};

// Cycles in which an enable of the design was high (docs/reference/events.md).
typedef struct {
  uint64_t sram_reads[6], sram_writes[6];  // uop, wgt, inp, acc, out, tab
  // By unit, isa::Queue; 3: fetch.
  uint64_t beats[4], bursts[4], buffer_reads[4], buffer_writes[4];
  uint64_t gemm_steps, gemm_resets, window_steps, window_pushes;
  uint64_t epilogue_steps, epilogue_parameters, epilogue_lookups;
  uint64_t alu_steps[16];  // by isa::AluOp
} dovetail_rtl_events;

typedef struct {
  int outcome;
  uint64_t cycles;
  uint32_t error_code, error_instruction;  // DOVETAIL_RTL_ERROR: values of the registers
  uint64_t classes[3][8];                  // cycles by isa::Queue and UnitClass
  dovetail_rtl_events events;
  char assertion[256];  // DOVETAIL_RTL_ASSERTION: its message; the model can then only be destroyed
} dovetail_rtl_result;

typedef struct {
  uint32_t version;  // DOVETAIL_RTL_API_VERSION
  // The seed determines the initial contents of registers without reset and of SRAM. `assertions`: whether the model
  // checks the design's assertions. Null: one of them failed during reset.
  void* (*create)(uint64_t power_up_seed, int assertions);
  void (*destroy)(void* model);
  void (*launch)(void* model, const dovetail_rtl_host* host, const dovetail_rtl_launch* launch,
                 dovetail_rtl_result* result);
  // From now on a write to CONTROL begins a launch on the memory of the host, which outlives the model. `launch`: only
  // address_to_data and slave are used. Until the launch has ended, cycles of the functions below are its cycles.
  void (*attach)(void* model, const dovetail_rtl_host* host, const dovetail_rtl_launch* launch);
  // Continues the launch by at most so many cycles. Returns 1 while it runs, 0, or -1: an assertion of the design
  // failed, and the model can only be destroyed.
  int (*advance)(void* model, uint64_t cycles);
  // An element of the memory (isa::Memory: uop, wgt, inp, acc), in its SRAM layout.
  void (*read_sram)(void* model, int memory, uint64_t index, uint8_t* element);
  // Return the AXI response, or -1: an assertion of the design failed, and the model can only be destroyed.
  int (*read_register)(void* model, uint32_t offset, uint32_t* value);
  int (*write_register)(void* model, uint32_t offset, uint32_t value,
                        int strobes);  // bit i of the strobes: byte i is written
  int (*interrupt)(void* model);       // the current level of the line
  // Writes the waveform of everything from now on. False: the model was built without waveforms.
  int (*open_waves)(void* model, const char* path);
} dovetail_rtl_api;

// The only exported symbol of a model.
typedef const dovetail_rtl_api* (*dovetail_rtl_entry)(void);
#define DOVETAIL_RTL_ENTRY "dovetail_rtl_model"
}
