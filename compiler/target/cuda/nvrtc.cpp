#include "compiler/target/cuda/nvrtc.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/kit_folder.h"
#include "base/shared_library.h"
#include "base/user_folder.h"
#include "compiler/target/cuda/codegen/source.h"
#include "compiler/target/cuda/gpu.h"

namespace dovetail::cuda {

namespace {

using Program = struct NvrtcProgram*;
using Status = int;                   // 0: success
constexpr Status kInvalidOption = 5;  // NVRTC_ERROR_INVALID_OPTION

// The functions of nvrtc.h that are used, with its signatures.
struct Functions {
  const char* (*error_string)(Status);
  Status (*version)(int*, int*);
  Status (*architecture_count)(int*);
  Status (*architectures)(int*);
  Status (*create)(Program*, const char* text, const char* name, int headers, const char* const* header_texts,
                   const char* const* header_names);
  Status (*destroy)(Program*);
  Status (*compile)(Program, int options, const char* const*);
  Status (*log_size)(Program, std::size_t*);
  Status (*log)(Program, char*);
  Status (*cubin_size)(Program, std::size_t*);
  Status (*cubin)(Program, char*);
  Status (*ptx_size)(Program, std::size_t*);
  Status (*ptx)(Program, char*);
};

std::vector<std::string> candidates() {
  const std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  if (const auto given = environment("DOVETAIL_NVRTC")) return {*given};
  std::vector<std::string> paths = names;  // found by the loader
  std::vector<std::filesystem::path> folders;
  if (const auto toolkit = environment("CUDA_PATH")) folders.push_back(std::filesystem::path(*toolkit) / "lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  // Where `./dev deps --cuda` puts it, and pip, from the wheel.
  if (const auto cache = user_folder(UserFolder::cache); cache.ok() && !other_hands(*cache / "cuda"))
    for (const char* folder : {"lib", "nvidia/cu13/lib"}) folders.push_back(*cache / "cuda" / folder);
  for (const auto& folder : folders)
    for (const std::string& name : names) paths.push_back((folder / name).string());
  return paths;
}

// Owns a program of NVRTC.
struct OwnedProgram {
  const Functions& functions;
  Program program = nullptr;
  ~OwnedProgram() {
    if (program != nullptr) functions.destroy(&program);
  }
};

class LoadedNvrtc : public Nvrtc {
 public:
  LoadedNvrtc(SharedLibrary library, const Functions& functions, std::string path)
      : library_(std::move(library)), functions_(functions), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  std::string version() const override {
    int major = 0, minor = 0;
    functions_.version(&major, &minor);
    return fmt::format("{}.{}", major, minor);
  }
  std::vector<int> architectures() const override {
    int count = 0;
    if (functions_.architecture_count(&count) != 0 || count <= 0) return {};
    std::vector<int> list(static_cast<std::size_t>(count));
    functions_.architectures(list.data());
    return list;
  }

  Result<Binary> compile(const std::string& text, const std::string& architecture) const override {
    const std::vector<int> known = architectures();
    const auto unknown = [&] {
      return Diagnostic{
          "cannot compile for the GPU", architecture,
          fmt::format("NVRTC {} does not support it; it compiles for sm_{}", version(), fmt::join(known, ", sm_")),
          "choose another architecture with --gpu, or install another version (./dev deps --cuda)"};
    };
    if (std::ranges::find(known, architecture_number(architecture)) == known.end()) return unknown();
    std::vector<Header> all = headers(), standard = standard_headers();
    all.insert(all.end(), standard.begin(), standard.end());
    std::vector<std::string> texts, names;
    std::vector<const char*> text_pointers, name_pointers;
    for (const Header& header : all) texts.emplace_back(header.text), names.emplace_back(header.name);
    for (std::size_t i = 0; i < all.size(); ++i)
      text_pointers.push_back(texts[i].c_str()), name_pointers.push_back(names[i].c_str());

    OwnedProgram owned{functions_};
    const std::string whole = std::string(prelude()) + text;
    if (const Status status =
            functions_.create(&owned.program, whole.c_str(), "kernels.cu", static_cast<int>(all.size()),
                              text_pointers.data(), name_pointers.data());
        status != 0)
      return failed(architecture, functions_.error_string(status));
    // Each operation is rounded separately: fused operations are written explicitly.
    const std::string option = "--gpu-architecture=" + architecture;
    const std::vector<const char*> options{option.c_str(), "--std=c++20", "--fmad=false",
                                           "--device-as-default-execution-space", "--disable-warnings"};
    const Status status = functions_.compile(owned.program, static_cast<int>(options.size()), options.data());
    if (status == kInvalidOption) return unknown();  // only the architecture option varies
    if (status != 0) {
      std::string log = get(functions_.log_size, functions_.log, owned.program).value_or("");
      log.resize(std::min(log.find('\0'), log.size()));
      return failed(architecture, fmt::format("{}: {}", functions_.error_string(status), log.substr(0, 2000)));
    }
    const auto cubin = get(functions_.cubin_size, functions_.cubin, owned.program);
    const auto ptx = get(functions_.ptx_size, functions_.ptx, owned.program);
    if (!cubin || !ptx) return failed(architecture, "the compiler returned no code");
    const auto bytes = [](const std::string& from) {
      const auto* begin = reinterpret_cast<const std::byte*>(from.data());
      return std::vector<std::byte>(begin, begin + from.size());
    };
    return Binary{bytes(*cubin), bytes(*ptx)};
  }

 private:
  static Diagnostic failed(const std::string& architecture, std::string why) {
    return {"cannot compile for the GPU", architecture, std::move(why),
            "this is a bug of dovetail: report it with the output of --dump code"};
  }

  static std::optional<std::string> get(Status (*size_of)(Program, std::size_t*), Status (*read)(Program, char*),
                                        Program program) {
    std::size_t size = 0;
    if (size_of(program, &size) != 0) return std::nullopt;
    std::string text(size, '\0');
    if (read(program, text.data()) != 0) return std::nullopt;
    return text;
  }

  SharedLibrary library_;
  Functions functions_;
  std::string path_;
};

// nullopt: a function is missing.
std::optional<Functions> functions_of(const SharedLibrary& library) {
  Functions functions{};
  bool complete = true;
  const auto bind = [&](auto& pointer, const char* symbol) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(library.find(symbol));
    complete &= pointer != nullptr;
  };
  bind(functions.error_string, "nvrtcGetErrorString");
  bind(functions.version, "nvrtcVersion");
  bind(functions.architecture_count, "nvrtcGetNumSupportedArchs");
  bind(functions.architectures, "nvrtcGetSupportedArchs");
  bind(functions.create, "nvrtcCreateProgram");
  bind(functions.destroy, "nvrtcDestroyProgram");
  bind(functions.compile, "nvrtcCompileProgram");
  bind(functions.log_size, "nvrtcGetProgramLogSize");
  bind(functions.log, "nvrtcGetProgramLog");
  bind(functions.cubin_size, "nvrtcGetCUBINSize");
  bind(functions.cubin, "nvrtcGetCUBIN");
  bind(functions.ptx_size, "nvrtcGetPTXSize");
  bind(functions.ptx, "nvrtcGetPTX");
  return complete ? std::optional(functions) : std::nullopt;
}

constexpr int kFirstMajor = 12;  // first version that compiles C++20

}  // namespace

Result<std::shared_ptr<const Nvrtc>> Nvrtc::find() {
  std::string why;
  for (const std::string& path : candidates()) {
    auto library = SharedLibrary::open(path);
    if (!library.ok()) {
      if (why.empty()) why = library.errors().front().why;
      continue;
    }
    const auto functions = functions_of(*library);
    if (!functions) {
      why = fmt::format("{} lacks functions of NVRTC 11.2 and later", path);
      continue;
    }
    int major = 0, minor = 0;
    functions->version(&major, &minor);
    if (major < kFirstMajor) {
      why = fmt::format("{} is NVRTC {}.{}, but C++20 needs {}.0 or later", path, major, minor, kFirstMajor);
      continue;
    }
    return std::shared_ptr<const Nvrtc>(std::make_shared<LoadedNvrtc>(*std::move(library), *functions, path));
  }
  return Diagnostic{
      "cannot compile for the GPU", "NVRTC",
      fmt::format("NVIDIA's run-time compiler (libnvrtc) is not on this machine: {}", why),
      fmt::format("{} installs it; or install a CUDA toolkit, or set DOVETAIL_NVRTC to the file",
                  kit_is_a_build() ? "`./dev deps --cuda`"
                                   : "`pip3 install --target ~/.cache/dovetail/cuda 'nvidia-cuda-nvrtc<14'`")};
}

}  // namespace dovetail::cuda
