// Fault injection for tests: every place where the system may refuse a request calls this first, so that a test can
// count these places for a command and then have each of them refused in turn (tests/faults). Without the variable
// DOVETAIL_TEST a place costs one branch.
//
//   DOVETAIL_TEST=count:FILE       at the end FILE lists the places, in the order of their first use: KIND SOURCE:LINE
//                                  USES (after a line "object" for `dovetail`, and one for each engine that was
//                                  loaded); then the heap's places, whose names are the same in all runs of a program,
//                                  with the number of their first use: heap PLACE USE
//   DOVETAIL_TEST=KIND:N           the N-th use of that kind is refused, counted from 1
//   DOVETAIL_TEST=KIND:N+          that one and all later ones: a full disk remains full
//   DOVETAIL_TEST=heap:PLACE@USE   the heap refuses that place once, at about that use or later
//
// The file that DOVETAIL_TEST_SEEN names is created once something other than the heap has been refused, because the
// number of uses may depend on time.
#pragma once

#include <cstdint>

namespace dovetail {

enum class Refusable : std::uint8_t {
  write,    // writing to a file, and opening one for writing
  map,      // memory outside the heap
  thread,   // a new thread
  library,  // loading a shared object
  process   // starting a program
};

namespace fault {

extern const bool kAreRequested;  // DOVETAIL_TEST is set
bool is_refused(Refusable kind, const char* file, unsigned line);

// The request to the heap, which knows its own places (cli/allocation.h).
struct HeapRequest {
  bool counts = false;
  std::uint64_t place = 0;  // 0: none
  std::uint64_t use = 0;
};
const HeapRequest& heap_request();
void count_heap_place(std::uint64_t place, std::uint64_t use);

}  // namespace fault

// Whether to act as if the system had refused the request; sets errno accordingly. The caller passes its location
// (clang 14, which builds the fuzzing targets, has no std::source_location).
inline bool refused_for_test(Refusable kind, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  return fault::kAreRequested && fault::is_refused(kind, file, line);
}

}  // namespace dovetail
