// X.509 certificates and keys through OpenSSL, as far as a farm needs them: reading, and what a certificate says.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "base/result.h"
#include "remote/identity.h"

namespace dovetail::remote {

template <auto kFree>
struct FreedBy {
  void operator()(auto* object) const { kFree(object); }
};
template <typename T, auto kFree>
using Owned = std::unique_ptr<T, FreedBy<kFree>>;
using OwnedCertificate = Owned<X509, X509_free>;
using OwnedKey = Owned<EVP_PKEY, EVP_PKEY_free>;
using OwnedStore = Owned<X509_STORE, X509_STORE_free>;
using OwnedBio = Owned<BIO, BIO_free_all>;

// Call it before anything else of OpenSSL, whose other functions crash if its first use finds no memory.
void start_openssl();
// Throws std::bad_alloc if memory ran out, and otherwise ResourceError with OpenSSL's text: its configuration may lack
// an algorithm. A mistake in a file is a Diagnostic instead.
[[noreturn]] void throw_openssl_error(const char* action);
inline void require_openssl(bool succeeded, const char* action) {
  if (!succeeded) throw_openssl_error(action);
}
template <typename T>
T* require_openssl(T* object, const char* action) {
  require_openssl(object != nullptr, action);
  return object;
}

// A name of a board, a client or a queue, which is also a folder's name: 1 to 64 letters, digits, '.', '_' and '-', the
// first a letter or a digit.
bool is_certificate_name(std::string_view name);
// A host name (RFC 1123) or an IP address, without a port.
bool is_ip_address(const std::string& host);
bool is_host(const std::string& host);

// "dovetail:role:board".
std::string role_uri(Role role);

// One certificate in PEM. Errors: the file cannot be read or does not begin with one, or another user can change it.
Result<OwnedCertificate> read_certificate(const std::filesystem::path& path);
// A private key in PEM, without a passphrase. Errors: the same, or another user can read the file.
Result<OwnedKey> read_key(const std::filesystem::path& path);

// What a certificate says. It is true only if the certificate has been verified.
Result<Identity> identity_of(const X509& certificate);  // error: not one common name that is_certificate_name()
std::string fingerprint_of(const X509& certificate);    // SHA-256, 64 hexadecimal digits
std::vector<std::string> hosts_of(const X509& certificate);
// "192.168.1.5", "fd00::5"; empty: it has not 4 or 16 bytes.
std::string address_text(const ASN1_OCTET_STRING* address);
std::string date_text(const ASN1_TIME* time);  // "2027-11-30 12:00 UTC"

// The only trusted authority, for verification. No certificate may be between it and the verified certificate.
OwnedStore store_of(X509& authority);

// Why X509_verify_cert() refused a certificate. `whose`: "the queue's certificate".
struct CertificateRefusal {
  int error;  // X509_V_ERR_...
  std::string why, hint;
};
CertificateRefusal refusal_by(int error, const X509& certificate, std::string_view whose);

}  // namespace dovetail::remote
