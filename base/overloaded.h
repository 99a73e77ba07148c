// One visitor of a std::variant out of a lambda for each alternative.
#pragma once

namespace dovetail {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace dovetail
