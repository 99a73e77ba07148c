#include "remote/tls.h"

#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "tests/unit/remote/handshake.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using remote::Role;
using test::Ends;
using test::Farm;
using test::foreign_context;
using test::shake_hands;

namespace {

// Both ends refuse, the payload is not received, and each end has a reason and a remedy.
void check_refused(const Ends& ends, const std::string& at_queue, const std::string& at_peer) {
  CHECK_FALSE(ends.server.peer);
  CHECK_FALSE(ends.client.peer);
  CHECK(ends.server.received.empty());
  CHECK(ends.client.received.empty());
  CHECK_THAT(ends.server.refused.why, ContainsSubstring(at_queue));
  CHECK_THAT(ends.client.refused.why, ContainsSubstring(at_peer));
  CHECK_FALSE(ends.server.refused.hint.empty());
  CHECK_FALSE(ends.client.refused.hint.empty());
}

// Certificates of a farm of `name` alone, valid for some days from `from` days after now.
std::filesystem::path dated(const Farm& farm, const remote::CertificateOrder& order, int from, int days) {
  remote::CertificateTerms terms;
  terms.from += std::chrono::days(from);
  terms.days = days;
  const auto made = remote::make_certificates(farm.folder, {order}, terms);
  if (!made) FAIL(to_string(made.errors()));
  return farm.folder / order.name;
}

std::filesystem::path authority(const Farm& farm) { return farm.folder / remote::kAuthorityFile; }
std::filesystem::path authority_key(const Farm& farm) { return farm.folder / "authority.key"; }

}  // namespace

TEST_CASE("tls: a board and a client each connect to the queue, and both ends know the other's name and roles") {
  const Farm farm;
  const auto server = farm.server();
  const std::vector<std::pair<std::string, std::set<Role>>> peers{
      {"pi4", {Role::board}}, {"alice", {Role::run_code, Role::admin}}, {"bob", {Role::measure}}};
  for (const auto& [name, roles] : peers) {
    INFO(name);
    const Ends ends = shake_hands(*server, *farm.client(name));
    INFO(ends.server.refused.why << " / " << ends.client.refused.why);
    REQUIRE(ends.server.peer);
    REQUIRE(ends.client.peer);
    CHECK(ends.server.peer->name == name);
    CHECK(ends.server.peer->roles == roles);
    CHECK(ends.server.peer->fingerprint == farm.read(name).identity().fingerprint);
    CHECK(ends.client.peer->name == "queue");
    CHECK(ends.client.peer->roles == std::set<Role>{Role::queue});
    CHECK(ends.server.received == "payload");
    CHECK(ends.client.received == "hello");
  }
}

TEST_CASE("tls: the queue's certificate must be for the host that was dialed") {
  const Farm farm;
  const auto server = farm.server();
  const auto client = farm.client("bob");
  for (const char* host : {"lab.example.org", "LAB.example.org", "192.0.2.7", "fd00::5", "fd00:0::0:5"}) {
    INFO(host);
    CHECK(shake_hands(*server, *client, host).client.peer);
  }
  for (const char* host : {"example.org", "a.lab.example.org", "queue", "192.0.2.8", "fd00::6", "localhost"}) {
    INFO(host);
    const Ends ends = shake_hands(*server, *client, host);
    check_refused(ends, "not for the host that the peer dialed",
                  fmt::format("is for lab.example.org, 192.0.2.7, fd00::5, not for {}", host));
    CHECK(ends.client.refused.where == host);
  }
  check_refused(shake_hands(*server, *client, ""), "the queue's certificate", "no host was required");
}

TEST_CASE("tls: a peer without a certificate is refused") {
  const Farm farm;
  check_refused(shake_hands(*farm.server(), *foreign_context()), "shows no certificate", "requires a certificate");
}

TEST_CASE("tls: certificates of another authority are refused by both ends") {
  const Farm farm, other;
  check_refused(shake_hands(*farm.server(), *foreign_context(other.folder / "alice")),
                "the certificate of alice was not issued by this farm's authority", "another authority issued it");
  check_refused(shake_hands(*foreign_context(other.folder / "queue"), *farm.client("alice")),
                "another authority issued it", "the queue's certificate was not issued by this farm's authority");
}

TEST_CASE("tls: certificates are refused before and after the days of their validity") {
  const Farm farm;
  const auto expired = dated(farm, {"old", {Role::run_code}}, -10, 5);
  check_refused(shake_hands(*farm.server(), *foreign_context(expired)), "the certificate of old expired on 20",
                "it has expired");
  const auto early = dated(farm, {"early", {Role::board}}, 5, 5);
  check_refused(shake_hands(*farm.server(), *foreign_context(early)), "the certificate of early is valid only from",
                "not valid yet by the queue's clock");
  const auto queue = dated(farm, {"queue2", {Role::queue}, {test::kHost}}, -10, 5);
  check_refused(shake_hands(*foreign_context(queue), *farm.client("bob")), "it has expired",
                "the queue's certificate expired on 20");
}

TEST_CASE("tls: a certificate is refused where it has no role that fits") {
  const Farm farm;
  check_refused(shake_hands(*farm.server(), *foreign_context(farm.folder / "queue")),
                "the certificate of queue has no role of a board or a client; its roles: queue",
                "it has no role that fits");
  check_refused(shake_hands(*foreign_context(farm.folder / "pi4"), *farm.client("bob")), "it has no role that fits",
                "the queue's certificate has no role `queue`; its roles: board");
  CHECK_THAT(to_string(farm.read("pi4").server_context().errors()), ContainsSubstring("has no role `queue`"));
  CHECK_THAT(to_string(farm.read("queue").client_context().errors()), ContainsSubstring("has no role of a board"));
}

TEST_CASE("tls: what the authority did not sign as such does not count") {
  const Farm farm;
  const auto alice = farm.folder / "alice", pi4 = farm.folder / "pi4", queue = farm.folder / "queue";
  const auto nothing = [](X509&, X509&) {};

  SECTION("a certificate that a board's key signed") {
    const auto forged = test::forge(alice, pi4 / remote::kCertificateFile, pi4 / remote::kKeyFile, nothing);
    check_refused(shake_hands(*farm.server(), *foreign_context(forged)), "was not issued by this farm's authority",
                  "another authority issued it");
  }
  SECTION("an intermediate authority that the authority signed") {
    const auto middle = test::forge(pi4, authority(farm), authority_key(farm), [](X509& own, X509& issuer) {
      test::remove_extension(own, NID_basic_constraints);
      test::remove_extension(own, NID_key_usage);
      test::add_extension(own, issuer, NID_basic_constraints, "critical,CA:TRUE");
      test::add_extension(own, issuer, NID_key_usage, "critical,keyCertSign");
    });
    std::filesystem::rename(middle, farm.folder / "middle");
    const auto forged =
        test::forge(alice, farm.folder / "middle" / remote::kCertificateFile, pi4 / remote::kKeyFile, nothing);
    check_refused(shake_hands(*farm.server(), *foreign_context(forged)), "was not issued by this farm's authority",
                  "another authority issued it");
  }
  SECTION("a certificate without an extended key usage") {
    const auto forged = test::forge(alice, authority(farm), authority_key(farm),
                                    [](X509& own, X509&) { test::remove_extension(own, NID_ext_key_usage); });
    check_refused(shake_hands(*farm.server(), *foreign_context(forged)), "is not for this end of a connection",
                  "it has no role that fits");
  }
  SECTION("a certificate of a queue's role and host, for clients only") {
    const auto forged = test::forge(queue, authority(farm), authority_key(farm), [](X509& own, X509& issuer) {
      test::remove_extension(own, NID_ext_key_usage);
      test::add_extension(own, issuer, NID_ext_key_usage, "clientAuth");
    });
    check_refused(shake_hands(*foreign_context(forged), *farm.client("bob")), "it has no role that fits",
                  "the queue's certificate is not for this end of a connection");
  }
  SECTION("a server's certificate with the host, but the role of a board") {
    const auto forged = test::forge(queue, authority(farm), authority_key(farm), [](X509& own, X509& issuer) {
      test::remove_extension(own, NID_subject_alt_name);
      test::add_extension(own, issuer, NID_subject_alt_name, "DNS:lab.example.org,URI:dovetail:role:board");
    });
    check_refused(shake_hands(*foreign_context(forged), *farm.client("bob")), "it has no role that fits",
                  "the queue's certificate has no role `queue`; its roles: board");
  }
  SECTION("a host in the common name, or a wildcard") {
    const char* names = GENERATE("URI:dovetail:role:queue", "URI:dovetail:role:queue,DNS:*.example.org");
    const auto forged = test::forge(queue, authority(farm), authority_key(farm), [&](X509& own, X509& issuer) {
      X509_NAME* subject = X509_get_subject_name(&own);
      X509_NAME_ENTRY_free(X509_NAME_delete_entry(subject, 0));
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(test::kHost.c_str()), -1, -1, 0);
      test::remove_extension(own, NID_subject_alt_name);
      test::add_extension(own, issuer, NID_subject_alt_name, names);
    });
    check_refused(shake_hands(*foreign_context(forged), *farm.client("bob")), "not for the host that the peer dialed",
                  "not for lab.example.org");
  }
  SECTION("unknown roles, and roles elsewhere") {
    const char* names = GENERATE("URI:dovetail:role:root", "DNS:board", "URI:https://dovetail:role:board",
                                 "URI:dovetail:role:boards", "email:dovetail@role.board");
    const auto forged = test::forge(alice, authority(farm), authority_key(farm), [&](X509& own, X509& issuer) {
      test::remove_extension(own, NID_subject_alt_name);
      test::add_extension(own, issuer, NID_subject_alt_name, names);
    });
    check_refused(shake_hands(*farm.server(), *foreign_context(forged)), "its roles: none", "it has no role that fits");
  }
  SECTION("two common names, or a name with a zero byte or a slash") {
    const std::string name = GENERATE(std::string("bob"), std::string("al\0ice", 6), std::string("../alice"));
    const bool two = name == "bob";
    const auto forged = test::forge(alice, authority(farm), authority_key(farm), [&](X509& own, X509&) {
      X509_NAME* subject = X509_get_subject_name(&own);
      if (!two) X509_NAME_ENTRY_free(X509_NAME_delete_entry(subject, 0));
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0);
    });
    check_refused(shake_hands(*farm.server(), *foreign_context(forged)), "not exactly one valid common name",
                  "it has no role that fits");
  }
}

TEST_CASE("tls: a revocation takes effect without a restart, and so does its withdrawal") {
  const Farm farm;
  const remote::Credentials queue = farm.read("queue");
  const auto server = queue.server_context().value();
  const auto alice = farm.client("alice"), bob = farm.client("bob");
  const std::string before = read_text_file(farm.folder / remote::kRevokedFile).value();
  REQUIRE(shake_hands(*server, *alice).server.peer);

  const auto revoked = remote::revoke_certificates(farm.folder, {"alice"}).value();
  REQUIRE(revoked.size() == 1);
  CHECK(queue.is_revoked(revoked.front().fingerprint));
  CHECK_FALSE(queue.is_revoked(farm.read("bob").identity().fingerprint));
  check_refused(shake_hands(*server, *alice), "the certificate of alice is revoked", "it is revoked");
  CHECK(shake_hands(*server, *bob).server.peer);
  CHECK_THAT(to_string(remote::read_credentials(farm.folder / "alice", farm.folder / remote::kRevokedFile).errors()),
             ContainsSubstring("the certificate is revoked"));

  REQUIRE(write_text_file(farm.folder / remote::kRevokedFile, before).ok());
  CHECK(shake_hands(*server, *alice).server.peer);
  CHECK_FALSE(queue.is_revoked(revoked.front().fingerprint));
  CHECK_FALSE(queue.revocation_warning());

  // A removed list revokes no less.
  REQUIRE(remote::revoke_certificates(farm.folder, {"alice"}).ok());
  REQUIRE(queue.is_revoked(revoked.front().fingerprint));
  std::filesystem::remove(farm.folder / remote::kRevokedFile);
  check_refused(shake_hands(*server, *alice), "the certificate of alice is revoked", "it is revoked");
  REQUIRE(queue.revocation_warning());
  CHECK_THAT(queue.revocation_warning()->why, ContainsSubstring("no such file"));
}

TEST_CASE("tls: a client that knows of the queue's revocation refuses the queue") {
  const Farm farm;
  const auto server = farm.server();
  const auto bob = farm.client("bob");
  REQUIRE(remote::revoke_certificates(farm.folder, {"queue"}).ok());
  check_refused(shake_hands(*server, *bob), "it is revoked", "the queue's certificate is revoked");
}

TEST_CASE("tls: only version 1.3 is spoken, without tickets") {
  const Farm farm;
  const Ends old = shake_hands(*farm.server(), *foreign_context(farm.folder / "alice", TLS1_2_VERSION));
  check_refused(old, "the peer speaks TLS 1.2 or older", "TLS 1.3 is required");
  check_refused(shake_hands(*foreign_context(farm.folder / "queue", TLS1_2_VERSION), *farm.client("alice")),
                "TLS 1.3 is required", "the queue speaks TLS 1.2 or older");

  const auto client = foreign_context(farm.folder / "alice");
  static int tickets;
  tickets = 0;
  SSL_CTX_set_session_cache_mode(client.get(), SSL_SESS_CACHE_CLIENT);
  SSL_CTX_sess_set_new_cb(client.get(), [](SSL*, SSL_SESSION*) { return ++tickets, 0; });
  CHECK(shake_hands(*farm.server(), *client).server.peer);
  CHECK(tickets == 0);
}

TEST_CASE("tls: a peer that does not speak TLS, or ends the connection, is named as such") {
  const Farm farm;
  const auto server = farm.server();
  const auto against = [&](const std::string& bytes) {
    int sockets[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    REQUIRE(write_all(sockets[1], std::as_bytes(std::span(bytes))));
    ::shutdown(sockets[1], SHUT_WR);
    const test::End end = test::detail::talk(*server, sockets[0], true, "");
    ::close(sockets[0]);
    ::close(sockets[1]);
    return end.refused.why;
  };
  CHECK_THAT(against("GET / HTTP/1.1\r\nHost: lab\r\n\r\n"), ContainsSubstring("the peer does not speak TLS"));
  CHECK_THAT(against("SSH-2.0-OpenSSH_9.2\r\n"), ContainsSubstring("the peer does not speak TLS"));
  CHECK_THAT(against(""), ContainsSubstring("the peer ended the connection"));
}

TEST_CASE("tls: a context outlives its credentials, and one context serves many threads") {
  const Farm farm;
  const auto server = farm.server();
  const auto alice = farm.client("alice");
  std::vector<std::thread> threads;
  std::atomic<int> accepted = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 8; ++k) accepted += shake_hands(*server, *alice).server.peer.has_value();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(accepted == 32);
}

TEST_CASE("tls: without a completed handshake there is no identity, and a host is a name or an address") {
  const Farm farm;
  const std::unique_ptr<SSL, remote::FreedBy<SSL_free>> connection(SSL_new(farm.client("bob").get()));
  CHECK_FALSE(remote::peer_identity(*connection).ok());
  for (const char* host : {"", "lab:7447", "https://lab", "*.example.org", "10.0.0.256", "a..b", "-a", "[::1]"}) {
    INFO(host);
    CHECK_FALSE(remote::set_dialed_host(*connection, host).ok());
  }
}
