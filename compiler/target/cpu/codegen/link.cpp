#include "compiler/target/cpu/codegen/link.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/collecting_pipe.h"
#include "base/memory_file.h"

LLD_HAS_DRIVER(elf)

namespace dovetail::cpu {

Result<std::vector<std::byte>> link_shared(std::span<const ArchiveMember> objects) {
  // lld reads and writes files; these are in memory, so that a full disk does not matter.
  DOVETAIL_ASSIGN(MemoryFile archive, MemoryFile::make("dovetail-objects"));
  DOVETAIL_TRY(archive.write(write_archive(objects)));
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
