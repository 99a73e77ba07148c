// The messages between a queue, its boards and its clients: every decoder takes each input.
#include "remote/messages.h"

#include "tests/fuzz/target.h"

namespace dovetail::test {
namespace {

std::vector<FuzzSeed> seeds() {
  using namespace remote;
  const BoardEntry board{"pi4", {"cortex-a72", "4gb"}, {"Cortex-A72", "4 threads"}, true};
  std::vector<FuzzSeed> list;
  const auto add = [&](std::string name, const auto& message) {
    list.push_back({std::move(name), bytes_of(encode(message))});
  };
  add("hello", JoinRequest(Hello{1, "0.1.0", board}));
  add("order", JoinRequest(LeaseOrder{7, "cortex-a72", 3, "tune resnet18.onnx"}));
  add("end", JoinResponse(LeaseEnd{300, EndCause::board_lost, "silent"}));
  add("lease", JoinResponse(Lease{7, 300, "0123456789abcdef", board}));
  add("report", JoinResponse(StatusReport{{{board, 300, "alice", "run", 12}}, {{"bob", "any", "tune", 1, 99}}}));
  add("start", WorkRequest(CommandStart{{"run", "--", "m.onnx"}, {{"m.onnx", std::string(64, 'a')}}, {"out"}, true}));
  add("chunk", WorkResponse(FileChunk{"out/y.npy", 1 << 20, "bytes", true}));
  add("command_end", WorkResponse(CommandEnd{-1, EndCause::crashed, "signal 11"}));
  return list;
}

template <typename Message>
std::string take_as(std::string_view bytes) {
  const Result<Message> read = remote::decode<Message>(bytes);
  if (!read.ok()) return incomplete_diagnostic(read.errors());
  const std::string written = remote::encode(*read);
  const Result<Message> again = remote::decode<Message>(written);
  if (!again.ok()) return "written, it is refused: " + to_string(again.errors());
  if (remote::encode(*again) != written) return "written, it is another message";
  return "";
}

std::string take(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  for (const std::string& broken : {take_as<remote::JoinRequest>(text), take_as<remote::JoinResponse>(text),
                                    take_as<remote::WorkRequest>(text), take_as<remote::WorkResponse>(text)})
    if (!broken.empty()) return broken;
  return "";
}

}  // namespace

FuzzTarget messages_target() { return {seeds, take}; }

}  // namespace dovetail::test
