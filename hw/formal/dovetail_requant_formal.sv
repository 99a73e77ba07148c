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
    .zero_point_i,
    .result_o(result)
  );
  (* hierconn *) logic [31:0] \u_requant.magnitude ;
  (* hierconn *) logic [23:0] \u_requant.mantissa ;
  (* hierconn *) logic [55:0] \u_requant.product_q ;
  (* hierconn *) logic [7:0]  \u_requant.exponent_q ;
  (* hierconn *) logic        \u_requant.negative_q ;

  // ---- Operands of the multiplier, and the registers that keep them -----------------------------
  logic signed [31:0] sum;
  logic [7:0]         exponent;
  logic [55:0]        product;
  assign sum      = value_i + bias_i;
  assign exponent = scale_i[30:23];
  assign product  = {24'd0, \u_requant.magnitude } * {32'd0, \u_requant.mantissa };

  // Without a reset, registers have arbitrary values until operands arrive.
  logic        first = 1'b0;
  logic        negative_q;
  logic [55:0] kept_q;
  logic [7:0]  exponent_q;
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      first      <= 1'b1;
      negative_q <= (sum < 0) != scale_i[31];
      kept_q     <= product;
      exponent_q <= exponent;
    end
  end
  always_comb begin
    if (enable_i) begin
      assert (\u_requant.magnitude == (sum < 0 ? 32'd0 - sum : sum));
      assert (\u_requant.mantissa ==
              (exponent == 8'd0 ? 24'd0 : 24'h800000 + {1'b0, scale_i[22:0]}));
    end
    if (first) begin
      assert (\u_requant.negative_q == negative_q && \u_requant.product_q == kept_q);
      assert (\u_requant.exponent_q == exponent_q);
    end
  end

  // ---- From the product to the result -----------------------------------------------------------
  // The scale is m * 2^(e - 150): as a fixed-point number with 150 binary places, the product is
  // the product of the integers, shifted left by e places.
  logic [310:0]        scaled;
  logic [160:0]        whole;
  logic [149:0]        rest;
  logic                up;
  logic [31:0]         formula;
  logic signed [163:0] total;
  assign scaled = {255'd0, kept_q} << exponent_q;
  assign whole  = scaled[310:150];
  assign rest   = scaled[149:0];
  assign up     = rest > {1'b1, 149'd0} || (rest == {1'b1, 149'd0} && whole[0]);
  always_comb begin
    total   = {3'd0, whole} + {163'd0, up};
    total   = (negative_q ? -total : total) + $signed({{148{zero_point_i[15]}}, zero_point_i});
    formula = total[31:0];
    if (total > 164'sd2147483647) formula = 32'h7fffffff;
    else if (total < -164'sd2147483648) formula = 32'h80000000;
  end
  // A product other than 0 is at least the smallest mantissa.
  always_comb begin
    if (CutProduct) begin
      assume (product == '0 || product >= 56'h800000);
      if (first) begin
        assert (kept_q == '0 || kept_q >= 56'h800000);
        assert (result == (enable_2_i ? formula : 32'd0));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    cover (first && enable_2_i && up && negative_q && result == 32'hffffff00);
    cover (first && enable_2_i && exponent_q > 8'd150 && result == 32'h80000000);
  end
endmodule
