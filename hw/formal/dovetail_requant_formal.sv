// Proof that a lane of REQUANT computes its formula, clamp_int32(round_half_even((acc + bias) * s)
// + zero_point), for all operands. The proof is cut at the multiplier: its operands, and the use of
// its result, are proven here; the multiplication itself is assumed correct.
//
// CutProduct replaces the multiplier by an arbitrary possible product, so that the second half is
// proven for all products without analyzing the multiplier.
module dovetail_requant_formal #(
  parameter bit CutProduct = 1'b0
) (
  input logic        clk_i,
  input logic        enable_i,
  input logic [31:0] value_i,
  input logic [31:0] bias_i,
  input logic [31:0] scale_i,
  input logic        enable_2_i,
  input logic        enable_3_i,
  input logic [15:0] zero_point_i
);
  logic [31:0] result;
  dovetail_requant u_requant (
    .clk_i,
    .enable_i,
    .value_i,
    .bias_i,
    .scale_i,
    .enable_2_i,
    .enable_3_i,
    .zero_point_i,
    .result_o(result)
  );
  (* hierconn *) logic [31:0] \u_requant.sum ;
  (* hierconn *) logic [24:0] \u_requant.mantissa ;
  (* hierconn *) logic [56:0] \u_requant.product_q ;
  (* hierconn *) logic [6:0]  \u_requant.right_q ;
  (* hierconn *) logic [5:0]  \u_requant.dropped_q ;
  (* hierconn *) logic        \u_requant.negative_q ;

  // ---- Operands of the multiplier, and the registers that keep them -----------------------------
  logic signed [31:0] sum;
  logic [7:0]         exponent;
  logic signed [31:0] factor;
  logic signed [24:0] mantissa;
  logic signed [56:0] product;
  assign sum      = value_i + bias_i;
  assign exponent = scale_i[30:23];
  assign factor   = \u_requant.sum ;
  assign mantissa = \u_requant.mantissa ;
  assign product  = factor * mantissa;

  // Without a reset, registers have arbitrary values until operands arrive.
  logic               first = 1'b0;
  logic               negative_q;
  logic signed [56:0] kept_q;
  logic [7:0]         exponent_q;
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      first      <= 1'b1;
      negative_q <= scale_i[31];
      kept_q     <= product;
      exponent_q <= exponent;
    end
  end
  always_comb begin
    if (enable_i) begin
      assert (\u_requant.sum == sum);
      assert (\u_requant.mantissa ==
              (exponent == 8'd0 ? 25'd0 : 25'h800000 + {2'b00, scale_i[22:0]}));
    end
    if (first) begin
      assert (\u_requant.negative_q == negative_q && \u_requant.product_q == kept_q);
      // Places of the shifter, by the exponent.
      assert (32'(\u_requant.right_q ) == (exponent_q > 8'd166 ? 32'd0 :
                                           exponent_q < 8'd87  ? 32'd79 : 32'd166 - exponent_q));
      assert (32'(\u_requant.dropped_q ) == (exponent_q > 8'd150 ? 32'd0 :
                                             exponent_q < 8'd87  ? 32'd63 : 32'd150 - exponent_q));
    end
  end

  // ---- From the product to the result -----------------------------------------------------------
  // The scale is m * 2^(e - 150): as a fixed-point number with 150 binary places, the product is
  // the product of the integers, shifted left by e places.
  logic                opposite;  // of the sign of the result
  logic [55:0]         magnitude;
  logic [310:0]        scaled;
  logic [160:0]        whole;
  logic [149:0]        rest;
  logic                up;
  logic [31:0]         formula;
  logic signed [163:0] total;
  assign opposite  = negative_q != kept_q[56];
  assign magnitude = 56'(kept_q[56] ? -kept_q : kept_q);
  assign scaled    = {255'd0, magnitude} << exponent_q;
  assign whole  = scaled[310:150];
  assign rest   = scaled[149:0];
  assign up     = rest > {1'b1, 149'd0} || (rest == {1'b1, 149'd0} && whole[0]);
  always_comb begin
    total   = {3'd0, whole} + {163'd0, up};
    total   = (opposite ? -total : total) + $signed({{148{zero_point_i[15]}}, zero_point_i});
    formula = total[31:0];
    if (total > 164'sd2147483647) formula = 32'h7fffffff;
    else if (total < -164'sd2147483648) formula = 32'h80000000;
  end
  // The operands stay for the two cycles after them, then the result is there.
  logic        second_q = 1'b0, third_q = 1'b0;
  logic [31:0] formula_q;
  always_ff @(posedge clk_i) begin
    second_q  <= first && enable_2_i && !enable_i;
    third_q   <= second_q && enable_3_i;
    formula_q <= formula;
  end
  // A product other than 0 is at least the smallest mantissa, and at most 2^31 times the largest.
  always_comb begin
    if (CutProduct) begin
      assume (product == '0 || product >= 57'sh800000 || product <= -57'sh800000);
      assume (product != {1'b1, 56'd0});
      if (first) begin
        assert (kept_q == '0 || kept_q >= 57'sh800000 || kept_q <= -57'sh800000);
        assert (kept_q != {1'b1, 56'd0});
      end
      if (third_q) assert (result == formula_q);
    end
  end

  always_ff @(posedge clk_i) begin
    cover (third_q && up && result == 32'hffffff00);
    cover (third_q && result == 32'h80000000);
  end
endmodule
