/* Start and interrupts of PicoRV32. Its own instructions are written as numbers of their fields: opcode 0x0b, funct7. */
  .section .start, "ax"
  .globl _start
  .option norelax
_start:
  j reset

/* PROGADDR_IRQ. The handler may use all registers; q0 has the address to return to. */
  .org 0x10
interrupted:
  addi sp, sp, -80
  sw ra, 0(sp)
  sw t0, 4(sp)
  sw t1, 8(sp)
  sw t2, 12(sp)
  sw a0, 16(sp)
  sw a1, 20(sp)
  sw a2, 24(sp)
  sw a3, 28(sp)
  sw a4, 32(sp)
  sw a5, 36(sp)
  sw a6, 40(sp)
  sw a7, 44(sp)
  sw t3, 48(sp)
  sw t4, 52(sp)
  sw t5, 56(sp)
  sw t6, 60(sp)
  .insn r 0x0b, 0, 0, a0, x1, x0 /* getq a0, q1: the lines that are pending */
  .insn r 0x0b, 0, 0, a1, x0, x0 /* getq a1, q0 */
  call soc_interrupt
  lw ra, 0(sp)
  lw t0, 4(sp)
  lw t1, 8(sp)
  lw t2, 12(sp)
  lw a0, 16(sp)
  lw a1, 20(sp)
  lw a2, 24(sp)
  lw a3, 28(sp)
  lw a4, 32(sp)
  lw a5, 36(sp)
  lw a6, 40(sp)
  lw a7, 44(sp)
  lw t3, 48(sp)
  lw t4, 52(sp)
  lw t5, 56(sp)
  lw t6, 60(sp)
  addi sp, sp, 80
  .insn r 0x0b, 0, 2, x0, x0, x0 /* retirq */

reset:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, __stack_top
  la a0, __bss_begin
  la a1, __bss_end
1:
  bgeu a0, a1, 2f
  sw x0, 0(a0)
  addi a0, a0, 4
  j 1b
2:
  call soc_serial_begin
  call main
  call soc_end /* with the result of main */
