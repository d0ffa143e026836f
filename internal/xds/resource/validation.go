// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc/internal/xds/match"
)

// This file parses how to check a peer's certificate. Each field that asks for a check is either
// obeyed, or the resource is rejected; none is skipped (internal/xds/README.md lists them all).

// SANKind is a kind of subject alternative name.
type SANKind uint8

// The kinds of subject alternative names.
const (
	AnySAN SANKind = iota
	EmailSAN
	DNSSAN
	URISAN
	IPSAN
)

// SAN matches subject alternative names of one kind, or of all kinds.
type SAN struct {
	Kind SANKind
	Name match.String
}

// Equal reports whether both match the same names for the same reason.
func (s SAN) Equal(o SAN) bool { return s.Kind == o.Kind && s.Name.Equal(o.Name) }

// String returns a description for messages.
func (s SAN) String() string {
	return [...]string{"", "email ", "DNS ", "URI ", "IP address "}[s.Kind] + s.Name.String()
}

// validated is the parsed form of a CertificateValidationContext.
type validated struct {
	roots     CertProvider
	system    bool // the resource asks for the system's roots, and that is enabled
	sans      []SAN
	depth     uint32
	hideRoots bool
}

// validation returns nil if there is no validation context.
func validation(c *Context, in *tlsv3.CommonTlsContext) (*validated, error) {
	switch v := in.GetValidationContextType().(type) {
	case nil:
		return nil, nil
	case *tlsv3.CommonTlsContext_ValidationContext:
		out, err := readValidation(c, v.ValidationContext)
		return out, at("validation_context", err)
	case *tlsv3.CommonTlsContext_CombinedValidationContext:
		out, err := combined(c, v.CombinedValidationContext)
		return out, at("combined_validation_context", err)
	//nolint:staticcheck // the older name of the field, which control planes still use
	case *tlsv3.CommonTlsContext_ValidationContextCertificateProviderInstance:
		roots, err := c.olderProvider(v.ValidationContextCertificateProviderInstance)
		return &validated{roots: roots}, at("validation_context_certificate_provider_instance", err)
	default:
		return nil, fmt.Errorf("validation_context_type of type %T is not supported", v)
	}
}

// combined parses a validation context that has roots in a separate field. Either part may be
// missing. Without the context the names in a certificate are not checked, only its roots.
// combined returns nil if both parts are missing.
//
//nolint:staticcheck // the older fields, which control planes still use
func combined(c *Context, in *tlsv3.CommonTlsContext_CombinedCertificateValidationContext) (out *validated, err error) {
	switch {
	case in.GetValidationContextSdsSecretConfig() != nil:
		return nil, wrong("validation_context_sds_secret_config", "not supported")
	case in.GetValidationContextCertificateProvider() != nil:
		return nil, wrong("validation_context_certificate_provider", "not supported")
	}
	if in.GetDefaultValidationContext() != nil {
		if out, err = readValidation(c, in.GetDefaultValidationContext()); err != nil {
			return nil, at("default_validation_context", err)
		}
	}
	instance := in.GetValidationContextCertificateProviderInstance()
	if instance == nil || out != nil && out.roots != (CertProvider{}) {
		return out, nil
	}
	if out == nil {
		out = &validated{}
	}
	out.roots, err = c.olderProvider(instance)
	return out, at("validation_context_certificate_provider_instance", err)
}

func (c *Context) olderProvider(in *tlsv3.CommonTlsContext_CertificateProviderInstance) (CertProvider, error) {
	return c.certProvider(in.GetInstanceName(), in.GetCertificateName())
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
	out := &validated{hideRoots: in.GetSuppressClientCaList()}
	var err error
	if out.sans, err = readSANs(in); err != nil {
		return nil, err
	}
	if d := in.GetMaxVerifyDepth(); d != nil {
		if out.depth = d.GetValue(); out.depth == 0 {
			return nil, wrong("max_verify_depth", "0 leaves no certificate to trust")
		}
	}
	if instance := in.GetCaCertificateProviderInstance(); instance != nil {
		out.roots, err = c.certProvider(instance.GetInstanceName(), instance.GetCertificateName())
		return out, at("ca_certificate_provider_instance", err)
	}
	if out.system = c.Features.SystemRootCerts && in.GetSystemRootCerts() != nil; out.system && in.GetTrustedCa() != nil {
		// In Envoy trusted_ca takes precedence over the system's roots, which would accept more
		// certificates.
		return nil, wrong("trusted_ca", "not supported")
	}
	return out, nil
}

// readSANs prefers the field with types, as Envoy does.
func readSANs(in *tlsv3.CertificateValidationContext) (out []SAN, err error) {
	for i, m := range in.GetMatchTypedSubjectAltNames() {
		s, err := readSAN(m)
		if err != nil {
			return nil, atIndex("match_typed_subject_alt_names", i, err)
		}
		out = append(out, s)
	}
	//nolint:staticcheck // the field that A29 names
	for i, m := range in.GetMatchSubjectAltNames() {
		s, err := match.ParseString(m)
		if err != nil {
			return nil, atIndex("match_subject_alt_names", i, err)
		}
		if len(in.GetMatchTypedSubjectAltNames()) == 0 {
			out = append(out, SAN{Name: s})
		}
	}
	return out, nil
}

func readSAN(in *tlsv3.SubjectAltNameMatcher) (out SAN, err error) {
	kinds := map[tlsv3.SubjectAltNameMatcher_SanType]SANKind{
		tlsv3.SubjectAltNameMatcher_EMAIL: EmailSAN, tlsv3.SubjectAltNameMatcher_DNS: DNSSAN,
		tlsv3.SubjectAltNameMatcher_URI: URISAN, tlsv3.SubjectAltNameMatcher_IP_ADDRESS: IPSAN,
	}
	var ok bool
	if out.Kind, ok = kinds[in.GetSanType()]; !ok {
		return out, wrong("san_type", "%v is not supported", in.GetSanType())
	}
	out.Name, err = match.ParseString(in.GetMatcher())
	return out, at("matcher", err)
}
