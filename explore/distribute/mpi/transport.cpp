// The only file that uses MPI.
#include "explore/distribute/transport.h"

#include <algorithm>
#include <thread>

#include <dlfcn.h>

#include <fmt/format.h>
#include <mpi.h>

namespace dovetail::explore {

namespace {

constexpr int kTag = 1;
// Polling intervals: a poll costs a microsecond, messages arrive at most every few milliseconds, and processors have
// other work in between.
constexpr auto kShortest = std::chrono::microseconds(20), kLongest = std::chrono::microseconds(2000);

std::string text_of_error(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

// May be called before MPI is initialized.
std::string library_text() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text);
  return all.substr(0, all.find_first_of(",\n"));
}

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    // The libraries that MPI loads look up its symbols globally, but this object was loaded with local symbols.
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr)
      dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiTransport() override { MPI_Finalize(); }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override {
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return name;
  }
  std::string library() const override { return library_text(); }

  Result<void> send(int to, std::string_view text) override {
    const int code = MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
    if (code == MPI_SUCCESS) return {};
    return problem(fmt::format("to process {}", to), code);
  }

  Result<std::optional<Message>> receive(std::chrono::milliseconds patience) override {
    const auto end = std::chrono::steady_clock::now() + patience;
    auto pause = kShortest;
    while (true) {
      int there = 0;
      MPI_Status status;
      if (const int code = MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status); code != MPI_SUCCESS)
        return problem("from any process", code);
      if (there != 0) {
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(bytes), '\0')};
        const int code =
            MPI_Recv(message.text.data(), bytes, MPI_BYTE, message.from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return problem(fmt::format("from process {}", message.from), code);
        return std::optional(std::move(message));
      }
      if (std::chrono::steady_clock::now() >= end) return std::optional<Message>();
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kLongest);
    }
  }

 private:
  static Diagnostic problem(std::string where, int code) {
    return {"cannot pass a message", std::move(where), text_of_error(code),
            "the process has ended, or cannot be reached; finished work is saved, so start the command again",
            Cause::resource};
  }

  int rank_ = 0, size_ = 1;
};

}  // namespace

}  // namespace dovetail::explore

extern "C" __attribute__((visibility("default"))) dovetail::explore::Transport* dovetail_join_mpi() {
  return new dovetail::explore::MpiTransport();
}

extern "C" __attribute__((visibility("default"))) void dovetail_mpi_library(std::string* text) {
  *text = dovetail::explore::library_text();
}
