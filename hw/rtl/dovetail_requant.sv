// One lane of ALU_REQUANT (isa/semantics/requant.h). First cycle: sum times scale, exactly. Second
// cycle: shifted, rounded half to even, moved by the zero point and clamped. Operands are gated
// while disabled, so that neither gates nor a simulator do any work.
module dovetail_requant #(
  parameter bit HasInt8 = 1'b1  // result_8_o is used
) (
  input  logic        clk_i,
  input  logic        enable_i,
  input  logic [31:0] value_i,
  input  logic [31:0] bias_i,
  input  logic [31:0] scale_i,       // the bits of a binary32
  input  logic        enable_2_i,    // the second cycle
  input  logic [15:0] zero_point_i,  // used in the second cycle
  output logic [31:0] result_o,      // 0 except in the second cycle
  output logic [7:0]  result_8_o     // the same, clamped to int8
);
  logic [31:0] sum, magnitude;
  logic [23:0] mantissa;
  logic [55:0] product_q;
  logic [7:0]  exponent_q;
  logic        negative_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      product_q  <= {24'd0, magnitude} * {32'd0, mantissa};
      exponent_q <= scale_i[30:23];
      negative_q <= sum[31] ^ scale_i[31];
    end
  end
  always_comb begin
    sum       = '0;
    magnitude = '0;
    mantissa  = '0;
    if (enable_i) begin
      sum       = value_i + bias_i;
      magnitude = sum[31] ? 32'd0 - sum : sum;
      mantissa  = scale_i[30:23] == 8'd0 ? 24'd0 : {1'b1, scale_i[22:0]};
    end
  end

  // Wide enough for a magnitude below 2^33, rounded up, with its sign and any zero point.
  localparam int unsigned SumWidth = 35;

  // One right shift serves every exponent: the product starts 16 places to the left of the units
  // and of the guard bit below them, that is, multiplied by 2^16. Factors above 2^16 would saturate
  // every product but 0, as 2^16 does; shifts by more than 79 yield 0. The bits that are shifted
  // out below the guard form the sticky bit.
  logic [6:0]          right;
  logic [5:0]          dropped;
  logic [72:0]         shifted;
  logic                sticky, up, is_large, negative;
  logic [SumWidth:0]   total;
  logic [SumWidth-1:0] size;
  always_comb begin
    right    = '0;
    dropped  = '0;
    shifted  = '0;
    sticky   = 1'b0;
    up       = 1'b0;
    is_large = 1'b0;
    negative = 1'b0;
    size     = '0;
    total    = '0;
    result_o   = '0;
    result_8_o = '0;
    if (enable_2_i) begin
      right    = exponent_q >= 8'd166 ? 7'd0 :
                 exponent_q <= 8'd87  ? 7'd79 :
                                        7'(8'd166 - exponent_q);
      dropped  = exponent_q >= 8'd150 ? 6'd0 :
                 exponent_q <= 8'd87  ? 6'd63 :
                                        6'(8'd150 - exponent_q);
      shifted  = {product_q, 17'd0} >> right;
      sticky   = ({product_q, 1'b0} & ~({57{1'b1}} << dropped)) != '0;
      up       = shifted[0] & (sticky | shifted[1]);
      is_large = shifted[72:34] != '0;  // from 2^33 the result saturates with any zero point
      // Sign, rounding and zero point in one sum: -(size + up) is ~size + !up. The lowest bit is
      // for the carry.
      size     = {2'b00, shifted[33:1]};
      total    = {negative_q ? ~size : size, 1'b1} +
                 {SumWidth'($signed(zero_point_i)), negative_q ^ up};
      negative = is_large ? negative_q : total[SumWidth];
      if (is_large || (total[SumWidth:32] != '0 && total[SumWidth:32] != '1)) begin
        result_o = {negative, {31{!negative}}};
      end else begin
        result_o = total[32:1];
      end
      if (!HasInt8) begin
        result_8_o = '0;
      end else if (is_large || (total[SumWidth:8] != '0 && total[SumWidth:8] != '1)) begin
        result_8_o = {negative, {7{!negative}}};
      end else begin
        result_8_o = total[8:1];
      end
    end
  end
endmodule
