// Counts through a row of a LOAD's destination, or through its rows: the pads before the data, the
// data, the pads after. Any of the three may be empty, but not all of them. After the last one it
// is at the first one again. What the slot of a cycle depends on is kept in registers.
module dovetail_span #(
  parameter int unsigned SizeWidth = 16,
  parameter int unsigned PadWidth = 4
) (
  input  logic                 clk_i,
  input  logic                 start_i,
  input  logic [PadWidth-1:0]  pad_0_i,
  input  logic [SizeWidth-1:0] size_i,
  input  logic [PadWidth-1:0]  pad_1_i,
  input  logic                 next_i,       // to the next one
  output logic                 data_o,       // this one is data
  output logic                 data_last_o,  // and the last of the data
  output logic                 last_o        // this one is the last of all
);
  // The part that this one is in, one-hot; those after it in its part; whether there are none.
  logic                 pad_0_q, data_q, pad_1_q, end_q;
  logic [SizeWidth-1:0] left_q;
  // Whether a part is not empty, and its elements after the first.
  logic                 some_0_q, some_data_q, some_1_q;
  logic [SizeWidth-1:0] rest_data_q;
  logic [PadWidth-1:0]  rest_0_q, rest_1_q;

  logic some_0, some_data, some_1;  // of the next span, or of this one
  logic [SizeWidth-1:0] rest_data;
  logic [PadWidth-1:0]  rest_0, rest_1;
  assign some_0    = pad_0_i != '0;
  assign some_data = size_i != '0;
  assign some_1    = pad_1_i != '0;
  assign rest_0    = pad_0_i - 1'b1;
  assign rest_data = size_i - 1'b1;
  assign rest_1    = pad_1_i - 1'b1;

  // The part that follows this one.
  logic to_data, to_1;
  assign to_data = (pad_0_q && some_data_q) || (last_o && !some_0_q && some_data_q);
  assign to_1    = !to_data && !last_o;

  assign data_o      = data_q;
  assign data_last_o = data_q && end_q;
  assign last_o      = end_q && (pad_1_q || (!some_1_q && (data_q || !some_data_q)));

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      some_0_q    <= some_0;
      some_data_q <= some_data;
      some_1_q    <= some_1;
      rest_0_q    <= rest_0;
      rest_data_q <= rest_data;
      rest_1_q    <= rest_1;
      pad_0_q     <= some_0;
      data_q      <= !some_0 && some_data;
      pad_1_q     <= !some_0 && !some_data;
      left_q      <= some_0 ? SizeWidth'(rest_0) : some_data ? rest_data : SizeWidth'(rest_1);
      end_q       <= some_0    ? pad_0_i == PadWidth'(1) :
                     some_data ? size_i == SizeWidth'(1) :
                                 pad_1_i == PadWidth'(1);
    end else if (next_i && !end_q) begin
      left_q <= left_q - 1'b1;
      end_q  <= left_q == SizeWidth'(1);
    end else if (next_i) begin
      if (to_data) begin
        {pad_0_q, data_q, pad_1_q} <= 3'b010;
        left_q                     <= rest_data_q;
        end_q                      <= rest_data_q == '0;
      end else if (to_1 || !some_0_q) begin
        {pad_0_q, data_q, pad_1_q} <= 3'b001;
        left_q                     <= SizeWidth'(rest_1_q);
        end_q                      <= rest_1_q == '0;
      end else begin
        {pad_0_q, data_q, pad_1_q} <= 3'b100;
        left_q                     <= SizeWidth'(rest_0_q);
        end_q                      <= rest_0_q == '0;
      end
    end
  end
endmodule
