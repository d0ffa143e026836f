// SPDX-License-Identifier: Apache-2.0

package insecure_test

import (
	"net"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

func TestHandshakesPassThrough(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	creds := insecure.NewBundle().TransportCredentials().Clone()
	gotA, infoA, errA := creds.ClientHandshake(t.Context(), "x", a)
	gotB, infoB, errB := creds.ServerHandshake(b)
	if gotA != a || gotB != b || errA != nil || errB != nil {
		t.Errorf("%v %v, %v %v", gotA, errA, gotB, errB)
	}
	if infoA != infoB || infoA.AuthType() != "insecure" {
		t.Errorf("%v %v", infoA, infoB)
	}
	if credentials.CheckSecurityLevel(infoA, credentials.NoSecurity) != nil || credentials.CheckSecurityLevel(infoA, credentials.IntegrityOnly) == nil {
		t.Error("the level is not NoSecurity")
	}
	if err := infoA.(credentials.AuthorityValidator).ValidateAuthority("any"); err != nil {
		t.Error(err)
	}
	if got := insecure.NewCredentials().Info(); got != (credentials.ProtocolInfo{SecurityProtocol: "insecure"}) {
		t.Errorf("Info: %+v", got)
	}
}

func TestBundle(t *testing.T) {
	b, err := insecure.NewBundle().NewWithMode("any")
	if err != nil || b.PerRPCCredentials() != nil || b.TransportCredentials() == nil {
		t.Errorf("%v %v", b, err)
	}
}
