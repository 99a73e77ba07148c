#include "tests/fuzz/replay.h"

namespace dovetail::test {

TEST_CASE("fuzzed messages: decoded or refused with a diagnostic, and written again as the same message") {
  replay(messages_target(), "tests/fuzz/remote/messages.zip", 20'000);
}

}  // namespace dovetail::test
