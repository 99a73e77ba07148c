// TLS 1.3 with certificates on both sides, between the queue, which accepts connections, and its boards and clients,
// which dial it. Nothing here turns a check off.
//
// A handshake succeeds only if the peer's certificate was issued by the farm's own authority and by no intermediate
// one, is valid now, is for this end of a connection (extended key usage), has a role that fits, and is not revoked. A
// client also requires the host that it dialed. There are no sessions to resume, no tickets, no early data.
//
// With TLS 1.3 a client's handshake ends before the queue has verified the client: a client learns by its first read
// that it was refused. It should therefore read the queue's first message before it sends anything.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "remote/identity.h"

struct ssl_st;      // SSL
struct ssl_ctx_st;  // SSL_CTX

namespace dovetail::remote {

struct FreedContext {
  void operator()(ssl_ctx_st* context) const;
};
// asio::ssl::context(context.release()) takes it over. It does not depend on the lifetime of its Credentials. asio's
// set_verify_mode() and set_verify_callback() must not be called: they would replace what verifies the peer.
using TlsContext = std::unique_ptr<ssl_ctx_st, FreedContext>;

// A machine's or user's certificate with its key, and the authority that it trusts. Copies share their state; all
// functions may be called from several threads.
class Credentials {
 public:
  const Identity& identity() const;  // of the own certificate

  // The queue's end. Error: the own certificate lacks the role `queue`.
  Result<TlsContext> server_context() const;
  // The other end. Error: the own certificate has no other role.
  Result<TlsContext> client_context() const;

  // Whether a certificate is revoked now: for connections that are open already, since a handshake asks it itself.
  bool is_revoked(const std::string& fingerprint) const;
  // Why the file of revoked certificates is unusable now, while what it revoked before stays revoked
  // (remote/revocation_list.h): for the log.
  std::optional<Diagnostic> revocation_warning() const;

 private:
  struct State;
  friend Result<Credentials> read_credentials(const std::filesystem::path&,
                                              const std::optional<std::filesystem::path>&);
  explicit Credentials(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Result<TlsContext> context(bool is_server) const;
  static int verify_peer(void* chain, void* state) noexcept;

  std::shared_ptr<State> state_;
};

// Reads certificate.pem, key.pem and authority.pem of a folder that make_certificates() made, and the file of revoked
// certificates. Errors: one is missing or damaged; another user can change one, or read the key; the key is not that of
// the certificate; the certificate was not issued by the authority, or is not valid now; the certificate is revoked.
Result<Credentials> read_credentials(const std::filesystem::path& folder,
                                     const std::optional<std::filesystem::path>& revoked);

// Call it on a client's connection before its handshake, which fails otherwise: the queue's certificate must be for
// this host name or IP address. Error: it is neither.
Result<void> set_dialed_host(ssl_st& connection, const std::string& host);

// The verified peer. Error: the handshake has not succeeded.
Result<Identity> peer_identity(const ssl_st& connection);

// Why a handshake, or the first read after it, failed: one sentence and a remedy, for the end that calls it. `error`:
// OpenSSL's error code (ERR_get_error(); asio: error_code::value() if its category is get_ssl_category()); 0: none, the
// connection ended.
Diagnostic why_refused(const ssl_st& connection, unsigned long error);
// Whether the error is the other end's alert that this end's certificate is revoked. After a client's handshake it is
// from the queue; before, it may be from anybody on the way.
bool is_revoked_alert(unsigned long error);

}  // namespace dovetail::remote
