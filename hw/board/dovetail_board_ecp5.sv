// The board's top for Lattice ECP5: a PLL makes the clock of the accelerator from the oscillator.
// The PLL (Lattice FPGA-TN-02200) runs at oscillator / ClkiDiv * ClkfbDiv * ClkopDiv, which must be
// 400 to 800 MHz, and gives a ClkopDiv-th of that.
module dovetail_board_ecp5 #(
  parameter int unsigned ClkiDiv = 1,
  parameter int unsigned ClkfbDiv = 2,
  parameter int unsigned ClkopDiv = 12,
  parameter int unsigned RamBytes = 131072,
  parameter logic [15:0] UartDivider = 16'd433
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       uart_rx_i,
  output logic       uart_tx_o,
  output logic [7:0] led_o
);
  logic clk, locked;

  // The attributes set the charge pump and the loop filter, which Lattice gives for these ranges.
  (* ICP_CURRENT="12" *) (* LPF_RESISTOR="8" *)
  (* MFG_ENABLE_FILTEROPAMP="1" *) (* MFG_GMCREF_SEL="2" *)
  EHXPLLL #(
    .PLLRST_ENA     ("DISABLED"),
    .INTFB_WAKE     ("DISABLED"),
    .STDBY_ENABLE   ("DISABLED"),
    .DPHASE_SOURCE  ("DISABLED"),
    .OUTDIVIDER_MUXA("DIVA"),
    .OUTDIVIDER_MUXB("DIVB"),
    .OUTDIVIDER_MUXC("DIVC"),
    .OUTDIVIDER_MUXD("DIVD"),
    .CLKI_DIV       (ClkiDiv),
    .CLKOP_ENABLE   ("ENABLED"),
    .CLKOP_DIV      (ClkopDiv),
    .CLKOP_CPHASE   (ClkopDiv / 2 - 1),
    .CLKOP_FPHASE   (0),
    .FEEDBK_PATH    ("CLKOP"),
    .CLKFB_DIV      (ClkfbDiv)
  ) u_pll (
    .RST         (1'b0),
    .STDBY       (1'b0),
    .CLKI        (clk_i),
    .CLKOP       (clk),
    .CLKFB       (clk),
    .CLKINTFB    (),
    .PHASESEL0   (1'b0),
    .PHASESEL1   (1'b0),
    .PHASEDIR    (1'b1),
    .PHASESTEP   (1'b1),
    .PHASELOADREG(1'b1),
    .PLLWAKESYNC (1'b0),
    .ENCLKOP     (1'b0),
    .LOCK        (locked)
  );

  dovetail_board #(
    .RamBytes   (RamBytes),
    .UartDivider(UartDivider)
  ) u_board (
    .clk_i    (clk),
    .rst_ni   (rst_ni && locked),
    .uart_rx_i,
    .uart_tx_o,
    .led_o
  );
endmodule
