// Clock, reset, and the characters of the UART of the SoC that LiteX generated.
module bench;
  logic clk = 1'b0, rst = 1'b1;
  logic valid;
  logic [7:0] data;
  int unsigned cycles = 0;
  sim u_soc (
    .sys_clk            (clk),
    .sys_rst            (rst),
    .serial_source_valid(valid),
    .serial_source_ready(1'b1),
    .serial_source_data (data),
    .serial_sink_valid  (1'b0),
    .serial_sink_ready  (),
    .serial_sink_data   (8'd0)
  );
  always #5 clk = !clk;
  string line = "";
  always @(posedge clk) begin
    cycles <= cycles + 1;
    if (cycles == 10) rst <= 1'b0;
    if (valid && !rst) begin
      $write("%c", data);
      line = {line, string'(data)};
      if (data == 8'h0a) begin
        if (line == "end\n") $finish;
        line = "";
      end
    end
    if (cycles == 2000000) begin
      $display("\nno end");
      $finish;
    end
  end
endmodule
