// The commands of `dovetail debug`: a session, break points and watches on it, and what of it is shown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "cli/program_image.h"
#include "cli/program_input.h"
#include "isa/verify.h"
#include "simulator/debug/session.h"

namespace dovetail::cli {

class Debugger {
 public:
  // All outlive this. `print` gets what commands show. `report`: what the verifier has found.
  Debugger(const ProgramInput& input, simulator::DebugSession& session, const isa::VerifyReport& report,
           std::function<void(std::string_view)> print);

  enum class After : std::uint8_t { goes_on, quits };
  // One line. Error: it is not understood; or, where has_failed(), the program cannot go on.
  Result<After> command(std::string_view line);
  bool has_failed() const { return has_failed_; }

  // Where the program is.
  void show_place();
  static std::string help();

 private:
  using Words = std::vector<std::string>;

  // Elements of an on-chip memory.
  struct Elements {
    isa::Memory memory = isa::Memory::acc;
    std::size_t begin = 0, end = 0;
  };
  // Where a program stops: before an instruction that fits.
  struct BreakPoint {
    std::size_t number = 0;
    std::string text;
    std::function<bool(std::size_t instruction)> fits;
  };
  struct Watch {
    std::size_t number = 0;
    std::string text;
    std::function<NdArray()> read;
    NdArray last;
  };

  Result<void> step(const Words& words);
  Result<void> go_to_cycle(const Words& words);
  Result<void> go_on(bool within_launch);
  Result<void> set_break(const Words& words);
  Result<void> set_watch(const Words& words);
  Result<void> remove(const Words& words);
  Result<void> print_place(const Words& words);
  Result<void> save(const Words& words);
  void show_queues();
  void show_tokens();
  void show_list();
  void show_races();
  void show_info();

  // One instruction. False: a watch has changed, or the program is at its end.
  Result<bool> advance(bool shows);
  Result<std::function<bool(std::size_t)>> break_of(const Words& words) const;
  Result<std::function<NdArray()>> reader_of(const Words& words) const;
  // "acc[3]", "inp[0..7]"; nothing where it is not of that form.
  Result<std::optional<Elements>> elements_of(std::string_view text) const;
  // A name, or ADDRESS:TYPE[EXTENT,...].
  Result<ImageSlice> slice_of(std::string_view text) const;
  NdArray read(const ImageSlice& slice) const;
  std::string cite(std::size_t instruction) const;
  std::string describe(std::size_t instruction) const;
  std::string tiles(const Elements& elements) const;

  const ProgramInput& input_;
  simulator::DebugSession& session_;
  const isa::VerifyReport& report_;
  std::function<void(std::string_view)> print_;
  std::vector<BreakPoint> breaks_;
  std::vector<Watch> watches_;
  std::size_t next_number_ = 1;
  bool has_failed_ = false;
};

}  // namespace dovetail::cli
