#include "base/fault.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace dovetail::fault {

namespace {

struct Kind {
  std::string_view name;
  int error;  // errno of a refusal
};
constexpr std::array<Kind, 5> kKinds{
    {{"write", ENOSPC}, {"map", ENOMEM}, {"thread", EAGAIN}, {"library", ENOMEM}, {"process", EAGAIN}}};

struct Request {
  const char* count_into = nullptr;  // file
  std::optional<Refusable> kind;
  std::uint64_t first = 0;
  bool lasting = false;
  HeapRequest heap;
};

// An unrecognized request is ignored: only tests use this, and they notice that nothing was refused.
Request parse(const char* text) {
  Request request;
  const std::string_view view = text == nullptr ? "" : text;
  const std::size_t colon = view.find(':');
  if (colon == view.npos) return request;
  if (view.substr(0, colon) == "count") {
    request.count_into = text + colon + 1;
    request.heap.counts = true;
    return request;
  }
  if (view.substr(0, colon) == "heap") {
    const auto [end, error] = std::from_chars(text + colon + 1, text + view.size(), request.heap.place, 16);
    if (error != std::errc() || *end != '@' ||
        std::from_chars(end + 1, text + view.size(), request.heap.use).ec != std::errc())
      request.heap = {};
    return request;
  }
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i].name == view.substr(0, colon)) request.kind = static_cast<Refusable>(i);
  const auto [end, error] = std::from_chars(view.data() + colon + 1, view.data() + view.size(), request.first);
  if (error != std::errc()) request.kind.reset();
  request.lasting = end != view.data() + view.size() && *end == '+';
  return request;
}

const Request& request() {
  static const Request kRequest = parse(std::getenv("DOVETAIL_TEST"));
  return kRequest;
}

// A source location. Nothing here allocates, because heap memory is one of the resources under test.
struct Place {
  Refusable kind;
  const char* file;
  unsigned line;
  std::uint64_t uses;
};
std::array<Place, 256> places;
std::size_t place_count = 0;
struct HeapPlace {
  std::uint64_t place, use;
};
std::array<HeapPlace, std::size_t{1} << 17> heap_places;
std::size_t heap_place_count = 0;
std::mutex mutex;  // protects all four
std::array<std::atomic<std::uint64_t>, kKinds.size()> uses;

void write_counts() {
  std::FILE* file = std::fopen(request().count_into, "a");
  if (file == nullptr) return;
  std::fputs("object\n", file);
  for (std::size_t i = 0; i < place_count; ++i) {
    const Place& place = places[i];
    std::fprintf(file, "%s %s:%u %llu\n", kKinds[static_cast<std::size_t>(place.kind)].name.data(), place.file,
                 place.line, static_cast<unsigned long long>(place.uses));
  }
  for (std::size_t i = 0; i < heap_place_count; ++i)
    std::fprintf(file, "heap %016llx %llu\n", static_cast<unsigned long long>(heap_places[i].place),
                 static_cast<unsigned long long>(heap_places[i].use));
  std::fclose(file);
}

// Precondition: the mutex is held.
void write_counts_at_exit() {
  if (place_count == 0 && heap_place_count == 0) std::atexit(write_counts);
}

void count(Refusable kind, const char* file, unsigned line) {
  const std::lock_guard lock(mutex);
  write_counts_at_exit();
  for (std::size_t i = 0; i < place_count; ++i)
    if (Place& place = places[i]; place.kind == kind && place.line == line && std::strcmp(place.file, file) == 0) {
      ++place.uses;
      return;
    }
  if (place_count < places.size()) places[place_count++] = {kind, file, line, 1};
}

}  // namespace

const bool kAreRequested = std::getenv("DOVETAIL_TEST") != nullptr;

bool is_refused(Refusable kind, const char* file, unsigned line) {
  if (request().count_into != nullptr) count(kind, file, line);
  if (request().kind != kind) return false;
  const std::uint64_t use = uses[static_cast<std::size_t>(kind)].fetch_add(1) + 1;
  if (use < request().first || (use > request().first && !request().lasting)) return false;
  if (const char* seen = std::getenv("DOVETAIL_TEST_SEEN"); seen != nullptr)
    if (const int file = ::open(seen, O_WRONLY | O_CREAT, 0600); file >= 0) ::close(file);
  errno = kKinds[static_cast<std::size_t>(kind)].error;
  return true;
}

const HeapRequest& heap_request() { return request().heap; }

void count_heap_place(std::uint64_t place, std::uint64_t use) {
  const std::lock_guard lock(mutex);
  write_counts_at_exit();
  if (heap_place_count < heap_places.size()) heap_places[heap_place_count++] = {place, use};
}

}  // namespace dovetail::fault
