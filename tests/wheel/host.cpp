// A host program that exports its own copies of what the kit links: functions of these names, none of which the kit may
// call. It compiles, records a bundle, tunes and runs.  usage: host MODEL.onnx FOLDER
#include <cstdio>
#include <cstdlib>
#include <string>

#include <dovetail.h>

#define OWN(name)                                       \
  extern "C" void name() {                              \
    std::fprintf(stderr, "the host's " #name " ran\n"); \
    std::_Exit(3);                                      \
  }
// clang-format off
OWN(sqlite3_open)
OWN(sqlite3_open_v2)
OWN(sqlite3_exec)
OWN(sqlite3_prepare_v2)
OWN(sqlite3_step)
OWN(sqlite3_close)
OWN(EVP_sha256)
OWN(EVP_Digest)
OWN(EVP_MD_CTX_new)
OWN(EVP_DigestInit_ex)
OWN(EVP_DigestUpdate)
OWN(EVP_Q_digest)
OWN(inflate)
OWN(inflateInit2_)
OWN(deflate)
OWN(deflateInit2_)
OWN(crc32)
OWN(ZSTD_compress)
OWN(ZSTD_decompress)
OWN(LLVMContextCreate)
OWN(LLVMInitializeX86Target)
OWN(LLVMInitializeX86TargetInfo)
OWN(LLVMInitializeX86TargetMC)
OWN(LLVMInitializeX86AsmPrinter)
OWN(_ZN4llvm11LLVMContextC1Ev) // llvm::LLVMContext::LLVMContext()
OWN(_ZN4llvm6ModuleC1ENS_9StringRefERNS_11LLVMContextE) // llvm::Module::Module(llvm::StringRef, LLVMContext&)
OWN(_ZN4llvm6TripleC1ERKNS_5TwineE) // llvm::Triple::Triple(llvm::Twine const&)
OWN(_ZN6google8protobuf11MessageLite15ParseFromArrayEPKvi) // google::protobuf::MessageLite::ParseFromArray
OWN(_ZN8dovetail9read_fileERKNSt10filesystem7__cxx114pathEm) // dovetail::read_file: of another version of the kit
// clang-format on

static void check(dvt_status* status) {
  if (status == nullptr) return;
  std::fputs(dvt_status_text(status), stderr);
  std::exit(1);
}

int main(int, char** arguments) {
  const std::string folder = arguments[2], saved = folder + "/host.dvt", records = folder + "/host.db";
  dvt_model* model = nullptr;
  dvt_bundle* bundle = nullptr;
  dvt_session* session = nullptr;
  dvt_tensors* outputs = nullptr;
  check(dvt_model_load_file(arguments[1], &model));
  dvt_compile_options options{};
  options.struct_size = sizeof options;
  options.targets = "accel,cpu";
  options.hardware = "1x16x16-ext";
  check(dvt_compile(model, &options, &bundle, nullptr));
  check(dvt_bundle_save(bundle, saved.c_str()));
  options.targets = "accel";
  dvt_tune_options tune{};
  tune.struct_size = sizeof tune;
  tune.records = records.c_str();
  tune.trials = tune.batch = 1;
  check(dvt_tune(model, &options, &tune, nullptr));

  static float image[64];
  int64_t shape[] = {1, 1, 8, 8};
  DLTensor view{};
  view.data = image;
  view.device.device_type = kDLCPU;
  view.ndim = 4;
  view.dtype.code = kDLFloat;
  view.dtype.bits = 32;
  view.dtype.lanes = 1;
  view.shape = shape;
  const dvt_named_tensor input = {"image", &view};
  check(dvt_session_create(bundle, nullptr, &session));
  check(dvt_session_run(session, &input, 1, &outputs));
  std::puts("compiled, tuned and ran");
  dvt_tensors_free(outputs);
  dvt_session_free(session);
  dvt_bundle_free(bundle);
  dvt_model_free(model);
}
