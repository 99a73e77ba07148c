#include "cli/shell/shipment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "cli/shell/standard_streams.h"
#include "driver/model_source.h"
#include "remote/relative_path.h"

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 10'000;

bool comes_back(File role) {
  return role == File::written || role == File::written_text || role == File::written_by_name || role == File::folder;
}

}  // namespace

std::string Shipment::free_name(const fs::path& path) {
  std::string base = path.filename().empty() ? path.parent_path().filename().string() : path.filename().string();
  if (base.empty() || base == "." || base == "..") base = "folder";
  std::string name = base;
  for (int number = 2; names_.contains(name) || written_.contains(name); ++number)
    name = fmt::format("{}/{}", number, base);
  return name;
}

Result<void> Shipment::send(const std::string& name, const fs::path& path) {
  if (files_.size() >= kMostFiles)
    return Diagnostic{"cannot send the files", path.string(), fmt::format("there are more than {}", kMostFiles),
                      "name a folder with fewer files"};
  names_.emplace(name, path);
  files_.push_back({name, path});
  return {};
}

Result<std::string> Shipment::name_of(File role, const std::string& path) {
  if (path == kStandardStream && comes_back(role)) {
    writes_stdout_ = true;
    return path;
  }
  if (path == kStandardStream) {
    DOVETAIL_ASSIGN(const std::string copy, file_of_stdin());
    return name_of(role, copy);
  }
  for (const auto& [name, known] : names_)
    if (known == fs::path(path)) return name;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (comes_back(role) || (role == File::read_by_name && !fs::exists(status))) {
    const std::string name = free_name(path);
    written_.emplace(name, path);
    results_.push_back(name);
    return name;
  }
  if (!fs::exists(status)) {
    std::string text = path;  // FILE.json,bus_bytes=16
    DOVETAIL_TRY(send_named_in(text));
    if (text != path || path.find('/') == path.npos) return text;
    return Diagnostic{"cannot read", path, "there is no such file", "check the path"};
  }
  if (fs::is_fifo(status) || fs::is_character_file(status)) {  // read once
    DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path));
    DOVETAIL_ASSIGN(TemporaryPath folder, make_temporary_folder("sent"));
    const fs::path copy = folder.path() / "pipe";
    DOVETAIL_TRY(write_file(copy, bytes));
    copies_.push_back(std::move(folder));
    return name_of(role, copy.string());
  }
  const std::string name = free_name(path);
  if (fs::is_directory(status)) {
    names_.emplace(name, path);
    for (auto entry = fs::recursive_directory_iterator(path, error); !error && entry != fs::end(entry);
         entry.increment(error))
      if (entry->is_regular_file(error))
        DOVETAIL_TRY(send(name + "/" + entry->path().lexically_relative(path).string(), entry->path()));
    return name;
  }
  DOVETAIL_TRY(send(name, path));
  if (role == File::read_by_name) {  // changed in place
    written_.emplace(name, path);
    results_.push_back(name);
  }
  if (fs::path(path).extension() != ".onnx") return name;
  for (const fs::path& file : driver::data_files_of(path)) {
    const fs::path relative = fs::proximate(file, fs::path(path).parent_path(), error);
    DOVETAIL_TRY(send((fs::path(name).parent_path() / relative).string(), file));
  }
  return name;
}

Result<void> Shipment::send_named_in(std::string& text) {
  constexpr std::string_view kMarks = "+*,=:";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kMarks, begin), text.size());
    std::string word = text.substr(begin, end - begin);
    std::error_code error;
    const bool is_sent = names_.contains(word) || written_.contains(word);
    if ((word.ends_with(".json") || word.ends_with(".py")) && !is_sent && fs::is_regular_file(word, error)) {
      DOVETAIL_ASSIGN(word, name_of(File::read, word));
      text.replace(begin, end - begin, word);
    }
    begin += word.size() + 1;
  }
  return {};
}

Result<void> Shipment::take(const remote::FileChunk& chunk) {
  const auto wrong = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot write a file that came back", chunk.name.substr(0, 200), std::move(why), std::move(hint),
                      Cause::resource};
  };
  fs::path path;
  for (const auto& [name, here] : written_) {
    if (chunk.name == name) path = here;
    else if (chunk.name.starts_with(name + "/")) {
      const std::string below = chunk.name.substr(name.size() + 1);
      DOVETAIL_ASSIGN(path, remote::path_below(here, below));
      if (remote::has_link(here, below)) return wrong("a link is in the way", "remove it, or name another folder");
    }
  }
  if (path.empty()) return wrong("it was not asked for", "use another board");
  auto coming = coming_.find(chunk.name);
  if (coming == coming_.end()) {
    DOVETAIL_ASSIGN(TemporaryPath folder, make_temporary_folder("result"));
    coming = coming_.emplace(chunk.name, Coming{std::move(folder)}).first;
  }
  const fs::path part = coming->second.part.path() / "part";
  if (chunk.offset != coming->second.bytes) return wrong("a part of it is missing", "use another board");
  const Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (file.file() < 0 || !write_all(file.file(), std::as_bytes(std::span(chunk.data))))
    return wrong(std::generic_category().message(errno), "check that the disk is not full");
  coming->second.bytes += chunk.data.size();
  if (!chunk.last) return {};
  // As any result is written: through links, into devices and pipes.
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(part));
  DOVETAIL_TRY(write_file(path, bytes));
  coming_.erase(coming);
  return {};
}

}  // namespace dovetail::cli
