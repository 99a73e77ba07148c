// Editing of typed lines, with a history: by libedit, where the machine has it (~/.editrc, emacs keys by default).
// libedit is loaded at run time, so its headers are not needed, and a program without a prompt does not load it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dovetail::cli {

class LineEditor {
 public:
  // nullptr: the machine has no libedit. `prompt` is shown before each line.
  static std::unique_ptr<LineEditor> make(std::string_view prompt);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // nullopt: end of input, or a signal came.
  std::optional<std::string> read();
  void drop_line();

 private:
  struct Library;
  LineEditor(std::unique_ptr<const Library> library, std::string_view prompt);

  std::unique_ptr<const Library> library_;
  std::string prompt_;
  void* edit_ = nullptr;
  void* history_ = nullptr;
};

}  // namespace dovetail::cli
