// A library to preload (LD_PRELOAD) that simulates a machine out of resources: it wraps the functions of the C library
// that request resources, counts their uses, and refuses the requested ones. run.py has it refuse each use of a command
// in turn; the program itself is unaware of the library.
//
//   DOVETAIL_REFUSE=count:FILE       at the end FILE lists what was used: KIND PLACE USES; then the places that asked
//                                    for heap memory, with the number of their first use: heap PLACE USE
//   DOVETAIL_REFUSE=KIND:N           the N-th use of that kind is refused, counted from 1
//   DOVETAIL_REFUSE=KIND:N+          that one, and all that follow: a disk that is full remains full
//   DOVETAIL_REFUSE=heap:PLACE@USE   that place of the heap is refused once, at about that use or later
//
// PLACE is FUNCTION+OFFSET outside the heap: the function that was called, and where the program called it. Of the heap
// it is a hash of the last calls on the way to it, the same in all runs of a program. The file that
// DOVETAIL_REFUSE_SEEN names is there once something but the heap was refused. Programs that the program starts are
// left alone.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

enum Kind : std::size_t { write_kind, map_kind, thread_kind, library_kind, process_kind, kinds };
struct KindRow {
  const char* name;
  int error;  // errno of the refusal
};
constexpr std::array<KindRow, kinds> kKinds{
    {{"write", ENOSPC}, {"map", ENOMEM}, {"thread", EAGAIN}, {"library", ENOMEM}, {"process", EAGAIN}}};

// Nothing here allocates: heap memory is one of the requested resources.
bool is_active = false;
const char *count_into = nullptr, *seen_file = nullptr;
std::size_t refused_kind = kinds;
bool lasting = false;
std::uint64_t refused_use = 0, refused_place = 0;

struct Use {
  Kind kind;
  const char* function;
  std::uintptr_t place;
  std::uint64_t uses;
};
std::array<Use, 1024> used;
std::size_t used_count = 0;
std::mutex mutex;  // of both
std::array<std::atomic<std::uint64_t>, kinds> uses;

// ---- Places ----

constexpr int kFrames = 12;
constexpr std::size_t kCallsOfPlace = 6;

// The offset within the program or library, whose base differs in each run.
std::uintptr_t offset_of(void* code, bool* in_program) {
  ::dl_find_object object;
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  if (::_dl_find_object(code, &object) != 0) return address;
  if (in_program != nullptr) *in_program = *object.dlfo_link_map->l_name == '\0';
  return address - reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
}

thread_local bool inside = false;  // looking at the stack may need memory too

// The place in the program on this call's stack; 0: none nearby.
std::uintptr_t place_in_program() {
  std::array<void*, 64> frames;
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    bool in_program = false;
    const std::uintptr_t offset = offset_of(frames[static_cast<std::size_t>(i)], &in_program);
    if (in_program) return offset;
  }
  return 0;
}

void count(Kind kind, const char* function) {
  const std::uintptr_t place = place_in_program();
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < used_count; ++i)
    if (Use& use = used[i]; use.kind == kind && use.place == place && std::strcmp(use.function, function) == 0) {
      ++use.uses;
      return;
    }
  if (used_count < used.size()) used[used_count++] = {kind, function, place, 1};
}

// Whether this use of the function is refused; sets errno as the function would.
bool refuses(Kind kind, const char* function) {
  if (!is_active || inside) return false;
  if (count_into != nullptr) {
    inside = true;
    count(kind, function);
    inside = false;
  }
  if (refused_kind != kind) return false;
  const std::uint64_t use = uses[kind].fetch_add(1) + 1;
  if (use < refused_use || (use > refused_use && !lasting)) return false;
  inside = true;
  if (seen_file != nullptr)
    if (const int file = ::open(seen_file, O_WRONLY | O_CREAT, 0600); file >= 0) ::close(file);
  inside = false;
  errno = kKinds[kind].error;
  return true;
}

// ---- The heap ----

constexpr std::size_t kPlaces = std::size_t{1} << 17;
struct HeapPlace {
  std::atomic<std::uint64_t> place;  // 0: a free entry
  std::uint64_t first_use;
};
std::array<HeapPlace, kPlaces> heap_places;
std::atomic<std::uint64_t> heap_uses;
// Walking the stack is slow: it begins this many uses before the requested one, which threads may reach earlier or
// later than in the counting run.
constexpr std::uint64_t kDrift = 1000;

std::uint64_t heap_place() {
  std::array<void*, kFrames> frames;
  const auto count = static_cast<std::size_t>(::backtrace(frames.data(), kFrames));
  std::uint64_t place = 0xcbf29ce484222325;
  // This function, its two callers here, and the calls on the way to them.
  for (std::size_t i = 3; i < std::min(count, 3 + kCallsOfPlace); ++i)
    place = (place ^ offset_of(frames[i], nullptr)) * 0x100000001b3;
  return place | 1;
}

// Whether the place has not asked before. With a full table: false.
bool is_new(std::uint64_t place, std::uint64_t use) {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    HeapPlace& entry = heap_places[(place + i) % kPlaces];
    std::uint64_t found = 0;
    if (entry.place.compare_exchange_strong(found, place)) {
      entry.first_use = use;
      return true;
    }
    if (found == place) return false;
  }
  return false;
}

[[gnu::noinline, maybe_unused]] bool heap_refuses() {
  if (!is_active || inside || (count_into == nullptr && refused_place == 0)) return false;
  const std::uint64_t use = ++heap_uses;
  if (count_into == nullptr && use + kDrift < refused_use) return false;
  inside = true;
  const std::uint64_t place = heap_place();
  const bool refused = (count_into != nullptr || place == refused_place) && is_new(place, use) && count_into == nullptr;
  inside = false;
  if (refused) errno = ENOMEM;
  return refused;
}

// ---- Begin and end ----

// An invalid request is ignored: tests see that nothing was refused.
[[gnu::constructor]] void begin() {
  const char* const request = std::getenv("DOVETAIL_REFUSE");
  seen_file = std::getenv("DOVETAIL_REFUSE_SEEN");
  ::unsetenv("LD_PRELOAD");
  const char* const colon = request == nullptr ? nullptr : std::strchr(request, ':');
  if (colon == nullptr) return;
  const auto is_kind = [&](const char* name) {
    return std::strncmp(request, name, static_cast<std::size_t>(colon - request)) == 0 && name[colon - request] == '\0';
  };
  char* end = nullptr;
  if (is_kind("count")) {
    count_into = colon + 1;
  } else if (is_kind("heap")) {
    refused_place = std::strtoull(colon + 1, &end, 16);
    if (*end == '@') refused_use = std::strtoull(end + 1, nullptr, 10);
  } else {
    for (std::size_t kind = 0; kind < kinds; ++kind)
      if (is_kind(kKinds[kind].name)) refused_kind = kind;
    refused_use = std::strtoull(colon + 1, &end, 10);
    lasting = *end == '+';
  }
  std::array<void*, 2> frames;
  ::backtrace(frames.data(), 2);  // the first time it loads a library
  is_active = true;
}

[[gnu::destructor]] void write_counts() {
  is_active = false;
  std::FILE* const file = count_into == nullptr ? nullptr : std::fopen(count_into, "a");
  if (file == nullptr) return;
  for (std::size_t i = 0; i < used_count; ++i)
    std::fprintf(file, "%s %s+%zx %llu\n", kKinds[used[i].kind].name, used[i].function, used[i].place,
                 static_cast<unsigned long long>(used[i].uses));
  for (const HeapPlace& entry : heap_places)
    if (entry.place != 0)
      std::fprintf(file, "heap %016llx %llu\n", static_cast<unsigned long long>(entry.place.load()),
                   static_cast<unsigned long long>(entry.first_use));
  std::fclose(file);
}

// The function of that name after this library.
template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// ---- Files ----

bool is_file(int file) {
  struct stat status {};
  return file > STDERR_FILENO && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

bool writes(const char* mode) { return std::strpbrk(mode, "wa+") != nullptr; }

// Descriptors that were opened only for writing: closing one may show that the disk is full. Locks and databases, which
// are opened for reading too, have nothing to lose then.
std::array<std::atomic<bool>, 1024> written;

}  // namespace

// Each of these is the function of the C library with the same name; `call` is how it is called, `failed` what it
// returns where it is refused.
#define REFUSABLE(kind, type, name, parameters, call, failed) \
  extern "C" type name parameters {                           \
    static const auto next = real<type(*) parameters>(#name); \
    return refuses(kind##_kind, #name) ? failed : next call;  \
  }
#define REFUSABLE_WRITE(name, parameters, call)                          \
  extern "C" ssize_t name parameters {                                   \
    static const auto next = real<ssize_t(*) parameters>(#name);         \
    return is_file(file) && refuses(write_kind, #name) ? -1 : next call; \
  }
#define REFUSABLE_FOPEN(name)                                                       \
  extern "C" std::FILE* name(const char* path, const char* mode) {                  \
    static const auto next = real<std::FILE* (*)(const char*, const char*)>(#name); \
    return writes(mode) && refuses(write_kind, #name) ? nullptr : next(path, mode); \
  }

// SQLite uses open64: where it cannot open a file for writing, it opens it for reading, and drops the error.
extern "C" int open(const char* path, int flags, ...) {
  static const auto next = real<int (*)(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  const bool on_disk = std::strncmp(path, "/proc/", 6) != 0 && std::strncmp(path, "/dev/", 5) != 0;
  if (on_disk && (flags & O_ACCMODE) != O_RDONLY && refuses(write_kind, "open")) return -1;
  const int file = next(path, flags, mode);
  if (file >= 0 && static_cast<std::size_t>(file) < written.size())
    written[static_cast<std::size_t>(file)] = on_disk && (flags & O_ACCMODE) == O_WRONLY;
  return file;
}
REFUSABLE_FOPEN(fopen)
REFUSABLE_FOPEN(fopen64)
REFUSABLE_WRITE(write, (int file, const void* bytes, std::size_t count), (file, bytes, count))
REFUSABLE_WRITE(pwrite, (int file, const void* bytes, std::size_t count, off_t at), (file, bytes, count, at))
REFUSABLE_WRITE(pwrite64, (int file, const void* bytes, std::size_t count, off64_t at), (file, bytes, count, at))
REFUSABLE(write, int, mkdir, (const char* path, mode_t mode), (path, mode), -1)
REFUSABLE(write, char*, mkdtemp, (char* path), (path), nullptr)
REFUSABLE(write, int, rename, (const char* from, const char* to), (from, to), -1)

extern "C" int close(int file) {
  static const auto next = real<int (*)(int)>("close");
  const bool refused = file >= 0 && static_cast<std::size_t>(file) < written.size() &&
                       written[static_cast<std::size_t>(file)].exchange(false) && refuses(write_kind, "close");
  const int error = errno, result = next(file);
  if (!refused) return result;
  errno = error;
  return -1;
}

// The program's output: the stream must record the failure.
extern "C" int fflush(std::FILE* stream) {
  static const auto next = real<int (*)(std::FILE*)>("fflush");
  if (stream != stdout || !refuses(write_kind, "fflush")) return next(stream);
  stream->_flags |= 0x20;  // _IO_ERR_SEEN
  return EOF;
}

// ---- Memory outside the heap, threads, shared objects, programs ----

REFUSABLE(map, int, memfd_create, (const char* name, unsigned flags), (name, flags), -1)
REFUSABLE(map, int, pipe2, (int* ends, int flags), (ends, flags), -1)
REFUSABLE(map, void*, mmap, (void* at, std::size_t bytes, int access, int flags, int file, off_t from),
          (at, bytes, access, flags, file, from), MAP_FAILED)
REFUSABLE(map, void*, mmap64, (void* at, std::size_t bytes, int access, int flags, int file, off64_t from),
          (at, bytes, access, flags, file, from), MAP_FAILED)
REFUSABLE(process, pid_t, fork, (), (), -1)

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* value) {
  static const auto next = real<decltype(&pthread_create)>("pthread_create");
  return refuses(thread_kind, "pthread_create") ? kKinds[thread_kind].error : next(thread, attributes, body, value);
}

thread_local bool library_refused = false;
extern "C" void* dlopen(const char* path, int flags) {
  static const auto next = real<void* (*)(const char*, int)>("dlopen");
  library_refused = refuses(library_kind, "dlopen");
  return library_refused ? nullptr : next(path, flags);
}
extern "C" char* dlerror() {
  static const auto next = real<char* (*)()>("dlerror");
  static char why[] = "Cannot allocate memory";
  return std::exchange(library_refused, false) ? why : next();
}

#ifndef DOVETAIL_LEAVE_HEAP
extern "C" void* malloc(std::size_t bytes) { return heap_refuses() ? nullptr : __libc_malloc(bytes); }
extern "C" void* calloc(std::size_t count, std::size_t bytes) {
  return heap_refuses() ? nullptr : __libc_calloc(count, bytes);
}
extern "C" void* realloc(void* memory, std::size_t bytes) {
  return heap_refuses() ? nullptr : __libc_realloc(memory, bytes);
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return heap_refuses() ? nullptr : __libc_memalign(alignment, bytes);
}
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* const taken = heap_refuses() ? nullptr : __libc_memalign(alignment, bytes);
  if (taken == nullptr) return ENOMEM;
  *memory = taken;
  return 0;
}
#endif
