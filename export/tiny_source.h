// The text of export/tiny/dovetail_tiny.{h,c}, which every exported folder contains.
#pragma once

#include <string_view>

namespace dovetail::exporting {

std::string_view tiny_header();
std::string_view tiny_source();

}  // namespace dovetail::exporting
