// Commands with --on: on boards of a queue they give what they give here, also where one of the three ends is killed.
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "isa/config.h"
#include "tests/background.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"
#include "tests/skip.h"
#include "tests/torture/models.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Background;
using test::Finished;
using test::kDigits;

namespace {

// A queue and its boards: `dovetail queue` and `dovetail serve`, at a Unix socket or with certificates.
class Boards {
 public:
  enum class At { unix_socket, loopback };
  explicit Boards(At at = At::unix_socket) {
    address_ = "unix:" + std::string(folder_ / "q");
    if (at == At::loopback) {
      const Finished made = test::dovetail({"certificates", folder_ / "farm", "--queue", "127.0.0.1", "--board", "pi4",
                                            "--client", "alice:run-code", "--client", "bob:measure"});
      REQUIRE(made.exit == 0);
      address_ = "127.0.0.1:0";
    }
    start_queue();
  }

  void start_queue() {
    std::vector<std::string> command{DOVETAIL_CLI, "queue", address_};
    if (has_certificates())
      command.insert(command.end(),
                     {"--certificates", folder_ / "farm/queue", "--revoked", folder_ / "farm/revoked.txt"});
    queue = std::make_unique<Background>(command, folder_ / "queue.log");
    REQUIRE(queue->says("listening     "));
    const std::string said = queue->output();
    const std::size_t begin = said.find("listening     ") + 14;
    address_ = said.substr(begin, said.find('\n', begin) - begin);
  }
  Background& serve(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> command{DOVETAIL_CLI, "serve", address_, "--name", name, "--folder", folder_ / name};
    if (has_certificates()) command.insert(command.end(), {"--certificates", folder_ / "farm/pi4"});
    command.insert(command.end(), more.begin(), more.end());
    boards[name] = std::make_unique<Background>(command, folder_ / (name + ".log"));
    CHECK(boards[name]->says("connected to "));
    return *boards[name];
  }
  std::vector<std::string> on(std::vector<std::string> command, const std::string& label = "",
                              const std::string& client = "alice") const {
    command.insert(command.begin(), DOVETAIL_CLI);
    command.insert(command.end(), {"--on", fmt::format("queue:{}{}{}", address_, label.empty() ? "" : "/", label)});
    if (label.empty() && !has_certificates()) command.back() += "/";
    if (has_certificates()) command.insert(command.end(), {"--certificates", folder_ / "farm" / client});
    return command;
  }
  Finished run(std::vector<std::string> command, const std::string& label = "",
               const std::string& client = "alice") const {
    return test::run_process(on(std::move(command), label, client));
  }
  bool has_certificates() const { return std::filesystem::exists(folder_ / "farm"); }
  Json status() const {
    std::vector<std::string> command{"queue", address_, "--status", "--json"};
    if (has_certificates()) command.insert(command.end(), {"--certificates", folder_ / "farm/alice"});
    const Finished found = test::dovetail(command);
    INFO(found.error);
    REQUIRE(found.exit == 0);
    return parse_json(found.out, "status").value();
  }
  bool becomes_idle(const std::string& name) const {
    for (int i = 0; i < 600; ++i) {
      const Json now = status();
      for (const Json& board : now["boards"])
        if (board["name"] == name && !board.contains("lease") && std::filesystem::is_empty(folder_ / name / "jobs"))
          return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  const test::TemporaryFolder& folder() const { return folder_; }
  const std::string& address() const { return address_; }

 private:
  test::TemporaryFolder folder_;
  std::string address_;

 public:
  std::unique_ptr<Background> queue;
  std::map<std::string, std::unique_ptr<Background>> boards;
};

const std::vector<std::string> kOnAccelerator{"run",         kDigits, "--target",    "accel,cpu", "--cpu",
                                              "interpreter", "--hw",  "1x16x16-ext", "--engine",  "cycle"};

// Runs until it is ended.
const std::vector<std::string> kEndless{"run",   kDigits,       "--target", "cpu",
                                        "--cpu", "interpreter", "--repeat", "1000000"};

// The records of a database, without the time of measuring.
std::vector<Json> records_of(const std::string& database) {
  const Finished exported = test::dovetail({"records", "export", database, "-o", database + ".jsonl"});
  REQUIRE(exported.exit == 0);
  std::vector<Json> records;
  std::istringstream lines(read_text_file(database + ".jsonl").value());
  for (std::string line; std::getline(lines, line);) {
    records.push_back(parse_json(line, database).value());
    records.back().erase("time");
  }
  CHECK(records.size() > 10);
  return records;
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto text = read_text_file(entry.path() / "stat");
    if (!text.ok()) continue;
    const std::size_t close = text->rfind(')');
    if (close == text->npos || close + 4 > text->size()) continue;
    if (std::atoi(text->c_str() + close + 4) == process) children.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return children;
}

}  // namespace

TEST_CASE("boards: run gives the same outputs on a board as here, and writes its files here") {
  Boards farm;
  farm.serve("pi4", {"--label", "arm"});
  std::vector<std::string> command = kOnAccelerator;
  command.insert(command.end(),
                 {"--check", "--output-dir", farm.folder() / "here", "--report", farm.folder() / "h.json"});
  const Finished here = test::run_process([&] {
    auto words = command;
    words.insert(words.begin(), DOVETAIL_CLI);
    return words;
  }());
  REQUIRE(here.exit == 0);
  command[command.size() - 3] = farm.folder() / "there";
  command[command.size() - 1] = farm.folder() / "t.json";
  const Finished there = farm.run(command, "arm");
  INFO(there.error << there.out);
  REQUIRE(there.exit == 0);
  CHECK_THAT(there.error, ContainsSubstring("board         pi4: "));
  CHECK_THAT(there.out, ContainsSubstring("all equal"));
  CHECK(read_file(farm.folder() / "there/logits.npy").value() == read_file(farm.folder() / "here/logits.npy").value());
  CHECK(read_json_file(farm.folder() / "t.json").value()["latency"]["cycles"] ==
        read_json_file(farm.folder() / "h.json").value()["latency"]["cycles"]);
}

TEST_CASE("boards: JSON reports of a command on a board name the board") {
  Boards farm;
  farm.serve("pi4");
  std::vector<std::string> command = kOnAccelerator;
  command.insert(command.end(), {"--json", "--report", farm.folder() / "r.json"});
  const Finished there = farm.run(command);
  INFO(there.error);
  REQUIRE(there.exit == 0);
  const Json board = farm.status()["boards"][0];
  const Finished status = test::dovetail({"queue", farm.address(), "--status"});
  CHECK_THAT(status.out, ContainsSubstring("\n              " + board["facts"][0].get<std::string>()));
  for (const Json& report : {parse_json(there.out, "run").value(), read_json_file(farm.folder() / "r.json").value()}) {
    CHECK(report["board"]["name"] == "pi4");
    CHECK(report["board"]["facts"] == board["facts"]);
  }
}

TEST_CASE("boards: the steps of one machine and one point are explored on a board") {
  Boards farm;
  farm.serve("pi4");
  const std::vector<std::string> steps{"explore", kDigits, "--what-if", "1x16x16", "--json"};
  const Finished there = farm.run(steps), here = test::dovetail(steps);
  INFO(there.error);
  REQUIRE(there.exit == 0);
  CHECK_THAT(there.error, ContainsSubstring("board         pi4"));
  Json report = parse_json(there.out, "steps").value();
  CHECK(report.erase("board") == 1);
  CHECK(report == parse_json(here.out, "steps").value());
  REQUIRE(
      write_text_file(farm.folder() / "space.json", R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8]}})").ok());
  const Finished point = farm.run({"explore", kDigits, farm.folder() / "space.json", "--point", "none"});
  CHECK(point.exit == 2);
  CHECK_THAT(point.error, ContainsSubstring("board         pi4") && ContainsSubstring("unknown point"));
}

TEST_CASE("boards: --wait ends a command that gets no board in this time, which says for what it waited") {
  Boards farm;
  auto command = kOnAccelerator;
  command.insert(command.end(), {"--wait", "1"});
  const Finished none = farm.run(command, "pi4");
  CHECK(none.exit == 1);
  CHECK_THAT(none.error,
             ContainsSubstring("no board is free") && ContainsSubstring("after 1 s: no board for pi4 is connected"));
  farm.serve("pi4");
  CHECK(farm.run(command, "pi4").exit == 0);
  Background client(farm.on(kEndless, "pi4"), farm.folder() / "client.log");
  REQUIRE(client.says("board         pi4"));
  const Finished busy = farm.run(command, "pi4");
  CHECK(busy.exit == 1);
  CHECK_THAT(busy.error, ContainsSubstring("after 1 s: the board is busy for pi4, none before this one"));
  CHECK(farm.run({"run", kDigits, "--wait", "soon"}).exit == 2);
  const Finished shared =
      farm.run({"tune", kDigits, "--target", "accel", "--records", farm.folder() / "r.db", "--wait", "1"});
  CHECK(shared.exit == 2);
  CHECK_THAT(shared.error, ContainsSubstring("--wait") && ContainsSubstring("waits for no board"));
}

TEST_CASE("boards: errors and exit codes of commands come back") {
  Boards farm;
  farm.serve("pi4");
  const Finished bad = farm.run({"run", kDigits, "--target", "nothing"});
  CHECK(bad.exit == 2);
  CHECK_THAT(bad.error, ContainsSubstring("nothing"));
  const Finished outside =
      farm.run({"run", kDigits, "--target", "cpu", "--cpu", "interpreter", "--input", "image=/etc/hostname"});
  CHECK(outside.exit == 2);
  const Finished none = farm.run({"run", "/nowhere/m.onnx"});
  CHECK(none.exit == 2);
  CHECK_THAT(none.error, ContainsSubstring("/nowhere/m.onnx"));
}

TEST_CASE("boards: bundles, pictures of stdin and stdout, comparison and evaluation run on a board") {
  Boards farm;
  farm.serve("pi4");
  const std::string bundle = farm.folder() / "d.dvt";
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "accel,cpu", "--cpu", "interpreter", "--hw", "1x16x16-ext",
                          "-o", bundle})
              .exit == 0);
  const Finished run = farm.run({"run", bundle, "--json"});
  INFO(run.error);
  REQUIRE(run.exit == 0);
  CHECK(parse_json(run.out, "run").value()["kind"] == "run");
  const Finished compared =
      farm.run({"compare", kDigits, "--target", "accel", "--hw", "1x16x16,1x16x16-ext", "--json"});
  INFO(compared.error);
  CHECK(compared.exit == 0);
  const Finished profiled = farm.run({"profile", bundle, "--engine", "cycle", "--json"});
  INFO(profiled.error);
  CHECK(profiled.exit == 0);
}

TEST_CASE("boards: machine code runs for clients with the role run-code alone") {
  Boards farm(Boards::At::loopback);
  farm.serve("pi4");
  const std::string bundle = farm.folder() / "cpu.dvt";
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "cpu", "-o", bundle}).exit == 0);
  const std::vector<std::string> run{"run", bundle};
  if (!farm.status()["boards"][0]["machine_code"]) {
    CHECK_THAT(farm.boards["pi4"]->output(), ContainsSubstring("machine code  refused"));
    return;
  }
  const Finished alice = farm.run(run, "pi4");
  INFO(alice.error);
  CHECK(alice.exit == 0);
  const Finished bob = farm.run(run, "pi4", "bob");
  CHECK(bob.exit == 2);
  CHECK_THAT(bob.error, ContainsSubstring("run-code"));
  const Finished compiled = farm.run({"run", kDigits, "--target", "cpu"}, "pi4", "bob");
  CHECK(compiled.exit != 0);
  CHECK_THAT(compiled.error, ContainsSubstring("run-code"));
  // A program that measures is machine code, too.
  REQUIRE(write_text_file(farm.folder() / "metric.py", "print('{\"figure\": 1}')\n").ok());
  const std::vector<std::string> evaluate{"evaluate", kDigits,
                                          "--inputs", DOVETAIL_SOURCE_DIR "/examples/digits/test_images.npy",
                                          "--labels", DOVETAIL_SOURCE_DIR "/examples/digits/test_labels.npy",
                                          "--target", "accel,cpu",
                                          "--hw",     "1x16x16-ext",
                                          "--cpu",    "interpreter",
                                          "--metric", "program:file=" + std::string(farm.folder() / "metric.py")};
  const Finished measured = farm.run(evaluate, "pi4");
  INFO(measured.error);
  CHECK(measured.exit == 0);
  const Finished program = farm.run(evaluate, "pi4", "bob");
  CHECK(program.exit != 0);
  CHECK_THAT(program.error, ContainsSubstring("run-code"));
  const Finished simulated = farm.run(kOnAccelerator, "pi4", "bob");
  INFO(simulated.error);
  CHECK(simulated.exit == 0);
}

TEST_CASE("boards: a revoked client is refused, and its command that runs is ended") {
  Boards farm(Boards::At::loopback);
  farm.serve("pi4");
  Background running(farm.on(kEndless, "pi4", "bob"), farm.folder() / "bob.log");
  REQUIRE(running.says("board         pi4"));
  REQUIRE(test::dovetail({"certificates", farm.folder() / "farm", "--revoke", "bob"}).exit == 0);
  CHECK(running.wait() == 1);
  CHECK_THAT(running.output(), ContainsSubstring("revoked"));
  CHECK(farm.becomes_idle("pi4"));
  const Finished later = farm.run(kOnAccelerator, "pi4", "bob");
  CHECK(later.exit != 0);
  CHECK_THAT(later.error, ContainsSubstring("revoked"));
  CHECK(farm.run(kOnAccelerator, "pi4").exit == 0);
}

TEST_CASE("boards: a revoked board ends, and says why") {
  Boards farm(Boards::At::loopback);
  Background& board = farm.serve("pi4");
  REQUIRE(test::dovetail({"certificates", farm.folder() / "farm", "--revoke", "pi4"}).exit == 0);
  CHECK(board.wait() == 2);
  CHECK_THAT(board.output(), ContainsSubstring("the queue refuses this certificate: it is revoked"));
}

TEST_CASE("boards: kill -9 of the client ends the command on the board") {
  Boards farm;
  farm.serve("pi4");
  Background client(farm.on(kEndless, "pi4"), farm.folder() / "client.log");
  REQUIRE(client.says("board         pi4"));
  CHECK(client.end(SIGKILL) == -SIGKILL);
  CHECK(farm.becomes_idle("pi4"));
  CHECK(children_of(farm.boards["pi4"]->process()).empty());
  CHECK(farm.run(kOnAccelerator).exit == 0);
}

TEST_CASE("boards: kill -9 of the board ends the command, and the client says so") {
  Boards farm;
  farm.serve("pi4");
  Background client(farm.on(kEndless, "pi4"), farm.folder() / "client.log");
  REQUIRE(client.says("board         pi4"));
  farm.boards["pi4"]->end(SIGKILL);
  CHECK(client.wait() == 1);
  CHECK_THAT(client.output(), ContainsSubstring("board_lost"));
  farm.serve("pi4");  // the same name and folder again
  CHECK(farm.run(kOnAccelerator).exit == 0);
}

TEST_CASE("boards: kill -9 of the queue ends both, and the board comes back") {
  Boards farm;
  farm.serve("pi4");
  Background client(farm.on(kEndless, "pi4"), farm.folder() / "client.log");
  REQUIRE(client.says("board         pi4"));
  farm.queue->end(SIGKILL);
  CHECK(client.wait() == 1);
  CHECK_THAT(client.output(), ContainsSubstring("the connection to the queue is lost"));
  farm.start_queue();
  CHECK(farm.run(kOnAccelerator).exit == 0);
}

TEST_CASE("boards: Ctrl-C ends the command on the board") {
  Boards farm;
  farm.serve("pi4");
  Background client(farm.on(kEndless, "pi4"), farm.folder() / "client.log");
  REQUIRE(client.says("board         pi4"));
  CHECK(client.end(SIGINT) == -SIGINT);
  CHECK(farm.becomes_idle("pi4"));
}

TEST_CASE("boards: a second Ctrl-C does not wait for a command that does not react") {
  Boards farm;
  farm.serve("pi4");
  Background client(farm.on(kEndless, "pi4"), farm.folder() / "client.log");
  REQUIRE(client.says("board         pi4"));
  std::vector<pid_t> commands;
  for (int i = 0; i < 500 && commands.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const pid_t supervisor : children_of(farm.boards["pi4"]->process()))
      for (const pid_t command : children_of(supervisor)) commands.push_back(command);
  }
  REQUIRE(commands.size() == 1);
  ::kill(commands.front(), SIGSTOP);
  ::kill(client.process(), SIGINT);
  REQUIRE(client.says("waiting for the results"));
  CHECK(client.end(SIGINT) == -SIGINT);
  CHECK_THAT(client.output(), ContainsSubstring("its results were not waited for"));
  CHECK(farm.becomes_idle("pi4"));
}

TEST_CASE("boards: Ctrl-C ends a command that waits for a board") {
  Boards farm;
  Background client(farm.on(kEndless, "pi4"), farm.folder() / "client.log");
  REQUIRE(client.says("waiting       no board"));
  CHECK(client.end(SIGINT) == -SIGINT);
}

TEST_CASE("boards: Ctrl-C of tuning for the processor brings back the records") {
  Boards farm;
  farm.serve("pi4");
  if (!farm.status()["boards"][0]["machine_code"]) return test::skip("this kernel cannot confine machine code");
  const auto count = [](const std::string& database) {
    if (!std::filesystem::exists(database)) return 0;
    const Finished list = test::dovetail({"records", "list", database, "--json"});
    int records = 0;
    if (list.exit != 0) return records;
    const Json tasks = parse_json(list.out, "records").value();
    for (const Json& task : tasks)
      for (const Json& outcome : task["outcomes"]) records += outcome.get<int>();
    return records;
  };
  const std::string records = farm.folder() / "r.db";
  Background client(
      farm.on({"tune", kDigits, "--target", "cpu", "--trials", "100000", "--early-stop", "0", "--records", records}),
      farm.folder() / "client.log");
  REQUIRE(client.says("board         pi4"));
  int there = 0;
  for (int i = 0; i < 600 && there == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (const auto& job : std::filesystem::directory_iterator(farm.folder() / "pi4/jobs"))
      there = count(job.path() / "r.db");
  }
  REQUIRE(there > 0);
  CHECK(client.end(SIGINT) == -SIGINT);
  INFO(client.output());
  CHECK(count(records) >= there);
  CHECK(farm.becomes_idle("pi4"));
}

TEST_CASE("boards: tuning over two boards records what one process records") {
  Boards farm;
  farm.serve("a"), farm.serve("b");
  const auto tune = [&](const std::string& name) {
    return std::vector<std::string>{"tune",      kDigits,
                                    "--target",  "accel",
                                    "--hw",      "1x16x16",
                                    "--trials",  "6",
                                    "--records", farm.folder() / (name + ".db"),
                                    "--report",  farm.folder() / (name + ".json")};
  };
  REQUIRE(test::dovetail(tune("alone")).exit == 0);
  auto shared = tune("shared");
  shared.insert(shared.end(), {"--boards", "2"});
  const Finished together = farm.run(shared);
  INFO(together.error << together.out);
  REQUIRE(together.exit == 0);
  CHECK(read_json_file(farm.folder() / "alone.json").value()["tasks"] ==
        read_json_file(farm.folder() / "shared.json").value()["tasks"]);
  CHECK(records_of(farm.folder() / "alone.db") == records_of(farm.folder() / "shared.db"));
  CHECK(farm.becomes_idle("a"));
  CHECK(farm.becomes_idle("b"));
}

TEST_CASE("boards: boards do a part of a sweep") {
  Boards farm;
  farm.serve("a"), farm.serve("b");
  REQUIRE(write_text_file(farm.folder() / "space.json",
                          R"({"hardware": "1x16x16-ext", "axes": {"acc_buffer_bytes": [16384, 32768, 65536, 131072],
    "bus_bytes": [8, 16], "wgt_buffer_bytes": [16384, 32768, 65536, 131072], "uop_buffer_bytes": [8192, 16384, 32768],
    "inp_buffer_bytes": [8192, 16384, 32768]}})")
              .ok());
  const Finished swept = farm.run(
      {"explore", kDigits, farm.folder() / "space.json", "-o", farm.folder() / "out", "--no-check", "--boards", "2"});
  INFO(swept.error << swept.out);
  REQUIRE(swept.exit == 0);
  const std::size_t at = swept.out.find("processes     3, ");
  REQUIRE(at != std::string::npos);
  CHECK(std::stoi(swept.out.substr(at + 17)) > 0);  // the least that one of them did
}

TEST_CASE("boards: a sweep over boards has the points of one process, also where a board is killed") {
  Boards farm;
  farm.serve("a"), farm.serve("b");
  REQUIRE(
      write_text_file(farm.folder() / "space.json",
                      R"({"hardware": "1x16x16-ext", "axes": {"acc_buffer_bytes": [16384, 131072], "bus_bytes": [8, 16],
    "wgt_buffer_bytes": [16384, 65536], "memory": ["ideal", "bank:ddr4-2400"], "clock_mhz": [200, 400]},
    "together": [[{"block_in": 8, "block_out": 8}, {"block_in": 16, "block_out": 16}]]})")
          .ok());
  const auto explore = [&](const char* out) {
    return std::vector<std::string>{"explore",           kDigits,     farm.folder() / "space.json", "-o",
                                    farm.folder() / out, "--no-check"};
  };
  REQUIRE(test::dovetail(explore("alone")).exit == 0);
  auto shared = explore("shared");
  shared.insert(shared.end(), {"--boards", "2"});
  Background client(farm.on(shared), farm.folder() / "client.log");
  REQUIRE(client.says("board         a"));
  farm.boards["a"]->end(SIGKILL);
  CHECK(client.wait() == 0);
  INFO(client.output());
  const auto csv = [&](const char* out) { return read_text_file(farm.folder() / out / "points.csv").value(); };
  CHECK(csv("shared") == csv("alone"));
}

TEST_CASE("boards: tuning for the processor runs on the board, whose records come back") {
  Boards farm;
  farm.serve("pi4");
  if (!farm.status()["boards"][0]["machine_code"]) return test::skip("this kernel cannot confine machine code");
  const Finished tuned =
      farm.run({"tune", kDigits, "--target", "cpu", "--trials", "2", "--records", farm.folder() / "r.db"});
  INFO(tuned.error << tuned.out);
  REQUIRE(tuned.exit == 0);
  const Finished list = test::dovetail({"records", "list", farm.folder() / "r.db", "--json"});
  CHECK(list.exit == 0);
  CHECK(list.out.size() > 100);
}

TEST_CASE("boards: a board's accelerator is driven by engine axi") {
  if (!test::rtl_model(isa::load_config("tiny").value())) return;
  Boards boards;
  boards.serve("zynq", {"--device", "axi:rtl"});
  CHECK(boards.status()["boards"][0]["labels"].dump() == R"(["axi"])");
  const std::vector<std::string> command{"run",  kDigits,  "--target", "accel,cpu", "--hw",
                                         "tiny", "--seed", "3",        "--check"};
  std::vector<std::string> here = command, there = command;
  here.insert(here.end(), {"--engine", "rtl", "--output-dir", boards.folder() / "here"});
  there.insert(there.end(), {"--engine", "axi", "--output-dir", boards.folder() / "there"});
  const Finished expected = test::dovetail(here);
  INFO(expected.error);
  REQUIRE(expected.exit == 0);
  const Finished ran = boards.run(there, "axi");
  INFO(ran.error);
  REQUIRE(ran.exit == 0);
  CHECK(read_text_file(boards.folder() / "here/logits.npy").value() ==
        read_text_file(boards.folder() / "there/logits.npy").value());
  const auto cycles = [](const std::string& text) {
    const std::size_t end = text.find(" cycles");
    REQUIRE(end != text.npos);
    const std::size_t begin = text.rfind(' ', end - 1) + 1;
    return text.substr(begin, end - begin);
  };
  CHECK(cycles(ran.out) == cycles(expected.out));

  // Without the device, the board says what it lacks.
  boards.serve("plain");
  const Finished lacking = boards.run(there, "plain");
  CHECK(lacking.exit == 2);
  CHECK_THAT(lacking.error, ContainsSubstring("this board offers none"));
}
