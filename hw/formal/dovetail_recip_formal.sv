// Proof of dovetail_recip. The digits are those of a division and of a root by hand: after each
// cycle, what was taken down of the dividend is divisor times quotient plus remainder, and what was
// taken down of the radicand is the root's square plus remainder, with remainders below the divisor
// and up to twice the root. The products are formed with the digits, as in writing. The result is
// the quotient of 2^56 - 1, rounded, with the exponent of the shift, within the range of scales.
module dovetail_recip_formal import dovetail_isa_pkg::*; (
  input logic clk_i,
  input logic flush_i,
  input logic start_i
);
  (* anyconst *) logic        rsqrt;
  (* anyconst *) logic [15:0] exponent;
  (* anyconst *) logic [31:0] x;

  logic        rst_n = 1'b0;
  logic [31:0] result;
  always_ff @(posedge clk_i) rst_n <= 1'b1;
  dovetail_recip u_dut (
    .clk_i,
    .rst_ni    (rst_n),
    .flush_i,
    .start_i,
    .rsqrt_i   (rsqrt),
    .exponent_i(exponent),
    .acc_i     (x),
    .last_o    (),
    .result_o  (result)
  );
  (* hierconn *) logic        \u_dut.busy_q ;
  (* hierconn *) logic        \u_dut.rsqrt_q ;
  (* hierconn *) logic        \u_dut.zero_q ;
  (* hierconn *) logic        \u_dut.first ;
  (* hierconn *) logic        \u_dut.bit_is_1 ;
  (* hierconn *) logic [5:0]  \u_dut.left_q ;
  (* hierconn *) logic [15:0] \u_dut.power_q ;
  (* hierconn *) logic [31:0] \u_dut.value_q ;
  (* hierconn *) logic [31:0] \u_dut.remainder_q ;
  (* hierconn *) logic [27:0] \u_dut.digits_q ;
  (* hierconn *) logic [17:0] \u_dut.exponent_q ;
  logic       busy, digit;
  logic [5:0] left;
  assign busy  = \u_dut.busy_q ;
  assign digit = \u_dut.bit_is_1 ;
  assign left  = \u_dut.left_q ;

  // What was taken down, the product, the quotient, and the divisor with its shift.
  logic [63:0] taken, product;
  logic [24:0] quotient;
  logic [31:0] divisor;
  logic [4:0]  zeros;
  logic [31:0] operand;
  assign operand = rsqrt ? {4'd0, \u_dut.digits_q } : \u_dut.value_q ;
  always_ff @(posedge clk_i) begin
    if (busy) begin
      if (\u_dut.first ) begin
        taken   <= '0;
        product <= '0;
      end else if (left > 6'd26) begin
        taken   <= {taken[61:0], \u_dut.value_q [31:30]};
        product <= (product << 2) + (digit ? {34'd0, \u_dut.digits_q , 2'b01} : 64'd0);
      end else if (left == 6'd26) begin
        taken    <= 64'h7fffffff;
        product  <= '0;
        quotient <= '0;
        divisor  <= operand;
        for (int unsigned z = 0; z < 32; z++) begin
          if (operand[31-z] && operand >> (32 - z) == '0) zeros <= 5'(z);
        end
      end else if (left != '0) begin
        taken    <= {taken[62:0], 1'b1};
        product  <= (product << 1) + (digit ? 64'(\u_dut.value_q ) : 64'd0);
        quotient <= {quotient[23:0], digit};
      end
    end
  end

  // The result by the parts of a binary32.
  logic        carry;
  logic [23:0] rounded;
  logic [18:0] biased;
  logic [31:0] expected;
  logic        ends = 1'b0;
  assign {carry, rounded} = {1'b0, quotient[24:1]} + 25'(quotient[0]);
  assign biased = {exponent[15], exponent[15], exponent[15], exponent} + 19'(zeros) +
                  (rsqrt ? 19'd12 : 19'd0) + 19'd95 + 19'(carry);
  always_ff @(posedge clk_i) begin
    ends <= busy && left == '0 && rst_n;
    if (divisor == '0 || $signed(biased) < 1) expected <= '0;
    else if ($signed(biased) > 255) expected <= 32'h7fffffff;
    else expected <= {1'b0, biased[7:0], rounded[22:0]};
  end

  logic [63:0] remainder;
  logic [5:0]  places;
  assign remainder = 64'(\u_dut.remainder_q );
  assign places    = 6'd54 - left;
  always_comb begin
    assume (!(start_i && busy && left != '0));
    if (busy && rst_n) begin
      assert (\u_dut.rsqrt_q == rsqrt && \u_dut.power_q == exponent);
      assert (left < (rsqrt ? 6'd56 : 6'd28));
      if (left > 6'd26 && !\u_dut.first ) begin
        assert (rsqrt);
        assert (taken == {8'd0, x, 24'd0} >> (7'd56 - {places, 1'b0}));
        assert (\u_dut.value_q == 32'(x << {places, 1'b0}));
        assert (taken == product + remainder);
        assert (remainder <= {35'd0, \u_dut.digits_q , 1'b0});
        assert (\u_dut.digits_q >> places == '0);
      end
      if (left == 6'd26) begin
        if (rsqrt) begin
          assert (taken == {8'd0, x, 24'd0} && taken == product + remainder);
          assert (remainder <= {35'd0, \u_dut.digits_q , 1'b0});
        end else begin
          assert (\u_dut.value_q == x);
        end
      end
      if (left < 6'd26) begin
        assert (\u_dut.zero_q == (divisor == '0));
        assert (taken == (64'd1 << (7'd56 - left)) - 1);
        if (divisor != '0) begin
          assert (\u_dut.value_q == divisor << zeros && \u_dut.value_q [31]);
          assert (\u_dut.exponent_q == {{2{exponent[15]}}, exponent} + 18'(zeros) + 18'd94 +
                                       (rsqrt ? 18'd12 : 18'd0));
          assert (taken == product + remainder && remainder < 64'(\u_dut.value_q ));
          assert (((\u_dut.digits_q [24:0] ^ quotient) & ~(25'h1ffffff << (6'd25 - left))) == '0);
          if (left == 6'd25) assert (quotient == '0 && product == '0);
          else assert (quotient >> (6'd24 - left) == 25'd1);  // the first digit is 1
        end
      end
    end
    if (ends) assert (result == expected);
  end
  always_ff @(posedge clk_i) begin
    cover (ends && result == 32'h3f800000);
  end
endmodule
