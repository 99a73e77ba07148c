#include "remote/x509.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <new>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/resource_error.h"
#include "base/user_folder.h"

namespace dovetail::remote {

namespace {

constexpr std::size_t kMostPemBytes = 64 << 10;
constexpr std::string_view kRolePrefix = "dovetail:role:";

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// OpenSSL would otherwise ask the terminal for a passphrase.
int no_passphrase(char*, int, int, void*) { return 0; }

// The file's text, if no other user can have written it.
Result<OwnedBio> open_pem(const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const std::string text, read_text_file(path, kMostPemBytes));
  if (auto why = other_hands(path))
    return Diagnostic{"cannot trust the file", path.string(), *std::move(why),
                      "take ownership of the file and remove the others' permission to write: chown, chmod go-w"};
  OwnedBio bio(require_openssl(BIO_new(BIO_s_mem()), "make a buffer"));
  require_openssl(text.empty() || BIO_write(bio.get(), text.data(), static_cast<int>(text.size())) > 0,
                  "fill a buffer");
  return bio;
}

// Empties OpenSSL's queue of errors. Throws std::bad_alloc if memory ran out, which may be any of them, or too little
// memory for an error.
void check_memory_of_openssl() {
  bool ran_out = ERR_peek_error() == 0;
  while (const unsigned long error = ERR_get_error())
    ran_out = ran_out || ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
  if (ran_out) throw std::bad_alloc();
}

// A mistake in the file, or too little memory, which OpenSSL reports in the same way.
Diagnostic pem_error(const std::filesystem::path& path, const char* kind) {
  check_memory_of_openssl();
  return {fmt::format("cannot read the {}", kind), path.string(),
          fmt::format("the file is not a {} in PEM form, or it is damaged", kind),
          "copy the file again from the farm's folder, or renew the certificate: dovetail certificates FOLDER --renew"};
}

std::string_view text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

using OwnedNames = Owned<GENERAL_NAMES, GENERAL_NAMES_free>;
OwnedNames alternative_names(const X509& certificate) {
  return OwnedNames(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
}

}  // namespace

void start_openssl() {
  if (OSSL_LIB_CTX_get0_global_default() == nullptr) throw std::bad_alloc();
}

void throw_openssl_error(const char* action) {
  const unsigned long error = ERR_peek_last_error();
  check_memory_of_openssl();
  std::array<char, 256> text{};
  ERR_error_string_n(error, text.data(), text.size());
  throw ResourceError({fmt::format("OpenSSL cannot {}", action), "", text.data(),
                       "is there enough memory? Otherwise check OpenSSL's configuration: openssl version -d"});
}

bool is_certificate_name(std::string_view name) {
  constexpr std::size_t kMostBytes = 64;  // of a common name (RFC 5280, ub-common-name)
  return !name.empty() && name.size() <= kMostBytes && is_letter_or_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

bool is_host(const std::string& host) {
  constexpr std::size_t kMostBytes = 253, kMostLabelBytes = 63;
  if (host.find('\0') != std::string::npos) return false;
  if (is_ip_address(host)) return true;
  if (host.empty() || host.size() > kMostBytes) return false;
  std::size_t begin = 0;
  for (std::size_t end = 0; begin <= host.size(); begin = end + 1) {
    end = std::min(host.find('.', begin), host.size());
    const std::string_view label = std::string_view(host).substr(begin, end - begin);
    if (label.empty() || label.size() > kMostLabelBytes || label.front() == '-' || label.back() == '-' ||
        !std::ranges::all_of(label, [](char c) { return is_letter_or_digit(c) || c == '-'; }))
      return false;
  }
  // "10.1.2" and "10.0.0.256" are mistyped addresses.
  return !std::ranges::all_of(host, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

std::string role_uri(Role role) { return fmt::format("{}{}", kRolePrefix, to_string(role)); }

Result<OwnedCertificate> read_certificate(const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const OwnedBio bio, open_pem(path));
  OwnedCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  if (!certificate) return pem_error(path, "certificate");
  return certificate;
}

Result<OwnedKey> read_key(const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const OwnedBio bio, open_pem(path));
  struct ::stat status;
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return Diagnostic{
        "cannot trust the private key", path.string(),
        fmt::format("its mode {:04o} lets other users read the key; the mode must be 0600", status.st_mode & 07777),
        "chmod 600 the file; if another user may have read the key, revoke and renew its certificate"};
  OwnedKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) return pem_error(path, "private key without a passphrase");
  return key;
}

Result<Identity> identity_of(const X509& certificate) {
  Identity identity;
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at >= 0 && X509_NAME_get_index_by_NID(subject, NID_commonName, at) < 0)
    identity.name = text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (!is_certificate_name(identity.name))
    return Diagnostic{"cannot use the certificate", "common name", "the subject has not exactly one valid common name",
                      "make the certificate with `dovetail certificates`"};
  if (const OwnedNames names = alternative_names(certificate))
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
      const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
      if (name->type != GEN_URI) continue;
      const std::string_view uri = text_of(name->d.uniformResourceIdentifier);
      if (!uri.starts_with(kRolePrefix)) continue;
      if (const auto role = role_named(uri.substr(kRolePrefix.size()))) identity.roles.insert(*role);
    }
  identity.fingerprint = fingerprint_of(certificate);
  return identity;
}

std::string fingerprint_of(const X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int bytes = 0;
  require_openssl(X509_digest(&certificate, EVP_sha256(), digest.data(), &bytes) == 1, "hash a certificate");
  return fmt::format("{:02x}", fmt::join(digest.data(), digest.data() + bytes, ""));
}

std::vector<std::string> hosts_of(const X509& certificate) {
  std::vector<std::string> hosts;
  if (const OwnedNames names = alternative_names(certificate))
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
      const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
      if (name->type == GEN_DNS) hosts.emplace_back(text_of(name->d.dNSName));
      if (name->type == GEN_IPADD) hosts.push_back(address_text(name->d.iPAddress));
    }
  return hosts;
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const std::string_view bytes = text_of(address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (bytes.size() == sizeof(in_addr)) ::inet_ntop(AF_INET, bytes.data(), text.data(), text.size());
  if (bytes.size() == sizeof(in6_addr)) ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return text.data();
}

std::string date_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable date";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min);
}

OwnedStore store_of(X509& authority) {
  OwnedStore store(require_openssl(X509_STORE_new(), "make a store"));
  require_openssl(X509_STORE_add_cert(store.get(), &authority) == 1, "store an authority");
  X509_VERIFY_PARAM* rules = X509_STORE_get0_param(store.get());
  X509_VERIFY_PARAM_set_depth(rules, 0);
  require_openssl(X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT) == 1, "set the rules of a store");
  return store;
}

CertificateRefusal refusal_by(int error, const X509& certificate, std::string_view whose) {
  const auto refusal = [&](std::string why, std::string hint) {
    return CertificateRefusal{error, std::move(why), std::move(hint)};
  };
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return refusal(fmt::format("{} expired on {}", whose, date_text(X509_get0_notAfter(&certificate))),
                     "renew the certificate with `dovetail certificates FOLDER --renew`, and copy its folder again");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return refusal(fmt::format("{} is valid only from {} on", whose, date_text(X509_get0_notBefore(&certificate))),
                     "set the clock of this machine; a board without a battery for its clock needs network time (NTP)");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return refusal(
          fmt::format("{} is for {}, not for the host that was dialed", whose, fmt::join(hosts_of(certificate), ", ")),
          "dial one of these hosts, or renew the certificate: dovetail certificates FOLDER --renew --queue HOST,...");
    case X509_V_ERR_INVALID_PURPOSE:
      return refusal(fmt::format("{} is not for this end of a connection", whose),
                     "use the folder that `dovetail certificates` made for this machine");
    case X509_V_ERR_OUT_OF_MEM: throw std::bad_alloc();
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_CHAIN_TOO_LONG:
    case X509_V_ERR_INVALID_CA:
    case X509_V_ERR_PATH_LENGTH_EXCEEDED:
      return refusal(
          fmt::format("{} was not issued by this farm's authority", whose),
          "use certificates of one farm on both sides: folders that one `dovetail certificates FOLDER` made");
    default:
      return refusal(fmt::format("{} is not valid: {}", whose, X509_verify_cert_error_string(error)),
                     "make the certificate with `dovetail certificates`");
  }
}

}  // namespace dovetail::remote
