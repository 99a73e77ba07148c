// Reads and writes of words over a UART, for a host that drives the board.
// docs/howto/place-and-route.md describes the bytes.
module dovetail_board_bridge (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Bytes from and to the UART.
  input  logic        rx_valid_i,
  input  logic [7:0]  rx_data_i,
  output logic        rx_ready_o,
  output logic        tx_valid_o,
  output logic [7:0]  tx_data_o,
  input  logic        tx_ready_i,
  // A request holds until it is acknowledged; the next one follows a cycle later at the earliest.
  output logic        request_o,
  output logic        registers_o,  // of the registers, not of the memory
  output logic        write_o,
  output logic [31:0] address_o,    // in bytes, a multiple of 4
  output logic [31:0] wdata_o,
  input  logic        ack_i,
  input  logic        error_i,
  input  logic [31:0] rdata_i
);
  localparam logic [7:0] ReadMemory = "R";
  localparam logic [7:0] WriteMemory = "W";
  localparam logic [7:0] ReadRegister = "r";
  localparam logic [7:0] WriteRegister = "w";
  localparam logic [7:0] Done = "K";
  localparam logic [7:0] Failed = "E";
  localparam logic [7:0] Unknown = "?";

  typedef enum logic [2:0] {
    StCommand,  // the first byte of a command
    StHeader,   // four bytes of the address, two of the number of words
    StData,     // four bytes to write
    StAccess,   // a word is read or written
    StReply,    // four bytes that were read
    StStatus    // the last byte of a reply
  } state_e;

  state_e      state_d, state_q;
  logic [2:0]  byte_d, byte_q;    // bytes of the header or word so far
  logic [31:0] address_d, address_q, word_d, word_q;
  logic [15:0] left_d, left_q;    // words
  logic [7:0]  status_d, status_q;
  logic        write_d, write_q, registers_d, registers_q;

  always_comb begin
    state_d     = state_q;
    byte_d      = byte_q;
    address_d   = address_q;
    word_d      = word_q;
    left_d      = left_q;
    status_d    = status_q;
    write_d     = write_q;
    registers_d = registers_q;
    tx_valid_o  = 1'b0;
    tx_data_o   = status_q;
    rx_ready_o  = state_q == StCommand || state_q == StHeader || state_q == StData;

    unique case (state_q)
      StCommand: begin
        byte_d      = '0;
        write_d     = rx_data_i == WriteMemory || rx_data_i == WriteRegister;
        registers_d = rx_data_i == ReadRegister || rx_data_i == WriteRegister;
        if (rx_valid_i) begin
          if (write_d || registers_d || rx_data_i == ReadMemory) begin
            state_d  = StHeader;
            status_d = Done;
          end else begin
            state_d  = StStatus;
            status_d = Unknown;
          end
        end
      end
      StHeader: begin
        if (rx_valid_i) begin
          byte_d = byte_q + 3'd1;
          if (byte_q < 3'd4) address_d = {rx_data_i, address_q[31:8]};
          else left_d = {rx_data_i, left_q[15:8]};
          if (byte_q == 3'd5) begin
            byte_d  = '0;
            state_d = left_d == 16'd0 ? StStatus : write_q ? StData : StAccess;
          end
        end
      end
      StData: begin
        if (rx_valid_i) begin
          word_d = {rx_data_i, word_q[31:8]};
          byte_d = byte_q + 3'd1;
          if (byte_q == 3'd3) begin
            byte_d  = '0;
            state_d = StAccess;
          end
        end
      end
      StAccess: begin
        if (ack_i) begin
          if (error_i) status_d = Failed;
          address_d = address_q + 32'd4;
          left_d    = left_q - 16'd1;
          word_d    = rdata_i;
          if (!write_q) state_d = StReply;
          else state_d = left_d == 16'd0 ? StStatus : StData;
        end
      end
      StReply: begin
        tx_valid_o = 1'b1;
        tx_data_o  = word_q[7:0];
        if (tx_ready_i) begin
          word_d = {8'd0, word_q[31:8]};
          byte_d = byte_q + 3'd1;
          if (byte_q == 3'd3) begin
            byte_d  = '0;
            state_d = left_q == 16'd0 ? StStatus : StAccess;
          end
        end
      end
      StStatus: begin
        tx_valid_o = 1'b1;
        if (tx_ready_i) state_d = StCommand;
      end
      default: state_d = StCommand;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= StCommand;
      byte_q      <= '0;
      address_q   <= '0;
      word_q      <= '0;
      left_q      <= '0;
      status_q    <= Done;
      write_q     <= 1'b0;
      registers_q <= 1'b0;
    end else begin
      state_q     <= state_d;
      byte_q      <= byte_d;
      address_q   <= address_d;
      word_q      <= word_d;
      left_q      <= left_d;
      status_q    <= status_d;
      write_q     <= write_d;
      registers_q <= registers_d;
    end
  end

  assign request_o   = state_q == StAccess;
  assign registers_o = registers_q;
  assign write_o     = write_q;
  assign address_o   = address_q;
  assign wdata_o     = word_q;
endmodule
