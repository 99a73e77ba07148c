// RECIP and RSQRT (isa/semantics/norm.h), a bit a cycle, for one batch row after the other. Lane 0
// of each row is read while acc_i has the destination, starting in the cycle after start_i. Cycles
// of a row, by the number of remaining cycles:
//
//   first   the operand is read
//   54..27  RSQRT: bits of the root, two places of x * 2^24 each
//   26      the divisor is shifted to the left, and the exponent follows
//   25..1   bits of the quotient of 2^56 - 1
//   0       the quotient is rounded into the row's result
//
// The last results are available in the cycle in which a step of kind alu_long is written.
module dovetail_recip import dovetail_isa_pkg::*; #(
  localparam int unsigned Batch = BATCH,
  localparam int unsigned RowBits = 32 * BLOCK_OUT
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     flush_i,
  input  logic                     start_i,
  input  logic                     rsqrt_i,
  input  logic [15:0]              exponent_i,
  input  logic [Batch*RowBits-1:0] acc_i,
  output logic                     last_o,   // the last cycle of the step in stage R
  output logic [Batch*32-1:0]      result_o  // one for each batch row
);
  localparam int unsigned RecipCycles = TIMING_RECIP_CYCLES_PER_ROW;
  localparam int unsigned RsqrtCycles = TIMING_RSQRT_CYCLES_PER_ROW;
  localparam int unsigned RowWidth = BATCH_LOG2 == 0 ? 1 : BATCH_LOG2;
  localparam logic [5:0] Place = 6'd26;

  logic                busy_q, rsqrt_q, zero_q;
  logic [5:0]          left_q;  // cycles of the row after this one
  logic [RowWidth-1:0] row_q;
  // The operand: for the root, its remaining bits; for the quotient, the divisor.
  logic [31:0]         value_q;
  logic [31:0]         remainder_q;
  logic [27:0]         digits_q;
  logic [15:0]         power_q;     // of two, the dividend
  logic [17:0]         exponent_q;  // of the result, less 1
  logic [Batch*32-1:0] result_q;

  logic                first, last_row;
  logic [RowWidth-1:0] row;
  assign first    = left_q == (rsqrt_q ? 6'(RsqrtCycles - 1) : 6'(RecipCycles - 1));
  assign row      = Batch == 1 ? '0 : row_q;
  assign last_row = row == RowWidth'(Batch - 1);
  assign last_o   = busy_q && last_row && left_q == 6'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (flush_i) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (last_row && left_q == '0) busy_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      rsqrt_q    <= rsqrt_i;
      power_q    <= exponent_i;
      left_q     <= rsqrt_i ? 6'(RsqrtCycles - 1) : 6'(RecipCycles - 1);
      row_q      <= '0;
    end else if (busy_q) begin
      left_q <= left_q - 1'b1;
      if (left_q == '0) begin
        left_q <= rsqrt_q ? 6'(RsqrtCycles - 1) : 6'(RecipCycles - 1);
        row_q  <= row_q + 1'b1;
      end
    end
  end

  // ---- Place of the divisor ---------------------------------------------------------------------
  logic [31:0] divisor, shifted;
  logic [4:0]  zeros;
  always_comb begin
    divisor = rsqrt_q ? {4'd0, digits_q} : value_q;
    shifted = '0;
    zeros   = '0;
    if (busy_q && left_q == Place) begin
      shifted = divisor;
      for (int unsigned power = 5; power > 0; power--) begin
        if ((shifted >> (32 - (1 << (power - 1)))) == '0) begin
          shifted        = shifted << (1 << (power - 1));
          zeros[power-1] = 1'b1;
        end
      end
    end
  end

  // ---- A bit of the root or the quotient --------------------------------------------------------
  logic        of_root, bit_is_1;
  logic [32:0] minuend, subtrahend, difference;
  assign of_root = left_q > Place;
  always_comb begin
    minuend     = of_root ? {1'b0, remainder_q[29:0], value_q[31:30]} : {remainder_q, 1'b1};
    subtrahend = of_root ? {3'd0, digits_q, 2'b01} : {1'b0, value_q};
    difference = minuend - subtrahend;  // less than 2^32 either way
    bit_is_1   = !difference[32];
  end
  always_ff @(posedge clk_i) begin
    if (busy_q) begin
      if (first) begin
        value_q     <= acc_i[row*RowBits+:32];
        remainder_q <= '0;
        digits_q    <= '0;
      end else if (left_q == Place) begin
        value_q     <= shifted;
        zero_q      <= divisor == '0;
        remainder_q <= 32'h7fffffff;  // the dividend's bits above those of the quotient
        exponent_q  <= {{2{power_q[15]}}, power_q} + 18'(zeros) + (rsqrt_q ? 18'd106 : 18'd94);
      end else if (left_q != '0) begin
        remainder_q <= bit_is_1 ? difference[31:0] : minuend[31:0];
        digits_q    <= {digits_q[26:0], bit_is_1};
        if (of_root) value_q <= {value_q[29:0], 2'b00};
      end
    end
  end

  // ---- Rounding ---------------------------------------------------------------------------------
  // A mantissa begins with 2^23, and thus adds 1 to the exponent. Exponents below 1 and above 255.
  logic [40:0] sum;
  logic        below, above;
  assign sum   = {exponent_q, 23'd0} + 41'(digits_q[24:1]) + 41'(digits_q[0]);
  assign below = sum[40] || sum[40:23] == '0;
  assign above = sum[40:31] != '0;
  always_ff @(posedge clk_i) begin
    if (busy_q && left_q == '0) begin
      result_q[row*32+:32] <= zero_q || below ? 32'd0 : above ? 32'h7fffffff : sum[31:0];
    end
  end
  assign result_o = result_q;
endmodule
