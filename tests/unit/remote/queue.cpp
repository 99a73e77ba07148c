// Commands of clients on boards, by way of a queue: what comes back, who waits for whom, and how each kind of failure
// ends.
#include "remote/queue.h"

#include "tests/unit/remote/farm.h"

namespace dovetail::remote {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("queue: a command runs on a board with its files, and its output, files and exit code come back") {
  TestFarm farm;
  farm.add("pi4");
  CommandOrder order = farm.order(
      "cat in.txt; echo problem >&2; mkdir -p out/deep; tr a-z A-Z < deep/b.bin > out/deep/c; echo 1 > one; ln -s "
      "/etc/passwd out/link; rmdir linked; ln -s /etc linked; exit 3");
  std::string large(3'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>('a' + i / 1000 % 26);
  order.files = {
      {"in.txt", farm.write("i", "hello\n")}, {"deep/b.bin", farm.write("b", large)}, {"e", farm.write("e", "")}};
  order.results = {"out", "one", "absent", "linked/passwd"};
  const Seen seen = run(std::move(order));
  INFO((seen.lost ? to_string(seen.lost->error) : "") << seen.error);
  REQUIRE(seen.end);
  CHECK(seen.end->exit == 3);
  CHECK(seen.end->cause == EndCause::finished);
  CHECK(seen.board == "pi4");
  CHECK(seen.out == "hello\n");
  CHECK(seen.error == "problem\n");
  std::string upper = large;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  CHECK(seen.files.at("one") == "1\n");
  CHECK(seen.files.at("out/deep/c") == upper);
  CHECK(seen.files.size() == 2);  // no link is followed
  CHECK(becomes_true([&] { return farm.status().boards.at(0).lease == 0; }));
  CHECK(std::filesystem::is_empty(farm.folder / "pi4/jobs"));
}

TEST_CASE("queue: a file is sent once, whatever its name") {
  TestFarm farm;
  farm.add("pi4");
  for (const char* name : {"a", "b"}) {
    CommandOrder order = farm.order(std::string("cat ") + name);
    order.files = {{name, farm.write("same", "content")}};
    CHECK(run(std::move(order)).out == "content");
  }
  std::size_t kept = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(farm.folder / "pi4/store"))
    kept += entry.is_regular_file() && entry.path().filename().string().size() == 64;
  CHECK(kept == 1);
}

TEST_CASE("queue: a board refuses commands and file names that are not for it") {
  TestFarm farm;
  farm.add("pi4");
  CommandOrder other = farm.order("");
  other.arguments = {"serve"};
  const Seen refused = run(std::move(other));
  REQUIRE(refused.lost);
  CHECK(refused.lost->cause == EndCause::refused);
  CHECK_THAT(refused.lost->error.why, ContainsSubstring("boards do not run this command"));
  CommandOrder outside = farm.order("true");
  outside.files = {{"../x", farm.write("x", "x")}};
  const Seen escaped = run(std::move(outside));
  REQUIRE(escaped.lost);
  CHECK(escaped.lost->cause == EndCause::refused);
  CHECK_FALSE(std::filesystem::exists(farm.folder / "pi4/jobs/x"));
  CHECK(run(farm.order("echo still here")).out == "still here\n");
}

TEST_CASE("queue: a command that crashes says so") {
  TestFarm farm;
  farm.add("pi4");
  const Seen seen = run(farm.order("kill -SEGV $$"));
  REQUIRE(seen.end);
  CHECK(seen.end->cause == EndCause::crashed);
  CHECK_THAT(seen.end->why, ContainsSubstring("signal 11"));
}

TEST_CASE("queue: output that nobody reads yet is not lost, and does not fill the memory") {
  TestFarm farm;
  farm.add("pi4");
  auto client = Client::start(farm.order("head -c 30000000 /dev/zero")).value();
  std::this_thread::sleep_for(milliseconds(500));
  std::size_t bytes = 0;
  while (true) {
    const auto event = client->next(milliseconds(5000)).value();
    REQUIRE(event);
    if (const auto* const output = std::get_if<Output>(&event->what)) bytes += output->data.size();
    if (std::holds_alternative<CommandEnd>(event->what)) break;
  }
  CHECK(bytes == 30000000);
}

TEST_CASE("queue: a client that leaves ends its command, and the board is free again") {
  TestFarm farm;
  farm.add("pi4");
  const std::string alive = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; sleep 0.02; done";
  {
    auto client = Client::start(farm.order(alive)).value();
    CHECK(watch(*client, [](const Seen& seen) { return seen.out.size() > 10; }).out.size() > 10);
    CHECK(farm.status().boards.at(0).lease != 0);
  }
  CHECK(becomes_true([&] { return farm.status().boards.at(0).lease == 0; }));
  CHECK(becomes_true([&] { return std::filesystem::is_empty(farm.folder / "pi4/jobs"); }));
  CHECK(run(farm.order("echo next")).out == "next\n");
}

TEST_CASE("queue: a board that ends in the middle of a command is lost, and its client learns it") {
  TestFarm farm;
  farm.add("pi4");
  auto client = Client::start(farm.order("echo begun; sleep 60")).value();
  CHECK(watch(*client, [](const Seen& seen) { return !seen.out.empty(); }).out == "begun\n");
  farm.boards["pi4"]->end();
  const Seen seen = watch(*client);
  REQUIRE(seen.lost);
  CHECK(seen.lost->cause == EndCause::board_lost);
  CHECK(farm.status().boards.empty());
}

TEST_CASE("queue: when the queue ends, its clients learn it, and boards come back to the next one") {
  TestFarm farm;
  farm.add("pi4");
  auto client = Client::start(farm.order("echo begun; sleep 60")).value();
  CHECK(watch(*client, [](const Seen& seen) { return !seen.out.empty(); }).out == "begun\n");
  const Address address = farm.queue->address;
  farm.queue->end();
  const Seen seen = watch(*client);
  CHECK((seen.failed || (seen.lost && seen.lost->cause == EndCause::canceled)));
  QueueOptions options;
  options.address = address;
  farm.queue = std::make_unique<RunningQueue>(std::move(options));
  CHECK(run(farm.order("echo again")).out == "again\n");
}

TEST_CASE("queue: a lease has a longest time") {
  QueueOptions options;
  options.longest_lease = std::chrono::seconds(1);
  TestFarm farm(std::move(options));
  farm.add("pi4");
  // Nobody reads the output, so the board cannot end its work earlier.
  auto client = Client::start(farm.order("head -c 300000000 /dev/zero")).value();
  CHECK(becomes_true([&] { return farm.status().boards.at(0).lease != 0; }));
  CHECK(becomes_true([&] { return farm.status().boards.at(0).lease == 0; }));
  const Seen seen = watch(*client);
  REQUIRE(seen.lost);
  CHECK(seen.lost->cause == EndCause::timed_out);
}

TEST_CASE("queue: a command ends in its own way before its lease does, and its results come back") {
  QueueOptions options;
  options.longest_lease = std::chrono::seconds(4);
  TestFarm farm(std::move(options));
  farm.add("pi4");
  CommandOrder order = farm.order("trap 'echo rest >>r; exit 5' INT; echo first >r; while :; do sleep 0.01; done");
  order.results = {"r"};
  const Seen seen = run(std::move(order));
  REQUIRE(seen.end);
  CHECK(seen.end->cause == EndCause::timed_out);
  CHECK(seen.files.at("r") == "first\nrest\n");
}

TEST_CASE("queue: an interrupted command ends in its own way, and its results come back") {
  TestFarm farm;
  CommandOrder order =
      farm.order("trap 'echo rest >>r; exit 5' INT; echo first >r; echo begun; while :; do sleep 0.01; done");
  order.results = {"r"};
  auto client = Client::start(std::move(order)).value();
  CHECK_FALSE(client->interrupt());  // it waits for a board
  farm.add("pi4");
  CHECK(watch(*client, [](const Seen& seen) { return !seen.out.empty(); }).out == "begun\n");
  CHECK(client->interrupt());
  const Seen seen = watch(*client);
  REQUIRE(seen.end);
  CHECK(seen.end->cause == EndCause::finished);
  CHECK(seen.end->exit == 5);
  CHECK(seen.files.at("r") == "first\nrest\n");
  CHECK(becomes_true([&] { return !client->interrupt(); }));
}

TEST_CASE("queue: orders wait for a board with their label, by priority, and those who have fewer boards come first") {
  TestFarm farm;
  auto waits = Client::start(farm.order("echo a", "big")).value();
  CHECK(watch(*waits, [](const Seen& seen) { return !seen.waited.empty(); }).waited.front().boards == 0);
  farm.add("small-1", {"small"});
  CHECK(run(farm.order("echo b", "small")).out == "b\n");
  CHECK(run(farm.order("echo c", "small-1")).out == "c\n");
  CHECK(farm.status().orders.size() == 1);
  farm.add("big-1", {"big", "gpu"});
  const Seen got = watch(*waits);
  CHECK(got.out == "a\n");
  CHECK(got.board == "big-1");

  auto holder = Client::start(farm.order("echo held; sleep 60", "big")).value();
  CHECK(watch(*holder, [](const Seen& seen) { return !seen.out.empty(); }).out == "held\n");
  std::vector<std::unique_ptr<Client>> later;
  const std::vector<std::uint32_t> priorities = {0, 2, 1, 2};
  for (const std::uint32_t priority : priorities) {
    CommandOrder order = farm.order("date +%s.%N", "big");
    order.priority = priority;
    later.push_back(Client::start(std::move(order)).value());
    CHECK(becomes_true([&] { return farm.status().orders.size() == later.size(); }));
  }
  holder.reset();
  std::vector<double> times;
  std::vector<Seen> all(later.size());
  for (const std::size_t i : {1, 3, 2, 0}) times.push_back(std::stod(watch(*later[i]).out));
  CHECK(std::is_sorted(times.begin(), times.end()));
}

TEST_CASE("queue: boards of one name, and programs of another protocol, are refused") {
  TestFarm farm;
  farm.add("pi4");
  CHECK(becomes_true([&] { return farm.status().boards.size() == 1; }));
  BoardOptions options;
  options.queue = farm.queue->address;
  options.entry.name = "pi4";
  options.folder = farm.folder / "second";
  RunningBoard second(std::move(options));
  second.thread.join();
  REQUIRE_FALSE(second.end_of_run.ok());
  CHECK_THAT(second.end_of_run.errors().front().why, ContainsSubstring("pi4"));
  CHECK(farm.status().boards.size() == 1);
}

TEST_CASE("queue: several boards run a command that exchanges texts, and a lost one is replaced") {
  TestFarm farm;
  for (const char* name : {"a", "b", "c"}) farm.add(name);
  CommandOrder order = farm.order("");
  // Each process sends one text, and ends when it gets one. Four bytes of length come first.
  order.arguments = {"-c",
                     "printf '\\005\\000\\000\\000hello' >&$DOVETAIL_MESSAGES; head -c 6 <&$DOVETAIL_MESSAGES > got; "
                     "tail -c 2 got"};
  order.texts = true;
  order.boards = 2;
  auto client = Client::start(std::move(order)).value();
  std::map<int, std::string> texts, ends;
  std::map<int, std::string> names;
  bool lost = false;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (ends.size() < 2 && std::chrono::steady_clock::now() < limit) {
    const auto event = client->next(milliseconds(50)).value();
    if (!event) continue;
    if (const auto* const began = std::get_if<Began>(&event->what)) names[event->board] = began->board.name;
    if (const auto* const text = std::get_if<Text>(&event->what)) {
      texts[event->board] += text->text;
      if (event->board == 1 && !lost) farm.boards[names[1]]->end();
      else client->send(event->board, "ok");
    }
    if (const auto* const gone = std::get_if<Lost>(&event->what)) {
      CHECK(event->board == 1);
      CHECK(gone->is_replaced);
      lost = true;
    }
    if (const auto* const output = std::get_if<Output>(&event->what)) ends[event->board] += output->data;
  }
  CHECK(lost);
  CHECK(texts[1] == "hellohello");
  CHECK(texts[2] == "hello");
  CHECK(ends[1] == "ok");
  CHECK(ends[2] == "ok");
}

TEST_CASE("queue: an address without certificates must be a Unix socket, and one at a time listens there") {
  QueueOptions open;
  open.address = parse_address("127.0.0.1:0").value();
  const auto refused = Queue::open(std::move(open));
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.errors().front().why, ContainsSubstring("certificates"));
  TestFarm farm;
  QueueOptions same;
  same.address = farm.queue->address;
  CHECK_FALSE(Queue::open(std::move(same)).ok());
  CommandOrder order = farm.order("true");
  order.place.queue.path += "-other";
  const auto absent = Client::start(std::move(order));
  REQUIRE_FALSE(absent.ok());
  CHECK_THAT(absent.errors().front().hint, ContainsSubstring("dovetail queue"));
}

}  // namespace dovetail::remote
