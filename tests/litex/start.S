.section .text.start
.globl _start
# PicoRV32 as LiteX configures it: reset at 0, interrupts off until a firmware enables them.
_start:
  la sp, __stack_top
  call main
1: j 1b
