// Threads whose creation the system may refuse.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace dovetail {

// Runs `body`, which must not throw. The destructor waits for its end. Throws std::system_error if the system cannot
// create a thread, or has no memory for one.
template <typename Body>
std::jthread start_thread(Body body) {
  try {
    return std::jthread(std::move(body));
  } catch (const std::bad_alloc&) {
    throw std::system_error(ENOMEM, std::generic_category());
  }
}

}  // namespace dovetail
