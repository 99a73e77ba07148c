// One lane of REQUANT (isa/semantics/requant.h): sum times scale, exactly, in the first cycle; shifted, rounded half to even, moved by the zero
// point and clamped in the second. Operands count only while enabled, so that neither gates nor a simulator work for nothing.
module dovetail_requant (
  input  logic        clk_i,
  input  logic        enable_i,
  input  logic [31:0] value_i,
  input  logic [31:0] bias_i,
  input  logic [31:0] scale_i,        // a binary32's bits
  input  logic        enable_2_i,     // the second cycle
  input  logic [15:0] zero_point_i,   // of the second cycle
  output logic [31:0] result_o        // 0 but in the second cycle
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

  // A place more than is kept, the guard; beyond 63 places nothing is left of 56 bits. What falls out behind it makes the sticky bit.
  logic [5:0]         right;
  logic [56:0]        with_guard;
  logic               sticky;
  logic [56:0]        rounded;
  logic [4:0]         left;
  logic [49:0]        size;
  logic signed [51:0] value;
  always_comb begin
    right      = '0;
    with_guard = '0;
    sticky     = 1'b0;
    rounded    = '0;
    left       = '0;
    size       = '0;
    value      = '0;
    result_o   = '0;
    if (enable_2_i) begin
      right      = exponent_q >= 8'd150 ? 6'd0 : exponent_q <= 8'd87 ? 6'd63 : 6'(8'd150 - exponent_q);
      with_guard = {product_q, 1'b0} >> right;
      sticky     = ({product_q, 1'b0} & ~({57{1'b1}} << right)) != '0;
      rounded    = {1'b0, with_guard[56:1]} + {56'd0, with_guard[0] & (sticky | with_guard[1])};
      // From 2^33 on the result saturates with any zero point; 16 places to the left saturate whatever is not 0.
      left       = exponent_q <= 8'd150 ? 5'd0 : exponent_q >= 8'd166 ? 5'd16 : 5'(exponent_q - 8'd150);
      size       = rounded[56:33] != '0 ? 50'd1 << 33 : 50'(rounded[32:0]);
      size       = size << left;
      value      = negative_q ? -$signed({2'b00, size}) : $signed({2'b00, size});
      value      = value + 52'($signed(zero_point_i));
      if (value > 52'sd2147483647) result_o = 32'h7fff_ffff;
      else if (value < -52'sd2147483648) result_o = 32'h8000_0000;
      else result_o = value[31:0];
    end
  end
endmodule
