// The text of a JSON exception, without the library's name for it.
#pragma once

#include <string>

namespace dovetail {

// "[json.exception.out_of_range.403] key 'gains' not found" -> "key 'gains' not found".
std::string json_problem(std::string message);

}  // namespace dovetail
