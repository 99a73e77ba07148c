#include "bench/cuda/onnxruntime.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "base/temporary.h"
#include "compiler/export/onnx.h"

namespace dovetail::bench {
namespace {

namespace fs = std::filesystem;

// The worker's file name for a tensor.
std::string file_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') c = '_';
  return name + ".npy";
}

Diagnostic failed(std::string why) {
  return {"ONNX Runtime cannot run the model", "onnxruntime_worker.py", std::move(why),
          "see its messages above; omit --onnxruntime to skip it"};
}

// A temporary folder, and the process that works in it.
class Worker {
 public:
  static Result<std::shared_ptr<Worker>> start(const Case& one, const OnnxRuntime& peer) {
    DOVETAIL_ASSIGN(TemporaryPath folder, make_temporary_folder("bench"));
    std::shared_ptr<Worker> worker(new Worker(std::move(folder)));
    DOVETAIL_ASSIGN(const auto bytes, export_onnx(one.graph, one.graph.name));
    DOVETAIL_TRY(write_file(worker->folder() / "model.onnx", bytes));
    std::vector<std::string> words{peer.python,
                                   DOVETAIL_SOURCE_DIR "/bench/models/onnxruntime_worker.py",
                                   (worker->folder() / "model.onnx").string(),
                                   "--provider",
                                   peer.provider,
                                   "--threads",
                                   "1"};
    for (const auto& [name, array] : one.inputs) {
      const fs::path file = worker->folder() / file_name(name);
      DOVETAIL_TRY(write_npy(file, array));
      words.insert(words.end(),
                   {"--input", fmt::format("{}={}", fs::path(file_name(name)).stem().string(), file.string())});
    }
    DOVETAIL_TRY(worker->spawn(words));
    DOVETAIL_TRY(worker->answer());  // it is ready
    return worker;
  }
  ~Worker() {
    if (to_ != nullptr) std::fclose(to_);
    if (from_ != nullptr) std::fclose(from_);
    int status = 0;
    if (child_ > 0) waitpid(child_, &status, 0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const fs::path& folder() const { return folder_.path(); }
  Result<Json> ask(const std::string& line) {
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
    return answer();
  }

 private:
  explicit Worker(TemporaryPath folder) : folder_(std::move(folder)) {}

  Result<void> spawn(std::vector<std::string>& words) {
    int to[2], from[2];
    if (pipe(to) != 0) return failed("no pipe");
    if (pipe(from) != 0) {
      close(to[0]), close(to[1]);
      return failed("no pipe");
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = fork();
    if (child_ == 0) {
      dup2(to[0], STDIN_FILENO), dup2(from[1], STDOUT_FILENO);
      for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(to[0]), close(from[1]);
    to_ = fdopen(to[1], "w"), from_ = fdopen(from[0], "r");
    if (child_ < 0) return failed("no process");
    return {};
  }
  Result<Json> answer() {
    std::string line;
    for (int c; (c = std::fgetc(from_)) != EOF && c != '\n';) line += static_cast<char>(c);
    if (line.empty()) return failed("the process exited");
    return parse_json(line, "its answer");
  }

  TemporaryPath folder_;
  pid_t child_ = -1;
  std::FILE *to_ = nullptr, *from_ = nullptr;
};

}  // namespace

Result<Contender> make_contender(const Case& one, const OnnxRuntime& peer) {
  DOVETAIL_ASSIGN(const std::shared_ptr<Worker> worker, Worker::start(one, peer));
  Contender contender;
  contender.name = "onnxruntime";
  contender.run = [worker]() -> Result<Run> {
    DOVETAIL_ASSIGN(const Json answer, worker->ask("1"));
    if (!answer.contains("wall")) return failed("the process reported no time: " + answer.dump());
    return Run{answer["wall"].get<double>(), std::nullopt};
  };
  std::vector<std::string> names;
  for (const graph::ValueId output : one.graph.outputs) names.push_back(one.graph.value(output).name);
  contender.outputs = [worker, names]() -> Result<Arrays> {
    const fs::path folder = worker->folder() / "outputs";
    DOVETAIL_TRY(worker->ask(folder.string()));
    Arrays arrays;
    for (const std::string& name : names) {
      DOVETAIL_ASSIGN(NdArray array, read_npy(folder / file_name(name)));
      arrays.emplace(name, std::move(array));
    }
    return arrays;
  };
  return contender;
}

}  // namespace dovetail::bench
