// bind, vthread and pipeline: accepted loops, and the text of each refusal.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kThreadsGrid =
    "program p { input x: int32[4, 8] output y: int32[4, 8] for i in 4 { for j in 8 { block b { spatial v in 4 = i "
    "spatial w in 8 = j reads x[v, w] writes y[v, w] y[v, w] = x[v, w] } } } }";
const std::string kThreadsProduct =
    "program p { input x: int32[8] output y: int32[2] "
    "for i in 2 { for k in 8 { block b { spatial v in 2 = i reduce r in 8 = k reads y[v], x[r] writes y[v] init { y[v] "
    "= 0 } y[v] = y[v] + x[r] } } } }";
const std::string kThreadsChain =
    "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] "
    "for i in 8 { block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] + 1 } } "
    "for j in 2 { for k in 4 { block b { spatial v in 8 = j * 4 + k reads t[v] writes y[v] y[v] = t[v] * 2 } } } }";

}  // namespace

TEST_CASE("schedule: bind ties loops to thread axes") {
  check_becomes(
      kThreadsGrid, "bind i block.x\nbind j thread.x",
      "program p { input x: int32[4, 8] output y: int32[4, 8] for i in 4 thread(block.x) { for j in 8 thread(thread.x) "
      "{ block b { spatial v in 4 = i spatial w in 8 = j reads x[v, w] writes y[v, w] y[v, w] = x[v, w] } } } }");
  CHECK_THAT(scheduled(kThreadsChain, "compute_at a j\nbind j block.x\nbind k thread.x\nbind i thread.x"),
             Catch::Matchers::ContainsSubstring("for i in 4 thread(thread.x)"));
}

TEST_CASE("schedule: bind has threads join a reduction") {
  CHECK_THAT(scheduled(kThreadsProduct, "bind k thread.x"),
             Catch::Matchers::ContainsSubstring("for k in 8 thread(thread.x)"));
  CHECK_THAT(scheduled(kThreadsProduct,
                       "split k 4\nrfactor b k_1 -> part\ncompute_at part b.v\nbind b.v block.x\n"
                       "bind b.vk_1 thread.x\nbind k_1 thread.x"),
             Catch::Matchers::ContainsSubstring("for b.vk_1 in 4 thread(thread.x)"));
}

TEST_CASE("schedule: vthread") {
  CHECK_THAT(scheduled(kThreadsChain, "compute_at a j\nvthread j"),
             Catch::Matchers::ContainsSubstring("for j in 2 vthread {"));
  check_refused(kThreadsProduct, "vthread k", "its 8 iterations carry the reduce iterator r of block b");
}

TEST_CASE("schedule: pipeline lets the loads of a reduction run ahead") {
  CHECK_THAT(
      scheduled(kThreadsProduct,
                "cache_read b x shared -> xs\nsplit k 4 -> ko ki\nreorder ko i ki\ncompute_at xs ko\npipeline ko 2"),
      Catch::Matchers::ContainsSubstring("for ko in 2 pipelined @stages(\"2\")"));
}

TEST_CASE("schedule: slots are noted where the buffer is written") {
  const std::string steps =
      "cache_read b x shared -> xs\nsplit k 4 -> ko ki\nreorder ko i ki\ncompute_at xs ko\nslots xs 3";
  CHECK_THAT(scheduled(kThreadsProduct, steps), Catch::Matchers::ContainsSubstring("@slots(\"3\")"));
  CHECK_THAT(scheduled(kThreadsProduct, steps + "\nslots xs 2"), Catch::Matchers::ContainsSubstring("@slots(\"2\")"));
}

TEST_CASE("schedule refusals: slots") {
  check_refused(kThreadsProduct, "slots x 0", "the number of slots must be an integer of at least 1");
  check_refused(kThreadsProduct, "slots x 2", "iterations of ");
  check_refused(kThreadsProduct, "cache_read b x shared -> xs\nslots xs 2",
                "no loop contains all its uses. Hint: compute_at what writes it into a loop of what reads it");
  // A running sum: each iteration reads the value that the previous one wrote.
  const std::string running =
      "program p { input x: int32[4] output y: int32[4] alloc t: int32[1] for i in 4 { block a { ordered v in 4 = i "
      "reads x[v], t[0] writes t[0] t[0] = t[0] + x[v] } block b { spatial w in 4 = i reads t[0] writes y[w] y[w] = "
      "t[0] } } }";
  check_refused(running, "slots t 2",
                "iterations of i cannot have copies of it: block a reads elements of t that the same iteration does "
                "not provably write before");
}

TEST_CASE("schedule refusals: bind") {
  check_refused(kThreadsGrid, "bind i warp.x",
                "cannot bind i (schedule): there is no thread axis warp.x. Hint: the axes are block.x, block.y, "
                "block.z, thread.x, thread.y, thread.z");
  check_refused(
      "program p { output y: int32[65] for i in 65 { block b { spatial v in 65 = i writes y[v] y[v] = 0 } } }",
      "bind i thread.z",
      "it has 65 iterations, but thread.z has at most 64. Hint: split it and bind one of both loops");
  check_refused(kThreadsGrid, "bind i block.x\nbind j block.x", "loop i of the same nest is bound to block.x already");
  check_refused(kThreadsGrid, "bind j block.x",
                "loop i around it is serial, but blocks cannot wait for one another between its iterations. Hint: bind "
                "the outermost loops");
  check_refused(kThreadsGrid, "bind i thread.x\nbind j block.x",
                "loop i around it is bound to thread.x, but blocks cannot wait");
  check_refused(kThreadsChain, "compute_at a j\nbind j block.x\nbind k block.y",
                "it shares the loop around it with other statements, for which blocks cannot wait");
  check_refused(
      kThreadsChain, "compute_at a j\nsplit i 2\nbind i_1 thread.x\nbind k thread.x",
      "it has 4 iterations, loop i_1 of the same kernel binds 2 of them to thread.x. Hint: split both by one factor");
  check_refused(
      "program p { output y: int32[64, 32] for i in 64 { for j in 32 { block b { spatial v in 64 = i spatial w in 32 = "
      "j writes y[v, w] y[v, w] = 0 } } } }",
      "bind i thread.x\nbind j thread.y", "the thread axes of the kernel would make 2048 threads, more than 1024");
  // Threads join values by operations that may be reordered, where each has a value, along one axis.
  check_refused(
      "program p { input x: int32[8] output y: int32[1] for k in 8 { block b { reduce r in 8 = k reads y[0], x[r] "
      "writes y[0] init { y[0] = 0 } y[0] = y[0] - x[r] } } }",
      "bind k thread.x", "its 8 iterations carry the reduce iterator r of block b");
  check_refused(kThreadsProduct, "split k 5\nbind k_1 thread.x",
                "its 5 iterations carry the reduce iterator r of block b. Hint: rfactor the reduction");
  check_refused(kThreadsProduct, "split k 4\nbind k_0 thread.x\nbind k_1 thread.y",
                "its 2 iterations carry the reduce iterator r of block b");
  check_refused(kThreadsGrid, "bind i block.x\nsplit i 2",
                "cannot split i (schedule): the step would invalidate thread loop i_1: loop i_0 around it is serial");
}

TEST_CASE("schedule refusals: pipeline") {
  check_refused(kThreadsGrid, "pipeline i 1", "the number of stages must be an integer of at least 2");
  check_refused(kThreadsGrid, "pipeline i 2",
                "cannot pipeline i (schedule): it holds only one statement, so nothing could overlap. Hint: "
                "cache_read and compute_at its operands into it first");
  check_refused(kThreadsChain, "compute_at a j\npipeline j 3",
                "it has 2 iterations, fewer than 3 stages. Hint: give fewer stages");
  check_refused(
      "program p { input x: int32[4] output y: int32[4] output z: int32[4] for i in 4 { block a { spatial v in 4 = i "
      "reads x[v] writes y[v] y[v] = x[v] } "
      "block b { spatial w in 4 = i reads y[w] writes z[w] z[w] = y[w] } } }",
      "pipeline i 2",
      "its statements before the last one write y, of which iterations cannot have copies: y is a parameter of the "
      "program");
  check_refused(
      "program p { input x: int32[4] output y: int32[4] alloc t: int32[4] alloc s: int32[4] for f in 4 { block z { "
      "spatial u in 4 = f reads x[u] writes s[u] s[u] = x[u] } } "
      "for i in 4 { block a { spatial v in 4 = i reads s[v] writes t[v] t[v] = s[v] } "
      "block b { spatial w in 4 = i reads t[w] writes s[w] s[w] = t[w] + 1 } } for g in 4 { block c { spatial u in 4 = "
      "g reads s[u] writes y[u] y[u] = s[u] } } }",
      "pipeline i 2", "its last statement writes s, which an earlier one reads and could not read ahead");
}
