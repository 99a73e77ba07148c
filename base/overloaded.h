// Builds a std::variant visitor from one lambda per alternative.
#pragma once

namespace dovetail {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace dovetail
