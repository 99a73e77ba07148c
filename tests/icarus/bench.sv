// The design in a four-state simulator, with a memory that has the times of `ideal:latency=L,bytes=0` (a beat a cycle)
// and accepts every burst at once. Plus arguments: +memory=FILE (bytes in hexadecimal, from address 0), +result=FILE,
// +program=ADDRESS, +begin=N, +count=N, +latency=L, +cycles=LIMIT. Every signal of the ports that a peer may look at is
// checked for X in every cycle.
`timescale 1ns / 1ps
module bench;
  localparam AddrWidth = `ADDRESS_BITS;
  localparam BusBytes = `BUS_BYTES;
  localparam BusBits = 8 * BusBytes;
  localparam AddressToData = `ADDRESS_TO_DATA;
  localparam Bursts = 4096;  // more than are ever outstanding
  localparam Bytes = 1 << 20;

  reg clk = 0;
  reg rst_n = 1;
  wire interrupt;
  wire arvalid, rready, awvalid, wvalid, wlast, bready;
  wire [AddrWidth-1:0] araddr, awaddr;
  wire [7:0] arlen, awlen;
  wire [2:0] arsize, awsize;
  wire [1:0] arburst, awburst;
  wire [BusBits-1:0] wdata;
  wire [BusBytes-1:0] wstrb;
  reg rvalid = 0, rlast = 0, bvalid = 0, wready = 0;
  reg [BusBits-1:0] rdata = 0;
  reg reg_awvalid = 0, reg_wvalid = 0, reg_arvalid = 0;
  reg [11:0] reg_awaddr = 0, reg_araddr = 0;
  reg [31:0] reg_wdata = 0;
  wire reg_awready, reg_wready, reg_bvalid, reg_arready, reg_rvalid;
  wire [1:0] reg_bresp, reg_rresp;
  wire [31:0] reg_rdata;

  dovetail_top u_top (
    .clk_i(clk), .rst_ni(rst_n), .interrupt_o(interrupt),
    .mem_arvalid_o(arvalid), .mem_arready_i(1'b1), .mem_araddr_o(araddr), .mem_arlen_o(arlen),
    .mem_arsize_o(arsize), .mem_arburst_o(arburst),
    .mem_rvalid_i(rvalid), .mem_rready_o(rready), .mem_rdata_i(rdata), .mem_rresp_i(2'b00), .mem_rlast_i(rlast),
    .mem_awvalid_o(awvalid), .mem_awready_i(1'b1), .mem_awaddr_o(awaddr), .mem_awlen_o(awlen),
    .mem_awsize_o(awsize), .mem_awburst_o(awburst),
    .mem_wvalid_o(wvalid), .mem_wready_i(wready), .mem_wdata_o(wdata), .mem_wstrb_o(wstrb), .mem_wlast_o(wlast),
    .mem_bvalid_i(bvalid), .mem_bready_o(bready), .mem_bresp_i(2'b00),
    .reg_awvalid_i(reg_awvalid), .reg_awready_o(reg_awready), .reg_awaddr_i(reg_awaddr),
    .reg_wvalid_i(reg_wvalid), .reg_wready_o(reg_wready), .reg_wdata_i(reg_wdata), .reg_wstrb_i(4'hf),
    .reg_bvalid_o(reg_bvalid), .reg_bready_i(1'b1), .reg_bresp_o(reg_bresp),
    .reg_arvalid_i(reg_arvalid), .reg_arready_o(reg_arready), .reg_araddr_i(reg_araddr),
    .reg_rvalid_o(reg_rvalid), .reg_rready_i(1'b1), .reg_rdata_o(reg_rdata), .reg_rresp_o(reg_rresp)
  );

  always #5 clk = ~clk;

  // ---- Memory -----------------------------------------------------------------------------------
  reg [7:0] memory [0:Bytes-1];
  integer latency, limit, cycle = 0, i;
  // Accepted bursts: reads, writes, and responses; head is the oldest, tail the next place.
  integer read_addr [0:Bursts-1];
  integer read_first [0:Bursts-1];
  integer read_beats [0:Bursts-1];
  integer write_addr [0:Bursts-1];
  integer write_from [0:Bursts-1];
  integer write_beats [0:Bursts-1];
  integer write_answer [0:Bursts-1];
  integer read_head = 0, read_tail = 0, read_done = 0, read_free = 0;
  integer write_head = 0, write_tail = 0, write_done = 0, write_free = 0, write_last = 0;
  integer answer_head = 0, bad = 0;

  task complain(input [8*24:1] what);
    begin
      $display("X: %0s in cycle %0d", what, cycle);
      bad = bad + 1;
      if (bad > 20) $finish;
    end
  endtask

  // Everything that the clock edge takes, then what the next cycle shows.
  always @(posedge clk) begin
    if (^{arvalid, awvalid, wvalid, rready, bready, interrupt} === 1'bx) complain("a VALID or READY");
    if (^{reg_awready, reg_wready, reg_arready, reg_bvalid, reg_rvalid} === 1'bx) complain("the register port");
    if (arvalid && ^{araddr, arlen, arsize, arburst} === 1'bx) complain("AR");
    if (awvalid && ^{awaddr, awlen, awsize, awburst} === 1'bx) complain("AW");
    if (reg_rvalid && ^{reg_rdata, reg_rresp} === 1'bx) complain("a register");
    if (reg_bvalid && ^reg_bresp === 1'bx) complain("BRESP of a register");
    if (wvalid && ^{wlast, wstrb} === 1'bx) complain("WLAST or WSTRB");
    if (rst_n) begin
      if (rvalid) begin
        read_done = read_done + 1;
        if (read_done == read_beats[read_head % Bursts]) begin
          read_head = read_head + 1;
          read_done = 0;
        end
      end
      if (arvalid) begin
        read_addr[read_tail % Bursts] = araddr;
        read_beats[read_tail % Bursts] = arlen + 1;
        if (cycle + latency > read_free) read_free = cycle + latency;
        read_first[read_tail % Bursts] = read_free;
        read_free = read_free + arlen + 1;
        read_tail = read_tail + 1;
      end
      if (bvalid) answer_head = answer_head + 1;
      if (wvalid && wready) begin
        for (i = 0; i < BusBytes; i = i + 1) begin
          if (wstrb[i]) begin
            if (^wdata[8*i+:8] === 1'bx) complain("a byte that W writes");
            memory[write_addr[write_head % Bursts] + write_done * BusBytes + i] = wdata[8*i+:8];
          end
        end
        write_done = write_done + 1;
        if (write_done == write_beats[write_head % Bursts]) begin
          write_head = write_head + 1;
          write_done = 0;
        end
      end
      if (awvalid) begin
        write_addr[write_tail % Bursts] = awaddr;
        write_beats[write_tail % Bursts] = awlen + 1;
        write_from[write_tail % Bursts] = cycle + AddressToData;
        if (cycle + 1 > write_free) write_free = cycle + 1;
        write_free = write_free + awlen + 1;
        write_last = write_free - 1 + latency > write_last + 1 ? write_free - 1 + latency : write_last + 1;
        write_answer[write_tail % Bursts] = write_last;
        write_tail = write_tail + 1;
      end
    end
    cycle = cycle + 1;
    rvalid <= 0;
    rlast  <= 0;
    if (read_head != read_tail && read_first[read_head % Bursts] + read_done <= cycle) begin
      rvalid <= 1;
      rlast  <= read_done + 1 == read_beats[read_head % Bursts];
      for (i = 0; i < BusBytes; i = i + 1) begin
        rdata[8*i+:8] <= memory[read_addr[read_head % Bursts] + read_done * BusBytes + i];
      end
    end
    wready <= write_head != write_tail && write_from[write_head % Bursts] <= cycle;
    bvalid <= answer_head != write_head && write_answer[answer_head % Bursts] <= cycle;
  end

  // ---- Registers --------------------------------------------------------------------------------
  task write(input [11:0] address, input [31:0] value);
    begin
      @(negedge clk);
      reg_awvalid = 1;
      reg_wvalid  = 1;
      reg_awaddr  = address;
      reg_wdata   = value;
      @(posedge clk);
      while (!(reg_awready && reg_wready)) @(posedge clk);
      @(negedge clk);
      reg_awvalid = 0;
      reg_wvalid  = 0;
      while (!reg_bvalid) @(negedge clk);
    end
  endtask

  task read(input [11:0] address, output [31:0] value);
    begin
      @(negedge clk);
      reg_arvalid = 1;
      reg_araddr  = address;
      @(posedge clk);
      while (!reg_arready) @(posedge clk);
      @(negedge clk);
      reg_arvalid = 0;
      while (!reg_rvalid) @(negedge clk);
      value = reg_rdata;
    end
  endtask

  reg [31:0] status, cycles_lo, error_index, program_base, first, count;
  reg [8*256:1] memory_file, result_file;
  integer started;
  initial begin
    if (!$value$plusargs("memory=%s", memory_file) || !$value$plusargs("result=%s", result_file) ||
        !$value$plusargs("program=%d", program_base) || !$value$plusargs("begin=%d", first) ||
        !$value$plusargs("count=%d", count) || !$value$plusargs("latency=%d", latency) ||
        !$value$plusargs("cycles=%d", limit)) begin
      $display("a plus argument is missing");
      $finish;
    end
    $readmemh(memory_file, memory);
    #1 rst_n = 0;
    repeat (4) @(negedge clk);
    rst_n = 1;
    write(`REG_PROGRAM_BASE_LO, program_base);
    write(`REG_INSTRUCTION_BEGIN, first);
    write(`REG_INSTRUCTION_COUNT, count);
    write(`REG_INTERRUPT_ENABLE, 3);
    write(`REG_CONTROL, 1);
    started = cycle;
    while (interrupt !== 1'b1 && cycle < started + limit) @(negedge clk);
    read(`REG_STATUS, status);
    read(`REG_CYCLES_LO, cycles_lo);
    read(`REG_ERROR_INSTRUCTION, error_index);
    $writememh(result_file, memory);
    $display("status %0h cycles %0d error %0d unknown %0d", status, cycles_lo, error_index, bad);
    $finish;
  end
endmodule
