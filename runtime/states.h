// The states of an executor: what a run reads that the run before has given (bundle::State).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "runtime/program.h"

namespace dovetail::runtime {

// Values are on the host, by the input's name, or in the memory of a program's device (bundle::Resident): they are
// converted and copied when the host needs them.
class States {
 public:
  // The values, all on the host; states that no run has given yet, which are zeros, are not among them.
  Result<const std::map<std::string, NdArray>*> values();
  void set(std::map<std::string, NdArray> values);

  // Whether the program reads states of their present shapes, unless they are given.
  bool fit(const bundle::Bundle& program, const std::map<std::string, NdArray>& inputs) const;

  // Before a run: whether it skips each step. `given`: whether the caller gives each input. `alone`: the caller reads
  // neither outputs of states nor inner tensors, so that states may stay in the device's memory.
  Result<std::vector<bool>> begin(ReadyProgram& program, const std::vector<bool>& given, bool alone);
  // After begin(): the value of an input that the run reads; zeros if there is none yet. Nothing if the device has it.
  Result<std::span<const std::byte>> value(const ReadyProgram& program, std::size_t input);
  // After a run: keeps what it has given. After one that failed: all states are as they were.
  Result<void> end(ReadyProgram& program);
  void undo(ReadyProgram& program);

 private:
  Result<void> copy(ReadyProgram& program, bool residents);
  // The resident of the holder with that input's name; null: the device has no value of it.
  const ReadyResident* held(const std::string& input) const;

  std::map<std::string, NdArray> values_, spare_;  // what the next run reads, and memory for what it gives
  ReadyProgram* holder_ = nullptr;              // whose device has the residents' values; null: only `values_` has them
  bool current_ = true;                         // `values_` has the residents' values
  bool stay_ = false;                           // in the current run, residents stay in the device's memory
  std::vector<std::vector<std::byte>> former_;  // the residents of the holder before the current run
};

}  // namespace dovetail::runtime
