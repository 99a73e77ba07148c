// The compiled part of fmt, in a wheel's libraries: distributions have no archive of it. Compiled as header-only, with
// -fkeep-inline-functions, the header defines all that other files call.
#include <fmt/format.h>

FMT_BEGIN_NAMESPACE
template std::locale detail::locale_ref::get<std::locale>() const;  // a template, and inlined above
FMT_END_NAMESPACE
