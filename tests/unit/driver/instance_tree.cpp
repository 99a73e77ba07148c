// Names of a flat netlist, and the blocks that they belong to.
#include "driver/instance_tree.h"

#include "tests/catch.h"

namespace dovetail::driver {

namespace {

// As `dump -m t:*` of Yosys 0.23 writes them.
constexpr const char* kDump = R"(
attribute \top 1
module \dovetail_top
  attribute \src "rtl/dovetail_top.sv:243.7-252.6"
  cell $paramod\dovetail_fifo\Depth=32'00000000000000000000000000000010 \gen_queue[1].u_queue
    connect \clk_i \clk_i
  end
  cell $paramod\dovetail_fifo\Depth=32'00000000000000000000000000000010 \gen_queue[0].u_queue
  end
  cell \dovetail_load \u_load
  end
  cell \dovetail_load \u_load_late
  end
end
module \dovetail_load
  cell $paramod$0123\dovetail_axi_split \u_split
  end
end
)";

}  // namespace

TEST_CASE("a name belongs to the innermost instance that begins it") {
  const InstanceTree tree = InstanceTree::parse(kDump, "dovetail_top");
  const InstanceTree::Place split = tree.locate("u_load.u_split.left_q[4]");
  CHECK(split.path == "u_load/u_split");
  CHECK(module_name(split.type) == "dovetail_axi_split");
  CHECK(split.name == "left_q[4]");
  CHECK(tree.locate("gen_queue[0].u_queue.head_q").path == "gen_queue.u_queue");
  CHECK(module_name(tree.locate("gen_queue[0].u_queue.head_q").type) == "dovetail_fifo");
  CHECK(tree.locate("u_load_late.x").path == "u_load_late");
  // Not in u_load, which only begins like it.
  CHECK(tree.locate("u_load_q[1]").path.empty());
  CHECK(tree.locate("u_load_q[1]").type == "dovetail_top");
  CHECK(tree.locate("u_load.other.signal").name == "other.signal");
}

TEST_CASE("types of modules and kinds of instances") {
  CHECK(module_name("dovetail_load") == "dovetail_load");
  CHECK(module_name("$paramod$0123\\dovetail_fifo") == "dovetail_fifo");
  CHECK(module_name("$paramod\\dovetail_fifo\\Depth=2") == "dovetail_fifo");
  CHECK(kind_of("gen_lane[12].u_dot") == "gen_lane.u_dot");
}

TEST_CASE("the signal that a name of the netlist belongs to") {
  CHECK(signal_of("left_q_TRELLIS_FF_Q_13") == "left_q");
  CHECK(signal_of("grant[1]") == "grant");
  CHECK(signal_of("u_buffer_LUT4_Z_D_CCU2C_COUT_2$CCU2_COMB0") == "u_buffer");
  CHECK(signal_of("$nextpnr_CCU2C_51$CIN").empty());
}

}  // namespace dovetail::driver
