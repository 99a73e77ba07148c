// The common HTML template of the pages that commands write: one file, without network and scripts, in light and dark
// colors.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace dovetail::cli {

// Text for HTML, in elements and attributes; control characters are replaced, since names come from files.
std::string escaped_html(std::string_view text);
// A member that is text, for HTML. Throws Json::exception where it is missing, or of another type.
std::string escaped_member(const Json& object, const char* key);

// A whole document. `style` follows the common one, whose colors are --page, --panel, --line, --text and --muted;
// `title` is text, `body` HTML.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

}  // namespace dovetail::cli
