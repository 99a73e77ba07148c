// NVRTC's functions, as far as the kit calls them: the text becomes a shared object for this machine, made by its C++
// compiler. So tests/emulated_gpu/driver.cpp runs the text of the CUDA back end unchanged.
//
//   EMULATED_NVRTC_MAJOR   the reported major version (13)
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace {

struct Program {
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string object, log;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}
void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// As observed with NVRTC 13.0: a process that has compiled has used the driver, and cannot fork one that does.
void use_driver() {
  const char* const path = std::getenv("DOVETAIL_LIBCUDA");
  void* const driver = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return;
  if (auto* const init = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit")); init != nullptr) init(0);
}

// Text of a function that calls each kernel with parameters in the driver's form, and a flag that says whether its
// threads wait for each other.
std::string entries(const std::string& text) {
  constexpr const char* kHead = "extern \"C\" __global__ void ";
  std::string entries;
  for (std::size_t at = text.find(kHead); at != std::string::npos;) {
    const std::size_t next = text.find(kHead, at + 1), name = text.find(") ", text.find("__launch_bounds__", at)) + 2;
    const std::string kernel = text.substr(name, text.find('(', name) - name);
    const std::string body = text.substr(at, next == std::string::npos ? next : next - at);
    bool waits = false;
    for (const char* meeting : {"__syncthreads", "__syncwarp", "mma_", "shuffle_xor(", "wait_for_signal("})
      waits |= body.find(meeting) != std::string::npos;
    entries += "extern \"C\" void " + kernel + "_call(void** p) { emulated_gpu::call(" + kernel + ", p); }\n";
    entries += "extern \"C\" bool " + kernel + "_waits() { return " + (waits ? "true" : "false") + "; }\n";
    entries += "extern \"C\" std::vector<std::size_t> " + kernel + "_parameters() { return emulated_gpu::sizes(" +
               kernel + "); }\n";
    at = next;
  }
  return entries;
}

// Equal texts, for several architectures, are compiled once.
std::mutex mutex;
std::map<std::string, std::string> objects;

bool compile(Program& program) {
  const std::lock_guard lock(mutex);
  if (const auto known = objects.find(program.text); known != objects.end()) {
    program.object = known->second;
    return true;
  }
  std::string name = (std::filesystem::temp_directory_path() / "emulated_gpu_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return false;
  const std::filesystem::path folder = name;
  // The program's standard headers are left out: those of the machine are more complete.
  for (const auto& [header, text] : program.headers) {
    const bool ptx = std::filesystem::path(header).extension() == ".cuh";
    if (ptx) write(folder / header, "#include \"tests/emulated_gpu/warp_operations.h\"\n");
    else if (header.find('/') != std::string::npos) write(folder / header, text);
  }
  write(folder / "kernels.cpp",
        "#include \"tests/emulated_gpu/kernel_environment.h\"\n" + program.text + entries(program.text));
  // No contraction, as with --fmad=false; uninitialized memory holds a pattern.
  const std::string command = std::string(EMULATED_GPU_COMPILER) +
                              " -std=c++20 -O1 -fPIC -shared -w -ffp-contract=off -ftrivial-auto-var-init=pattern -I " +
                              folder.string() + " -I " + EMULATED_GPU_SOURCE_DIR + " " +
                              (folder / "kernels.cpp").string() + " -o " + (folder / "kernels.so").string() + " > " +
                              (folder / "log").string() + " 2>&1";
  const bool done = std::system(command.c_str()) == 0;
  program.log = read(folder / "log");
  if (done) objects[program.text] = program.object = read(folder / "kernels.so");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return done;
}

// PTX is text.
std::string as_ptx(const std::string& object) {
  std::string text = ".version emulated\n";
  for (const unsigned char byte : object) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

constexpr int kCompilation = 6, kInvalidProgram = 4;

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(int status) {
  return status == 0 ? "NVRTC_SUCCESS" : status == kCompilation ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}
int nvrtcVersion(int* major, int* minor) {
  const char* const text = std::getenv("EMULATED_NVRTC_MAJOR");
  *major = text == nullptr ? 13 : std::atoi(text), *minor = 0;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return 0;
}
int nvrtcGetSupportedArchs(int* list) {
  list[0] = 80, list[1] = 90;
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* text, const char*, int headers, const char* const* texts,
                       const char* const* names) {
  *program = new Program{text, {}, {}, {}};
  for (int i = 0; i < headers; ++i) (*program)->headers.emplace_back(names[i], texts[i]);
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  use_driver();
  return compile(*program) ? 0 : kCompilation;
}
int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return 0;
}
int nvrtcGetCUBINSize(Program* program, std::size_t* size) {
  *size = program->object.size();
  return program->object.empty() ? kInvalidProgram : 0;
}
int nvrtcGetCUBIN(Program* program, char* bytes) {
  std::memcpy(bytes, program->object.data(), program->object.size());
  return 0;
}
int nvrtcGetPTXSize(Program* program, std::size_t* size) {
  *size = as_ptx(program->object).size() + 1;
  return 0;
}
int nvrtcGetPTX(Program* program, char* text) {
  const std::string ptx = as_ptx(program->object);
  std::memcpy(text, ptx.c_str(), ptx.size() + 1);
  return 0;
}
}
