// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"
)

func TestSPIFFEID(t *testing.T) {
	long := strings.Repeat("x", 2048)
	for id, ok := range map[string]bool{
		"spiffe://domain/workload":                     true,
		"spiffe://domain/a/b":                          true,
		"https://domain/workload":                      false,
		"spiffe://domain":                              false,
		"spiffe://domain/":                             true,
		"spiffe:///workload":                           false,
		"spiffe://user@domain/workload":                false,
		"spiffe://domain/workload?q":                   true,
		"spiffe://domain/workload#f":                   true,
		"spiffe:opaque":                                false,
		"spiffe://domain/" + long:                      false,
		"spiffe://" + strings.Repeat("d", 256) + "/wl": false,
	} {
		u, err := url.Parse(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := SPIFFEID([]*x509.Certificate{{URIs: []*url.URL{u}}}); (got != nil) != ok {
			t.Errorf("%.40s: %v", id, got)
		}
		if SPIFFEID([]*x509.Certificate{{URIs: []*url.URL{u, u}}}) != nil {
			t.Errorf("%.40s: two URIs pass", id)
		}
	}
	if SPIFFEID(nil) != nil || SPIFFEID([]*x509.Certificate{{}}) != nil {
		t.Error("an ID out of nothing")
	}
}
