// One lane of ALU_REQUANT (isa/semantics/requant.h), in three cycles and a register: sum times
// scale, exactly; shifted, with the bit that rounding adds; moved by the zero point and clamped.
// Rounding half to even does not depend on the sign, so the product has that of the sum, and the
// result that of the scale. Operands are gated while disabled, so that neither gates nor a
// simulator do any work.
module dovetail_requant #(
  parameter bit HasInt8 = 1'b1  // result_8_o is used
) (
  input  logic        clk_i,
  input  logic        enable_i,
  input  logic [31:0] value_i,
  input  logic [31:0] bias_i,
  input  logic [31:0] scale_i,       // the bits of a binary32
  input  logic        enable_2_i,    // the second cycle
  input  logic        enable_3_i,    // the third cycle
  input  logic [15:0] zero_point_i,  // used in the third cycle
  output logic [31:0] result_o,      // from the cycle after the third on
  output logic [7:0]  result_8_o     // the same, clamped to int8
);
  // ---- First cycle ------------------------------------------------------------------------------
  // One right shift serves every exponent: the product starts 16 places to the left of the units
  // and of the guard bit below them, that is, multiplied by 2^16. Factors above 2^16 would saturate
  // every product but 0, as 2^16 does; shifts by more than 79 yield 0. The bits that are shifted
  // out below the guard form the sticky bit.
  logic signed [31:0] sum;
  logic signed [24:0] mantissa;
  logic signed [56:0] product_q;
  logic [7:0]         exponent;
  logic [6:0]         right, right_q;
  logic [5:0]         dropped, dropped_q;
  logic               negative_q;  // the scale is

  always_comb begin
    sum      = value_i + bias_i;
    exponent = scale_i[30:23];
    mantissa = exponent == 8'd0 ? 25'd0 : {2'b01, scale_i[22:0]};
    right    = exponent >= 8'd166 ? 7'd0 :
               exponent <= 8'd87  ? 7'd79 :
                                    7'(8'd166 - exponent);
    dropped  = exponent >= 8'd150 ? 6'd0 :
               exponent <= 8'd87  ? 6'd63 :
                                    6'(8'd150 - exponent);
  end
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      product_q  <= sum * mantissa;
      right_q    <= right;
      dropped_q  <= dropped;
      negative_q <= scale_i[31];
    end
  end

  // ---- Second cycle -----------------------------------------------------------------------------
  // Wide enough for a number from -2^33 to 2^33, rounded up, with its sign and any zero point.
  localparam int unsigned SumWidth = 35;
  logic signed [73:0]  shifted;
  logic                sticky, up, is_large;
  logic [SumWidth-1:0] size_q;
  logic                add_q, is_large_q, is_below_q;
  always_comb begin
    shifted  = '0;
    sticky   = 1'b0;
    up       = 1'b0;
    is_large = 1'b0;
    if (enable_2_i) begin
      shifted  = $signed({product_q, 17'd0}) >>> right_q;
      sticky   = ({product_q, 1'b0} & ~({58{1'b1}} << dropped_q)) != '0;
      up       = shifted[0] & (sticky | shifted[1]);
      // Beyond 2^33 the result saturates with any zero point.
      is_large = shifted[73:34] != '0 && shifted[73:34] != '1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (enable_2_i) begin
      // Sign and rounding for one sum: -(number + up) is ~number + !up.
      size_q     <= negative_q ? ~shifted[SumWidth:1] : shifted[SumWidth:1];
      add_q      <= negative_q ^ up;
      is_large_q <= is_large;
      is_below_q <= negative_q ^ shifted[73];
    end
  end

  // ---- Third cycle ------------------------------------------------------------------------------
  logic [SumWidth-1:0] total;
  logic                negative;
  logic [31:0]         result_q;
  logic [7:0]          result_8_q;
  assign total    = size_q + SumWidth'($signed(zero_point_i)) + SumWidth'(add_q);
  assign negative = is_large_q ? is_below_q : total[SumWidth-1];
  always_ff @(posedge clk_i) begin
    if (enable_3_i) begin
      result_q <= is_large_q || (total[SumWidth-1:31] != '0 && total[SumWidth-1:31] != '1) ?
                      {negative, {31{!negative}}} : total[31:0];
      if (!HasInt8) result_8_q <= '0;
      else if (is_large_q || (total[SumWidth-1:7] != '0 && total[SumWidth-1:7] != '1))
        result_8_q <= {negative, {7{!negative}}};
      else result_8_q <= total[7:0];
    end
  end
  assign result_o   = result_q;
  assign result_8_o = result_8_q;
endmodule
