#include "cli/report/html_page.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kCommonStyle =
    R"(:root { color-scheme: light dark; --page: #f6f7f9; --panel: #fff; --line: #d9dee5; --text: #1c2128; --muted: #5f6975; }
@media (prefers-color-scheme: dark) { :root { --page: #13161b; --panel: #1b2027; --line: #303843; --text: #e3e7ec;
  --muted: #97a2af; } }
body { margin: 0; padding: 24px; background: var(--page); color: var(--text); font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 15px; margin: 0; overflow-wrap: anywhere; }
p { margin: 4px 0; color: var(--muted); }
table { border-collapse: collapse; background: var(--panel); } th, td { padding: 3px 10px; border: 1px solid var(--line);
  text-align: left; } td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; } p, dd, td { overflow-wrap: anywhere; } .scroll td { overflow-wrap: normal; }
@media (max-width: 480px) { body { padding: 12px; } })";

}  // namespace

std::string escaped_html(std::string_view text) {
  std::string safe;
  for (const char c : printable(text, Lines::keep)) {
    if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '&') safe += "&amp;";
    else if (c == '"') safe += "&quot;";
    else safe += c;
  }
  return safe;
}

std::string escaped_member(const Json& object, const char* key) {
  return escaped_html(object.at(key).get_ref<const std::string&>());
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>{0}</title>\n<style>\n{1}\n{2}\n</style>"
      "</head><body>\n<h1>{0}</h1>\n{3}</body></html>\n",
      escaped_html(title), kCommonStyle, style, body);
}

}  // namespace dovetail::cli
