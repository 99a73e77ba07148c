#include "compiler/target/cpu/codegen/archive.h"

#include <llvm/Object/Archive.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include "base/check.h"

namespace dovetail::cpu {

namespace {

llvm::MemoryBufferRef reference(std::span<const std::byte> bytes, llvm::StringRef name) {
  return {llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name};
}

std::vector<std::byte> bytes_of(llvm::StringRef text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

template <typename T>
T must(llvm::Expected<T> value, const char* what) {
  DOVETAIL_CHECK(static_cast<bool>(value), what);
  return std::move(*value);
}

}  // namespace

std::vector<std::byte> write_archive(std::span<const ArchiveMember> members) {
  std::vector<llvm::NewArchiveMember> list;
  for (const ArchiveMember& member : members) list.emplace_back(reference(member.object, member.name));
  auto buffer = must(llvm::writeArchiveToBuffer(list, llvm::SymtabWritingMode::NormalSymtab,
                                                llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false),
                     "objects must form an archive");
  return bytes_of(buffer->getBuffer());
}

std::vector<ArchiveMember> read_archive(std::span<const std::byte> bytes) {
  const auto archive =
      must(llvm::object::Archive::create(reference(bytes, "archive")), "the archive of kernels must be readable");
  std::vector<ArchiveMember> members;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child& child : archive->children(error))
    members.push_back({must(child.getName(), "a member has a name").str(),
                       bytes_of(must(child.getBuffer(), "a member has contents"))});
  DOVETAIL_CHECK(!error, "the archive of kernels must be readable");
  return members;
}

ObjectFacts read_object(std::span<const std::byte> object) {
  const auto file =
      must(llvm::object::ObjectFile::createObjectFile(reference(object, "kernel")), "LLVM must read its own objects");
  ObjectFacts facts;
  for (const llvm::object::SymbolRef& symbol : file->symbols()) {
    const auto flags = must(symbol.getFlags(), "a symbol has flags");
    const std::string name = must(symbol.getName(), "a symbol has a name").str();
    if ((flags & llvm::object::SymbolRef::SF_Undefined) != 0 && !name.empty()) facts.undefined.insert(name);
  }
  for (const llvm::object::SectionRef& section : file->sections()) {
    const llvm::StringRef name = must(section.getName(), "a section has a name");
    const auto size = static_cast<std::int64_t>(section.getSize());
    if (section.isText()) facts.code_bytes += size;
    else if (name.starts_with(".rodata")) facts.constant_bytes += size;
  }
  return facts;
}

}  // namespace dovetail::cpu
