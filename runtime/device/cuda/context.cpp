#include "runtime/device/cuda/context.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/machine_code_permission.h"

namespace dovetail::runtime::cuda {

namespace {

// The number, 90 of "sm_90a", and the letter that limits the devices that run its code.
struct Architecture {
  int number = 0;
  char letter = '\0';  // a: only this device; f: its family; none: later ones too
};
Architecture parse(const std::string& name) {
  Architecture result;
  constexpr std::size_t kPrefix = 3;  // "sm_"
  if (name.size() > kPrefix) std::from_chars(name.data() + kPrefix, name.data() + name.size(), result.number);
  if (!name.empty() && std::isalpha(static_cast<unsigned char>(name.back())) != 0) result.letter = name.back();
  return result;
}

constexpr std::size_t kGranule = 256;        // alignment of the driver's allocations
constexpr std::size_t kHalfBytes = 4 << 20;  // of pinned memory: copies of this size reach the bus's bandwidth

int worth(const bundle::CudaImage& image) {
  const Architecture of = parse(image.architecture);
  return (image.ptx ? 0 : 10000) + 2 * of.number + (of.letter != '\0' ? 1 : 0);
}

}  // namespace

bool runs_on(const bundle::CudaImage& image, int capability) {
  const Architecture of = parse(image.architecture);
  const bool of_major = of.number / 10 == capability / 10 && of.number <= capability;
  if (of.letter == 'f') return !image.ptx && of_major;
  if (of.letter != '\0') return !image.ptx && of.number == capability;
  return image.ptx ? of.number <= capability : of_major;
}

Result<DeviceFacts> find_device(const Driver& driver) {
  DOVETAIL_TRY(driver.check(driver.init(0), "starting the driver"));
  int devices = 0;
  DOVETAIL_TRY(driver.check(driver.device_count(&devices), "counting devices"));
  if (devices == 0) DOVETAIL_TRY(driver.check(status::kNoDevice, "counting devices"));
  DeviceFacts facts;
  DOVETAIL_TRY(driver.check(driver.device(&facts.ordinal, 0), "choosing device 0"));
  std::array<char, 256> name{};
  DOVETAIL_TRY(
      driver.check(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, facts.ordinal), "its name"));
  facts.name = name.data();
  name.fill('\0');
  DOVETAIL_TRY(
      driver.check(driver.device_pci_bus(name.data(), static_cast<int>(name.size()) - 1, facts.ordinal), "its bus"));
  facts.pci_bus = name.data();
  int major = 0, minor = 0;
  DOVETAIL_TRY(driver.check(driver.device_attribute(&major, kCapabilityMajor, facts.ordinal), "its capability"));
  DOVETAIL_TRY(driver.check(driver.device_attribute(&minor, kCapabilityMinor, facts.ordinal), "its capability"));
  facts.capability = 10 * major + minor;
  DOVETAIL_TRY(driver.check(driver.device_attribute(&facts.processors, kProcessors, facts.ordinal), "its processors"));
  DOVETAIL_TRY(driver.check(
      driver.device_attribute(&facts.threads_of_processor, kMostThreadsOfProcessor, facts.ordinal), "its threads"));
  DOVETAIL_TRY(driver.check(driver.device_attribute(&facts.shared_bytes, kMostSharedBytesOfBlock, facts.ordinal),
                            "its shared memory"));
  return facts;
}

Result<DeviceFacts> find_device() {
  DOVETAIL_ASSIGN(const std::shared_ptr<const Driver> driver, Driver::find());
  return find_device(*driver);
}

Result<std::shared_ptr<Context>> Context::open() {
  std::shared_ptr<Context> context(new Context);
  DOVETAIL_ASSIGN(context->driver_, Driver::find());
  const Driver& driver = *context->driver_;
  DOVETAIL_ASSIGN(context->facts_, find_device(driver));
  DOVETAIL_TRY(driver.check(driver.retain_context(&context->context_, context->facts_.ordinal), "making a context"));
  context->retained_ = true;
  DOVETAIL_TRY(context->make_current());
  DOVETAIL_TRY(driver.check(driver.create_stream(&context->stream_, kNonBlocking), "making a stream"));
  return context;
}

Context::~Context() {
  if (!retained_) return;
  driver_->set_context(context_);
  if (stream_ != nullptr) {
    driver_->synchronize_stream(stream_);
    driver_->destroy_stream(stream_);
  }
  for (const Half& half : pinned_) {
    if (half.done != nullptr) driver_->destroy_event(half.done);
    if (half.bytes != nullptr) driver_->free_pinned(half.bytes);
  }
  free_unused();
  for (const auto& [bytes, module] : modules_) driver_->unload_module(module);
  driver_->release_context(facts_.ordinal);
}

Result<void> Context::make_current() const {
  return driver_->check(driver_->set_context(context_), "entering the context");
}

Result<void> Context::synchronize() const {
  DOVETAIL_TRY(make_current());
  return driver_->check(driver_->synchronize_stream(stream_), "waiting for the kernels");
}

Result<std::size_t> Context::choose(std::span<const bundle::CudaImage> images) const {
  const bundle::CudaImage* best = nullptr;
  std::vector<std::string> made_for;
  for (const bundle::CudaImage& image : images) {
    made_for.push_back(image.ptx ? image.architecture + " and later" : image.architecture);
    if (runs_on(image, facts_.capability) && (best == nullptr || worth(image) > worth(*best))) best = &image;
  }
  if (best == nullptr)
    return Diagnostic{"cannot load the kernels", facts_.name,
                      fmt::format("the kernels are compiled for {}, but the device is sm_{}", fmt::join(made_for, ", "),
                                  facts_.capability),
                      fmt::format("compile with --gpu sm_{}", facts_.capability)};
  return static_cast<std::size_t>(best - images.data());
}

Result<ModuleHandle> Context::module(std::span<const bundle::CudaImage> images) {
  DOVETAIL_TRY(check_machine_code("cannot load the kernels", "target cuda"));
  DOVETAIL_ASSIGN(const std::size_t chosen, choose(images));
  const bundle::CudaImage* const best = &images[chosen];
  const std::byte* const bytes = best->bytes.bytes().data();
  if (const auto known = modules_.find(bytes); known != modules_.end()) return known->second;
  // The driver reads PTX as a zero-terminated string.
  std::string ptx;
  const void* image = bytes;
  if (best->ptx) {
    ptx.assign(reinterpret_cast<const char*>(bytes), best->bytes.size());
    image = ptx.c_str();
  }
  ModuleHandle module = nullptr;
  DOVETAIL_TRY(
      driver_->check(driver_->load_module(&module, image), fmt::format("loading kernels for {}", best->architecture)));
  modules_.emplace(bytes, module);
  return module;
}

Result<FunctionHandle> Context::function(ModuleHandle module, const bundle::CudaLaunch& launch) const {
  FunctionHandle function = nullptr;
  DOVETAIL_TRY(driver_->check(driver_->function(&function, module, launch.symbol.c_str()),
                              fmt::format("looking for kernel {}", launch.symbol)));
  int most = 0;
  DOVETAIL_TRY(driver_->check(driver_->function_attribute(&most, kMostThreadsOfFunction, function), "its threads"));
  const std::uint64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > static_cast<std::uint64_t>(std::max(most, 0)))
    return Diagnostic{
        "cannot load the kernels", fmt::format("kernel {}", launch.symbol),
        fmt::format("the kernel has {} threads in a block, but the device has registers for {}", threads, most),
        "compile with a schedule of fewer threads (--decide)"};
  if (launch.shared_bytes == 0) return function;
  if (launch.shared_bytes > static_cast<std::uint64_t>(std::max(facts_.shared_bytes, 0)))
    return Diagnostic{"cannot load the kernels", fmt::format("kernel {}", launch.symbol),
                      fmt::format("the kernel needs {} bytes of shared memory in a block, but {} has {}",
                                  launch.shared_bytes, facts_.name, facts_.shared_bytes),
                      fmt::format("compile with --gpu sm_{}", facts_.capability)};
  DOVETAIL_TRY(driver_->check(
      driver_->set_function_attribute(function, kMostGivenSharedBytesOfFunction, static_cast<int>(launch.shared_bytes)),
      fmt::format("asking for {} bytes of shared memory", launch.shared_bytes)));
  return function;
}

Result<Address> Context::take(std::size_t bytes, std::string_view holds) {
  DOVETAIL_TRY(make_current());
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kGranule - 1) / kGranule * kGranule;
  // Much larger blocks are left for larger requests.
  if (const auto fits = unused_.lower_bound(rounded); fits != unused_.end() && fits->first <= rounded + rounded / 8) {
    const Address address = fits->second;
    unused_.erase(fits);
    return address;
  }
  Address address = 0;
  Status status = driver_->allocate(&address, rounded);
  if (status == status::kOutOfMemory && !unused_.empty()) {
    free_unused();
    status = driver_->allocate(&address, rounded);
  }
  if (status == status::kSuccess) return address;
  std::size_t free = 0, total = 0;
  driver_->memory_info(&free, &total);
  return driver_
      ->check(status, fmt::format("allocating {} bytes of {}, of whose {} {} are free, for {}", bytes, name(), total,
                                  free, holds))
      .errors();
}

void Context::give_back(Address address, std::size_t bytes) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kGranule - 1) / kGranule * kGranule;
  unused_.emplace(rounded, address);
}

void Context::free_unused() {
  for (const auto& [bytes, address] : unused_) driver_->free(address);
  unused_.clear();
}

Result<void> Context::need_pinned() {
  for (Half& half : pinned_) {
    if (half.bytes == nullptr) {
      void* bytes = nullptr;
      DOVETAIL_TRY(driver_->check(driver_->allocate_pinned(&bytes, kHalfBytes, 0),
                                  fmt::format("allocating {} bytes of pinned memory", kHalfBytes)));
      half.bytes = static_cast<std::byte*>(bytes);
    }
    if (half.done == nullptr)
      DOVETAIL_TRY(driver_->check(driver_->create_event(&half.done, kDefaultEvent), "making an event"));
  }
  return {};
}

Result<void> Context::copy_in(Address to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  DOVETAIL_TRY(make_current());
  DOVETAIL_TRY(need_pinned());
  for (std::size_t offset = 0; offset < bytes.size(); offset += kHalfBytes) {
    const Half half = pinned_.front();
    const auto piece = bytes.subspan(offset, std::min(kHalfBytes, bytes.size() - offset));
    DOVETAIL_TRY(driver_->check(driver_->synchronize_event(half.done), "waiting for a copy"));
    std::ranges::copy(piece, half.bytes);
    DOVETAIL_TRY(driver_->check(driver_->copy_in(to + offset, half.bytes, piece.size(), stream_),
                                fmt::format("copying {} bytes to the device", piece.size())));
    DOVETAIL_TRY(driver_->check(driver_->record_event(half.done, stream_), "recording an event"));
    std::swap(pinned_.front(), pinned_.back());
  }
  return {};
}

Result<void> Context::copy_out(Address from, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  DOVETAIL_TRY(make_current());
  DOVETAIL_TRY(need_pinned());
  const auto piece_at = [&](std::size_t offset) {
    return bytes.subspan(offset, std::min(kHalfBytes, bytes.size() - offset));
  };
  // Overlaps the transfer of a chunk with the copy of the preceding chunk from pinned memory to its destination.
  for (std::size_t offset = 0, next = 0; offset < bytes.size(); offset += kHalfBytes) {
    for (; next < bytes.size() && next <= offset + kHalfBytes; next += kHalfBytes) {
      const Half& half = pinned_.at(next / kHalfBytes % 2);
      DOVETAIL_TRY(driver_->check(driver_->copy_out(half.bytes, from + next, piece_at(next).size(), stream_),
                                  fmt::format("copying {} bytes from the device", piece_at(next).size())));
      DOVETAIL_TRY(driver_->check(driver_->record_event(half.done, stream_), "recording an event"));
    }
    const Half& half = pinned_.at(offset / kHalfBytes % 2);
    DOVETAIL_TRY(driver_->check(driver_->synchronize_event(half.done), "waiting for the kernels"));
    std::ranges::copy_n(half.bytes, static_cast<std::ptrdiff_t>(piece_at(offset).size()), piece_at(offset).begin());
  }
  return {};
}

Result<Allocation> Allocation::make(std::shared_ptr<Context> context, std::size_t bytes, std::string_view holds) {
  Allocation allocation;
  DOVETAIL_ASSIGN(allocation.address_, context->take(bytes, holds));
  allocation.bytes_ = bytes;
  allocation.context_ = std::move(context);
  return allocation;
}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Allocation::~Allocation() {
  if (context_) context_->give_back(address_, bytes_);
}

Result<void> Allocation::copy_in(std::size_t offset, std::span<const std::byte> bytes) const {
  return context_->copy_in(address_ + offset, bytes);
}

Result<void> Allocation::copy_out(std::size_t offset, std::span<std::byte> bytes) const {
  return context_->copy_out(address_ + offset, bytes);
}

Result<void> Context::clear(Address address, std::size_t bytes) const {
  return driver_->check(driver_->fill(address, 0, bytes, stream_), "clearing memory");
}

Result<void> Context::copy_planes(const Planes& planes) const {
  Copy3d copy;
  copy.from = planes.from, copy.from_pitch = planes.row_bytes, copy.from_height = planes.rows;
  copy.to = planes.to, copy.to_pitch = planes.to_row_bytes, copy.to_height = planes.to_rows;
  copy.width = planes.row_bytes, copy.height = planes.rows, copy.depth = planes.planes;
  return driver_->check(driver_->copy_3d(&copy, stream_), "copying rows within the device's memory");
}

}  // namespace dovetail::runtime::cuda
