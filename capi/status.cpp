#include "capi/status.h"

#include <cstdlib>
#include <cstring>

#include "capi/names.h"

struct dvt_status {
  dovetail::Diagnostics diagnostics;
  bool internal = false;
  std::string text, json;
};

namespace dovetail::capi {

namespace {

constexpr std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::input:
    case Cause::request: return "input";
    case Cause::work: return "work";
    case Cause::resource: return "resource";
  }
  return "internal";
}

std::unique_ptr<dvt_status> make(Diagnostics diagnostics, bool internal) {
  auto status = std::make_unique<dvt_status>();
  for (Diagnostic& each : diagnostics)
    for (std::string* text : {&each.what, &each.where, &each.why, &each.hint}) *text = with_names(*text);
  Json rows = Json::array();
  for (const Diagnostic& each : diagnostics)
    rows.push_back({{"what", each.what},
                    {"where", each.where},
                    {"why", each.why},
                    {"hint", each.hint},
                    {"cause", internal ? "internal" : name_of(each.cause)}});
  status->json = rows.dump(-1, ' ', false, Json::error_handler_t::replace);
  status->text = to_string(diagnostics);
  status->diagnostics = std::move(diagnostics);
  status->internal = internal;
  return status;
}

// Made when the library is loaded, and never freed.
dvt_status* const kOutOfMemory = make({{"out of memory", "", "what was asked for needs more than there is",
                                        "check the sizes in its files", Cause::resource}},
                                      false)
                                     .release();

const Diagnostic* find(const dvt_status* status, std::size_t index) {
  return status != nullptr && index < status->diagnostics.size() ? &status->diagnostics[index] : nullptr;
}

}  // namespace

dvt_status* status_of(const Diagnostics& diagnostics) noexcept {
  try {
    return make(diagnostics, false).release();
  } catch (...) {
    return out_of_memory();
  }
}

dvt_status* internal_error(const char* text) noexcept {
  try {
    return make({{"internal error", "", text, "report it with the call and its arguments", Cause::work}}, true)
        .release();
  } catch (...) {
    return out_of_memory();
  }
}

dvt_status* out_of_memory() noexcept { return kOutOfMemory; }

char* owned_text(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

char* owned_json(const Json& json) {
  return owned_text(with_named_hints(json).dump(-1, ' ', false, Json::error_handler_t::replace));
}

void give_json(char** out, const Json& json) {
  if (out != nullptr) *out = owned_json(json);
}

}  // namespace dovetail::capi

using dovetail::capi::find;

extern "C" {

dvt_cause dvt_status_cause(const dvt_status* status) {
  if (status == nullptr) return DVT_CAUSE_NONE;
  if (status->internal) return DVT_CAUSE_INTERNAL;
  using dovetail::Cause;
  switch (cause_of(status->diagnostics)) {
    case Cause::input:
    case Cause::request: return DVT_CAUSE_INPUT;
    case Cause::work: return DVT_CAUSE_WORK;
    case Cause::resource: return DVT_CAUSE_RESOURCE;
  }
  return DVT_CAUSE_INTERNAL;
}

size_t dvt_status_count(const dvt_status* status) { return status == nullptr ? 0 : status->diagnostics.size(); }

const char* dvt_status_what(const dvt_status* status, size_t index) {
  const auto* found = find(status, index);
  return found == nullptr ? "" : found->what.c_str();
}

const char* dvt_status_where(const dvt_status* status, size_t index) {
  const auto* found = find(status, index);
  return found == nullptr ? "" : found->where.c_str();
}

const char* dvt_status_why(const dvt_status* status, size_t index) {
  const auto* found = find(status, index);
  return found == nullptr ? "" : found->why.c_str();
}

const char* dvt_status_hint(const dvt_status* status, size_t index) {
  const auto* found = find(status, index);
  return found == nullptr ? "" : found->hint.c_str();
}

const char* dvt_status_text(const dvt_status* status) { return status == nullptr ? "" : status->text.c_str(); }

const char* dvt_status_json(const dvt_status* status) { return status == nullptr ? "[]" : status->json.c_str(); }

void dvt_status_free(dvt_status* status) {
  if (status != dovetail::capi::out_of_memory()) delete status;
}

void dvt_free(void* text_or_bytes) { std::free(text_or_bytes); }

}  // extern "C"
