// Proof of dovetail_fifo: pushed words come out in order and unchanged; empty and full are correct.
//
// The solver picks one word to track. The harness counts the words before it: when none remains, it
// must be at the head.
module dovetail_fifo_formal #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4
) (
  input logic             clk_i,
  input logic             flush_i,
  input logic             push_i,
  input logic [Width-1:0] data_i,
  input logic             pop_i,
  input logic             follow_i  // the word pushed in this cycle is the one to track
);
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam int unsigned PtrWidth = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned SumWidth = CountWidth + 1;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [Width-1:0] data;
  logic             empty, full;
  dovetail_fifo #(
    .Width(Width),
    .Depth(Depth)
  ) u_dut (
    .clk_i,
    .rst_ni (rst_n),
    .flush_i,
    .push_i,
    .data_i,
    .pop_i,
    .data_o (data),
    .empty_o(empty),
    .full_o (full)
  );

  logic [CountWidth-1:0] held, ahead;  // words in the queue; words before the tracked one
  logic                  following;
  logic [Width-1:0]      value;
  always_ff @(posedge clk_i) begin
    if (!rst_n || flush_i) begin
      held      <= '0;
      following <= 1'b0;
    end else begin
      held <= held + CountWidth'(push_i) - CountWidth'(pop_i);
      if (following && pop_i) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) following <= 1'b0;
      end
      if (push_i && follow_i && !following) begin
        following <= 1'b1;
        value     <= data_i;
        ahead     <= held - CountWidth'(pop_i);
      end
    end
  end

  always_comb begin
    // Assumptions about the user.
    if (push_i) assume (!full);
    if (pop_i) assume (!empty);
    if (rst_n) begin
      assert (held <= CountWidth'(Depth));
      assert (empty == (held == '0));
      assert (full == (held == CountWidth'(Depth)));
      if (following) begin
        assert (ahead < held);
        if (ahead == '0) assert (data == value);
      end
    end
  end

  // Internal state: the words are stored between head and tail, and the tracked word is at its
  // position. The solver picks one position for the whole trace; a word is tracked only if it is
  // stored there.
  (* hierconn *) logic [CountWidth-1:0] \u_dut.count_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.head_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.tail_q ;
  (* hierconn *) logic [PtrWidth-1:0]   \u_dut.formal_place ;
  (* hierconn *) logic [Width-1:0]      \u_dut.formal_word ;

  logic [SumWidth-1:0] last, place;
  assign last  = SumWidth'(\u_dut.head_q ) + SumWidth'(held);
  assign place = SumWidth'(\u_dut.head_q ) + SumWidth'(ahead);
  // Positions count modulo the depth.
  function [SumWidth-1:0] wrapped(input logic [SumWidth-1:0] sum);
    wrapped = sum >= SumWidth'(Depth) ? sum - SumWidth'(Depth) : sum;
  endfunction
  always_comb begin
    if (follow_i) assume (\u_dut.tail_q == \u_dut.formal_place );
    if (rst_n) begin
      assert (\u_dut.count_q == held);
      assert (\u_dut.head_q <= PtrWidth'(Depth - 1));
      assert (SumWidth'(\u_dut.tail_q ) == wrapped(last));
      if (following) begin
        assert (SumWidth'(\u_dut.formal_place ) == wrapped(place));
        assert (\u_dut.formal_word == value);
      end
    end
  end

  logic was_full = 1'b0;
  always_ff @(posedge clk_i) begin
    if (rst_n && full) was_full <= 1'b1;
    if (flush_i) was_full <= 1'b0;
    cover (rst_n && full);
    cover (rst_n && was_full && empty);
    cover (rst_n && push_i && pop_i);
    cover (rst_n && following && ahead == '0 && pop_i && was_full);
  end
endmodule
