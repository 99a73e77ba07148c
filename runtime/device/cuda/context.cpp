#include "runtime/device/cuda/context.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dovetail::runtime::cuda {

namespace {

// 90 of "sm_90a", and whether it has a letter: then no other architecture runs it.
struct Architecture {
  int number = 0;
  bool alone = false;
};
Architecture parse(const std::string& name) {
  Architecture result;
  constexpr std::size_t kPrefix = 3;  // "sm_"
  if (name.size() > kPrefix) std::from_chars(name.data() + kPrefix, name.data() + name.size(), result.number);
  result.alone = !name.empty() && std::isalpha(static_cast<unsigned char>(name.back())) != 0;
  return result;
}

// Machine code runs on its own major version from its minor version on, PTX on all later ones.
bool runs_on(const bundle::CudaImage& image, int capability) {
  const Architecture of = parse(image.architecture);
  if (of.alone) return !image.ptx && of.number == capability;
  return image.ptx ? of.number <= capability : of.number / 10 == capability / 10 && of.number <= capability;
}

int worth(const bundle::CudaImage& image) {
  const Architecture of = parse(image.architecture);
  return (image.ptx ? 0 : 10000) + 2 * of.number + (of.alone ? 1 : 0);
}

}  // namespace

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

Result<ModuleHandle> Context::module(std::span<const bundle::CudaImage> images) {
  const bundle::CudaImage* best = nullptr;
  std::vector<std::string> made_for;
  for (const bundle::CudaImage& image : images) {
    made_for.push_back(image.ptx ? image.architecture + " and later" : image.architecture);
    if (runs_on(image, facts_.capability) && (best == nullptr || worth(image) > worth(*best))) best = &image;
  }
  if (best == nullptr)
    return Diagnostic{
        "cannot load the kernels", facts_.name,
        fmt::format("they are made for {}, the device is sm_{}", fmt::join(made_for, ", "), facts_.capability),
        fmt::format("compile with --gpu sm_{}", facts_.capability)};
  const std::byte* const bytes = best->bytes.bytes().data();
  if (const auto known = modules_.find(bytes); known != modules_.end()) return known->second;
  // The driver reads PTX up to a zero.
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
    return Diagnostic{"cannot load the kernels", fmt::format("kernel {}", launch.symbol),
                      fmt::format("it has {} threads in a block, the device has registers for {}", threads, most),
                      "compile with a schedule of fewer threads (--decide)"};
  return function;
}

Result<Allocation> Allocation::make(std::shared_ptr<const Context> context, std::size_t bytes) {
  Allocation allocation;
  DOVETAIL_TRY(context->make_current());
  const Driver& driver = context->driver();
  if (const Status status = driver.allocate(&allocation.address_, std::max<std::size_t>(bytes, 1)); status != 0) {
    std::size_t free = 0, total = 0;
    driver.memory_info(&free, &total);
    return driver
        .check(status,
               fmt::format("allocating {} bytes of {}, of whose {} {} are free", bytes, context->name(), total, free))
        .errors();
  }
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
  if (context_ && context_->make_current().ok()) context_->driver().free(address_);
}

Result<void> Allocation::copy_in(std::size_t offset, std::span<const std::byte> bytes) const {
  if (bytes.empty()) return {};
  DOVETAIL_TRY(context_->make_current());
  const Driver& driver = context_->driver();
  return driver.check(driver.copy_in(address_ + offset, bytes.data(), bytes.size(), context_->stream()),
                      fmt::format("copying {} bytes to the device", bytes.size()));
}

Result<void> Allocation::copy_out(std::size_t offset, std::span<std::byte> bytes) const {
  if (bytes.empty()) return {};
  DOVETAIL_TRY(context_->make_current());
  const Driver& driver = context_->driver();
  DOVETAIL_TRY(driver.check(driver.copy_out(bytes.data(), address_ + offset, bytes.size(), context_->stream()),
                            fmt::format("copying {} bytes from the device", bytes.size())));
  return context_->synchronize();
}

}  // namespace dovetail::runtime::cuda
