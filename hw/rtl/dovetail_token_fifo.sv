// A FIFO of dependency tokens. Tokens carry no data, so it is a counter. Whether there is a token,
// or room for one, is computed a cycle ahead: starts and ends depend on it.
module dovetail_token_fifo #(
  parameter int unsigned Depth = 64,
  localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        flush_i,
  input  logic        push_i,  // only while room_o
  input  logic        pop_i,   // only while available_o
  output logic        room_o,
  output logic        available_o,
  output logic [15:0] count_o  // for the registers; 65536 tokens count as 65535
);
  logic [CountWidth-1:0] count_q;
  logic [16:0]           count;
  logic                  room_q, available_q;

  // Without adders, of which a synthesizer would make one for both directions, after the choice.
  logic [CountWidth-1:0] more, less;
  always_comb begin
    for (int unsigned i = 0; i < CountWidth; i++) begin
      more[i] = count_q[i] ^ &(count_q | ({CountWidth{1'b1}} << i));
      less[i] = count_q[i] ^ &(~count_q | ({CountWidth{1'b1}} << i));
    end
  end

  assign count       = 17'(count_q);
  assign count_o     = count[16] ? 16'hffff : count[15:0];
  assign room_o      = room_q;
  assign available_o = available_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q     <= '0;
      room_q      <= 1'b1;
      available_q <= 1'b0;
    end else if (flush_i) begin
      count_q     <= '0;
      room_q      <= 1'b1;
      available_q <= 1'b0;
    end else if (push_i && !pop_i) begin
      count_q     <= more;
      room_q      <= count_q != CountWidth'(Depth - 1);
      available_q <= 1'b1;
    end else if (pop_i && !push_i) begin
      count_q     <= less;
      room_q      <= 1'b1;
      available_q <= count_q != CountWidth'(1);
    end
  end
endmodule
