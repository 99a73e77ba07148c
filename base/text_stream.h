// Text read word by word or line by line. A stream of the standard library swallows exceptions thrown inside it, so
// that a word, or the whole text, would silently end early if memory runs out. These streams rethrow them.
#pragma once

#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <utility>

namespace dovetail {

class TextStream : public std::istringstream {
 public:
  explicit TextStream(std::string text) : std::istringstream(std::move(text)) { exceptions(std::ios::badbit); }
};

// A file that cannot be opened reads as empty. Not for files that may become unreadable half-way: that is thrown, too.
class TextFile : public std::ifstream {
 public:
  explicit TextFile(const std::filesystem::path& path) : std::ifstream(path) { exceptions(std::ios::badbit); }
};

}  // namespace dovetail
