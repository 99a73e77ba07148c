#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/processor.h"
#include "base/sha256.h"
#include "base/user_folder.h"
#include "cli/commands/all.h"
#include "cli/shell/arguments.h"
#include "cli/shell/board_arguments.h"
#include "cli/shell/build_facts.h"
#include "cli/shell/output.h"
#include "cli/shell/watched_work.h"
#include "remote/board.h"
#include "remote/sandbox.h"
#include "remote/tls.h"
#include "runtime/machine_code.h"
#include "simulator/axi/axi_engine.h"
#include "simulator/axi/board_device.h"

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Whether a command line chooses engine axi, or compares with it.
bool uses_engine_axi(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "--engine=axi" ||
        (arguments[i] == "--engine" && i + 1 < arguments.size() && arguments[i + 1] == "axi"))
      return true;
  return false;
}

class Serve : public Command {
 public:
  void declare(Options& options) override {
    options.positional("ADDRESS", queue_, "of the queue: HOST, HOST:PORT, or unix:PATH");
    options.value("--certificates", "DIR", certificates_, kCertificatesHelp);
    options.value("--name", "NAME", name_, "name of the board (default: that of its certificate, or of this machine)");
    options.values("--label", "LABEL", labels_, "clients ask for boards by their labels or name; repeatable");
    options.value("--folder", "DIR", folder_, "folder for the files of clients (default: in this user's cache)");
    options.value("--store", "MIB", store_, "the most that the files of all clients take, in MiB (default 8192)");
    options.value("--longest", "S", longest_, "the longest time of a command in seconds (default 43200)");
    options.value("--memory", "MIB", memory_, "the most memory of a command, in MiB (default: half of the machine's)");
    options.value(
        "--device", "axi[:PLACE]", device_,
        "the accelerator of this board, for commands with --engine axi (docs/howto/boards.md). PLACE:\n"
        "/dev/uioN:/dev/udmabufN, or rtl, the Verilated design (default: DOVETAIL_AXI, or the only one here)");
    options.flag("--device-is-confined", device_is_confined_,
                 "the accelerator reaches only its memory, by an IOMMU: commands that use it may run machine code");
    options.value("--bitstream", "FILE", bitstream_, "of the device; its SHA-256 is listed with the board", File::read);
    options.flag("--no-machine-code", no_machine_code_,
                 "run only programs of the accelerator and the interpreter, for every client");
    options.footer(
        "Each command of a client runs in a sandbox, in a folder with the files that the client has sent. Machine code "
        "runs\n"
        "only for clients with the role run-code. docs/howto/queue.md describes it.\n"
        "Example: dovetail serve lab.example.org --certificates farm/pi4 --label cortex-a72");
  }

  Result<Exit> run() override {
    remote::BoardOptions options;
    DOVETAIL_ASSIGN(options.queue, remote::parse_address(queue_));
    if (!options.queue.is_unix()) options.certificates = certificates_folder(certificates_);
    options.entry.name = name_.value_or(host_name());
    if (options.certificates && !name_) {
      DOVETAIL_ASSIGN(const remote::Credentials own, remote::read_credentials(*options.certificates, std::nullopt));
      options.entry.name = own.identity().name;
    }
    options.entry.labels = labels_;
    options.entry.machine_code = !no_machine_code_;
    options.entry.facts = {processor_model(), fmt::format("{} threads", std::thread::hardware_concurrency())};
    if (std::string clock = processor_clock(); !clock.empty()) options.entry.facts.push_back(std::move(clock));
    options.entry.facts.push_back(fmt::format("dovetail {}", build_facts().version));
    DOVETAIL_TRY(add_device(options));
    if (folder_) {
      options.folder = fs::absolute(*folder_);
    } else {
      DOVETAIL_ASSIGN(options.folder, user_folder(UserFolder::cache));
      options.folder /= "boards/" + options.entry.name;
    }
    DOVETAIL_ASSIGN(const std::int64_t store, parse_count("--store", store_, 1, 1 << 30));
    options.most_store_bytes = static_cast<std::uint64_t>(store) << 20;
    DOVETAIL_ASSIGN(const std::int64_t longest, parse_count("--longest", longest_, 1, 31'536'000));
    options.most_time = std::chrono::seconds(longest);
    if (memory_) {
      DOVETAIL_ASSIGN(const std::int64_t memory, parse_count("--memory", *memory_, 64, 1 << 30));
      options.most_memory_bytes = static_cast<std::uint64_t>(memory) << 20;
    }
    std::error_code error;
    options.program = fs::read_symlink("/proc/self/exe", error);
    if (error) return Diagnostic{"cannot serve", "/proc/self/exe", error.message(), "mount /proc", Cause::resource};
    // The home of a command is its folder.
    DOVETAIL_ASSIGN(const fs::path record, runtime::bundle_record());
    options.record = fs::path(".local/state/dovetail") / record.filename();
    for (const std::string_view command : board_commands()) options.commands.emplace_back(command);
    options.log = [](const std::string& line) { print_message("{}\n", line); };
    DOVETAIL_ASSIGN(remote::Board board, remote::Board::open(options));
    if (const Result<void> allowed = board.machine_code(); !allowed.ok())
      print_message("machine code  refused: {}\n", allowed.errors().front().why);
    for (const std::string& gap : remote::sandbox_gaps(remote::sandbox_facts()))
      print_message("note          {}\n", gap);
    WatchedWork watched({});
    watched.begin();
    DOVETAIL_TRY(board.run([&] { return watched.work()->stopped(); }));
    return Exit::success;
  }

 private:
  Result<void> add_device(remote::BoardOptions& options) {
    const auto misplaced = [](const char* option) {
      return Diagnostic{"bad usage of `dovetail serve`", option, "it describes a device", "add --device axi"};
    };
    if (!device_) {
      if (bitstream_) return misplaced("--bitstream");
      if (device_is_confined_) return misplaced("--device-is-confined");
      options.device = {.variable = simulator::kAxiVariable,
                        .value = std::string(simulator::kNoPlace),
                        .files = {},
                        .confined = true,
                        .is_used_by = uses_engine_axi};
      return {};
    }
    if (*device_ != "axi" && !device_->starts_with("axi:"))
      return Diagnostic{"invalid value for --device", *device_, "there is no device of that kind",
                        "write axi, or axi:/dev/uioN:/dev/udmabufN"};
    const std::string text =
        device_->size() > 4 ? device_->substr(4) : environment(simulator::kAxiVariable).value_or("");
    remote::BoardOptions::Device device{.variable = simulator::kAxiVariable,
                                        .value = text,
                                        .files = {},
                                        .confined = device_is_confined_,
                                        .is_used_by = uses_engine_axi};
    if (text == simulator::kVerilatedPlace) {
      device.confined = true;
    } else {
      DOVETAIL_ASSIGN(const simulator::BoardPlace place,
                      text.empty() ? simulator::find_board_place() : simulator::parse_board_place(text));
      DOVETAIL_ASSIGN(files_, simulator::open_board_files(place));
      device.value = to_text(*files_);
      device.files = descriptors_of(*files_);
    }
    options.entry.labels.emplace_back("axi");
    options.entry.facts.push_back(fmt::format("axi {}", files_ ? files_->name : text));
    if (bitstream_) {
      DOVETAIL_ASSIGN(const std::string bytes, read_text_file(*bitstream_));
      options.entry.facts.push_back(fmt::format("bitstream {}", sha256(std::as_bytes(std::span(bytes)))));
    }
    options.device = std::move(device);
    return {};
  }

  std::optional<std::string> device_, bitstream_;
  bool device_is_confined_ = false;
  std::optional<simulator::BoardFiles> files_;
  std::string queue_, store_ = "8192", longest_ = "43200";
  std::optional<std::string> certificates_, name_, folder_, memory_;
  std::vector<std::string> labels_;
  bool no_machine_code_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve() { return std::make_unique<Serve>(); }

}  // namespace dovetail::cli
