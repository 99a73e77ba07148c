#include "remote/certificates.h"

#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "tests/ordinary_user.h"
#include "tests/process.h"
#include "tests/skip.h"
#include "tests/unit/remote/handshake.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using remote::CertificateOrder;
using remote::make_certificates;
using remote::Role;

namespace {

constexpr const char* kOpenssl = "/usr/bin/openssl";

mode_t mode_of(const std::filesystem::path& path) {
  struct ::stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : entries_of(folder)) names.insert(entry.filename());
  return names;
}

std::string making_problem(const std::filesystem::path& folder, const std::vector<CertificateOrder>& orders,
                           const remote::CertificateTerms& terms = {}) {
  const auto made = make_certificates(folder, orders, terms);
  REQUIRE_FALSE(made.ok());
  for (const Diagnostic& problem : made.errors()) CHECK_FALSE(problem.hint.empty());
  return to_string(made.errors());
}

}  // namespace

TEST_CASE("certificates: a farm's files, and who may read them") {
  const test::Farm farm;
  CHECK(names_in(farm.folder) == std::set<std::string>{".lock", "authority.key", "authority.pem", "issued.txt",
                                                       "revoked.txt", "queue", "pi4", "alice", "bob"});
  CHECK(names_in(farm.folder / "pi4") == std::set<std::string>{"authority.pem", "certificate.pem", "key.pem"});
  CHECK(mode_of(farm.folder) == 0700);
  CHECK(mode_of(farm.folder / "pi4") == 0700);
  CHECK(mode_of(farm.folder / "authority.key") == 0600);
  CHECK(mode_of(farm.folder / "pi4/key.pem") == 0600);
  CHECK(read_text_file(farm.folder / "pi4/authority.pem").value() ==
        read_text_file(farm.folder / "authority.pem").value());
}

TEST_CASE("certificates: later calls add to a farm, under the same authority") {
  const test::Farm farm;
  const std::string authority = read_text_file(farm.folder / "authority.pem").value();
  REQUIRE(make_certificates(farm.folder, {{"zynq", {Role::board}}}).ok());
  CHECK(read_text_file(farm.folder / "authority.pem").value() == authority);
  const auto issued = remote::issued_certificates(farm.folder).value();
  REQUIRE(issued.size() == 5);
  CHECK(issued.back().name == "zynq");
  CHECK(issued[2].roles == std::set<Role>{Role::run_code, Role::admin});
  CHECK(issued[2].fingerprint == farm.read("alice").identity().fingerprint);
  CHECK(test::shake_hands(*farm.server(), *farm.client("zynq")).server.peer);

  std::set<std::string> serials;
  for (const auto& one : issued) {
    const auto certificate = remote::read_certificate(farm.folder / one.name / remote::kCertificateFile).value();
    const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate.get());
    serials.insert(std::string(reinterpret_cast<const char*>(serial->data), static_cast<std::size_t>(serial->length)));
    CHECK(serial->length >= 12);
    CHECK(serial->type == V_ASN1_INTEGER);  // positive
  }
  CHECK(serials.size() == 5);
}

TEST_CASE("certificates: bad orders are refused before anything is made") {
  const test::TemporaryFolder outer;
  const std::filesystem::path folder = outer / "farm";
  for (const std::string& name :
       {std::string("../x"), std::string(), std::string("a/b"), std::string("."), std::string(".."), std::string("-x"),
        std::string(65, 'n'), std::string(5000, 'n'), std::string("a b"), std::string("a\nb"), std::string("a\0b", 3),
        std::string("ä"), std::string(".new"), std::string("revoked.txt"), std::string("authority.key")}) {
    INFO(name);
    CHECK_THAT(making_problem(folder, {{name, {Role::board}}}), ContainsSubstring("cannot make a certificate"));
  }
  for (const std::string& host :
       {std::string("lab:7447"), std::string("*.lab"), std::string("a,DNS:b"), std::string("10.0.0.256"), std::string(),
        std::string("a b"), std::string("lab\0x", 5), std::string(300, 'h')}) {
    INFO(host);
    CHECK_THAT(making_problem(folder, {{"queue", {Role::queue}, {host}}}), ContainsSubstring("is not a host name"));
  }
  CHECK_THAT(making_problem(folder, {{"queue", {Role::queue}}}), ContainsSubstring("at least one host"));
  CHECK_THAT(making_problem(folder, {{"pi4", {Role::board}, {"pi4.lan"}}}), ContainsSubstring("others need none"));
  CHECK_THAT(making_problem(folder, {{"pi4", {}}}), ContainsSubstring("no role"));
  CHECK_THAT(making_problem(folder, {{"pi4", {Role::board}}, {"pi4", {Role::measure}}}),
             ContainsSubstring("the name is used twice"));
  remote::CertificateTerms terms;
  terms.days = GENERATE(0, -1, 3651);
  CHECK_THAT(making_problem(folder, {{"pi4", {Role::board}}}, terms), ContainsSubstring("is not from 1 to 3650"));
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("certificates: a name has one certificate, unless it is renewed") {
  const test::Farm farm;
  const std::string before = farm.read("pi4").identity().fingerprint;
  CHECK_THAT(making_problem(farm.folder, {{"new", {Role::board}}, {"pi4", {Role::board}}}),
             ContainsSubstring("pi4") && ContainsSubstring("has a certificate already"));
  CHECK_FALSE(std::filesystem::exists(farm.folder / "new"));
  // The name stays taken when its folder was moved to the board.
  std::filesystem::rename(farm.folder / "pi4", farm.outer / "moved");
  CHECK_THAT(making_problem(farm.folder, {{"pi4", {Role::board}}}), ContainsSubstring("has a certificate already"));
  remote::CertificateTerms terms;
  terms.renew = true;
  REQUIRE(make_certificates(farm.folder, {{"pi4", {Role::board}}, {"bob", {Role::measure}}}, terms).ok());
  CHECK(farm.read("pi4").identity().fingerprint != before);
  CHECK(names_in(farm.folder).count(".new") == 0);
  CHECK(remote::issued_certificates(farm.folder).value().size() == 6);

  // Revoking a name revokes all its certificates, also that of the moved folder.
  CHECK(remote::revoke_certificates(farm.folder, {"pi4"}).value().size() == 2);
  CHECK(farm.read("queue").is_revoked(before));
  REQUIRE(make_certificates(farm.folder, {{"pi4", {Role::board}}}, terms).ok());
  CHECK(test::shake_hands(*farm.server(), *farm.client("pi4")).server.peer);
}

TEST_CASE("certificates: revoking names the unknown, and twice is once") {
  const test::Farm farm;
  const auto unknown = remote::revoke_certificates(farm.folder, {"alice", "eve"});
  REQUIRE_FALSE(unknown.ok());
  CHECK_THAT(to_string(unknown.errors()), ContainsSubstring("eve") && ContainsSubstring("issued none of this name"));
  CHECK_FALSE(remote::issued_certificates(farm.folder).value()[2].revoked);
  REQUIRE(remote::revoke_certificates(farm.folder, {"alice"}).ok());
  const std::string once = read_text_file(farm.folder / remote::kRevokedFile).value();
  REQUIRE(remote::revoke_certificates(farm.folder, {"alice"}).ok());
  CHECK(read_text_file(farm.folder / remote::kRevokedFile).value() == once);
  CHECK_THAT(once, ContainsSubstring("# alice"));
  CHECK(remote::issued_certificates(farm.folder).value()[2].revoked);

  const test::TemporaryFolder empty;
  CHECK_THAT(to_string(remote::revoke_certificates(empty.path(), {"alice"}).errors()),
             ContainsSubstring("there is no farm in the folder"));
  CHECK(names_in(empty.path()).empty());
}

TEST_CASE("certificates: a folder that cannot be written keeps what it has") {
  test::Farm farm;
  const auto before = names_in(farm.folder);
  {
    const test::OrdinaryUser ordinary;
    REQUIRE(::chmod(farm.folder.c_str(), 0500) == 0);
    CHECK_THAT(making_problem(farm.folder, {{"new", {Role::board}}}), ContainsSubstring("ermission"));
    REQUIRE(::chmod(farm.folder.c_str(), 0700) == 0);
  }
  CHECK(names_in(farm.folder) == before);

  // The second of two renewals fails: the first is taken back.
  if (::geteuid() == 0) {
    const std::string bob = farm.read("bob").identity().fingerprint;
    const std::string issued = read_text_file(farm.folder / "issued.txt").value();
    const test::OrdinaryUser ordinary;
    remote::CertificateTerms terms;
    terms.renew = true;
    // A folder of mode 0500 cannot be moved into another one by an ordinary user.
    REQUIRE(::chmod((farm.folder / "pi4").c_str(), 0500) == 0);
    CHECK_FALSE(make_certificates(farm.folder, {{"bob", {Role::measure}}, {"pi4", {Role::board}}}, terms).ok());
    CHECK(farm.read("bob").identity().fingerprint == bob);
    CHECK(read_text_file(farm.folder / "issued.txt").value() == issued);
    CHECK(names_in(farm.folder) == before);
  }
}

TEST_CASE("certificates: a farm that others can change, or whose files are mixed up, is refused") {
  const test::Farm farm, other;
  SECTION("the folder is writable by all") {
    REQUIRE(::chmod(farm.folder.c_str(), 0777) == 0);
    CHECK_THAT(making_problem(farm.folder, {{"new", {Role::board}}}), ContainsSubstring("everyone can write to"));
  }
  SECTION("another authority's key") {
    std::filesystem::copy_file(other.folder / "authority.key", farm.folder / "authority.key",
                               std::filesystem::copy_options::overwrite_existing);
    CHECK_THAT(making_problem(farm.folder, {{"new", {Role::board}}}), ContainsSubstring("is not the key of"));
  }
  SECTION("the authority's key was moved away") {
    std::filesystem::remove(farm.folder / "authority.key");
    CHECK_THAT(making_problem(farm.folder, {{"new", {Role::board}}}), ContainsSubstring("authority.key"));
  }
  SECTION("the list of revoked certificates was removed") {
    std::filesystem::remove(farm.folder / remote::kRevokedFile);
    CHECK_THAT(making_problem(farm.folder, {{"new", {Role::board}}}),
               ContainsSubstring("cannot read the list of revoked certificates"));
  }
  CHECK_FALSE(std::filesystem::exists(farm.folder / "new"));
}

TEST_CASE("certificates: no certificate outlives its authority") {
  const test::Farm farm;
  remote::CertificateTerms terms;
  terms.from += std::chrono::days(7000);
  terms.days = 400;
  CHECK_THAT(making_problem(farm.folder, {{"new", {Role::board}}}, terms),
             ContainsSubstring("after the authority's own certificate"));
}

TEST_CASE("certificates: concurrent calls on one folder make one authority and lose nothing") {
  const test::TemporaryFolder outer;
  const std::filesystem::path folder = outer / "farm";
  constexpr int kThreads = 6;
  std::vector<std::thread> threads;
  std::atomic<int> good = 0, same = 0;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      good += make_certificates(folder, {{"board" + std::to_string(i), {Role::board}}}).ok();
      same += make_certificates(folder, {{"the-same", {Role::measure}}}).ok();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == kThreads);
  CHECK(same == 1);
  CHECK(remote::issued_certificates(folder).value().size() == kThreads + 1);
  for (int i = 0; i < kThreads; ++i)
    CHECK(remote::read_credentials(folder / ("board" + std::to_string(i)), folder / remote::kRevokedFile).ok());
}

TEST_CASE("certificates: the program openssl verifies them, and prints what they say") {
  if (!std::filesystem::exists(kOpenssl)) return test::skip("the program openssl is not installed");
  const test::Farm farm;
  const auto verify = [&](const std::string& name, const std::string& purpose, const std::vector<std::string>& more) {
    std::vector<std::string> command{kOpenssl,
                                     "verify",
                                     "-x509_strict",
                                     "-purpose",
                                     purpose,
                                     "-CAfile",
                                     farm.folder / remote::kAuthorityFile,
                                     "-no-CApath",
                                     "-no-CAstore"};
    command.insert(command.end(), more.begin(), more.end());
    command.push_back(farm.folder / name / remote::kCertificateFile);
    return test::run_process(command).exit;
  };
  CHECK(verify("queue", "sslserver", {"-verify_hostname", test::kHost}) == 0);
  CHECK(verify("queue", "sslserver", {"-verify_ip", "192.0.2.7"}) == 0);
  CHECK(verify("queue", "sslserver", {"-verify_hostname", "example.org"}) != 0);
  CHECK(verify("pi4", "sslclient", {}) == 0);
  CHECK(verify("pi4", "sslserver", {}) != 0);
  CHECK(verify("alice", "sslclient", {}) == 0);
  const auto text = [&](const std::filesystem::path& file) {
    return test::run_process({kOpenssl, "x509", "-noout", "-text", "-in", file}).out;
  };
  CHECK_THAT(text(farm.folder / "alice/certificate.pem"),
             ContainsSubstring("CN = alice") && ContainsSubstring("URI:dovetail:role:run-code") &&
                 ContainsSubstring("URI:dovetail:role:admin") && ContainsSubstring("CA:FALSE") &&
                 ContainsSubstring("TLS Web Client Authentication") && ContainsSubstring("ecdsa-with-SHA256"));
  CHECK_THAT(text(farm.folder / "authority.pem"),
             ContainsSubstring("CA:TRUE, pathlen:0") && ContainsSubstring("Certificate Sign"));
  const std::string printed = test::run_process({kOpenssl, "x509", "-noout", "-fingerprint", "-sha256", "-in",
                                                 farm.folder / "alice/certificate.pem"})
                                  .out;
  std::string digits;
  for (const char c : printed.substr(printed.find('=') + 1))
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0)
      digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  CHECK(digits == farm.read("alice").identity().fingerprint);
}
