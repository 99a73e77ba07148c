// The files of a command line that another machine runs: which ones are sent there and come back, and the command line
// as it is there, where all files are in one folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/temporary.h"
#include "cli/shell/named_files.h"
#include "remote/client.h"

namespace dovetail::cli {

class Shipment {
 public:
  // The name there of a file that the command line names. A word that names no file, as that of a
  // configuration, stays. Errors: a path that does not exist; a folder with very many files.
  Result<std::string> name_of(File role, const std::string& path);
  // The same for .json and .py files in a text that is not a path: A.json+3*B.json, bank:FILE.json, program:file=X.py.
  Result<void> send_named_in(std::string& text);

  const std::vector<remote::SentFile>& files() const { return files_; }
  const std::vector<std::string>& results() const { return results_; }
  bool writes_stdout() const { return writes_stdout_; }  // `-` is written

  // Writes a part of a file that comes back; its last part puts it in its place. Errors: it was not asked for; it
  // cannot be written.
  Result<void> take(const remote::FileChunk& chunk);

 private:
  std::string free_name(const std::filesystem::path& path);
  Result<void> send(const std::string& name, const std::filesystem::path& path);

  std::vector<remote::SentFile> files_;
  std::vector<std::string> results_;
  struct Coming {
    TemporaryPath part;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Coming> coming_;  // files of which parts have come back
  std::vector<TemporaryPath> copies_;     // of pipes
  bool writes_stdout_ = false;
  std::map<std::string, std::filesystem::path> names_;    // there: here
  std::map<std::string, std::filesystem::path> written_;  // the results, likewise
};

}  // namespace dovetail::cli
