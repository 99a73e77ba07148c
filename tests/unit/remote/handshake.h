// Handshakes over a pair of sockets, for tests: both ends, and certificates that the kit does not make.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "remote/certificates.h"
#include "remote/tls.h"
#include "remote/x509.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::test {

inline const std::string kHost = "lab.example.org";

// A farm with a queue, a board and two clients.
struct Farm {
  TemporaryFolder outer;
  std::filesystem::path folder = outer / "farm";

  Farm() {
    using remote::Role;
    const auto made = remote::make_certificates(folder, {{"queue", {Role::queue}, {kHost, "192.0.2.7", "fd00::5"}},
                                                         {"pi4", {Role::board}},
                                                         {"alice", {Role::run_code, Role::admin}},
                                                         {"bob", {Role::measure}}});
    REQUIRE(made.ok());
  }
  remote::Credentials read(const std::string& name) const {
    auto read = remote::read_credentials(folder / name, folder / remote::kRevokedFile);
    if (!read) FAIL(to_string(read.errors()));
    return *std::move(read);
  }
  remote::TlsContext server() const { return read("queue").server_context().value(); }
  remote::TlsContext client(const std::string& name) const { return read(name).client_context().value(); }
};

// What one end saw.
struct End {
  std::optional<remote::Identity> peer;  // nullopt: refused
  Diagnostic refused;
  std::string received;
};
struct Ends {
  End server, client;
};

namespace detail {

// Completes the handshake, then sends and receives in this end's order; the client sends after it has received.
inline End talk(SSL_CTX& context, int socket, bool is_server, const std::string& host) {
  const std::unique_ptr<SSL, remote::FreedBy<SSL_free>> connection(SSL_new(&context));
  SSL_set_fd(connection.get(), socket);
  if (!host.empty() && !remote::set_dialed_host(*connection, host)) throw std::runtime_error("not a host: " + host);
  std::string received(64, '\0');
  const auto send = [&](const std::string& text) {
    return SSL_write(connection.get(), text.data(), static_cast<int>(text.size())) > 0;
  };
  const auto receive = [&] {
    const int count = SSL_read(connection.get(), received.data(), static_cast<int>(received.size()));
    received.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return count > 0;
  };
  End end;
  ERR_clear_error();
  bool good = (is_server ? SSL_accept(connection.get()) : SSL_connect(connection.get())) == 1;
  if (good) good = is_server ? send("hello") && receive() : receive() && send("payload");
  if (good) {
    const auto peer = remote::peer_identity(*connection);
    if (peer) end.peer = *peer;
    end.received = received;
  } else {
    const unsigned long error = ERR_get_error();
    end.refused = remote::why_refused(*connection, error);
  }
  ::shutdown(socket, SHUT_RDWR);
  return end;
}

}  // namespace detail

inline Ends shake_hands(SSL_CTX& server, SSL_CTX& client, const std::string& host = kHost) {
  std::signal(SIGPIPE, SIG_IGN);
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) throw std::runtime_error("socketpair failed");
  Ends ends;
  std::thread other([&] { ends.client = detail::talk(client, sockets[1], false, host); });
  ends.server = detail::talk(server, sockets[0], true, "");
  other.join();
  ::close(sockets[0]);
  ::close(sockets[1]);
  return ends;
}

// A peer that does not use the kit: it verifies nothing, and shows the certificate of `folder`, if any.
inline remote::TlsContext foreign_context(const std::optional<std::filesystem::path>& folder = {},
                                          int version = TLS1_3_VERSION) {
  remote::TlsContext context(SSL_CTX_new(TLS_method()));
  SSL_CTX_set_max_proto_version(context.get(), version);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  if (folder) {
    REQUIRE(SSL_CTX_use_certificate_chain_file(context.get(), (*folder / remote::kCertificateFile).c_str()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), (*folder / remote::kKeyFile).c_str(), SSL_FILETYPE_PEM) == 1);
  }
  return context;
}

inline void remove_extension(X509& certificate, int kind) {
  X509_EXTENSION_free(X509_delete_ext(&certificate, X509_get_ext_by_NID(&certificate, kind, -1)));
}
inline void add_extension(X509& certificate, X509& issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_nconf_nid(nullptr, &context, kind, value);
  REQUIRE(extension != nullptr);
  X509_add_ext(&certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// A copy of the folder `of`, named `forged`, whose certificate is changed, and signed again with this issuer's key. The
// issuer's certificate is sent too.
inline std::filesystem::path forge(const std::filesystem::path& of, const std::filesystem::path& issuer_file,
                                   const std::filesystem::path& issuer_key,
                                   const std::function<void(X509& certificate, X509& issuer)>& change) {
  const std::filesystem::path to = of.parent_path() / "forged";
  std::filesystem::copy(of, to);
  const auto certificate = remote::read_certificate(of / remote::kCertificateFile).value();
  const auto issuer = remote::read_certificate(issuer_file).value();
  const auto key = remote::read_key(issuer_key).value();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  remove_extension(*certificate, NID_authority_key_identifier);
  add_extension(*certificate, *issuer, NID_authority_key_identifier, "keyid:always");
  change(*certificate, *issuer);
  REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  const remote::OwnedBio bio(BIO_new_file((to / remote::kCertificateFile).c_str(), "w"));
  PEM_write_bio_X509(bio.get(), certificate.get());
  PEM_write_bio_X509(bio.get(), issuer.get());
  return to;
}

}  // namespace dovetail::test
