// Result<T>: a value, or everything that is wrong with the input. Stages collect all their diagnostics, not just the
// first.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/diagnostic.h"

namespace dovetail {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Diagnostic diagnostic) : state_(std::in_place_index<1>, Diagnostics{std::move(diagnostic)}) {}  // NOLINT
  Result(Diagnostics diagnostics) : state_(std::in_place_index<1>, std::move(diagnostics)) {             // NOLINT
    DOVETAIL_CHECK(!errors().empty(), "a failed Result needs a diagnostic");
  }

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition of value(), * and ->: ok(). Otherwise InternalError with the diagnostics in its text.
  T& value() & { return require(), std::get<0>(state_); }
  const T& value() const& { return require(), std::get<0>(state_); }
  T&& value() && { return require(), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  const Diagnostics& errors() const { return std::get<1>(state_); }

 private:
  void require() const { DOVETAIL_CHECK(ok(), to_string(errors())); }

  std::variant<T, Diagnostics> state_;
};

// Result<void>: success, or diagnostics.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Diagnostic diagnostic) : errors_{std::move(diagnostic)} {}     // NOLINT: implicit by design
  Result(Diagnostics diagnostics) : errors_(std::move(diagnostics)) {}  // NOLINT: empty means success

  bool ok() const { return errors_.empty(); }
  explicit operator bool() const { return ok(); }
  const Diagnostics& errors() const { return errors_; }

 private:
  Diagnostics errors_;
};

}  // namespace dovetail

#define DOVETAIL_CONCAT_(a, b) a##b
#define DOVETAIL_CONCAT(a, b) DOVETAIL_CONCAT_(a, b)

// DOVETAIL_ASSIGN(auto x, expression): declares x from a Result, or returns its diagnostics from the calling function.
#define DOVETAIL_ASSIGN(declaration, expression) \
  DOVETAIL_ASSIGN_(DOVETAIL_CONCAT(dovetail_result_, __LINE__), declaration, expression)
#define DOVETAIL_ASSIGN_(temporary, declaration, expression) \
  auto temporary = (expression);                             \
  if (!temporary.ok()) return temporary.errors();            \
  declaration = *std::move(temporary)

// DOVETAIL_TRY(expression): returns the diagnostics of a failed Result from the calling function.
#define DOVETAIL_TRY(expression)                                                                     \
  do {                                                                                               \
    if (auto dovetail_status = (expression); !dovetail_status.ok()) return dovetail_status.errors(); \
  } while (false)
