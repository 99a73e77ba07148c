// Files of credentials that are damaged, mixed up, or not private.
#include <functional>

#include <sys/stat.h>

#include "tests/ordinary_user.h"
#include "tests/unit/remote/handshake.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using remote::Role;

namespace {

std::string credentials_problem(const test::Farm& farm, const std::string& name) {
  const auto read = remote::read_credentials(farm.folder / name, std::nullopt);
  REQUIRE_FALSE(read.ok());
  for (const Diagnostic& problem : read.errors()) CHECK_FALSE(problem.hint.empty());
  return to_string(read.errors());
}

}  // namespace

TEST_CASE("credentials: each file that cannot be used is named with a remedy") {
  const test::Farm farm;
  const std::filesystem::path alice = farm.folder / "alice", pi4 = farm.folder / "pi4";
  const std::string key = read_text_file(alice / remote::kKeyFile).value();
  const std::string certificate = read_text_file(alice / remote::kCertificateFile).value();

  SECTION("the key of another certificate") {
    std::filesystem::copy_file(pi4 / remote::kKeyFile, alice / remote::kKeyFile,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("key.pem is not the key of certificate.pem"));
  }
  SECTION("a key that others can read") {
    const mode_t mode = GENERATE(0644, 0640, 0604, 0660);
    REQUIRE(::chmod((alice / remote::kKeyFile).c_str(), mode) == 0);
    CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("key.pem") && ContainsSubstring("cannot trust"));
  }
  SECTION("an authority that others can replace") {
    REQUIRE(::chmod((alice / remote::kAuthorityFile).c_str(), 0666) == 0);
    CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("everyone can write to"));
  }
  SECTION("a folder that others can write to") {
    REQUIRE(::chmod(alice.c_str(), 0777) == 0);
    CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("everyone can write to"));
  }
  SECTION("files cut at every length") {
    for (std::size_t bytes = 0; bytes + 2 < certificate.size(); bytes += 7) {
      REQUIRE(write_text_file(alice / remote::kCertificateFile, certificate.substr(0, bytes)).ok());
      CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("not a certificate in PEM form"));
    }
    REQUIRE(write_text_file(alice / remote::kCertificateFile, certificate).ok());
    for (std::size_t bytes = 0; bytes + 2 < key.size(); bytes += 7) {
      REQUIRE(write_text_file(alice / remote::kKeyFile, key.substr(0, bytes)).ok());
      ::chmod((alice / remote::kKeyFile).c_str(), 0600);
      CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("not a private key without a passphrase"));
    }
  }
  SECTION("a missing file") {
    std::filesystem::remove(alice / remote::kAuthorityFile);
    CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("authority.pem") && ContainsSubstring("no such"));
  }
  SECTION("another farm's authority") {
    const test::Farm other;
    std::filesystem::copy_file(other.folder / remote::kAuthorityFile, alice / remote::kAuthorityFile,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("not issued by this farm's authority"));
  }
  SECTION("a key with a passphrase, without asking for it") {
    const auto plain = remote::read_key(alice / remote::kKeyFile).value();
    {
      const remote::OwnedBio bio(BIO_new_file((alice / remote::kKeyFile).c_str(), "w"));
      PEM_write_bio_PrivateKey(bio.get(), plain.get(), EVP_aes_256_cbc(),
                               reinterpret_cast<const unsigned char*>("word"), 4, nullptr, nullptr);
    }
    CHECK_THAT(credentials_problem(farm, "alice"), ContainsSubstring("without a passphrase"));
  }
  SECTION("an expired certificate") {
    remote::CertificateTerms terms;
    terms.from -= std::chrono::days(10);
    terms.days = 5;
    REQUIRE(remote::make_certificates(farm.folder, {{"old", {Role::board}}}, terms).ok());
    CHECK_THAT(credentials_problem(farm, "old"), ContainsSubstring("the certificate expired on 20"));
  }
  SECTION("a missing list of revoked certificates") {
    const auto read = remote::read_credentials(alice, farm.folder / "revoked");
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(to_string(read.errors()), ContainsSubstring("cannot read the list of revoked certificates"));
  }
}
