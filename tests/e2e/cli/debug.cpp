// `dovetail debug`: scripts of commands on a program, and their output.
#include "base/file.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/two_launches.h"
#include "tests/process.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

struct DebugFolder : test::ProgramFolder {
  using ProgramFolder::ProgramFolder;
  Finished debug(const std::string& commands) const {
    REQUIRE(write_text_file(path("commands"), commands).ok());
    return test::dovetail({"debug", path("p.s"), "-x", path("commands")});
  }
};

}  // namespace

TEST_CASE("debug steps, prints tiles, memory, queues and tokens") {
  const DebugFolder shop;
  const Finished run = shop.debug(
      "where\nprint acc[0]\nstep 2\nprint acc[0]\nprint x\nstep compute\nprint out[0..0]\nprint "
      "acc[0]\ntokens\nqueues\n"
      "print uop[0]\nprint y\nfinish\nprint y\nlist\ninfo\n");
  CHECK(run.error == "");
  CHECK(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("6 instructions, 2 launches, 1x16x16") &&
                          ContainsSubstring("?: nothing has written it") &&
                          ContainsSubstring("int8[1, 16] at 0x1100\n  0x1100     1 2 3 4 1 2 3 4") &&
                          ContainsSubstring("  acc[0]     4 5 6 7 4 5 6 7 4 5 6 7 4 5 6 7\n"));
  CHECK_THAT(run.out, ContainsSubstring("load->compute    0 of 64") && ContainsSubstring("compute  1 running") &&
                          ContainsSubstring("launch 0 has ended") && ContainsSubstring("uint32[1, 3]"));
  CHECK_THAT(run.out, ContainsSubstring("int8[1, 16] at 0x1200\n  0x1200     4 5 6 7") &&
                          ContainsSubstring("> cycle") && ContainsSubstring("launch 1: instructions #4 to #6") &&
                          ContainsSubstring("plus             #2"));
}

TEST_CASE("debug stops at instructions, labels, lines, elements, addresses and tokens") {
  const DebugFolder shop;
  const auto stops = [&](const std::string& where) { return shop.debug("break " + where + "\ncontinue\n").out; };
  CHECK_THAT(stops("#3"),
             ContainsSubstring("break 1: #3\nnext") && ContainsSubstring("#3 (" + shop.path("p.s") + ":8)"));
  CHECK_THAT(stops("again"), ContainsSubstring("next") && ContainsSubstring("#4 ("));
  CHECK_THAT(stops(":10"), ContainsSubstring("#4 ("));
  CHECK_THAT(stops("acc[0]"), ContainsSubstring("next cycle") && ContainsSubstring("#1 ("));
  CHECK_THAT(stops("acc[1..5]"), ContainsSubstring("the program has ended"));
  CHECK_THAT(stops("y"), ContainsSubstring("#3 ("));
  CHECK_THAT(stops("dram 0x1207"), ContainsSubstring("#3 ("));
  CHECK_THAT(stops("dram 0x11f0:16"), ContainsSubstring("the program has ended"));
  CHECK_THAT(stops("dram 0x11f0:17"), ContainsSubstring("#3 ("));
  CHECK_THAT(stops("token compute->store"), ContainsSubstring("#2 ("));
  CHECK_THAT(stops("token load->compute"), ContainsSubstring("the program has ended"));
  const Finished deleted = shop.debug("b #3\nb again\nd 1\nc\n");
  CHECK_THAT(deleted.out, ContainsSubstring("break 2: again"));
}

TEST_CASE("debug watches, saves, and can leave a launch before its end") {
  const DebugFolder shop;
  const Finished run = shop.debug("watch acc[0]\nc\nc\nsave " + shop.path("acc.npy") + " acc[0..1]\nsave " +
                                  shop.path("y.npy") + " y\nquit\nnonsense\n");
  CHECK(run.error == "");
  CHECK(run.exit == 0);
  CHECK_THAT(run.out,
             ContainsSubstring("watch 1: acc[0] changed by #1 (") && ContainsSubstring("element 0 was 1, is 4"));
  const NdArray acc = read_npy(shop.path("acc.npy")).value();
  CHECK(acc.shape() == Shape{2, 1, 16});
  CHECK(acc.data<std::int32_t>()[3] == 7);
  CHECK(acc.data<std::int32_t>()[16] == 0);
  CHECK(read_npy(shop.path("y.npy")).value() == NdArray(DType::int8, {1, 16}));  // the store has not run
}

TEST_CASE("debug steps by cycles, in the order of the accelerator") {
  const DebugFolder shop;
  const Finished run = shop.debug("cycle @1\nwhere\ncycle 1000000\nstep\n");
  CHECK(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("launch 0 of 2, cycle 1\nnext cycle"));
  // An instruction that starts at a cycle has run when the cycle is reached, and not one cycle before.
  const std::string where = shop.debug("step 2\nwhere\n").out;
  const std::size_t at = where.rfind("next cycle ") + 11;
  const std::int64_t start = std::stoll(where.substr(at));
  const std::string before = shop.debug("cycle @" + std::to_string(start - 1) + "\nprint acc[0]\n").out;
  const std::string there = shop.debug("cycle @" + std::to_string(start) + "\nprint acc[0]\n").out;
  CHECK_THAT(before, ContainsSubstring("acc[0]     1 2 3 4"));
  CHECK_THAT(there, ContainsSubstring("acc[0]     4 5 6 7"));
}

TEST_CASE("debug shows why a program stalls, fails or races") {
  std::string lost = test::kTwoLaunches;
  lost.erase(lost.find(" push_next"), 10);
  const Finished hung = DebugFolder(lost).debug("continue\nprint acc[0]\n");
  CHECK(hung.exit == 1);
  CHECK_THAT(hung.error,
             ContainsSubstring("deadlock") || ContainsSubstring("never start") || ContainsSubstring("token"));
  CHECK_THAT(hung.out, ContainsSubstring("check finds") && ContainsSubstring("  acc[0]     4 5 6 7"));

  std::string undefined = test::kTwoLaunches;
  undefined.replace(undefined.find("load.acc8 sram=0"), 16, "load.acc8 sram=9");
  const DebugFolder shop(undefined);
  const Finished failed = shop.debug("continue\nwhere\nprint acc[9]\n");
  CHECK(failed.exit == 1);
  CHECK_THAT(failed.error, ContainsSubstring("instruction 2 (" + shop.path("p.s") + ":7)"));
  CHECK_THAT(failed.out, ContainsSubstring("acc[9]     1 2 3 4") && ContainsSubstring("#2 ("));

  std::string race = test::kTwoLaunches;
  race.erase(race.find(".launch\n"), 8);
  const Finished raced = DebugFolder(race).debug("step 3\nraces\n");
  CHECK(raced.exit == 0);
  CHECK_THAT(raced.out, ContainsSubstring("check finds 1 fault") && ContainsSubstring("race on acc[0]") &&
                            ContainsSubstring("store    #3 (") && ContainsSubstring("compute  #4 (") &&
                            ContainsSubstring("acc[0]     4 5 6 7"));
}

TEST_CASE("debug: a wrong command is reported with its line, and ends the script") {
  const DebugFolder shop;
  for (const auto& [line, why] : {std::pair{"stpe", "did you mean `step`?"},
                                  {"step 0", "must be an integer from 1"},
                                  {"step 1 2", "this word is unexpected"},
                                  {"cycle x", "this is not a number of cycles"},
                                  {"cycle 99999999999999999999", "this is not a number of cycles"},
                                  {"break", "no place to stop at is given"},
                                  {"break #6", "the program has 6 instructions"},
                                  {"break :1", "no instruction comes from this line"},
                                  {"break nowhere", "no address range of this name"},
                                  {"break token a->b", "this is not a token FIFO"},
                                  {"break dram", "this is not an address"},
                                  {"break acc[2048]", "not within the 2048 elements"},
                                  {"print", "`print` needs one memory range"},
                                  {"print acc[5..4]", "not within"},
                                  {"print acc[0..64]", "more than 64 elements"},
                                  {"print mem[0]", "no place of that name"},
                                  {"print 0x1000", "an address needs a type"},
                                  {"print 0x900:int8[4]", "outside the image"},
                                  {"print 0x1000:int8[99999]", "outside the image"},
                                  {"watch", "`watch` needs one memory range"},
                                  {"delete 3", "no breakpoint or watch has this number"},
                                  {"save x.npy", "a file and a memory range"},
                                  {"where now", "`where` accepts no arguments"}}) {
    const Finished run = shop.debug("# a comment\n\n" + std::string(line) + "\nstep\n");
    INFO(line);
    CHECK(run.exit == 2);
    CHECK_THAT(run.error, ContainsSubstring(why) && ContainsSubstring(shop.path("commands") + ":3: ") &&
                              ContainsSubstring("Hint: "));
  }
  CHECK(test::dovetail({"debug", shop.path("p.s"), "-x", shop.path("missing")}).exit == 2);
  CHECK(test::dovetail({"debug", shop.path("p.s")}).exit == 0);  // stdin is empty
}

TEST_CASE("debug accepts a region of a bundle, and stops at its layers") {
  const test::TemporaryFolder folder;
  const std::string bundle = folder / "digits.dvt", commands = folder / "commands";
  REQUIRE(test::dovetail({"compile", DOVETAIL_SOURCE_DIR "/examples/digits/digits_int8.onnx", "--target", "accel,cpu",
                          "--hw", "1x16x16-ext", "-o", bundle})
              .exit == 0);
  REQUIRE(write_text_file(commands, "info\ncontinue\n").ok());
  const Finished run = test::dovetail({"debug", bundle, "-x", commands});
  CHECK(run.error == "");
  CHECK(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("the program has ended") && ContainsSubstring("launch 0: instructions #0"));
  CHECK(test::dovetail({"debug", bundle, "--region", "99"}).exit == 2);
}

TEST_CASE("simulate --sram-out writes the SRAM contents after the launches") {
  const DebugFolder shop;
  for (const std::string engine : {"functional", "cycle"}) {
    const Finished run = test::dovetail({"simulate", shop.path("p.s"), "--engine", engine, "--sram-out",
                                         "acc=" + shop.path("acc.npy"), "--sram-out", "uop=" + shop.path("uop.npy")});
    CHECK(run.error == "");
    REQUIRE(run.exit == 0);
    const NdArray acc = read_npy(shop.path("acc.npy")).value();
    CHECK(acc.shape() == Shape{2048, 1, 16});
    CHECK(acc.data<std::int32_t>()[1] == 105);
    CHECK(read_npy(shop.path("uop.npy")).value().shape() == Shape{8192, 3});
  }
  const auto refused = [&](const std::string& what, const std::string& engine) {
    return test::dovetail({"simulate", shop.path("p.s"), "--engine", engine, "--sram-out", what}).error;
  };
  CHECK_THAT(refused("ac=" + shop.path("a.npy"), "cycle"), ContainsSubstring("there is no memory `ac`"));
  CHECK_THAT(refused("acc", "cycle"), ContainsSubstring("it is not NAME=VALUE"));
}
