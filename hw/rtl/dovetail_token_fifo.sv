// A FIFO of dependency tokens. Tokens carry no data, so it is a counter.
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

  assign count       = 17'(count_q);
  assign count_o     = count[16] ? 16'hffff : count[15:0];
  assign room_o      = count_q != CountWidth'(Depth);
  assign available_o = count_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else if (flush_i) count_q <= '0;
    else count_q <= count_q + CountWidth'(push_i) - CountWidth'(pop_i);
  end
endmodule
