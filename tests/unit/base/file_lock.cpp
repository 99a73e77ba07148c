#include "base/file_lock.h"

#include <chrono>
#include <future>
#include <thread>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail {

TEST_CASE("file lock: one holder at a time, and a waiting process is notified once") {
  const test::TemporaryFolder folder;
  const auto path = folder / "lock";
  std::promise<void> waits;
  std::future<bool> other;
  {
    const auto held = FileLock::take(path, [] { FAIL("nobody holds it"); });
    REQUIRE(held.ok());
    other = std::async(std::launch::async, [&] { return FileLock::take(path, [&] { waits.set_value(); }).ok(); });
    waits.get_future().wait();
    CHECK(other.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  }
  CHECK(other.get());
  CHECK(FileLock::take(path, [] { FAIL("nobody holds it"); }).ok());

  const auto nowhere = FileLock::take(folder / "no" / "lock");
  REQUIRE_FALSE(nowhere.ok());
  CHECK(nowhere.errors().front().what == "cannot lock");
}

}  // namespace dovetail
