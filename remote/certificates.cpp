#include "remote/certificates.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/printable.h"
#include "base/temporary.h"
#include "base/user_folder.h"
#include "remote/revocation_list.h"
#include "remote/x509.h"

namespace dovetail::remote {

namespace {

namespace fs = std::filesystem;
using std::chrono::sys_seconds;

constexpr const char *kAuthorityKeyFile = "authority.key", *kIssuedFile = "issued.txt", *kLockFile = ".lock",
                     *kStagingFolder = ".new";
constexpr std::chrono::days kAuthorityDays{7300};
// Clocks of boards are often a little slow.
constexpr std::chrono::hours kClockTolerance{1};

Diagnostic order_error(std::string where, std::string why, std::string hint) {
  return {"cannot make a certificate", std::move(where), std::move(why), std::move(hint)};
}

Diagnostic farm_error(const fs::path& path, int error_number) {
  return {"cannot change the folder of certificates", path.string(), std::strerror(error_number),
          "choose a folder on a disk with free space that this user can write to", cause_of(error_number)};
}

bool is_there(const fs::path& path) { return ::access(path.c_str(), F_OK) == 0; }

// The authority, or a certificate with its key.
struct Signed {
  OwnedCertificate certificate;
  OwnedKey key;
};

void set_time(ASN1_TIME* field, sys_seconds time) {
  require_openssl(ASN1_TIME_set(field, static_cast<std::time_t>(time.time_since_epoch().count())) != nullptr,
                  "set a time");
}

void add_extension(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION, X509_EXTENSION_free> extension(
      require_openssl(X509V3_EXT_nconf_nid(nullptr, &context, kind, value.c_str()), "make an extension"));
  require_openssl(X509_add_ext(&certificate, extension.get(), -1) == 1, "add an extension");
}

// A certificate with everything but its extensions and its signature. The serial number is of 128 random bits.
Signed unsigned_certificate(const std::string& name, sys_seconds from, sys_seconds until) {
  Signed made{OwnedCertificate(require_openssl(X509_new(), "make a certificate")),
              OwnedKey(require_openssl(EVP_EC_gen("P-256"), "make a key"))};
  X509* certificate = made.certificate.get();
  require_openssl(X509_set_version(certificate, X509_VERSION_3) == 1, "set a version");
  std::array<unsigned char, 16> random;
  require_openssl(RAND_bytes(random.data(), random.size()) == 1, "make random bytes");
  const Owned<BIGNUM, BN_free> serial(
      require_openssl(BN_bin2bn(random.data(), random.size(), nullptr), "make a serial number"));
  require_openssl(BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr,
                  "set a serial number");
  set_time(X509_getm_notBefore(certificate), from - kClockTolerance);
  set_time(X509_getm_notAfter(certificate), until);
  require_openssl(X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8,
                                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1,
                  "set a name");
  require_openssl(X509_set_pubkey(certificate, made.key.get()) == 1, "set a key");
  return made;
}

void sign(X509& certificate, X509& issuer, EVP_PKEY& key) {
  require_openssl(X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) == 1, "set an issuer");
  require_openssl(X509_sign(&certificate, &key, EVP_sha256()) > 0, "sign a certificate");
}

Signed make_authority() {
  std::array<unsigned char, 4> random;
  require_openssl(RAND_bytes(random.data(), random.size()) == 1, "make random bytes");
  // The number distinguishes the authorities of two farms for a reader.
  const sys_seconds now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  Signed made =
      unsigned_certificate(fmt::format("Dovetail farm {:02x}", fmt::join(random, "")), now, now + kAuthorityDays);
  X509& own = *made.certificate;
  add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(own, own, NID_subject_key_identifier, "hash");
  add_extension(own, own, NID_authority_key_identifier, "keyid:always");
  sign(own, own, *made.key);
  return made;
}

Signed make_certificate(const Signed& authority, const CertificateOrder& order, sys_seconds from, sys_seconds until) {
  Signed made = unsigned_certificate(order.name, from, until);
  X509 &own = *made.certificate, &issuer = *authority.certificate;
  add_extension(own, issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(own, issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(own, issuer, NID_ext_key_usage,
                order.roles.contains(Role::queue) ? "serverAuth,clientAuth" : "clientAuth");
  add_extension(own, issuer, NID_subject_key_identifier, "hash");
  add_extension(own, issuer, NID_authority_key_identifier, "keyid:always");
  std::vector<std::string> names;
  for (const Role role : order.roles) names.push_back(fmt::format("URI:{}", role_uri(role)));
  for (const std::string& host : order.hosts)
    names.push_back(fmt::format("{}:{}", is_ip_address(host) ? "IP" : "DNS", host));
  add_extension(own, issuer, NID_subject_alt_name, fmt::format("{}", fmt::join(names, ",")));
  sign(own, issuer, *authority.key);
  return made;
}

std::string pem_text(const OwnedBio& bio) {
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(bytes)};
}

std::string pem_of(X509& certificate) {
  const OwnedBio bio(require_openssl(BIO_new(BIO_s_mem()), "make a buffer"));
  require_openssl(PEM_write_bio_X509(bio.get(), &certificate) == 1, "write a certificate");
  return pem_text(bio);
}

std::string pem_of(EVP_PKEY& key) {
  const OwnedBio bio(require_openssl(BIO_new(BIO_s_mem()), "make a buffer"));
  require_openssl(PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "write a key");
  return pem_text(bio);
}

Result<void> check_order(const CertificateOrder& order) {
  if (!is_certificate_name(order.name))
    return order_error(printable(order.name.substr(0, 80)),
                       "a name must have 1 to 64 letters, digits, '.', '_' or '-', and begin with a letter or a digit",
                       "choose such a name");
  for (const char* file : {kAuthorityFile, kAuthorityKeyFile, kIssuedFile, kRevokedFile})
    if (order.name == file) return order_error(order.name, "the folder has a file of this name", "choose another name");
  if (order.roles.empty()) return order_error(order.name, "the certificate has no role", "name at least one role");
  if (order.roles.contains(Role::queue) == order.hosts.empty())
    return order_error(order.name, "a queue needs at least one host by which others dial it, and others need none",
                       "name the hosts of the queue, and only those");
  for (const std::string& host : order.hosts)
    if (!is_host(host))
      return order_error(order.name, fmt::format("\"{}\" is not a host name or an IP address", printable(host)),
                         "name the host without a port: lab.example.org, 192.168.1.5 or fd00::5");
  return {};
}

// The line of issued.txt: fingerprint, end of validity in seconds since 1970, its date for the reader, name, roles.
std::string issued_line(const IssuedCertificate& issued) {
  std::vector<std::string_view> roles;
  for (const Role role : issued.roles) roles.push_back(to_string(role));
  return fmt::format("{} {} {} {} {}\n", issued.fingerprint, issued.until.time_since_epoch().count(),
                     date_text(issued.until), issued.name, fmt::join(roles, ","));
}

std::optional<IssuedCertificate> parse_issued(const std::string& line) {
  std::istringstream words(line);
  IssuedCertificate issued;
  std::int64_t until = 0;
  std::string date, roles, role;
  if (!(words >> issued.fingerprint >> until >> date >> issued.name >> roles) || issued.fingerprint.size() != 64)
    return std::nullopt;
  issued.until = sys_seconds(std::chrono::seconds(until));
  for (std::istringstream list(roles); std::getline(list, role, ',');) {
    const auto known = role_named(role);
    if (!known) return std::nullopt;
    issued.roles.insert(*known);
  }
  return issued;
}

// Precondition: the folder has an authority, and its lock is held.
Result<std::vector<IssuedCertificate>> read_issued(const fs::path& folder) {
  std::vector<IssuedCertificate> all;
  DOVETAIL_ASSIGN(const std::string text, read_text_file(folder / kIssuedFile));
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto issued = parse_issued(line);
    if (!issued)
      return Diagnostic{"cannot read the list of issued certificates",
                        fmt::format("{}:{}", (folder / kIssuedFile).string(), number), "the line is malformed",
                        "remove the line, or restore the file from a backup"};
    all.push_back(*std::move(issued));
  }
  DOVETAIL_ASSIGN(const auto revoked, RevocationList::read(folder / kRevokedFile));
  for (IssuedCertificate& issued : all) issued.revoked = revoked->contains(issued.fingerprint);
  return all;
}

// The authority of a folder; nullopt: it has none. Its certificate is in the key's file too, so that one rename makes
// an authority.
Result<std::optional<Signed>> read_authority(const fs::path& folder) {
  const fs::path file = folder / kAuthorityKeyFile, copy = folder / kAuthorityFile;
  if (!is_there(file) && !is_there(copy)) return std::optional<Signed>();
  Signed authority;
  DOVETAIL_ASSIGN(authority.certificate, read_certificate(file));
  DOVETAIL_ASSIGN(authority.key, read_key(file));
  bool fits = X509_check_private_key(authority.certificate.get(), authority.key.get()) == 1;
  if (is_there(copy)) {
    DOVETAIL_ASSIGN(const OwnedCertificate shown, read_certificate(copy));
    fits = fits && X509_cmp(shown.get(), authority.certificate.get()) == 0;
  }
  if (!fits)
    return Diagnostic{"cannot use the authority", folder.string(),
                      fmt::format("{} is not the key of {}", kAuthorityKeyFile, kAuthorityFile),
                      "restore both files from one backup, or make a new farm in another folder"};
  return std::optional<Signed>(std::move(authority));
}

sys_seconds end_of(const X509& certificate) {
  std::tm parts{};
  require_openssl(ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &parts) == 1, "read a time");
  return sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

// Files and folders that are prepared in a folder within their later one, and then renamed to their places together.
class Staging {
 public:
  explicit Staging(const fs::path& folder) : folder_(folder), staging_(folder / kStagingFolder) {}

  // Only this user can enter the folder: files need no mode before they are written.
  Result<void> make(const fs::path& name = {}) {
    if (::mkdir((staging_.path() / name).c_str(), 0700) != 0) return farm_error(folder_, errno);
    return {};
  }
  Result<void> write(const fs::path& name, std::string_view text, ::mode_t mode) {
    DOVETAIL_TRY(write_text_file(staging_.path() / name, text));
    if (::chmod((staging_.path() / name).c_str(), mode) != 0) return farm_error(folder_, errno);
    return {};
  }
  // Moves `names` to their places, or none of them.
  Result<void> place(const std::vector<std::string>& names) {
    std::size_t placed = 0;
    int error = 0;
    while (placed < names.size() && error == 0) {
      error = exchange(names[placed]);
      placed += error == 0;
    }
    if (error == 0) return {};
    while (placed > 0) restore(names[--placed]);
    return farm_error(folder_, error);
  }

 private:
  fs::path former(const std::string& name) const { return staging_.path() / (".former-" + name); }
  // errno of the failure; 0: none.
  int exchange(const std::string& name) {
    const fs::path place = folder_ / name;
    if (::rename(place.c_str(), former(name).c_str()) != 0 && errno != ENOENT) return errno;
    if (::rename((staging_.path() / name).c_str(), place.c_str()) == 0) return 0;
    const int error = errno;
    ::rename(former(name).c_str(), place.c_str());
    return error;
  }
  void restore(const std::string& name) {
    ::rename((folder_ / name).c_str(), (staging_.path() / name).c_str());
    ::rename(former(name).c_str(), (folder_ / name).c_str());
  }

  fs::path folder_;
  TemporaryPath staging_;
};

// The folder's lock. Error: another user can write to the folder.
Result<FileLock> lock_farm(const fs::path& folder) {
  DOVETAIL_TRY(make_private_folder(folder));
  return FileLock::take(folder / kLockFile);
}

Result<void> check_farm(const fs::path& folder) {
  if (is_there(folder / kAuthorityKeyFile) || is_there(folder / kAuthorityFile)) return {};
  return Diagnostic{"there is no farm in the folder", folder.string(),
                    fmt::format("{}: {}", kAuthorityFile, std::strerror(errno)),
                    "name the folder of a farm, or make one: dovetail certificates FOLDER --queue HOST --board NAME"};
}

constexpr mode_t kSecret = 0600, kPublic = 0644;

}  // namespace

Result<std::vector<IssuedCertificate>> make_certificates(const fs::path& folder,
                                                         const std::vector<CertificateOrder>& orders,
                                                         const CertificateTerms& terms) {
  start_openssl();
  Diagnostics problems;
  std::set<std::string> names;
  for (const CertificateOrder& order : orders) {
    if (auto checked = check_order(order); !checked) problems.push_back(checked.errors().front());
    if (!names.insert(order.name).second)
      problems.push_back(order_error(order.name, "the name is used twice", "give each machine and user its own name"));
  }
  if (terms.days < 1 || terms.days > kMostDays)
    problems.push_back(
        order_error("days", fmt::format("{} is not from 1 to {}", terms.days, kMostDays), "choose fewer"));
  if (!problems.empty()) return problems;

  DOVETAIL_ASSIGN(const FileLock lock, lock_farm(folder));
  DOVETAIL_ASSIGN(std::optional<Signed> authority, read_authority(folder));
  const bool is_new = !authority;
  std::vector<IssuedCertificate> issued;
  if (is_new) authority = make_authority();
  else {
    DOVETAIL_ASSIGN(issued, read_issued(folder));
  }
  for (const CertificateOrder& order : orders)
    if (!terms.renew && (is_there(folder / order.name) ||
                         std::ranges::find(issued, order.name, &IssuedCertificate::name) != issued.end()))
      problems.push_back(order_error(order.name, "the name has a certificate already",
                                     "choose another name, or add --renew to make a new certificate for it"));
  const sys_seconds until = terms.from + std::chrono::days(terms.days), end = end_of(*authority->certificate);
  if (until > end)
    problems.push_back(order_error("days",
                                   fmt::format("{} days end on {}, after the authority's own certificate on {}",
                                               terms.days, date_text(until), date_text(end)),
                                   "choose fewer days, or make a new farm in another folder"));
  if (!problems.empty()) return problems;

  // A folder that a killed process left.
  std::error_code ignored;
  fs::remove_all(folder / kStagingFolder, ignored);
  Staging staging(folder);
  DOVETAIL_TRY(staging.make());
  // issued.txt is placed before the certificates: a certificate that it lacks could not be revoked by its name.
  std::vector<std::string> placed{kIssuedFile};
  const std::string authority_pem = pem_of(*authority->certificate);
  if (is_new) {
    DOVETAIL_TRY(staging.write(kAuthorityKeyFile, pem_of(*authority->key) + authority_pem, kSecret));
    DOVETAIL_TRY(staging.write(kRevokedFile, "# Fingerprints of revoked certificates, one in a line.\n", kPublic));
    placed.insert(placed.end(), {kRevokedFile, kAuthorityKeyFile});
  }
  if (!is_there(folder / kAuthorityFile)) {
    DOVETAIL_TRY(staging.write(kAuthorityFile, authority_pem, kPublic));
    placed.emplace_back(kAuthorityFile);
  }
  std::vector<IssuedCertificate> made;
  for (const CertificateOrder& order : orders) {
    const Signed certificate = make_certificate(*authority, order, terms.from, until);
    const fs::path in = order.name;
    DOVETAIL_TRY(staging.make(in));
    DOVETAIL_TRY(staging.write(in / kKeyFile, pem_of(*certificate.key), kSecret));
    DOVETAIL_TRY(staging.write(in / kCertificateFile, pem_of(*certificate.certificate), kPublic));
    DOVETAIL_TRY(staging.write(in / kAuthorityFile, authority_pem, kPublic));
    placed.push_back(order.name);
    made.push_back({order.name, order.roles, fingerprint_of(*certificate.certificate), until});
  }
  std::string list;
  for (const auto* part : {&issued, &made})
    for (const IssuedCertificate& one : *part) list += issued_line(one);
  DOVETAIL_TRY(staging.write(kIssuedFile, list, kSecret));
  DOVETAIL_TRY(staging.place(placed));
  return made;
}

Result<std::vector<IssuedCertificate>> revoke_certificates(const fs::path& folder,
                                                           const std::vector<std::string>& names) {
  DOVETAIL_TRY(check_farm(folder));
  DOVETAIL_ASSIGN(const FileLock lock, lock_farm(folder));
  DOVETAIL_ASSIGN(const std::vector<IssuedCertificate> issued, read_issued(folder));
  DOVETAIL_ASSIGN(std::string list, read_text_file(folder / kRevokedFile));
  if (!list.empty() && list.back() != '\n') list += '\n';
  Diagnostics problems;
  std::vector<IssuedCertificate> revoked;
  for (const std::string& name : names) {
    const std::size_t before = revoked.size();
    for (const IssuedCertificate& one : issued) {
      if (one.name != name) continue;
      if (!one.revoked) list += revocation_line(one.fingerprint, one.name);
      revoked.push_back(one);
      revoked.back().revoked = true;
    }
    if (revoked.size() == before)
      problems.push_back({"cannot revoke a certificate", printable(name), "the farm has issued none of this name",
                          "list the names: dovetail certificates FOLDER"});
  }
  if (!problems.empty()) return problems;
  DOVETAIL_TRY(write_text_file(folder / kRevokedFile, list));
  return revoked;
}

Result<std::vector<IssuedCertificate>> issued_certificates(const fs::path& folder) {
  DOVETAIL_TRY(check_farm(folder));
  DOVETAIL_ASSIGN(const FileLock lock, lock_farm(folder));
  return read_issued(folder);
}

std::string date_text(sys_seconds time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

}  // namespace dovetail::remote
