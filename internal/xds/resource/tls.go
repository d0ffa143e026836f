// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc/internal/xds/unknown"
	"google.golang.org/protobuf/proto"
)

// ClientTLS says how connections to a cluster are secured (A29).
type ClientTLS struct {
	// Identity is this client's certificate, if any.
	Identity CertProvider
	// Roots verify the server's certificate. Without a provider the system's roots do (A82).
	Roots CertProvider
	// SANs match names. The server's certificate must have a name that one of them matches. If
	// there are none, any name will do.
	SANs []SAN
	// MaxDepth limits the number of certificates above the server's, including the root; 0 means
	// no limit.
	MaxDepth uint32
	// SNI is the server name to send. AutoHostSNI says to send the endpoint's hostname instead
	// (A101).
	SNI               string
	AutoHostSNI       bool
	AutoSANValidation bool // check the certificate against the name that was sent instead of SANs
}

// ServerTLS says how connections to a server are secured (A29).
type ServerTLS struct {
	// Identity is this server's certificate.
	Identity CertProvider
	// Roots verify clients' certificates. Without a provider the server requests no certificate.
	Roots CertProvider
	// RequireClientCert says to reject clients without a certificate.
	RequireClientCert bool
	// MaxDepth limits the number of certificates above a client's, including the root; 0 means no
	// limit.
	MaxDepth uint32
	// HideRoots says not to send clients the names of the roots.
	HideRoots bool
	// NoResumption says that sessions are not resumed, so each connection has a full handshake.
	NoResumption bool
}

const (
	tlsSocket   = "envoy.transport_sockets.tls"
	upstreamTLS = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	serverTLS   = "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
	proxySocket = "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport"
)

// unwrapTLS decodes the message in a transport socket, which must be of this kind.
func unwrapTLS(in *corev3.TransportSocket, kind string, to proto.Message) error {
	if in.GetName() != tlsSocket {
		return wrong("name", "%q is not supported", in.GetName())
	}
	if string(in.GetTypedConfig().MessageName()) != kind {
		return wrong("typed_config", "type %q is not supported", in.GetTypedConfig().GetTypeUrl())
	}
	return at("typed_config", proto.Unmarshal(in.GetTypedConfig().GetValue(), to))
}

// maxSNI is the maximum length of a server name in bytes (A101).
const maxSNI = 255

func readClientTLS(c *Context, in *tlsv3.UpstreamTlsContext) (*ClientTLS, error) {
	if err := unknown.Field(in); err != nil {
		return nil, err
	}
	if n := len(in.GetSni()); n > maxSNI && c.Features.SNI {
		return nil, wrong("sni", "%d bytes; %d is the limit", n, maxSNI)
	}
	common := in.GetCommonTlsContext()
	if common == nil {
		return nil, wrong("common_tls_context", "missing")
	}
	out := &ClientTLS{}
	if c.Features.SNI {
		out.SNI, out.AutoHostSNI, out.AutoSANValidation = in.GetSni(), in.GetAutoHostSni(), in.GetAutoSniSanValidation()
	}
	var err error
	if out.Identity, err = readIdentity(c, common); err != nil {
		return nil, at("common_tls_context", err)
	}
	v, err := validation(c, common)
	if err == nil && v == nil {
		err = errors.New("there is no validation_context")
	}
	if err != nil {
		return nil, at("common_tls_context", err)
	}
	if v.roots == (CertProvider{}) && !v.system {
		return nil, wrong("common_tls_context.validation_context.ca_certificate_provider_instance", "missing")
	}
	out.Roots, out.SANs, out.MaxDepth = v.roots, v.sans, v.depth
	return out, nil
}

// readIdentity checks the fields that clients and servers have in common, and returns the
// certificate.
func readIdentity(c *Context, in *tlsv3.CommonTlsContext) (p CertProvider, err error) {
	if in.GetTlsParams() != nil {
		return p, wrong("tls_params", "not supported")
	}
	if in.GetCustomHandshaker() != nil {
		return p, wrong("custom_handshaker", "not supported")
	}
	if in.GetCustomTlsCertificateSelector() != nil {
		return p, wrong("custom_tls_certificate_selector", "not supported")
	}
	if instance := in.GetTlsCertificateProviderInstance(); instance != nil {
		p, err = c.certProvider(instance.GetInstanceName(), instance.GetCertificateName())
		return p, at("tls_certificate_provider_instance", err)
	}
	//nolint:staticcheck // the older name of the field, which control planes still use
	if instance := in.GetTlsCertificateCertificateProviderInstance(); instance != nil {
		p, err = c.certProvider(instance.GetInstanceName(), instance.GetCertificateName())
		return p, at("tls_certificate_certificate_provider_instance", err)
	}
	//nolint:staticcheck // a field older still
	if in.GetTlsCertificateCertificateProvider() != nil {
		return p, wrong("tls_certificate_certificate_provider", "not supported; use tls_certificate_provider_instance")
	}
	if len(in.GetTlsCertificates()) > 0 {
		return p, wrong("tls_certificates", "not supported; use tls_certificate_provider_instance")
	}
	if len(in.GetTlsCertificateSdsSecretConfigs()) > 0 {
		return p, wrong("tls_certificate_sds_secret_configs", "not supported; use tls_certificate_provider_instance")
	}
	return p, nil
}

// readServerTLS returns nil if there is no transport socket.
func readServerTLS(c *Context, in *corev3.TransportSocket) (*ServerTLS, error) {
	if in == nil {
		return nil, nil
	}
	var m tlsv3.DownstreamTlsContext
	if err := unwrapTLS(in, serverTLS, &m); err != nil {
		return nil, err
	}
	out, err := serverTLSOf(c, &m)
	return out, at("typed_config", err)
}

func serverTLSOf(c *Context, in *tlsv3.DownstreamTlsContext) (*ServerTLS, error) {
	if err := unknown.Field(in); err != nil {
		return nil, err
	}
	if in.GetRequireSni().GetValue() {
		return nil, wrong("require_sni", "not supported")
	}
	if p := in.GetOcspStaplePolicy(); p != tlsv3.DownstreamTlsContext_LENIENT_STAPLING {
		return nil, wrong("ocsp_staple_policy", "%v is not supported", p)
	}
	common := in.GetCommonTlsContext()
	if common == nil {
		return nil, wrong("common_tls_context", "missing")
	}
	out := &ServerTLS{RequireClientCert: in.GetRequireClientCertificate().GetValue(), NoResumption: boundsResumption(in)}
	var err error
	if out.Identity, err = readIdentity(c, common); err != nil {
		return nil, at("common_tls_context", err)
	}
	if out.Identity == (CertProvider{}) {
		return nil, wrong("common_tls_context.tls_certificate_provider_instance", "missing")
	}
	v, err := validation(c, common)
	switch {
	case err != nil:
		return nil, at("common_tls_context", err)
	case v == nil && out.RequireClientCert:
		return nil, wrong("require_client_certificate", "is true, but there is no validation_context")
	case v == nil:
		return out, nil
	case v.roots == (CertProvider{}): // servers do not verify against the system's roots (A82)
		return nil, wrong("common_tls_context.validation_context.ca_certificate_provider_instance", "missing")
	case len(v.sans) > 0:
		return nil, wrong("common_tls_context.validation_context.match_subject_alt_names", "not supported on servers")
	}
	out.Roots, out.MaxDepth, out.HideRoots = v.roots, v.depth, v.hideRoots
	return out, nil
}

// boundsResumption reports whether the resource forbids to resume sessions, or limits for how
// long they may be resumed. crypto/tls has no setting for such a limit, so the server resumes no
// sessions in both cases.
func boundsResumption(in *tlsv3.DownstreamTlsContext) bool {
	return in.GetDisableStatelessSessionResumption() || in.GetSessionTimeout() != nil
}
