// The messages of remote.proto, which describes them, and their bytes. A message lists its fields once, with their
// numbers; the encoder and the decoder walk that list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace dovetail::remote {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::size_t kMostFrameBytes = std::size_t{2} << 20;        // of a frame without its length
inline constexpr std::size_t kMostFirstFrameBytes = std::size_t{64} << 10;  // of a connection
inline constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

// A frame: the length of the bytes, the first byte least significant, then the bytes.
inline constexpr std::size_t kLengthBytes = 4;
std::string framed(std::string_view bytes);
std::size_t length_of(std::string_view frame);  // of its first kLengthBytes

#define DOVETAIL_FIELDS(...)             \
  template <typename Visit>              \
  void each_field(Visit&& visit) {       \
    visit(__VA_ARGS__);                  \
  }                                      \
  template <typename Visit>              \
  void each_field(Visit&& visit) const { \
    visit(__VA_ARGS__);                  \
  }

struct BoardEntry {
  std::string name;
  std::vector<std::string> labels, facts;
  bool machine_code = false;
  DOVETAIL_FIELDS(name, labels, facts, machine_code)
};
struct Hello {
  std::uint32_t version = kProtocolVersion;
  std::string kit;
  std::optional<BoardEntry> board = {};
  DOVETAIL_FIELDS(version, kit, board)
};
struct Attach {
  std::string token;
  DOVETAIL_FIELDS(token)
};
struct Heartbeat {
  template <typename Visit>
  void each_field(Visit&& visit) const {
    visit();
  }
};
struct LeaseOrder {
  std::uint64_t order = 0;
  std::string label;
  std::uint32_t priority = 0;
  std::string what;
  DOVETAIL_FIELDS(order, label, priority, what)
};
struct LeaseRenewal {
  std::uint64_t lease = 0;
  DOVETAIL_FIELDS(lease)
};

enum class EndCause : std::uint8_t {
  unspecified,
  finished,
  timed_out,
  crashed,
  board_lost,
  refused,
  client_lost,
  revoked,
  canceled,
};
inline constexpr std::string_view kEndCauses[] = {"unspecified", "finished",    "timed_out", "crashed", "board_lost",
                                                  "refused",     "client_lost", "revoked",   "canceled"};
constexpr std::string_view to_string(EndCause cause) { return kEndCauses[static_cast<std::size_t>(cause)]; }

struct LeaseEnd {
  std::uint64_t lease = 0;
  EndCause cause = EndCause::unspecified;
  std::string why;
  DOVETAIL_FIELDS(lease, cause, why)
};
struct StatusQuery : Heartbeat {};

struct Welcome {
  std::uint32_t heartbeat_ms = 0, lease_ms = 0;
  std::string name;
  DOVETAIL_FIELDS(heartbeat_ms, lease_ms, name)
};
struct Refusal {
  std::string what, why, hint;
  DOVETAIL_FIELDS(what, why, hint)
};
struct Waiting {
  std::uint64_t order = 0;
  std::uint32_t before = 0, boards = 0;
  DOVETAIL_FIELDS(order, before, boards)
};
struct Lease {
  std::uint64_t order = 0, lease = 0;
  std::string token;
  BoardEntry board;
  DOVETAIL_FIELDS(order, lease, token, board)
};
struct LeaseStart {
  std::uint64_t lease = 0;
  std::string token, client;
  bool machine_code = false;
  std::uint64_t seconds = 0;
  DOVETAIL_FIELDS(lease, token, client, machine_code, seconds)
};
struct StatusReport {
  struct Board {
    BoardEntry entry;
    std::uint64_t lease = 0;
    std::string client, what;
    std::uint64_t seconds = 0;
    DOVETAIL_FIELDS(entry, lease, client, what, seconds)
  };
  struct Order {
    std::string client, label, what;
    std::uint32_t priority = 0;
    std::uint64_t seconds = 0;
    DOVETAIL_FIELDS(client, label, what, priority, seconds)
  };
  std::vector<Board> boards;
  std::vector<Order> orders;
  DOVETAIL_FIELDS(boards, orders)
};

struct FileOffer {
  std::string sha256;
  std::uint64_t bytes = 0;
  DOVETAIL_FIELDS(sha256, bytes)
};
struct FileWanted {
  std::string sha256;
  std::uint64_t offset = 0;
  DOVETAIL_FIELDS(sha256, offset)
};
struct FileChunk {
  std::string name;
  std::uint64_t offset = 0;
  std::string data;
  bool last = false;
  DOVETAIL_FIELDS(name, offset, data, last)
};
struct CommandStart {
  struct File {
    std::string path, sha256;
    DOVETAIL_FIELDS(path, sha256)
  };
  std::vector<std::string> arguments;
  std::vector<File> files;
  std::vector<std::string> results;
  bool texts = false;
  DOVETAIL_FIELDS(arguments, files, results, texts)
};
struct Text {
  std::string text;
  DOVETAIL_FIELDS(text)
};
struct Interrupt : Heartbeat {};
struct Output {
  bool error = false;
  std::string data;
  DOVETAIL_FIELDS(error, data)
};
struct CommandEnd {
  std::int32_t exit = 0;
  EndCause cause = EndCause::unspecified;
  std::string why;
  DOVETAIL_FIELDS(exit, cause, why)
};
#undef DOVETAIL_FIELDS

// The alternatives in the order of their numbers, which begin at 1.
using JoinRequest = std::variant<Hello, Attach, Heartbeat, LeaseOrder, LeaseRenewal, LeaseEnd, StatusQuery>;
using JoinResponse = std::variant<Welcome, Refusal, Heartbeat, Waiting, Lease, LeaseStart, LeaseEnd, StatusReport>;
using WorkRequest = std::variant<FileOffer, FileChunk, CommandStart, Text, Interrupt>;
using WorkResponse = std::variant<Refusal, FileWanted, Output, Text, FileChunk, CommandEnd>;

// The bytes of a message, for a frame.
std::string encode(const JoinRequest& message);
std::string encode(const JoinResponse& message);
std::string encode(const WorkRequest& message);
std::string encode(const WorkResponse& message);

// Error: the bytes are not such a message, or of a kind that this version does not know.
template <typename Message>
Result<Message> decode(std::string_view bytes);
extern template Result<JoinRequest> decode(std::string_view);
extern template Result<JoinResponse> decode(std::string_view);
extern template Result<WorkRequest> decode(std::string_view);
extern template Result<WorkResponse> decode(std::string_view);

}  // namespace dovetail::remote
