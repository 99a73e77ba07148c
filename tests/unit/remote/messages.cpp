#include "remote/messages.h"

#include "tests/catch.h"

namespace dovetail::remote {

TEST_CASE("remote: messages survive encoding") {
  const BoardEntry board{"pi4", {"a", "b"}, {"Cortex-A72"}, true};
  const auto hello = decode<JoinRequest>(encode(JoinRequest(Hello{1, "0.1", board}))).value();
  CHECK(std::get<Hello>(hello).board.value().labels == board.labels);
  CHECK_FALSE(std::get<Hello>(decode<JoinRequest>(encode(JoinRequest(Hello{}))).value()).board);

  const CommandStart start{{"run", "--", "m"}, {{"m", "ab"}, {"n", "cd"}}, {"out"}, true};
  const auto read = std::get<CommandStart>(decode<WorkRequest>(encode(WorkRequest(start))).value());
  CHECK(read.arguments == start.arguments);
  REQUIRE(read.files.size() == 2);
  CHECK(read.files[1].sha256 == "cd");
  CHECK(read.results == start.results);
  CHECK(read.texts);

  const auto end = decode<WorkResponse>(encode(WorkResponse(CommandEnd{-3, EndCause::crashed, "x"}))).value();
  CHECK(std::get<CommandEnd>(end).exit == -3);
  CHECK(std::get<CommandEnd>(end).cause == EndCause::crashed);
  const std::string zeros("a\0b\xff", 4);
  CHECK(std::get<Output>(decode<WorkResponse>(encode(WorkResponse(Output{true, zeros}))).value()).data == zeros);
}

// Bytes by the encoding of Protocol Buffers (protobuf.dev/programming-guides/encoding): LeaseRenewal is the field 5 of
// JoinRequest, a message of 3 bytes, whose field 1 is the varint 300.
TEST_CASE("remote: messages have the bytes of Protocol Buffers") {
  CHECK(encode(JoinRequest(LeaseRenewal{300})) == std::string("\x2a\x03\x08\xac\x02", 5));
}

TEST_CASE("remote: unknown fields are skipped, and other messages are refused") {
  // LeaseRenewal with a field 9 that this version does not have.
  const auto renewal = decode<JoinRequest>(std::string("\x2a\x05\x48\x01\x08\xac\x02", 7));
  CHECK(std::get<LeaseRenewal>(renewal.value()).lease == 300);
  for (const std::string& bytes :
       {std::string(), std::string("\x2a\x03\x08"), std::string("\xfa\x01\x00", 3), std::string("\x28\x05"),
        encode(JoinRequest(Heartbeat{})) + encode(JoinRequest(Heartbeat{}))})
    CHECK_FALSE(decode<JoinRequest>(bytes).ok());
  CHECK(std::get<Hello>(decode<JoinRequest>(std::string("\x0a\x00", 2)).value()).version == 0);
  // The value of a bool is missing: LeaseStart's field 4, at the end of the bytes.
  CHECK_FALSE(decode<JoinResponse>(std::string("\x32\x01\x20")).ok());
  // A cause of a later version is unspecified.
  const auto end = decode<JoinRequest>(std::string("\x32\x02\x10\x63", 4)).value();
  CHECK(std::get<LeaseEnd>(end).cause == EndCause::unspecified);
}

TEST_CASE("remote: a frame begins with its length") {
  CHECK(framed("abc") == std::string("\x03\0\0\0abc", 7));
  CHECK(length_of(framed(std::string(70000, 'x'))) == 70000);
}

}  // namespace dovetail::remote
