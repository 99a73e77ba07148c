// A farm's own certificate authority: a folder with the authority's key, the certificates that it has issued, and the
// list of those that are revoked.
//
//   authority.key   the authority's key and certificate: its owner can make certificates of any role
//   authority.pem   its certificate alone
//   NAME/           for the machine or user NAME, to be copied there: certificate.pem, key.pem, authority.pem
//   issued.txt      every certificate ever issued
//   revoked.txt     fingerprints of revoked certificates (remote/revocation_list.h), which the queue reads
//
// Keys are ECDSA P-256 with SHA-256, the one signature with a curve that every implementation of TLS 1.3 must have
// (RFC 8446, section 9.1).
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "remote/identity.h"

namespace dovetail::remote {

inline constexpr const char *kAuthorityFile = "authority.pem", *kCertificateFile = "certificate.pem",
                            *kKeyFile = "key.pem", *kRevokedFile = "revoked.txt";
inline constexpr int kStandardDays = 365, kMostDays = 3650;

struct CertificateOrder {
  std::string name;                     // is_certificate_name(); also the name of its folder
  std::set<Role> roles;                 // at least one
  std::vector<std::string> hosts = {};  // host names and IP addresses by which others dial it: for role `queue`
};

struct CertificateTerms {
  int days = kStandardDays;  // 1 to kMostDays
  bool renew = false;        // make new certificates for names that have one; the former stay valid until they expire
  std::chrono::sys_seconds from = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
};

struct IssuedCertificate {
  std::string name;
  std::set<Role> roles;
  std::string fingerprint;         // SHA-256, 64 hexadecimal digits
  std::chrono::sys_seconds until;  // the end of its validity
  bool revoked = false;
};

// Makes a certificate for each order, and first the authority if the folder has none. All are made or none. Concurrent
// calls for one folder wait for each other.
// Errors: an order is not valid; its name has a certificate already (`renew` is false); the certificate would outlive
// its authority; the folder is not writable, or another user can write to it.
Result<std::vector<IssuedCertificate>> make_certificates(const std::filesystem::path& folder,
                                                         const std::vector<CertificateOrder>& orders,
                                                         const CertificateTerms& terms = {});

// Revokes all certificates issued to these names until now, former ones included, and returns them. A name whose
// certificates are revoked already is not an error. Error: a name has no certificate.
Result<std::vector<IssuedCertificate>> revoke_certificates(const std::filesystem::path& folder,
                                                           const std::vector<std::string>& names);

// Every certificate that the authority has issued, in the order of issue.
Result<std::vector<IssuedCertificate>> issued_certificates(const std::filesystem::path& folder);

// "2027-11-30".
std::string date_text(std::chrono::sys_seconds time);

}  // namespace dovetail::remote
