// Proof of dovetail_token_fifo: tokens are conserved, and room and availability are correct.
module dovetail_token_fifo_formal #(
  parameter int unsigned Depth = 64
) (
  input logic clk_i,
  input logic flush_i,
  input logic push_i,
  input logic pop_i
);
  localparam int unsigned CountWidth = $clog2(Depth + 1);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        room, available;
  logic [15:0] count;
  dovetail_token_fifo #(
    .Depth(Depth)
  ) u_dut (
    .clk_i,
    .rst_ni     (rst_n),
    .flush_i,
    .push_i,
    .pop_i,
    .room_o     (room),
    .available_o(available),
    .count_o    (count)
  );

  // The number of tokens pushed since the last flush, and of those popped, each modulo a number
  // larger than any difference of the two.
  logic [CountWidth:0] pushed, popped, held;
  assign held = pushed - popped;
  always_ff @(posedge clk_i) begin
    if (!rst_n || flush_i) begin
      pushed <= '0;
      popped <= '0;
    end else begin
      pushed <= pushed + (CountWidth + 1)'(push_i);
      popped <= popped + (CountWidth + 1)'(pop_i);
    end
  end

  always_comb begin
    // Assumptions about the units.
    if (push_i) assume (room);
    if (pop_i) assume (available);
    if (rst_n) begin
      assert (room == (held < (CountWidth + 1)'(Depth)));
      assert (available == (held != '0));
      assert (held <= (CountWidth + 1)'(Depth));
      assert (count == 16'(held));
    end
  end

  // Internal state.
  (* hierconn *) logic [CountWidth-1:0] \u_dut.count_q ;
  always_comb begin
    if (rst_n) assert ({1'b0, \u_dut.count_q } == held);
  end

  logic was_full = 1'b0;
  always_ff @(posedge clk_i) begin
    if (rst_n && !room) was_full <= 1'b1;
    if (flush_i) was_full <= 1'b0;
    cover (rst_n && !room);
    cover (rst_n && was_full && !available);
    cover (rst_n && push_i && pop_i);
  end
endmodule
