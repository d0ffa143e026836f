// SPDX-License-Identifier: Apache-2.0

package pemfile

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"google.golang.org/grpc/credentials/tls/certprovider"
)

// parseBundleMap reads a SPIFFE bundle map (SPIFFE Trust Domain and Bundle, section 4.2):
// {"trust_domains": {"<domain>": <bundle>, ...}}. One invalid bundle makes the whole map
// invalid, as gRFC A87 says. A map without domains is valid; with it, no peer is trusted.
func parseBundleMap(text []byte) (*certprovider.KeyMaterial, error) {
	var in struct {
		TrustDomains map[string]json.RawMessage `json:"trust_domains"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	if in.TrustDomains == nil {
		return nil, errors.New("no trust_domains in it")
	}
	out := make(map[string]*spiffebundle.Bundle, len(in.TrustDomains))
	for name, bundle := range in.TrustDomains {
		domain, err := spiffeid.TrustDomainFromString(name)
		if err != nil {
			return nil, fmt.Errorf("trust domain %q: %w", name, err)
		}
		if out[domain.Name()], err = spiffebundle.Parse(domain, bundle); err != nil { // name may be "spiffe://<domain>"
			return nil, fmt.Errorf("bundle of %q: %w", name, err)
		}
	}
	return &certprovider.KeyMaterial{SPIFFEBundleMap: out}, nil
}
