// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/ctxkey"
)

// withLevel has a level, without has not.
type (
	withLevel struct{ credentials.CommonAuthInfo }
	without   struct{}
)

func (withLevel) AuthType() string { return "test" }
func (without) AuthType() string   { return "test" }

func TestCheckSecurityLevel(t *testing.T) {
	level := func(l credentials.SecurityLevel) credentials.AuthInfo {
		return withLevel{credentials.CommonAuthInfo{SecurityLevel: l}}
	}
	for _, tt := range []struct {
		name   string
		info   credentials.AuthInfo
		wanted credentials.SecurityLevel
		ok     bool
	}{
		{"nil", nil, credentials.NoSecurity, false},
		{"unknown", without{}, credentials.PrivacyAndIntegrity, true},
		{"invalid", level(credentials.InvalidSecurityLevel), credentials.PrivacyAndIntegrity, true},
		{"equal", level(credentials.IntegrityOnly), credentials.IntegrityOnly, true},
		{"more", level(credentials.PrivacyAndIntegrity), credentials.NoSecurity, true},
		{"less", level(credentials.NoSecurity), credentials.IntegrityOnly, false},
		{"TLS", credentials.TLSInfo{CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, credentials.PrivacyAndIntegrity, false},
	} {
		if err := credentials.CheckSecurityLevel(tt.info, tt.wanted); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestSecurityLevelNames(t *testing.T) {
	for i, want := range []string{"invalid SecurityLevel: 0", "NoSecurity", "IntegrityOnly", "PrivacyAndIntegrity", "invalid SecurityLevel: 4"} {
		if got := credentials.SecurityLevel(i).String(); got != want {
			t.Errorf("%d prints %q, want %q", i, got, want)
		}
	}
}

func TestContexts(t *testing.T) {
	if _, ok := credentials.RequestInfoFromContext(t.Context()); ok {
		t.Error("a RequestInfo out of nothing")
	}
	want := credentials.RequestInfo{Method: "/s/m", AuthInfo: without{}}
	if got, ok := credentials.RequestInfoFromContext(credentials.NewContextWithRequestInfo(t.Context(), want)); !ok || got != want {
		t.Errorf("%v %v", got, ok)
	}
	if got := credentials.ClientHandshakeInfoFromContext(t.Context()); got.Attributes != nil {
		t.Errorf("%v", got)
	}
	info := credentials.ClientHandshakeInfo{Attributes: attributes.New("k", "v")}
	ctx := context.WithValue(t.Context(), ctxkey.ClientHandshakeInfo{}, info)
	if got := credentials.ClientHandshakeInfoFromContext(ctx); got != info {
		t.Errorf("%v", got)
	}
}
