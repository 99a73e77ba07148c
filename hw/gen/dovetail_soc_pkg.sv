// Generated from simulator/soc/memory_map.h by `dovetail soc map --format sv`. Do not edit.
package dovetail_soc_pkg;

  // What the processor sees: numbers, addresses and sizes of the windows.
  localparam int unsigned WINDOWS = 5;
  localparam int unsigned WINDOW_RAM = 0;  // program, constants and variables of the processor; as much of it as the design has
  localparam logic [31:0] RAM_BASE = 32'h00000000;
  localparam int unsigned RAM_LOG2 = 28;
  localparam int unsigned WINDOW_UART = 1;  // serial line: 8 data bits, no parity, 1 stop bit
  localparam logic [31:0] UART_BASE = 32'h10000000;
  localparam int unsigned UART_LOG2 = 12;
  localparam int unsigned WINDOW_SYSTEM = 2;  // timer, faults of the bus, size of the memory
  localparam logic [31:0] SYSTEM_BASE = 32'h10001000;
  localparam int unsigned SYSTEM_LOG2 = 12;
  localparam int unsigned WINDOW_ACCELERATOR = 3;  // registers of the accelerator
  localparam logic [31:0] ACCELERATOR_BASE = 32'h10002000;
  localparam int unsigned ACCELERATOR_LOG2 = 12;
  localparam int unsigned WINDOW_MEMORY = 4;  // the accelerator's memory; its address 0 is the first byte
  localparam logic [31:0] MEMORY_BASE = 32'h40000000;
  localparam int unsigned MEMORY_LOG2 = 30;

  // Offsets of registers.
  localparam logic [11:0] UART_DATA = 12'h000;  // write: sends the low 8 bits, an error if STATUS has no room; read: the last byte received, bit 8: it is new
  localparam logic [11:0] UART_STATUS = 12'h004;  // bit 0: room for a byte to send; bit 1: a byte was received
  localparam logic [11:0] UART_DIVIDER = 12'h008;  // 16 bits: cycles of a bit, less one; at least 3
  localparam logic [11:0] SYSTEM_TIME_LO = 12'h000;  // cycles since reset; reading it keeps the value of TIME_HI
  localparam logic [11:0] SYSTEM_TIME_HI = 12'h004;  // the upper 32 bits
  localparam logic [11:0] SYSTEM_COMPARE_LO = 12'h008;  // the timer's interrupt is high from this time on
  localparam logic [11:0] SYSTEM_COMPARE_HI = 12'h00c;  // the upper 32 bits
  localparam logic [11:0] SYSTEM_TIMER_ENABLE = 12'h010;  // bit 0: the timer's interrupt is enabled
  localparam logic [11:0] SYSTEM_FAULT = 12'h014;  // bit 0: an access of the processor was answered with an error, writing 1 clears it; bit 1: it was a write
  localparam logic [11:0] SYSTEM_FAULT_ADDRESS = 12'h018;  // its address: of several, the first
  localparam logic [11:0] SYSTEM_MEMORY_BYTES = 12'h01c;  // size of the accelerator's memory

  // Lines of the processor's interrupts.
  localparam int unsigned INTERRUPT_ACCELERATOR = 3;  // an event that its INTERRUPT_ENABLE names
  localparam int unsigned INTERRUPT_TIMER = 4;  // TIME has reached COMPARE
  localparam int unsigned INTERRUPT_FAULT = 5;  // bit 0 of FAULT

endpackage : dovetail_soc_pkg
