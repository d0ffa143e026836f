// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/protobuf/proto"
)

// CertProvider is a certificate of an instance of a certificate provider. It is the zero value
// if there is none.
type CertProvider struct {
	Instance, Certificate string
}

// ClientTLS is how connections to a cluster are secured (A29).
type ClientTLS struct {
	// Identity is this client's certificate, if any.
	Identity CertProvider
	// Roots are what the server's certificate is verified against, the system's roots (A82) if
	// there is no provider.
	Roots CertProvider
	// SANs are the names of which the server's certificate shall have one; any will do if there
	// are none.
	SANs []match.String
	// SNI is the server name to send, unless AutoHostSNI says that the endpoint's is (A101).
	SNI               string
	AutoHostSNI       bool
	AutoSANValidation bool // the name that was sent takes the place of SANs
}

// SystemRoots reports whether the system's roots are used.
func (t *ClientTLS) SystemRoots() bool { return t.Roots == CertProvider{} }

// ServerTLS is how connections to a server are secured (A29).
type ServerTLS struct {
	// Identity is this server's certificate.
	Identity CertProvider
	// Roots are what clients' certificates are verified against; without it none is asked for.
	Roots CertProvider
	// RequireClientCert says that a client without a certificate is turned away.
	RequireClientCert bool
}

const (
	tlsSocket   = "envoy.transport_sockets.tls"
	upstreamTLS = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	serverTLS   = "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
	proxySocket = "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport"
)

// unwrapTLS reads a transport socket that has to be of the kind.
func unwrapTLS(in *corev3.TransportSocket, kind string, to proto.Message) error {
	if in.GetName() != tlsSocket {
		return wrong("name", "%q is not supported", in.GetName())
	}
	if string(in.GetTypedConfig().MessageName()) != kind {
		return wrong("typed_config", "type %q is not supported", in.GetTypedConfig().GetTypeUrl())
	}
	return at("typed_config", proto.Unmarshal(in.GetTypedConfig().GetValue(), to))
}

func readClientTLS(c *Context, in *tlsv3.UpstreamTlsContext) (*ClientTLS, error) {
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
	out.Roots, out.SANs = v.roots, v.sans
	return out, nil
}

// readIdentity checks what client and server have in common, and returns the certificate.
func readIdentity(c *Context, in *tlsv3.CommonTlsContext) (p CertProvider, err error) {
	if in.GetTlsParams() != nil {
		return p, wrong("tls_params", "not supported")
	}
	if in.GetCustomHandshaker() != nil {
		return p, wrong("custom_handshaker", "not supported")
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
	if len(in.GetTlsCertificates()) > 0 {
		return p, wrong("tls_certificates", "not supported; use tls_certificate_provider_instance")
	}
	if len(in.GetTlsCertificateSdsSecretConfigs()) > 0 {
		return p, wrong("tls_certificate_sds_secret_configs", "not supported; use tls_certificate_provider_instance")
	}
	return p, nil
}

func (c *Context) certProvider(instance, certificate string) (CertProvider, error) {
	if !c.knowsCertProvider(instance) {
		return CertProvider{}, wrong("instance_name", "%q is not in certificate_providers of the bootstrap configuration", instance)
	}
	return CertProvider{Instance: instance, Certificate: certificate}, nil
}

// validated is what a CertificateValidationContext says.
type validated struct {
	roots  CertProvider
	system bool // it asks for the system's roots, and this is allowed
	sans   []match.String
}

// validation returns nil if there is no context.
func validation(c *Context, in *tlsv3.CommonTlsContext) (*validated, error) {
	switch v := in.GetValidationContextType().(type) {
	case nil:
		return nil, nil
	case *tlsv3.CommonTlsContext_ValidationContext:
		out, err := readValidation(c, v.ValidationContext)
		return out, at("validation_context", err)
	case *tlsv3.CommonTlsContext_CombinedValidationContext:
		if v.CombinedValidationContext.GetDefaultValidationContext() == nil {
			return nil, nil
		}
		out, err := readValidation(c, v.CombinedValidationContext.GetDefaultValidationContext())
		if err != nil {
			return nil, at("combined_validation_context.default_validation_context", err)
		}
		//nolint:staticcheck // the older name of the field, which control planes still use
		if instance := v.CombinedValidationContext.GetValidationContextCertificateProviderInstance(); instance != nil && out.roots == (CertProvider{}) {
			out.roots, err = c.certProvider(instance.GetInstanceName(), instance.GetCertificateName())
		}
		return out, at("combined_validation_context.validation_context_certificate_provider_instance", err)
	default:
		return nil, fmt.Errorf("validation_context_type of type %T is not supported", v)
	}
}

func readValidation(c *Context, in *tlsv3.CertificateValidationContext) (*validated, error) {
	for field, set := range map[string]bool{
		"verify_certificate_spki":              len(in.GetVerifyCertificateSpki()) > 0,
		"verify_certificate_hash":              len(in.GetVerifyCertificateHash()) > 0,
		"require_signed_certificate_timestamp": in.GetRequireSignedCertificateTimestamp().GetValue(),
		"crl":                                  in.GetCrl() != nil,
		"custom_validator_config":              in.GetCustomValidatorConfig() != nil,
	} {
		if set {
			return nil, wrong(field, "not supported")
		}
	}
	out := &validated{system: c.Features.SystemRootCerts && in.GetSystemRootCerts() != nil}
	//nolint:staticcheck // the field that A29 names
	for i, m := range in.GetMatchSubjectAltNames() {
		s, err := match.ParseString(m)
		if err != nil {
			return nil, atIndex("match_subject_alt_names", i, err)
		}
		out.sans = append(out.sans, s)
	}
	instance := in.GetCaCertificateProviderInstance()
	if instance == nil {
		return out, nil
	}
	var err error
	out.roots, err = c.certProvider(instance.GetInstanceName(), instance.GetCertificateName())
	return out, at("ca_certificate_provider_instance", err)
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
	out := &ServerTLS{RequireClientCert: in.GetRequireClientCertificate().GetValue()}
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
	out.Roots = v.roots
	return out, nil
}
