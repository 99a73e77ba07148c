#include "compiler/target/cpu/codegen/link.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/collecting_pipe.h"
#include "base/memory_file.h"

LLD_HAS_DRIVER(elf)

namespace dovetail::cpu {

namespace {

constexpr std::size_t kHeaderBytes = 60;

// An archive in ar(5) format, without a symbol table: one file for any number of objects.
Result<MemoryFile> write_archive(std::span<const std::vector<std::byte>> objects) {
  DOVETAIL_ASSIGN(MemoryFile file, MemoryFile::make("dovetail-objects"));
  const auto write = [&](std::string_view text) { return file.write(std::as_bytes(std::span(text))); };
  DOVETAIL_TRY(write("!<arch>\n"));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::string header =
        fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", fmt::format("{}.o/", i), 0, 0, 0, 644, objects[i].size());
    DOVETAIL_CHECK(header.size() == kHeaderBytes, "an object must be smaller than 10 GB");
    DOVETAIL_TRY(write(header));
    DOVETAIL_TRY(file.write(objects[i]));
    if (objects[i].size() % 2 != 0) DOVETAIL_TRY(write("\n"));
  }
  return file;
}

}  // namespace

Result<std::vector<std::byte>> link_shared(std::span<const std::vector<std::byte>> objects) {
  // lld reads and writes files; these are in memory, so that a full disk does not matter.
  DOVETAIL_ASSIGN(const MemoryFile archive, write_archive(objects));
  DOVETAIL_ASSIGN(const auto output, CollectingPipe::make());
  const std::string from = archive.path(), to = output->path();
  const std::vector<const char*> arguments{"ld.lld",
                                           "-shared",
                                           "-o",
                                           to.c_str(),
                                           "-z",
                                           "now",
                                           "--gc-sections",
                                           "--threads=1",
                                           "--hash-style=gnu",
                                           "--no-undefined",
                                           "--whole-archive",
                                           from.c_str()};

  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  const lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  stream.flush();
  if (result.retCode != 0 && messages.find(std::strerror(ENOMEM)) != std::string::npos)
    return Diagnostic{"cannot link the kernels", "", messages,
                      "close other programs, or raise the limits (`ulimit -a`)", Cause::resource};
  DOVETAIL_CHECK(result.retCode == 0 && result.canRunAgain, "the kernels' objects link: " + messages);
  return output->finish();
}

}  // namespace dovetail::cpu
