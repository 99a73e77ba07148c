// A queue of Depth words. The word at the head is always visible. empty_o and full_o show the state
// at the beginning of the cycle: a full queue accepts no word even if one leaves in the same cycle.
// Both are registers, computed a cycle ahead: much depends on them within their cycle.
module dovetail_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             flush_i,  // drops all words
  input  logic             push_i,   // only while not full
  input  logic [Width-1:0] data_i,
  input  logic             pop_i,    // only while not empty
  output logic [Width-1:0] data_o,
  output logic             empty_o,
  output logic             full_o
);
  localparam int unsigned PtrWidth = Depth > 1 ? $clog2(Depth) : 1;

  logic [Width-1:0]    mem [Depth];
  logic [PtrWidth-1:0] head_q, head_next, tail_q, tail_next;
  logic                empty_q, full_q, is_single, has_single_place;

  assign head_next = head_q == PtrWidth'(Depth - 1) ? '0 : head_q + 1'b1;
  assign tail_next = tail_q == PtrWidth'(Depth - 1) ? '0 : tail_q + 1'b1;

  dovetail_equal #(
    .Width(PtrWidth)
  ) u_single (
    .a_i    (head_next),
    .b_i    (tail_q),
    .equal_o(is_single)
  );
  dovetail_equal #(
    .Width(PtrWidth)
  ) u_single_place (
    .a_i    (tail_next),
    .b_i    (head_q),
    .equal_o(has_single_place)
  );

  assign data_o  = mem[head_q];
  assign empty_o = empty_q;
  assign full_o  = full_q;

  always_ff @(posedge clk_i) begin
    if (push_i) mem[tail_q] <= data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q  <= '0;
      tail_q  <= '0;
      empty_q <= 1'b1;
      full_q  <= 1'b0;
    end else if (flush_i) begin
      head_q  <= '0;
      tail_q  <= '0;
      empty_q <= 1'b1;
      full_q  <= 1'b0;
    end else begin
      if (push_i) tail_q <= tail_next;
      if (pop_i) head_q <= head_next;
      if (push_i && !pop_i) begin
        empty_q <= 1'b0;
        full_q  <= has_single_place;
      end else if (pop_i && !push_i) begin
        empty_q <= is_single;
        full_q  <= 1'b0;
      end
    end
  end

`ifdef FORMAL
  // The number of words.
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  logic [CountWidth-1:0] count_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else if (flush_i) count_q <= '0;
    else count_q <= count_q + CountWidth'(push_i) - CountWidth'(pop_i);
  end
  // The part of the memory that is visible to proofs: the word at a position that the solver picks,
  // or all words of a small memory.
  (* anyconst *) logic [PtrWidth-1:0] formal_place;
  logic [Width-1:0] formal_word;
  assign formal_word = mem[formal_place];
  logic [Depth*Width-1:0] formal_words;
  for (genvar i = 0; i < Depth; i++) begin : gen_formal
    assign formal_words[i*Width+:Width] = mem[i];
  end
`endif
endmodule
