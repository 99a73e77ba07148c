// The driver's functions, as far as the kit calls them, on the host's memory: kernels made by
// tests/emulated_gpu/nvrtc.cpp run in an order that a seed chooses; the threads of a block run one after the other up
// to the next barrier, each time in another order.
//
//   EMULATED_GPU_SEED         seed of the order
//   EMULATED_GPU_DEVICES      number of devices (1)
//   EMULATED_GPU_CAPABILITY   90 for sm_90
//   EMULATED_GPU_MEMORY       bytes
//   EMULATED_GPU_SHARED       bytes that a block may ask for (227 KiB)
//   EMULATED_GPU_FAULT        the CUresult that the first kernel leaves
//   EMULATED_GPU_INIT         the CUresult of starting the driver
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/random.h"
#include "tests/emulated_gpu/state.h"
#include "tests/emulated_gpu/stream.h"

namespace {

using emulated_gpu::State;

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100,
              kInvalidImage = 200, kNotFound = 500, kLaunchFailed = 719, kUnsupported = 900;

using emulated_gpu::setting;

constexpr unsigned kStaticShared = 48 << 10;
int shared_of_block() { return static_cast<int>(setting("EMULATED_GPU_SHARED", 227 << 10)); }

int fault = kSuccess;  // sticky

// ---- Modules and kernels

struct Module {
  void* handle = nullptr;
  State* state = nullptr;
  char *shared_begin = nullptr, *shared_end = nullptr;
};
struct Function {
  Module* module = nullptr;
  void (*call)(void**) = nullptr;
  bool waits = false;
  std::vector<std::size_t> parameters = {};    // bytes of each
  unsigned most_given_shared = kStaticShared;  // most bytes that a launch may ask for
};

std::string from_ptx(const char* text) {
  std::string object;
  for (const char* at = std::strchr(text, '\n') + 1; at[0] != '\0' && at[1] != '\0'; at += 2) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    object += static_cast<char>(16 * digit(at[0]) + digit(at[1]));
  }
  return object;
}

// ---- The threads of a block

struct Fibre {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  emulated_gpu::Index index;
  enum class At { running, barrier, warp, shuffle, paused, end } at = At::running;
  // State of its shuffle: the value that it offers, then the value that it receives.
  unsigned mask = 0;
  int distance = 0;
  unsigned long long value = 0;
};

constexpr std::size_t kStackBytes = 256 << 10;
struct Block {
  Function* function;
  void** parameters;
  std::vector<Fibre> fibres;
  std::size_t running = 0;
  ucontext_t scheduler{};
};
Block* block = nullptr;  // the running block

void enter_fibre() {
  block->function->call(block->parameters);
  block->fibres[block->running].at = Fibre::At::end;
  swapcontext(&block->fibres[block->running].context, &block->scheduler);
}
void wait_at(Fibre::At where) {
  block->fibres[block->running].at = where;
  swapcontext(&block->fibres[block->running].context, &block->scheduler);
}
void wait_at_barrier() { wait_at(Fibre::At::barrier); }
void wait_for_warp() { wait_at(Fibre::At::warp); }
void pause() { wait_at(Fibre::At::paused); }
unsigned long long wait_at_shuffle(unsigned mask, unsigned long long offered, int distance) {
  Fibre& fibre = block->fibres[block->running];
  fibre.mask = mask;
  fibre.value = offered;
  fibre.distance = distance;
  wait_at(Fibre::At::shuffle);
  return fibre.value;
}

constexpr std::size_t kWarpLanes = 32;
constexpr unsigned long long kNobodys = 0xa5a5a5a5a5a5a5a5;  // read from a lane that offers no value

// Exchanges values between lanes of a warp that wait at a shuffle with all others of its mask; returns whether any did.
bool exchange(std::vector<Fibre>& fibres) {
  bool some = false;
  for (std::size_t warp = 0; warp < fibres.size(); warp += kWarpLanes) {
    unsigned here = 0;
    const auto lane = [&](std::size_t number) -> Fibre& { return fibres[warp + number]; };
    const std::size_t lanes = std::min(kWarpLanes, fibres.size() - warp);
    for (std::size_t i = 0; i < lanes; ++i) here |= unsigned{lane(i).at == Fibre::At::shuffle} << i;
    unsigned complete = 0;
    std::vector<unsigned long long> offered(kWarpLanes, kNobodys), got(kWarpLanes, kNobodys);
    for (std::size_t i = 0; i < lanes; ++i) {
      const bool waits = (here >> i & 1U) != 0, takes_part = (lane(i).mask >> i & 1U) != 0;
      bool together = waits && takes_part && (lane(i).mask & ~here) == 0;
      for (std::size_t j = 0; together && j < lanes; ++j)
        together = (lane(i).mask >> j & 1U) == 0 || lane(j).mask == lane(i).mask;
      if (!together) continue;
      complete |= 1U << i;
      offered[i] = lane(i).value;
    }
    for (std::size_t i = 0; i < lanes; ++i) {
      if ((complete >> i & 1U) == 0) continue;
      const auto from = i ^ static_cast<std::size_t>(lane(i).distance);
      const bool given = from < kWarpLanes && (lane(i).mask >> from & 1U) != 0;
      got[i] = given ? offered[from] : kNobodys;
    }
    for (std::size_t i = 0; i < lanes; ++i) {
      if ((complete >> i & 1U) == 0) continue;
      lane(i).value = got[i];
      lane(i).at = Fibre::At::running;
      some = true;
    }
  }
  return some;
}

// Resumes the threads whose warp, or else whose block, has fully arrived. Returns false where there are none.
bool let_go_on(std::vector<Fibre>& fibres) {
  constexpr std::size_t kWarp = kWarpLanes;
  bool some = exchange(fibres);
  for (std::size_t first = 0; first < fibres.size(); first += kWarp) {
    const auto warp = std::span(fibres).subspan(first, std::min(kWarp, fibres.size() - first));
    if (warp.size() < kWarp || !std::ranges::all_of(warp, [](const Fibre& f) { return f.at == Fibre::At::warp; }))
      continue;
    for (Fibre& fibre : warp) fibre.at = Fibre::At::running;
    some = true;
  }
  if (some || !std::ranges::all_of(fibres, [](const Fibre& f) { return f.at == Fibre::At::barrier; })) return some;
  for (Fibre& fibre : fibres) fibre.at = Fibre::At::running;
  return true;
}

void shuffle(std::vector<std::size_t>& list, dovetail::SplitMix64& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.next() % i]);
}

// Returns false where some threads wait for others that have ended, or that wait elsewhere.
bool run_waiting(Function& function, void** parameters, std::vector<emulated_gpu::Index> threads,
                 dovetail::SplitMix64& random) {
  static std::vector<std::unique_ptr<char[]>> stacks;
  while (stacks.size() < threads.size()) stacks.emplace_back(new char[kStackBytes]);
  Block now{&function, parameters, {}, 0, {}};
  block = &now;
  now.fibres.resize(threads.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    Fibre& fibre = now.fibres[i];
    fibre.index = threads[i];
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stacks[i].get();
    fibre.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fibre.context, enter_fibre, 0);
    order.push_back(i);
  }
  function.module->state->barrier = wait_at_barrier;
  function.module->state->meet_warp = wait_for_warp;
  function.module->state->shuffle = wait_at_shuffle;
  function.module->state->pause = pause;
  bool goes_on = true;
  for (int idle = 0; goes_on;) {
    shuffle(order, random);
    const unsigned long long changes = function.module->state->changes;
    bool moved = false;
    for (const std::size_t i : order) {
      if (now.fibres[i].at != Fibre::At::running) continue;
      now.running = i;
      function.module->state->thread = now.fibres[i].index;
      swapcontext(&now.scheduler, &now.fibres[i].context);
      moved |= now.fibres[i].at != Fibre::At::paused;
    }
    const bool released = let_go_on(now.fibres);
    // Paused threads check again, unless they have checked without effect this many times.
    constexpr int kMostIdle = 50;
    idle = moved || released || function.module->state->changes != changes ? 0 : idle + 1;
    goes_on = released;
    for (Fibre& fibre : now.fibres)
      if (fibre.at == Fibre::At::paused && idle < kMostIdle) fibre.at = Fibre::At::running, goes_on = true;
  }
  return std::ranges::all_of(now.fibres, [](const Fibre& f) { return f.at == Fibre::At::end; });
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  // As in the driver: a process that has used it cannot fork one that uses it.
  static const pid_t first = ::getpid();
  if (::getpid() != first) return kNotInitialized;
  return static_cast<int>(setting("EMULATED_GPU_INIT", kSuccess));
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuGetErrorName(int status, const char** name) {
  static const std::map<int, const char*> names{{kSuccess, "CUDA_SUCCESS"},
                                                {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
                                                {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
                                                {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
                                                {kNotFound, "CUDA_ERROR_NOT_FOUND"},
                                                {34, "CUDA_ERROR_STUB_LIBRARY"},
                                                {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                                                {kUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                                                {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
                                                {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"}};
  const auto found = names.find(status);
  if (found == names.end()) return kInvalidValue;
  *name = found->second;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(setting("EMULATED_GPU_DEVICES", 1));
  return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "emulated GPU", static_cast<std::size_t>(length));
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* bus, int length, int) {
  std::strncpy(bus, "0000:01:00.0", static_cast<std::size_t>(length));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = static_cast<int>(setting("EMULATED_GPU_CAPABILITY", 90));
  *value = attribute == 75   ? capability / 10
           : attribute == 76 ? capability % 10
           : attribute == 16 ? 4
           : attribute == 39 ? 2048
           : attribute == 97 ? shared_of_block()
                             : 0;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = context;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuCtxSetCurrent(void*) { return kSuccess; }

int cuModuleLoadData(Module** result, const void* image) {
  std::string object;
  if (std::memcmp(image, ".version", 8) == 0) {
    object = from_ptx(static_cast<const char*>(image));
  } else if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    const auto& head = *static_cast<const Elf64_Ehdr*>(image);
    object.assign(static_cast<const char*>(image), head.e_shoff + std::size_t{head.e_shentsize} * head.e_shnum);
  } else {
    return kInvalidImage;
  }
  const int file = memfd_create("emulated_module", 0);
  if (file < 0 || write(file, object.data(), object.size()) != static_cast<ssize_t>(object.size()))
    return kInvalidImage;
  // The loader identifies objects by their path.
  static std::vector<int> open_files;
  open_files.push_back(file);
  auto module = std::make_unique<Module>();
  module->handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module->handle == nullptr) return kInvalidImage;
  module->state = static_cast<State*>(dlsym(module->handle, "emulated_gpu_state"));
  module->shared_begin = reinterpret_cast<char* (*)()>(dlsym(module->handle, "emulated_gpu_shared_begin"))();
  module->shared_end = reinterpret_cast<char* (*)()>(dlsym(module->handle, "emulated_gpu_shared_end"))();
  *result = module.release();
  return kSuccess;
}
int cuModuleUnload(Module* module) {
  emulated_gpu_wait();
  dlclose(module->handle);
  delete module;
  return kSuccess;
}
int cuModuleGetFunction(Function** result, Module* module, const char* name) {
  void* const call = dlsym(module->handle, (std::string(name) + "_call").c_str());
  void* const waits = dlsym(module->handle, (std::string(name) + "_waits").c_str());
  if (call == nullptr || waits == nullptr) return kNotFound;
  static std::vector<std::unique_ptr<Function>> functions;  // never freed
  functions.push_back(std::make_unique<Function>(
      Function{module, reinterpret_cast<void (*)(void**)>(call), reinterpret_cast<bool (*)()>(waits)()}));
  if (void* const sizes = dlsym(module->handle, (std::string(name) + "_parameters").c_str()))
    functions.back()->parameters = reinterpret_cast<std::vector<std::size_t> (*)()>(sizes)();
  *result = functions.back().get();
  return kSuccess;
}
int cuFuncGetAttribute(int* value, int attribute, Function*) {
  *value = attribute == 0 ? 1024 : attribute == 4 ? 32 : 0;
  return kSuccess;
}

int cuFuncSetAttribute(Function* function, int attribute, int value) {
  if (attribute != 8 || value < 0 || value > shared_of_block()) return kInvalidValue;
  function->most_given_shared = static_cast<unsigned>(value);
  return kSuccess;
}

// ---- Memory: each piece ends at an inaccessible page

namespace {
constexpr std::size_t kPage = 4096, kAlignment = 256;
struct Piece {
  void* base = nullptr;
  std::size_t whole = 0, bytes = 0;
};
std::map<unsigned long long, Piece> pieces;
std::size_t allocated = 0;
}  // namespace

int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (bytes == 0) return kInvalidValue;
  if (emulated_gpu_breaks_capture()) return kUnsupported;
  if (allocated + bytes > setting("EMULATED_GPU_MEMORY", std::uint64_t{1} << 40)) return kOutOfMemory;
  const std::size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t whole = (padded + kPage - 1) / kPage * kPage + kPage;
  void* const base = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return kOutOfMemory;
  mprotect(static_cast<char*>(base) + whole - kPage, kPage, PROT_NONE);
  char* const begin = static_cast<char*>(base) + whole - kPage - padded;
  std::memset(begin, 0xa5, padded);
  *address = reinterpret_cast<std::uintptr_t>(begin);
  pieces[*address] = {base, whole, bytes};
  allocated += bytes;
  return kSuccess;
}
int cuMemFree_v2(unsigned long long address) {
  if (emulated_gpu_breaks_capture()) return kUnsupported;
  emulated_gpu_wait();
  const auto piece = pieces.find(address);
  if (piece == pieces.end()) return kInvalidValue;
  munmap(piece->second.base, piece->second.whole);
  allocated -= piece->second.bytes;
  pieces.erase(piece);
  return kSuccess;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = setting("EMULATED_GPU_MEMORY", std::uint64_t{1} << 40);
  *free = *total - std::min<std::size_t>(*total, allocated);
  return kSuccess;
}
std::size_t emulated_gpu_room(unsigned long long address) {
  const auto next = pieces.upper_bound(address);
  if (next == pieces.begin()) return 0;
  const Piece& piece = std::prev(next)->second;
  const unsigned long long end = reinterpret_cast<std::uintptr_t>(piece.base) + piece.whole - kPage;
  return address < end ? end - address : 0;
}
namespace {
constexpr unsigned kGivenAlignment = 1024;
struct GivenShared {
  explicit GivenShared(std::size_t of) : size(of), whole((of + kPage - 1) / kPage * kPage + kPage) {
    if (of == 0) return;
    base = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<char*>(base) + whole - kPage, kPage, PROT_NONE);
    bytes = static_cast<unsigned char*>(base) + whole - kPage - of;
  }
  ~GivenShared() {
    if (base != nullptr) munmap(base, whole);
  }
  std::size_t size, whole;
  void* base = nullptr;
  unsigned char* bytes = nullptr;
};
}  // namespace

int emulated_gpu_fault() { return fault; }
void emulated_gpu_fail(int status) { fault = status; }
std::vector<std::size_t> emulated_gpu_parameters(void* function) {
  return static_cast<Function*>(function)->parameters;
}

unsigned emulated_gpu_most_shared(void* function) { return static_cast<Function*>(function)->most_given_shared; }

int emulated_gpu_launch(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, void** parameters) {
  auto* const function = static_cast<Function*>(kernel);
  if (fault != kSuccess) return fault;
  // Rounded up to 1024 bytes, so that it begins at a multiple of them and ends at a page's end.
  const GivenShared given((shared + kGivenAlignment - 1) / kGivenAlignment * kGivenAlignment);
  static dovetail::SplitMix64 random(setting("EMULATED_GPU_SEED", 1));
  State& state = *function->module->state;
  state.block_extent = {block_x, block_y, block_z};
  state.grid_extent = {grid_x, grid_y, grid_z};
  std::vector<std::size_t> blocks(std::size_t{grid_x} * grid_y * grid_z),
      order(std::size_t{block_x} * block_y * block_z);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  shuffle(blocks, random);
  const auto thread_of = [&](std::size_t i) {
    return emulated_gpu::Index{static_cast<unsigned>(i % block_x), static_cast<unsigned>(i / block_x % block_y),
                               static_cast<unsigned>(i / block_x / block_y)};
  };
  state.given_shared = given.bytes;
  state.given_shared_bytes = shared;
  for (const std::size_t number : blocks) {
    ++state.blocks_begun;
    if (given.bytes != nullptr) std::memset(given.bytes, 0xa5, given.size);
    state.block = {static_cast<unsigned>(number % grid_x), static_cast<unsigned>(number / grid_x % grid_y),
                   static_cast<unsigned>(number / grid_x / grid_y)};
    if (function->module->shared_begin != nullptr)
      std::memset(function->module->shared_begin, 0xa5,
                  static_cast<std::size_t>(function->module->shared_end - function->module->shared_begin));
    if (function->waits) {
      std::vector<emulated_gpu::Index> threads;
      for (const std::size_t i : order) threads.push_back(thread_of(i));
      if (!run_waiting(*function, parameters, std::move(threads), random)) return fault = kLaunchFailed;
      continue;
    }
    // Forwards or backwards from any thread: an order that is cheap to make.
    const std::size_t first = random.next() % order.size();
    const bool backwards = random.next() % 2 == 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      state.thread = thread_of((first + (backwards ? order.size() - i : i)) % order.size());
      function->call(parameters);
    }
  }
  fault = static_cast<int>(setting("EMULATED_GPU_FAULT", kSuccess));
  return kSuccess;
}
}
