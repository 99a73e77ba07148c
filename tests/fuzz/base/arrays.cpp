// Arrays in files: .npy, and .npz with its archive. An array that is read is written and read again.
#include "base/npy.h"
#include "base/zip.h"
#include "tests/fuzz/target.h"

namespace dovetail::test {
namespace {

NdArray counting(DType dtype, Shape shape) {
  NdArray array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, i % 2);
  return array;
}

// By its first bytes, as there is no other information about the input.
bool is_archive(std::span<const std::byte> bytes) { return text_of(bytes).starts_with("PK"); }

std::vector<FuzzSeed> seeds() {
  std::vector<FuzzSeed> list;
  std::vector<ZipMember> members;
  for (const DTypeInfo& row : kDTypes) {
    const Bytes bytes = format_npy(counting(row.dtype, {2, 3}));
    list.push_back({std::string(row.name) + ".npy", bytes});
    members.push_back({std::string(row.name) + ".npy", bytes});
  }
  list.push_back({"scalar.npy", format_npy(counting(DType::float32, {}))});
  list.push_back({"empty.npy", format_npy(counting(DType::int64, {3, 0}))});
  std::string columns(text_of(list[0].bytes)), big = columns, version = columns;
  columns.replace(columns.find("False"), 5, "True ");
  big.replace(big.find("|i1"), 3, ">i1");
  version[6] = 2;
  for (const auto& [name, text] : {std::pair{"columns", columns}, {"big_endian", big}, {"version_2", version}})
    list.push_back({std::string(name) + ".npy", bytes_of(text)});
  list.push_back({"all.npz", format_zip(members, "seed").value()});
  list.push_back({"none.npz", format_zip({}, "seed").value()});
  return list;
}

std::string take(std::span<const std::byte> bytes) {
  if (is_archive(bytes)) {
    const auto arrays = parse_npz(bytes, "fuzz.npz");
    return arrays ? "" : incomplete_diagnostic(arrays.errors());
  }
  const auto array = parse_npy(bytes, "fuzz.npy");
  if (!array) return incomplete_diagnostic(array.errors());
  const Bytes written = format_npy(*array);
  const auto again = parse_npy(written, "written.npy");
  if (!again) return "what was written is refused: " + to_string(again.errors());
  // bfloat16 is written as uint16, as it is read.
  return *again == *array ? "" : "what was written is read as something else";
}

}  // namespace

FuzzTarget arrays_target() { return {seeds, take}; }

}  // namespace dovetail::test
