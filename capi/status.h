// Converts results and exceptions to dvt_status: no exception leaves the C interface.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/resource_error.h"
#include "base/result.h"
#include "capi/include/dovetail.h"

namespace dovetail::capi {

// Null only on success: if there is no memory for the diagnostics, the result is a status that was allocated at load
// time.
dvt_status* status_of(const Diagnostics& diagnostics) noexcept;
dvt_status* internal_error(const char* text) noexcept;
dvt_status* out_of_memory() noexcept;

// Thrown by a callback's wrapper where no result can be returned, and caught by guarded().
struct Cancelled {
  Diagnostic diagnostic;
};

// The body of a function of the interface. `body` returns Result<void>.
template <typename Body>
dvt_status* guarded(Body&& body) noexcept {
  try {
    const Result<void> result = std::forward<Body>(body)();
    return result.ok() ? nullptr : status_of(result.errors());
  } catch (const Cancelled& cancelled) {
    return status_of({cancelled.diagnostic});
  } catch (const ResourceError& error) {
    return status_of({error.diagnostic()});
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return internal_error(error.what());
  } catch (...) {
    return internal_error("an exception of an unknown type");
  }
}

// Text that the caller frees with dvt_free().
char* owned_text(const std::string& text);
char* owned_json(const Json& json);
// Stores the text of `json` in *out, unless `out` is null.
void give_json(char** out, const Json& json);

}  // namespace dovetail::capi
