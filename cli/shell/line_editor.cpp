#include "cli/shell/line_editor.h"

#include <cstdio>
#include <utility>

#include "base/shared_library.h"

namespace dovetail::cli {

namespace {

// Declarations of libedit's histedit.h, with the binary interface of libedit.so.2 (Debian) and libedit.so.0
// (elsewhere).
enum EditOperation { kPrompt = 0, kEditor = 2, kSignal = 3, kBind = 4, kHistory = 10, kClientData = 14 };
enum HistoryOperation { kSetSize = 1, kEnter = 10, kSetUnique = 20 };

constexpr int kKept = 1000;

}  // namespace

struct LineEditor::Library {
  struct Event {  // HistEvent
    int number;
    const char* text;
  };

  explicit Library(SharedLibrary loaded) : file(std::move(loaded)) {}

  SharedLibrary file;
  void* (*el_init)(const char*, std::FILE*, std::FILE*, std::FILE*) = nullptr;
  void (*el_end)(void*) = nullptr;
  void (*el_reset)(void*) = nullptr;
  const char* (*el_gets)(void*, int*) = nullptr;
  int (*el_set)(void*, int, ...) = nullptr;
  int (*el_get)(void*, int, ...) = nullptr;
  int (*el_source)(void*, const char*) = nullptr;
  void* (*history_init)() = nullptr;
  void (*history_end)(void*) = nullptr;
  int (*history)(void*, Event*, int, ...) = nullptr;

  bool find_all() {
    const auto find = [&]<typename Function>(Function*& function, const char* name) {
      return (function = reinterpret_cast<Function*>(file.find(name))) != nullptr;
    };
    return find(el_init, "el_init") && find(el_end, "el_end") && find(el_reset, "el_reset") &&
           find(el_gets, "el_gets") && find(el_set, "el_set") && find(el_get, "el_get") &&
           find(el_source, "el_source") && find(history_init, "history_init") && find(history_end, "history_end") &&
           find(history, "history");
  }

  static std::unique_ptr<const Library> find() {
    for (const char* const name : {"libedit.so.2", "libedit.so.0"})
      if (auto loaded = SharedLibrary::open(name); loaded.ok())
        if (auto library = std::make_unique<Library>(*std::move(loaded)); library->find_all()) return library;
    return nullptr;
  }
};

std::unique_ptr<LineEditor> LineEditor::make(std::string_view prompt) {
  auto library = Library::find();
  if (library == nullptr) return nullptr;
  std::unique_ptr<LineEditor> editor(new LineEditor(std::move(library), prompt));
  return editor->edit_ != nullptr && editor->history_ != nullptr ? std::move(editor) : nullptr;
}

LineEditor::LineEditor(std::unique_ptr<const Library> library, std::string_view prompt)
    : library_(std::move(library)), prompt_(prompt) {
  edit_ = library_->el_init("dovetail", stdin, stdout, stderr);
  history_ = library_->history_init();
  if (edit_ == nullptr || history_ == nullptr) return;
  Library::Event event;
  library_->history(history_, &event, kSetSize, kKept);
  library_->history(history_, &event, kSetUnique, 1);
  library_->el_set(edit_, kClientData, this);
  // libedit calls the prompt function only with its editor, so this object is stored as the editor's data.
  static int (*get)(void*, int, ...);
  get = library_->el_get;
  library_->el_set(
      edit_, kPrompt, +[](void* edit) {
        void* self = nullptr;
        get(edit, kClientData, &self);
        return static_cast<LineEditor*>(self)->prompt_.data();
      });
  library_->el_set(edit_, kEditor, "emacs");
  library_->el_set(edit_, kSignal, 1);  // handle window changes, and restore the terminal if a signal ends the process
  library_->el_set(edit_, kHistory, library_->history, history_);
  library_->el_set(edit_, kBind, "^R", "em-inc-search-prev", nullptr);
  library_->el_source(edit_, nullptr);
}

LineEditor::~LineEditor() {
  if (history_ != nullptr) library_->history_end(history_);
  if (edit_ != nullptr) library_->el_end(edit_);
}

std::optional<std::string> LineEditor::read() {
  int length = 0;
  const char* const line = library_->el_gets(edit_, &length);
  if (line == nullptr || length <= 0) return std::nullopt;
  std::string text(line, static_cast<std::size_t>(length));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  Library::Event event;
  if (text.find_first_not_of(" \t") != std::string::npos) library_->history(history_, &event, kEnter, text.c_str());
  return text;
}

void LineEditor::drop_line() { library_->el_reset(edit_); }

}  // namespace dovetail::cli
