#include "cli/shell/prompt.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/shell/output.h"

#ifdef DOVETAIL_LIBEDIT
#include <histedit.h>
#endif

namespace dovetail::cli {

namespace {

// Global, since signals belong to the process.
volatile std::sig_atomic_t was_interrupted = 0;

// The next Ctrl-C only sets a flag. Without SA_RESTART, so that it ends a line that is being typed.
void note_interrupt() {
  was_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { was_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

#ifdef DOVETAIL_LIBEDIT
// Line editing and history of libedit (~/.editrc, emacs keys by default).
class PromptEditor {
 public:
  explicit PromptEditor(std::string_view prompt) : prompt_(prompt) {
    edit_ = el_init("dovetail", stdin, stdout, stderr);
    history_ = history_init();
    if (edit_ == nullptr || history_ == nullptr) return;
    HistEvent event;
    history(history_, &event, H_SETSIZE, kKept);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(
        edit_, EL_PROMPT, +[](EditLine* edit) {
          void* self = nullptr;
          el_get(edit, EL_CLIENTDATA, &self);
          return static_cast<PromptEditor*>(self)->prompt_.data();
        });
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_SIGNAL, 1);  // handle window changes, and restore the terminal if a signal ends the process
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(edit_, nullptr);
  }
  ~PromptEditor() {
    if (history_ != nullptr) history_end(history_);
    if (edit_ != nullptr) el_end(edit_);
  }
  PromptEditor(const PromptEditor&) = delete;
  PromptEditor& operator=(const PromptEditor&) = delete;

  bool ok() const { return edit_ != nullptr && history_ != nullptr; }

  // nullopt: end of input, or was_interrupted.
  std::optional<std::string> read() {
    int length = 0;
    const char* line = el_gets(edit_, &length);
    if (line == nullptr || length <= 0) return std::nullopt;
    std::string text(line, static_cast<std::size_t>(length));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    HistEvent event;
    if (text.find_first_not_of(" \t") != std::string::npos) history(history_, &event, H_ENTER, text.c_str());
    return text;
  }
  void drop_line() { el_reset(edit_); }

 private:
  static constexpr int kKept = 1000;
  std::string prompt_;
  EditLine* edit_ = nullptr;
  History* history_ = nullptr;
};
#else
// Without libedit: the line editing of the terminal itself.
class PromptEditor {
 public:
  explicit PromptEditor(std::string_view) {}
  bool ok() const { return false; }
  std::optional<std::string> read() { return std::nullopt; }
  void drop_line() {}
};
#endif

struct Prompt::State {
  std::string name = "stdin", text, prompt, last;
  std::size_t at = 0, line = 0;
  bool is_file = false, is_terminal = false;
  std::optional<PromptEditor> editor;

  std::optional<std::string> read_file_line() {
    if (at >= text.size()) return std::nullopt;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string taken = text.substr(at, end - at);
    at = end + 1;
    return taken;
  }
  std::optional<std::string> read_stdin_line() {
    std::string taken;
    if (!flush_output()) return std::nullopt;
    if (std::getline(std::cin, taken)) return taken;
    if (std::cin.bad()) throw std::bad_alloc();  // the stream caught it
    return std::nullopt;
  }
  std::optional<std::string> read_typed_line() {
    for (;;) {
      std::optional<std::string> typed;
      if (editor) {
        if (!flush_output()) return std::nullopt;
        note_interrupt();
        typed = editor->read();
      } else {
        print("{}", prompt);
        struct sigaction action {};
        action.sa_handler = SIG_DFL;
        sigaction(SIGINT, &action, nullptr);
        typed = read_stdin_line();
      }
      if (!typed && was_interrupted != 0 && editor) {
        editor->drop_line();
        print("\n");
        continue;
      }
      note_interrupt();
      if (!typed) {
        print("\n");  // after the prompt, where Ctrl-D was pressed
        return std::nullopt;
      }
      if (typed->find_first_not_of(" \t") == std::string::npos) typed = last;
      last = *typed;
      return typed;
    }
  }
};

Prompt::Prompt(std::unique_ptr<State> state) : state_(std::move(state)) {}
Prompt::Prompt(Prompt&&) noexcept = default;
Prompt& Prompt::operator=(Prompt&&) noexcept = default;
Prompt::~Prompt() = default;

Result<Prompt> Prompt::open(const std::optional<std::string>& path, std::string_view text) {
  auto state = std::make_unique<State>();
  state->prompt = std::string(text);
  if (path) {
    DOVETAIL_ASSIGN(state->text, read_text_file(*path));
    state->name = *path;
    state->is_file = true;
  } else if (isatty(STDIN_FILENO) == 1) {
    state->is_terminal = true;
    // No line editing if stdout is not a terminal: another program may read the output by line.
    if (isatty(STDOUT_FILENO) == 1) state->editor.emplace(text);
    if (state->editor && !state->editor->ok()) state->editor.reset();
  }
  return Prompt(std::move(state));
}

bool Prompt::is_terminal() const { return state_->is_terminal; }
std::string Prompt::place() const { return fmt::format("{}:{}", state_->name, state_->line); }

std::optional<std::string> Prompt::next() {
  auto line = state_->is_file       ? state_->read_file_line()
              : state_->is_terminal ? state_->read_typed_line()
                                    : state_->read_stdin_line();
  if (line) ++state_->line;
  return line;
}

bool Prompt::interrupted() const { return state_->is_terminal && was_interrupted != 0; }

}  // namespace dovetail::cli
