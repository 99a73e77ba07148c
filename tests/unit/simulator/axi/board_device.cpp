// Devices of this machine: how they are found, and what is done with their files. The files are ordinary ones below a
// temporary folder.
#include "simulator/axi/board_device.h"

#include <fstream>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "tests/catch.h"
#include "tests/unit/simulator/axi/fake_device.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using simulator::BoardPlace;
using simulator::testing::register_at;

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}
std::string read(const fs::path& path) { return read_text_file(path).value(); }

// The files that the kernel would show.
struct Machine {
  Machine() : folder(*make_temporary_folder("board")), root(folder.path()) {}

  void add_uio(const std::string& number, const std::string& name, const std::string& bytes = "0x1000") const {
    const fs::path entry = root / "sys/class/uio" / ("uio" + number);
    write(entry / "name", name + "\n");
    write(entry / "maps/map0/size", bytes + "\n");
    write(entry / "maps/map0/addr", "0xa0000000\n");
    write(entry / "maps/map0/offset", "0x0\n");
    write(root / "dev" / ("uio" + number), std::string(4096, '\0'));
  }
  void add_buffer(const std::string& name, const std::string& folder_name = "u-dma-buf", bool coherent = false) const {
    const fs::path entry = root / "sys/class" / folder_name / name;
    write(entry / "phys_addr", "0x70000000\n");
    write(entry / "size", "8192\n");
    write(entry / "dma_coherent", coherent ? "1\n" : "0\n");
    for (const std::string_view file : simulator::kCacheFiles) write(entry / file, "                \n");
    write(root / "dev" / name, std::string(8192, '\0'));
  }
  std::string finds() const {
    const auto place = simulator::find_board_place(root);
    return place.ok() ? place->registers.string() + ":" + place->memory.string() : to_string(place.errors());
  }
  std::string why(const BoardPlace& place) const {
    const auto files = simulator::open_board_files(place, root);
    return files.ok() ? "" : to_string(files.errors());
  }

  TemporaryPath folder;
  fs::path root;
};

const BoardPlace kPlace{"/dev/uio0", "/dev/udmabuf0"};

}  // namespace

TEST_CASE("the accelerator of a machine is found by its names") {
  const Machine machine;
  CHECK_THAT(machine.finds(), ContainsSubstring("no UIO device"));
  machine.add_uio("0", "gpio");
  CHECK_THAT(machine.finds(), ContainsSubstring("no UIO device"));
  machine.add_uio("1", "dovetail");
  CHECK_THAT(machine.finds(), ContainsSubstring("no buffer of u-dma-buf"));
  machine.add_buffer("udmabuf3");
  CHECK(machine.finds() == "/dev/uio1:/dev/udmabuf3");
  machine.add_buffer("camera", "udmabuf");  // the former name of the class
  CHECK_THAT(machine.finds(), ContainsSubstring("camera") && ContainsSubstring("DOVETAIL_AXI="));
  machine.add_buffer("dovetail-memory");
  CHECK(machine.finds() == "/dev/uio1:/dev/dovetail-memory");
  machine.add_uio("2", "dovetail");
  CHECK_THAT(machine.finds(), ContainsSubstring("uio1, uio2 are accelerators"));
}

TEST_CASE("a place is read from text") {
  const auto place = simulator::parse_board_place("/dev/uio3:/dev/udmabuf1");
  REQUIRE(place.ok());
  CHECK(place->registers == "/dev/uio3");
  CHECK(place->memory == "/dev/udmabuf1");
  for (const char* text : {"", "/dev/uio0", ":/dev/udmabuf0", "/dev/uio0:", "/dev/uio0:/dev/x:64", "uio0:/dev/x",
                           "/dev/uio0:udmabuf0", "RTL"}) {
    INFO(text);
    const auto bad = simulator::parse_board_place(text);
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.errors().front().cause == Cause::input);
  }
}

TEST_CASE("what cannot be a device is refused with its path") {
  const Machine machine;
  CHECK_THAT(machine.why(kPlace), ContainsSubstring("/dev/uio0") && ContainsSubstring("not a UIO device"));
  machine.add_uio("0", "dovetail", "0x400");
  CHECK_THAT(machine.why(kPlace), ContainsSubstring("1024 bytes") && ContainsSubstring("4096"));
  machine.add_uio("0", "dovetail", "large");
  CHECK_THAT(machine.why(kPlace), ContainsSubstring("`large` is not a number"));
  machine.add_uio("0", "dovetail");
  CHECK_THAT(machine.why(kPlace), ContainsSubstring("u-dma-buf"));
  machine.add_buffer("udmabuf1");
  CHECK_THAT(machine.why(kPlace), ContainsSubstring("use one of udmabuf1"));
  machine.add_buffer("udmabuf0");
  const auto files = simulator::open_board_files(kPlace, machine.root);
  REQUIRE(files.ok());
  CHECK_THAT(machine.why(kPlace), ContainsSubstring("another process uses it"));
}

TEST_CASE("registers and memory are those of the files, and caches are maintained by the attributes") {
  for (const bool inherited : {false, true}) {
    INFO("inherited: " << inherited);
    const Machine machine;
    machine.add_uio("0", "dovetail");
    machine.add_buffer("udmabuf0");
    auto files = simulator::open_board_files(kPlace, machine.root);
    REQUIRE((files.ok() ? "" : to_string(files.errors())) == "");
    if (inherited) {
      const std::string text = to_text(*files);
      CHECK(descriptors_of(*files).size() == 8);
      auto again = simulator::inherited_board_files(text);
      REQUIRE(again.ok());
      files = std::move(again);
    }
    auto device = simulator::make_board_device(*std::move(files));
    REQUIRE(device.ok());
    CHECK((*device)->name() == "/dev/uio0 with /dev/udmabuf0");
    CHECK((*device)->base() == 0x7000'0000);
    REQUIRE((*device)->memory().size() == 8192);
    (*device)->write(register_at("PROGRAM_BASE_LO"), 0x1234'5678);
    CHECK((*device)->read(register_at("PROGRAM_BASE_LO")) == 0x1234'5678);
    CHECK(read(machine.root / "dev/uio0").substr(register_at("PROGRAM_BASE_LO"), 4) == "\x78\x56\x34\x12");
    (*device)->memory()[100] = std::byte{'x'};
    REQUIRE((*device)->clean(96, 64).ok());
    CHECK(read(machine.root / "dev/udmabuf0")[100] == 'x');
    const fs::path attributes = machine.root / "sys/class/u-dma-buf/udmabuf0";
    const auto has = [&](const std::string& file, const std::string& value) {
      CHECK(read(attributes / file).substr(0, value.size() + 1) == value + " ");
    };
    has("sync_offset", "96");
    has("sync_size", "64");
    has("sync_direction", "1");
    has("sync_for_device", "1");
    CHECK(read(attributes / "sync_for_cpu")[0] == ' ');
    REQUIRE((*device)->invalidate(128, 32).ok());
    has("sync_offset", "128");
    has("sync_size", "32");
    has("sync_direction", "2");
    has("sync_for_cpu", "1");
  }
}

TEST_CASE("texts of inherited files that cannot be right are refused") {
  const Machine machine;
  machine.add_uio("0", "dovetail");
  machine.add_buffer("udmabuf0");
  const auto files = simulator::open_board_files(kPlace, machine.root);
  REQUIRE(files.ok());
  const std::string text = to_text(*files);
  CHECK(simulator::is_inherited(text));
  CHECK(simulator::inherited_board_files(text).ok());
  CHECK(simulator::inherited_board_files(text).ok());  // as often as sessions open the device
  for (std::size_t end = 0; end + files->name.size() < text.size(); end += 3)
    CHECK_FALSE(simulator::inherited_board_files(text.substr(0, end)).ok());
  for (const char* wrong :
       {"descriptors:0:1:2:0:0:0:4096:1:-1:-1:-1:-1:-1:x", "descriptors:900:901:902:0:0:0:4096:1:-1:-1:-1:-1:-1:x",
        "descriptors:99999999999:1:2:0:0:0:4096:1:-1:-1:-1:-1:-1:x"})
    CHECK_FALSE(simulator::inherited_board_files(wrong).ok());
  std::string before = text;
  before.replace(before.find(":0:0:"), 5, ":0:-1:");  // registers before their window
  CHECK_FALSE(simulator::inherited_board_files(before).ok());
}

TEST_CASE("a coherent buffer needs no maintenance") {
  const Machine machine;
  machine.add_uio("0", "dovetail");
  machine.add_buffer("udmabuf0", "u-dma-buf", true);
  auto files = simulator::open_board_files(kPlace, machine.root);
  REQUIRE(files.ok());
  CHECK(files->coherent);
  const auto device = simulator::make_board_device(*std::move(files));
  REQUIRE(device.ok());
  REQUIRE((*device)->clean(0, 64).ok());
  CHECK(read(machine.root / "sys/class/u-dma-buf/udmabuf0/sync_for_device")[0] == ' ');
}

TEST_CASE("waiting enables the interrupt and ends with it") {
  const Machine machine;
  machine.add_uio("0", "dovetail");
  machine.add_buffer("udmabuf0");
  auto files = simulator::open_board_files(kPlace, machine.root);
  REQUIRE(files.ok());
  std::array<int, 2> ends;
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  files->interrupt = Descriptor(ends[0]);
  const Descriptor kernel(ends[1]);
  auto device = simulator::make_board_device(*std::move(files));
  REQUIRE(device.ok());
  std::uint32_t enabled = 0;
  std::thread other([&] {
    [[maybe_unused]] ssize_t bytes = ::read(kernel.file(), &enabled, sizeof enabled);
    const std::uint32_t count = 1;
    bytes = ::write(kernel.file(), &count, sizeof count);
  });
  const auto begin = std::chrono::steady_clock::now();
  CHECK((*device)->wait(std::chrono::seconds(60)).ok());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(50));
  other.join();
  CHECK(enabled == 1);
  CHECK((*device)->wait(std::chrono::milliseconds(1)).ok());  // none came
}
