#include "runtime/states.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "runtime/operand_names.h"
#include "runtime/tensor_at.h"

namespace dovetail::runtime {

const ReadyResident* States::held(const std::string& input) const {
  if (holder_ == nullptr) return nullptr;
  const auto found = std::ranges::find_if(holder_->residents, [&](const ReadyResident& row) {
    return tensor_at(holder_->bundle, row.state->input).name == input;
  });
  return found == holder_->residents.end() ? nullptr : &*found;
}

Result<std::span<const std::byte>> States::value(const ReadyProgram& program, std::size_t position) {
  const bundle::Tensor& input = tensor_at(program.bundle, program.bundle.inputs[position]);
  if (held(input.name) != nullptr) return std::span<const std::byte>();
  const auto [entry, is_new] = values_.try_emplace(input.name, input.dtype, input.shape);
  const NdArray& value = entry->second;
  if (value.dtype() == input.dtype && value.shape() == input.shape) return value.bytes();
  return Diagnostic{"cannot run", fmt::format("state {}", input.name),
                    fmt::format("its value is {}{}, but the program reads {}{}", name(value.dtype()),
                                to_string(value.shape()), name(input.dtype), to_string(input.shape)),
                    "give a value of that type and shape"};
}

// All outputs are copied before any state changes, since an output may be an input. `residents`: those states, or the
// others.
Result<void> States::copy(ReadyProgram& program, bool residents) {
  std::vector<std::string> names;
  for (const bundle::State& state : program.bundle.states) {
    const bool resident =
        std::ranges::any_of(program.residents, [&](const ReadyResident& row) { return row.state == &state; });
    if (resident != residents) continue;
    DOVETAIL_TRY(program.memory.fetch(state.output));
    const bundle::Tensor& tensor = tensor_at(program.bundle, state.input);
    NdArray& next = spare_[tensor.name];
    if (next.dtype() != tensor.dtype || next.shape() != tensor.shape) next = NdArray(tensor.dtype, tensor.shape);
    std::ranges::copy(program.memory.read(state.output), next.bytes().begin());
    names.push_back(tensor.name);
  }
  for (const std::string& name : names) std::swap(values_[name], spare_[name]);
  return {};
}

Result<const std::map<std::string, NdArray>*> States::values() {
  if (!current_) {
    std::set<std::size_t> steps;  // in the program's order, for which the host's memory is planned
    for (const ReadyResident& row : holder_->residents) steps.insert(row.unpack.begin(), row.unpack.end());
    for (const std::size_t step : steps) DOVETAIL_TRY(run_step(holder_->steps[step], holder_->memory));
    DOVETAIL_TRY(copy(*holder_, true));
    current_ = true;
  }
  return &values_;
}

void States::set(std::map<std::string, NdArray> values) {
  values_ = std::move(values);
  holder_ = nullptr;
  current_ = true;
}

bool States::fit(const bundle::Bundle& program, const std::map<std::string, NdArray>& inputs) const {
  return std::ranges::all_of(program.states, [&](const bundle::State& state) {
    const bundle::Tensor& tensor = tensor_at(program, state.input);
    if (inputs.contains(tensor.name)) return true;
    if (const ReadyResident* resident = held(tensor.name))
      return tensor_at(holder_->bundle, resident->state->input).shape == tensor.shape;
    const auto value = values_.find(tensor.name);
    return value == values_.end() || value->second.shape() == tensor.shape;
  });
}

Result<std::vector<bool>> States::begin(ReadyProgram& program, const std::vector<bool>& given, bool alone) {
  stay_ = alone && !program.residents.empty();
  if (holder_ != nullptr && (holder_ != &program || !stay_)) {
    DOVETAIL_TRY(values());
    holder_ = nullptr;
  }
  former_.clear();
  std::vector<bool> skips(program.steps.size());
  if (!stay_) return skips;
  for (const ReadyResident& row : program.residents) {
    for (const std::size_t step : row.unpack) skips[step] = true;
    if (holder_ == nullptr) continue;
    const auto bytes = program.memory.in_place(row.before);
    former_.emplace_back(bytes.begin(), bytes.end());
    if (!given[row.input])
      for (const std::size_t step : row.pack) skips[step] = true;
  }
  return skips;
}

Result<void> States::end(ReadyProgram& program) {
  DOVETAIL_TRY(copy(program, false));
  if (stay_) {
    holder_ = &program;
    current_ = false;
    return {};
  }
  return copy(program, true);
}

void States::undo(ReadyProgram& program) {
  for (std::size_t i = 0; i < former_.size(); ++i)
    std::ranges::copy(former_[i], program.memory.in_place(program.residents[i].before).begin());
}

}  // namespace dovetail::runtime
