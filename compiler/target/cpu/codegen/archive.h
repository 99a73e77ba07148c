// Archives of relocatable objects, as linkers read them (ar, with a table of symbols).
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace dovetail::cpu {

struct ArchiveMember {
  std::string name;
  std::vector<std::byte> object;
};

std::vector<std::byte> write_archive(std::span<const ArchiveMember> members);
// Precondition: write_archive wrote it.
std::vector<ArchiveMember> read_archive(std::span<const std::byte> archive);

struct ObjectFacts {
  std::set<std::string> undefined;  // symbols that the linker must find elsewhere
  std::int64_t code_bytes = 0;      // machine instructions
  std::int64_t constant_bytes = 0;  // read-only data
};
// Precondition: compile_kernel or compile_run_function wrote the object.
ObjectFacts read_object(std::span<const std::byte> object);

}  // namespace dovetail::cpu
