#include "remote/tls.h"

#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/printable.h"
#include "base/user_folder.h"
#include "remote/certificates.h"
#include "remote/revocation_list.h"
#include "remote/x509.h"

namespace dovetail::remote {

struct Credentials::State {
  OwnedCertificate certificate, authority;
  OwnedKey key;
  Identity identity;
  std::unique_ptr<RevocationList> revoked;  // null: no list
};

namespace {

// Extra data of OpenSSL's objects: a T, deleted with the object. (asio has the application data for itself.)
template <typename T>
void delete_extra(void*, void* extra, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<T*>(extra);
}
// The certificates and the list that a context's connections are verified with.
template <typename State>
int state_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, delete_extra<State>);
  return index;
}
// Why a connection's peer was refused.
int refusal_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, delete_extra<CertificateRefusal>);
  return index;
}

bool fits(const Identity& identity, bool as_queue) {
  return as_queue ? identity.is(Role::queue) : identity.roles.size() > identity.roles.count(Role::queue);
}

std::string roles_text(const std::set<Role>& roles) {
  std::vector<std::string_view> names;
  for (const Role role : roles) names.push_back(to_string(role));
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// The role that a certificate lacks.
CertificateRefusal role_refusal(const Identity& identity, bool as_queue, std::string_view whose) {
  return {X509_V_ERR_INVALID_PURPOSE,
          fmt::format("{} has no role {}; its roles: {}", whose, as_queue ? "`queue`" : "of a board or a client",
                      roles_text(identity.roles)),
          as_queue ? "connect to the farm's queue, whose certificate was made with `dovetail certificates --queue HOST`"
                   : "use a certificate made with `dovetail certificates --board NAME` or `--client NAME:ROLE`"};
}

CertificateRefusal revoked_refusal(std::string_view whose) {
  return {X509_V_ERR_CERT_REVOKED, fmt::format("{} is revoked", whose),
          "the farm's operator can make a new one: dovetail certificates FOLDER --renew"};
}

std::string dialed_host(SSL& connection) {
  X509_VERIFY_PARAM* rules = SSL_get0_param(&connection);
  if (const char* host = X509_VERIFY_PARAM_get0_host(rules, 0)) return host;
  char* text = X509_VERIFY_PARAM_get1_ip_asc(rules);
  const Owned<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free> address(text != nullptr ? a2i_IPADDRESS(text) : nullptr);
  OPENSSL_free(text);
  return address ? address_text(address.get()) : "";
}

// nullopt: the peer is accepted.
std::optional<CertificateRefusal> refusal_of_peer(X509_STORE_CTX& chain, SSL& connection, RevocationList* revoked) {
  const bool peer_is_queue = SSL_is_server(&connection) == 0;
  const X509& certificate = *X509_STORE_CTX_get0_cert(&chain);
  auto identity = identity_of(certificate);
  const std::string whose = peer_is_queue ? "the queue's certificate"
                            : identity    ? fmt::format("the certificate of {}", identity->name)
                                          : "the peer's certificate";
  const std::string host = peer_is_queue ? dialed_host(connection) : "";
  if (peer_is_queue && host.empty())  // OpenSSL would accept any host
    return CertificateRefusal{X509_V_ERR_HOSTNAME_MISMATCH, "no host was required of the queue's certificate",
                              "call set_dialed_host() before the handshake"};
  if (X509_verify_cert(&chain) != 1) {
    CertificateRefusal refusal = refusal_by(X509_STORE_CTX_get_error(&chain), certificate, whose);
    if (refusal.error == X509_V_ERR_HOSTNAME_MISMATCH || refusal.error == X509_V_ERR_IP_ADDRESS_MISMATCH)
      refusal.why = fmt::format("{} is for {}, not for {}", whose, fmt::join(hosts_of(certificate), ", "), host);
    if (refusal.error == X509_V_ERR_INVALID_PURPOSE && identity && !fits(*identity, peer_is_queue))
      return role_refusal(*identity, peer_is_queue, whose);
    return refusal;
  }
  if (!identity)
    return CertificateRefusal{X509_V_ERR_INVALID_PURPOSE, identity.errors().front().why,
                              identity.errors().front().hint};
  // OpenSSL accepts a certificate without the extension for every use.
  const std::uint32_t uses = X509_get_extended_key_usage(const_cast<X509*>(&certificate));
  if (uses == UINT32_MAX || (uses & (peer_is_queue ? XKU_SSL_SERVER : XKU_SSL_CLIENT)) == 0)
    return refusal_by(X509_V_ERR_INVALID_PURPOSE, certificate, whose);
  if (!fits(*identity, peer_is_queue)) return role_refusal(*identity, peer_is_queue, whose);
  if (revoked != nullptr && revoked->contains(identity->fingerprint)) return revoked_refusal(whose);
  return std::nullopt;
}

Diagnostic credentials_error(const std::filesystem::path& path, std::string why, std::string hint) {
  return {"cannot use the certificate", path.string(), std::move(why), std::move(hint)};
}

// What an error of OpenSSL means to the end that sees it. Alerts come from the other end; each verification error has
// its alert (RFC 8446, section 6.2).
std::pair<std::string, std::string> meaning_of(unsigned long error, bool is_server) {
  const char* other = is_server ? "the peer" : "the queue";
  const char* own = is_server ? "the queue's certificate" : "this certificate";
  const auto refused = [&](std::string_view why) { return fmt::format("{} refuses {}: {}", other, own, why); };
  const char* renew = "renew the certificate (dovetail certificates FOLDER --renew), and copy its folder again";
  const char* one_farm = "use certificates of one farm on both sides: folders that one `dovetail certificates` made";
  const char* same_version = "run the same version of dovetail on both sides; TLS before 1.3 is never accepted";
  if (error == 0)
    return {fmt::format("{} ended the connection before both sides had accepted each other's certificate", other),
            "look into the log of the other side, which says why; check that the port is that of the queue"};
  switch (ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return {fmt::format("{} shows no certificate", other),
              "start it with --certificates and its folder from `dovetail certificates`"};
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return {fmt::format("{} requires a certificate", other),
              "use --certificates with the folder that `dovetail certificates` made"};
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return {refused("it has expired"), renew};
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED: return {refused("it is revoked"), renew};
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return {refused("another authority issued it"), one_farm};
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return {refused("it has no role that fits"),
              is_server ? "make it with `dovetail certificates --queue HOST`"
                        : "make it with `dovetail certificates --board NAME` or `--client NAME:ROLE`"};
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      return is_server ? std::pair<std::string, std::string>{refused("it is not for the host that the peer dialed, or "
                                                                     "not valid yet by the peer's clock"),
                                                             "add the host (dovetail certificates FOLDER --renew "
                                                             "--queue HOST,...), or set the peer's clock"}
                       : std::pair<std::string, std::string>{refused("it is not valid yet by the queue's clock"),
                                                             "set the clocks of both machines"};
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
      return {fmt::format("{} speaks TLS 1.2 or older; TLS 1.3 is required", other), same_version};
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
      return {fmt::format("{} does not speak TLS", other), "check host and port: is it a queue of dovetail?"};
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
      return {fmt::format("{} found no cipher or key exchange in common, or gave no reason", other), same_version};
    case SSL_R_UNEXPECTED_EOF_WHILE_READING: return meaning_of(0, is_server);
    default: {
      const char* reason = ERR_reason_error_string(error);
      return {fmt::format("{} broke the TLS protocol: {}", other,
                          reason != nullptr ? reason : fmt::format("error {:x}", error)),
              "check host and port: is it a queue of dovetail?"};
    }
  }
}

}  // namespace

void FreedContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

const Identity& Credentials::identity() const { return state_->identity; }

bool Credentials::is_revoked(const std::string& fingerprint) const {
  return state_->revoked && state_->revoked->contains(fingerprint);
}

std::optional<Diagnostic> Credentials::revocation_warning() const {
  return state_->revoked ? state_->revoked->warning() : std::nullopt;
}

// Replaces OpenSSL's verification, which is its first step. 0: the handshake ends with the alert of the error.
int Credentials::verify_peer(void* chain_pointer, void* state) noexcept {
  auto* chain = static_cast<X509_STORE_CTX*>(chain_pointer);
  try {
    auto* connection = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto refusal = refusal_of_peer(*chain, *connection, static_cast<State*>(state)->revoked.get());
    if (!refusal) return 1;
    X509_STORE_CTX_set_error(chain, refusal->error);
    auto kept = std::make_unique<CertificateRefusal>(*std::move(refusal));
    delete static_cast<CertificateRefusal*>(SSL_get_ex_data(connection, refusal_index()));
    if (SSL_set_ex_data(connection, refusal_index(), kept.get()) == 1) kept.release();
  } catch (...) {
    X509_STORE_CTX_set_error(chain, X509_V_ERR_OUT_OF_MEM);
  }
  return 0;
}

Result<TlsContext> Credentials::server_context() const { return context(true); }
Result<TlsContext> Credentials::client_context() const { return context(false); }

Result<TlsContext> Credentials::context(bool is_server) const {
  if (!fits(state_->identity, is_server)) {
    CertificateRefusal refusal = role_refusal(state_->identity, is_server, "the certificate");
    return credentials_error(state_->identity.name, std::move(refusal.why), std::move(refusal.hint));
  }
  TlsContext made(require_openssl(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()), "start TLS"));
  SSL_CTX* context = made.get();
  require_openssl(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1,
                  "require TLS 1.3");
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  require_openssl(SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1 &&
                      SSL_CTX_set_recv_max_early_data(context, 0) == 1,
                  "turn resumption off");
  // The certificate alone is sent, and little is accepted from a peer that is not verified yet.
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
  constexpr long kMostChainBytes = 16 << 10;
  SSL_CTX_set_max_cert_list(context, kMostChainBytes);
  require_openssl(SSL_CTX_use_certificate(context, state_->certificate.get()) == 1 &&
                      SSL_CTX_use_PrivateKey(context, state_->key.get()) == 1,
                  "use a certificate");
  SSL_CTX_set_cert_store(context, store_of(*state_->authority).release());
  // The rules of a connection are the context's, not those of its store.
  require_openssl(
      X509_VERIFY_PARAM_set1(SSL_CTX_get0_param(context), X509_STORE_get0_param(SSL_CTX_get_cert_store(context))) == 1,
      "set the rules of verification");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  auto kept = std::make_unique<std::shared_ptr<State>>(state_);
  require_openssl(SSL_CTX_set_ex_data(context, state_index<std::shared_ptr<State>>(), kept.get()) == 1,
                  "keep the credentials");
  State* state = kept.release()->get();
  SSL_CTX_set_cert_verify_callback(
      context, [](X509_STORE_CTX* chain, void* its_state) { return verify_peer(chain, its_state); }, state);
  return made;
}

Result<Credentials> read_credentials(const std::filesystem::path& folder,
                                     const std::optional<std::filesystem::path>& revoked) {
  start_openssl();
  const std::filesystem::path file = folder / kCertificateFile;
  if (auto why = other_hands(folder))
    return credentials_error(folder, *std::move(why), "take ownership of the folder: chown, chmod 700");
  auto state = std::make_shared<Credentials::State>();
  DOVETAIL_ASSIGN(state->certificate, read_certificate(file));
  DOVETAIL_ASSIGN(state->key, read_key(folder / kKeyFile));
  DOVETAIL_ASSIGN(state->authority, read_certificate(folder / kAuthorityFile));
  if (X509_check_private_key(state->certificate.get(), state->key.get()) != 1) {
    ERR_clear_error();
    return credentials_error(folder, fmt::format("{} is not the key of {}", kKeyFile, kCertificateFile),
                             "copy the whole folder again from the farm's folder");
  }
  DOVETAIL_ASSIGN(state->identity, identity_of(*state->certificate));
  const OwnedStore store = store_of(*state->authority);
  const Owned<X509_STORE_CTX, X509_STORE_CTX_free> chain(require_openssl(X509_STORE_CTX_new(), "verify a certificate"));
  require_openssl(X509_STORE_CTX_init(chain.get(), store.get(), state->certificate.get(), nullptr) == 1,
                  "verify a certificate");
  if (X509_verify_cert(chain.get()) != 1) {
    CertificateRefusal refusal =
        refusal_by(X509_STORE_CTX_get_error(chain.get()), *state->certificate, "the certificate");
    return credentials_error(file, std::move(refusal.why), std::move(refusal.hint));
  }
  if (revoked) {
    DOVETAIL_ASSIGN(state->revoked, RevocationList::read(*revoked));
    if (state->revoked->contains(state->identity.fingerprint)) {
      CertificateRefusal refusal = revoked_refusal("the certificate");
      return credentials_error(file, std::move(refusal.why), std::move(refusal.hint));
    }
  }
  return Credentials(std::move(state));
}

Result<void> set_dialed_host(ssl_st& connection, const std::string& host) {
  if (!is_host(host))
    return Diagnostic{"cannot dial the queue", printable(host), "it is not a host name or an IP address",
                      "name the host without a port: lab.example.org, 192.168.1.5 or fd00::5"};
  X509_VERIFY_PARAM* rules = SSL_get0_param(&connection);
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS);
  if (is_ip_address(host)) require_openssl(X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1, "set an address");
  else
    require_openssl(X509_VERIFY_PARAM_set1_host(rules, host.c_str(), host.size()) == 1 &&
                        SSL_set_tlsext_host_name(&connection, host.c_str()) == 1,
                    "set a host");
  return {};
}

Result<Identity> peer_identity(const ssl_st& connection) {
  const X509* certificate = SSL_get0_peer_certificate(&connection);
  if (SSL_is_init_finished(&connection) == 0 || certificate == nullptr ||
      SSL_get_verify_result(&connection) != X509_V_OK)
    return Diagnostic{"the peer is not known", "", "its certificate has not been verified",
                      "complete the handshake first"};
  return identity_of(*certificate);
}

bool is_revoked_alert(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED;
}

Diagnostic why_refused(const ssl_st& connection, unsigned long error) {
  const bool is_server = SSL_is_server(&connection) != 0;
  Diagnostic refused{is_server ? "a connection to the queue was refused" : "cannot connect to the queue",
                     is_server ? "" : dialed_host(const_cast<SSL&>(connection)), "", ""};
  if (const auto* refusal = static_cast<const CertificateRefusal*>(SSL_get_ex_data(&connection, refusal_index()))) {
    refused.why = refusal->why;
    refused.hint = refusal->hint;
  } else {
    std::tie(refused.why, refused.hint) = meaning_of(error, is_server);
  }
  return refused;
}

}  // namespace dovetail::remote
