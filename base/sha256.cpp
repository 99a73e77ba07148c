#include "base/sha256.h"

#include <array>

#include <fmt/format.h>

// OpenSSL's low-level functions: they allocate nothing and read no configuration, and a static build links little else.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace dovetail {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::string Sha256::digits() const {
  SHA256_CTX context = state_->context;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256_Final(digest.data(), &context);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256(std::span<const std::byte> bytes) { return sha256(Pieces{bytes}); }

std::string sha256(const Pieces& file) {
  Sha256 hash;
  for (const auto piece : file) hash.add(piece);
  return hash.digits();
}

}  // namespace dovetail
