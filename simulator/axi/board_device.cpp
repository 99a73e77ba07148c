#include "simulator/axi/board_device.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "isa/spec/registers.h"

namespace dovetail::simulator {

namespace {

namespace fs = std::filesystem;

constexpr const char* kWhat = "cannot open the device";
constexpr std::string_view kInherited = "descriptors:";
constexpr const char* kPage = "see docs/howto/boards.md";

Diagnostic failed(const fs::path& path, std::string hint = kPage) {
  return {kWhat, path.string(), std::strerror(errno), std::move(hint), cause_of(errno)};
}

fs::path below(const fs::path& root, const fs::path& path) { return root / path.relative_path(); }

// The same file with a number that a program which inherits it does not use.
Descriptor high(const Descriptor& file) {
  constexpr int kFirst = 64;
  return Descriptor(::fcntl(file.file(), F_DUPFD_CLOEXEC, kFirst));
}

Result<Descriptor> open_file(const fs::path& path, int flags) {
  const Descriptor low(::open(path.c_str(), flags | O_CLOEXEC));
  Descriptor file = low.file() < 0 ? Descriptor() : high(low);
  if (file.file() < 0)
    return failed(
        path, errno == EACCES ? "let this user read and write it, by a rule of udev (docs/howto/boards.md)" : kPage);
  return file;
}

// A file of sysfs with one number: decimal, or hexadecimal after 0x.
Result<std::uint64_t> read_number(const fs::path& path) {
  DOVETAIL_ASSIGN(std::string text, read_text_file(path));
  std::string_view digits = text;
  while (!digits.empty() && (digits.back() == '\n' || digits.back() == ' ')) digits.remove_suffix(1);
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size())
    return Diagnostic{kWhat, path.string(), fmt::format("`{}` is not a number", digits.substr(0, 40)), kPage};
  return number;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

// u-dma-buf has had two names.
std::vector<fs::path> buffers(const fs::path& root) {
  std::vector<fs::path> all;
  for (const char* folder : {"sys/class/u-dma-buf", "sys/class/udmabuf"})
    for (fs::path& entry : entries_of(root / folder)) all.push_back(std::move(entry));
  return all;
}

bool is_ours(std::string_view name) { return name.find("dovetail") != std::string_view::npos; }

std::string listed(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return fmt::format("{}", fmt::join(names, ", "));
}

class Mapping {
 public:
  static Result<Mapping> make(const Descriptor& file, std::uint64_t bytes, std::uint64_t offset,
                              const std::string& name) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.file(), static_cast<off_t>(offset));
    if (at == MAP_FAILED) return failed(name);
    return Mapping(static_cast<std::byte*>(at), bytes);
  }
  Mapping(Mapping&& other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (at_ != nullptr) ::munmap(at_, bytes_);
  }
  std::byte* at() const { return at_; }

 private:
  Mapping(std::byte* at, std::uint64_t bytes) : at_(at), bytes_(bytes) {}
  std::byte* at_;
  std::uint64_t bytes_;
};

class BoardDevice final : public AxiDevice {
 public:
  BoardDevice(BoardFiles files, Mapping registers, Mapping memory)
      : files_(std::move(files)), registers_(std::move(registers)), memory_(std::move(memory)) {}

  std::string name() const override { return files_.name; }
  std::uint32_t read(std::uint32_t offset) override { return *window(offset); }
  void write(std::uint32_t offset, std::uint32_t value) override {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // after what was written to memory
    *window(offset) = value;
  }

  // UIO disables the interrupt when it comes; a write enables it again.
  Result<void> wait(std::chrono::milliseconds most) override {
    const std::uint32_t enable = 1;
    if (!interrupts_ || ::write(files_.interrupt.file(), &enable, sizeof enable) != sizeof enable) {
      interrupts_ = false;  // it has none
      ::usleep(kPollMicroseconds);
      return {};
    }
    pollfd ready{files_.interrupt.file(), POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(most.count()));
    std::uint32_t interrupts = 0;
    if (count > 0 && ::read(files_.interrupt.file(), &interrupts, sizeof interrupts) != sizeof interrupts)
      return Diagnostic{"lost the device", files_.name, "its interrupt cannot be read", "load its driver again",
                        Cause::work};
    return {};
  }

  std::uint64_t base() const override { return files_.base; }
  std::span<std::byte> memory() override { return {memory_.at(), files_.bytes}; }
  Result<void> clean(std::uint64_t offset, std::uint64_t bytes) override { return maintain(3, 1, offset, bytes); }
  Result<void> invalidate(std::uint64_t offset, std::uint64_t bytes) override { return maintain(4, 2, offset, bytes); }

 private:
  static constexpr unsigned kPollMicroseconds = 50;

  volatile std::uint32_t* window(std::uint32_t offset) {
    return reinterpret_cast<volatile std::uint32_t*>(registers_.at() + files_.in_page + offset);
  }

  // By the attributes of u-dma-buf; `action` is one of kCacheFiles, `direction` as DMA_TO_DEVICE and DMA_FROM_DEVICE.
  Result<void> maintain(std::size_t action, int direction, std::uint64_t offset, std::uint64_t bytes) {
    if (files_.coherent || bytes == 0) return {};
    DOVETAIL_TRY(set(0, offset));
    DOVETAIL_TRY(set(1, bytes));
    DOVETAIL_TRY(set(2, static_cast<std::uint64_t>(direction)));
    return set(action, 1);
  }
  Result<void> set(std::size_t file, std::uint64_t value) {
    const std::string text = fmt::format("{}", value);
    if (::pwrite(files_.caches[file].file(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
      return {};
    return Diagnostic{"cannot maintain caches", fmt::format("{}, {}", files_.name, kCacheFiles[file]),
                      std::strerror(errno), kPage, Cause::work};
  }

  BoardFiles files_;
  Mapping registers_, memory_;
  bool interrupts_ = true;
};

bool lock(const Descriptor& file) { return ::flock(file.file(), LOCK_EX | LOCK_NB) == 0; }

Result<void> open_buffer(const BoardPlace& place, const fs::path& root, BoardFiles& files) {
  const auto all = buffers(root);
  const auto known = std::ranges::find(all, place.memory.filename(), &fs::path::filename);
  if (known == all.end())
    return Diagnostic{
        kWhat, place.memory.string(), "it is not a buffer of u-dma-buf",
        all.empty() ? "load the module u-dma-buf (docs/howto/boards.md)" : fmt::format("use one of {}", listed(all))};
  DOVETAIL_ASSIGN(files.base, read_number(*known / "phys_addr"));
  DOVETAIL_ASSIGN(files.bytes, read_number(*known / "size"));
  if (const auto coherent = read_number(*known / "dma_coherent"); coherent.ok() && *coherent != 0)
    files.coherent = true;
  for (std::size_t i = 0; i < kCacheFiles.size() && !files.coherent; ++i) {
    DOVETAIL_ASSIGN(files.caches[i], open_file(*known / kCacheFiles[i], O_WRONLY));
  }
  DOVETAIL_ASSIGN(files.memory, open_file(below(root, place.memory), O_RDWR));
  if (!lock(files.memory))
    return Diagnostic{kWhat, place.memory.string(), "another process uses it",
                      "give each accelerator a buffer, by a name in DOVETAIL_AXI", Cause::work};
  return {};
}

}  // namespace

Result<BoardPlace> parse_board_place(std::string_view text) {
  const auto bad = [&](std::string why) {
    return Diagnostic{"cannot find the device", std::string(text), std::move(why),
                      "write REGISTERS:MEMORY, for example /dev/uio0:/dev/udmabuf0, or rtl, the Verilated design"};
  };
  const std::size_t colon = text.find(':');
  const BoardPlace place{text.substr(0, colon), colon == text.npos ? "" : text.substr(colon + 1)};
  for (const fs::path& path : {place.registers, place.memory})
    if (!path.is_absolute() || path.string().find(':') != std::string::npos) return bad("it does not name two paths");
  return place;
}

Result<BoardPlace> find_board_place(const fs::path& root) {
  const auto bad = [](std::string why, std::string hint) {
    return Diagnostic{"cannot find the device", "", std::move(why), std::move(hint)};
  };
  const char* const set = "set DOVETAIL_AXI=/dev/uioN:/dev/udmabufN (docs/howto/boards.md)";
  std::vector<fs::path> devices;
  for (const fs::path& entry : entries_of(root / "sys/class/uio"))
    if (const auto name = read_text_file(entry / "name"); name.ok() && is_ours(*name)) devices.push_back(entry);
  if (devices.empty())
    return bad("no UIO device of this machine has a name with \"dovetail\"",
               "load the bitstream and the device tree of the accelerator (docs/howto/boards.md), or set "
               "DOVETAIL_AXI=rtl to try the driver on the Verilated design");
  if (devices.size() > 1) return bad(fmt::format("{} are accelerators", listed(devices)), set);
  std::vector<fs::path> memories = buffers(root);
  if (std::ranges::any_of(memories, [](const fs::path& path) { return is_ours(path.filename().string()); }))
    std::erase_if(memories, [](const fs::path& path) { return !is_ours(path.filename().string()); });
  if (memories.empty())
    return bad(fmt::format("{} is an accelerator, but there is no buffer of u-dma-buf", devices[0].filename().string()),
               "load the module u-dma-buf (docs/howto/boards.md)");
  if (memories.size() > 1) return bad(fmt::format("{} are buffers of u-dma-buf", listed(memories)), set);
  return BoardPlace{"/dev" / devices[0].filename(), "/dev" / memories[0].filename()};
}

Result<BoardFiles> open_board_files(const BoardPlace& place, const fs::path& root) {
  BoardFiles files;
  files.name = fmt::format("{} with {}", place.registers.string(), place.memory.string());
  const fs::path map = root / "sys/class/uio" / place.registers.filename() / "maps/map0";
  if (!fs::exists(map))
    return Diagnostic{kWhat, place.registers.string(), "it is not a UIO device with a window of registers", kPage};
  DOVETAIL_ASSIGN(const std::uint64_t bytes, read_number(map / "size"));
  if (bytes < isa::spec::kRegisterWindowBytes)
    return Diagnostic{
        kWhat, place.registers.string(),
        fmt::format("its window has {} bytes, and the registers need {}", bytes, isa::spec::kRegisterWindowBytes),
        "correct `reg` in the device tree"};
  // Kernels before 5.x do not have it, and then the window begins a page.
  if (const auto offset = read_number(map / "offset"); offset.ok()) files.in_page = *offset;
  DOVETAIL_ASSIGN(files.registers, open_file(below(root, place.registers), O_RDWR | O_SYNC));
  if (!lock(files.registers))
    return Diagnostic{kWhat, place.registers.string(), "another process uses it",
                      "end that process (`fuser -v` names it), or give the work to it, if it serves a queue",
                      Cause::work};
  files.interrupt = high(files.registers);
  if (files.interrupt.file() < 0) return failed(place.registers);
  DOVETAIL_TRY(open_buffer(place, root, files));
  return files;
}

std::vector<int> descriptors_of(const BoardFiles& files) {
  std::vector<int> all{files.registers.file(), files.interrupt.file(), files.memory.file()};
  for (const Descriptor& file : files.caches)
    if (file.file() >= 0) all.push_back(file.file());
  return all;
}

std::string to_text(const BoardFiles& files) {
  std::string text =
      fmt::format("{}{}:{}:{}:{}:{}:{}:{}:{}", kInherited, files.registers.file(), files.interrupt.file(),
                  files.memory.file(), files.window, files.in_page, files.base, files.bytes, files.coherent ? 1 : 0);
  for (const Descriptor& file : files.caches) text += fmt::format(":{}", file.file());
  return text + ":" + files.name;
}

bool is_inherited(std::string_view text) { return text.starts_with(kInherited); }

Result<BoardFiles> inherited_board_files(std::string_view text) {
  const auto bad = [&] {
    return Diagnostic{kWhat, std::string(text.substr(0, 80)), "the text does not name open files of a device",
                      "unset DOVETAIL_AXI, or name a place"};
  };
  constexpr std::size_t kNumbers = 8, kFiles = 3;
  constexpr std::int64_t kLeastFile = 64, kMostFile = 1 << 20, kMostInPage = 1 << 16;
  std::array<std::int64_t, kNumbers + kCacheFiles.size()> numbers{};
  std::size_t at = kInherited.size();
  for (std::int64_t& number : numbers) {
    const auto [end, error] =
        std::from_chars(text.data() + std::min(at, text.size()), text.data() + text.size(), number);
    at = static_cast<std::size_t>(end - text.data()) + 1;
    if (error != std::errc{} || at > text.size()) return bad();
  }
  const bool coherent = numbers[7] != 0;
  const auto copied = [&](std::size_t i) {
    const std::int64_t file = numbers[i];
    return file < kLeastFile || file > kMostFile
               ? Descriptor()
               : Descriptor(::fcntl(static_cast<int>(file), F_DUPFD_CLOEXEC, static_cast<int>(kLeastFile)));
  };
  for (std::size_t i = kFiles; i < kNumbers; ++i)
    if (numbers[i] < 0) return bad();
  if (numbers[4] > kMostInPage) return bad();
  BoardFiles files;
  files.registers = copied(0);
  files.interrupt = copied(1);
  files.memory = copied(2);
  files.window = static_cast<std::uint64_t>(numbers[3]);
  files.in_page = static_cast<std::uint64_t>(numbers[4]);
  files.base = static_cast<std::uint64_t>(numbers[5]);
  files.bytes = static_cast<std::uint64_t>(numbers[6]);
  files.coherent = coherent;
  for (std::size_t i = 0; i < kCacheFiles.size() && !coherent; ++i) files.caches[i] = copied(kNumbers + i);
  for (const Descriptor* file :
       {&files.registers, &files.interrupt, &files.memory, coherent ? &files.memory : &files.caches[0]})
    if (file->file() < 0) return bad();
  files.name = text.substr(at);
  return files;
}

Result<std::unique_ptr<AxiDevice>> make_board_device(BoardFiles files) {
  DOVETAIL_ASSIGN(Mapping registers, Mapping::make(files.registers, files.in_page + isa::spec::kRegisterWindowBytes,
                                                   files.window, files.name));
  DOVETAIL_ASSIGN(Mapping memory, Mapping::make(files.memory, files.bytes, 0, files.name));
  return std::unique_ptr<AxiDevice>(
      std::make_unique<BoardDevice>(std::move(files), std::move(registers), std::move(memory)));
}

}  // namespace dovetail::simulator
