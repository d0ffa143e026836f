// SPDX-License-Identifier: Apache-2.0

package googlecloud

import "testing"

func TestIsGoogleProduct(t *testing.T) {
	for name, want := range map[string]bool{
		"Google": true, "Google Compute Engine": true, "Google Compute Engine\n": true, " Google \r\n": true,
		"": false, "Googl": false, "google": false, "Google Cloud": false, "KVM": false, "Not Google": false,
	} {
		if got := isGoogleProduct(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestHere(t *testing.T) {
	if once := Here(); Here() != once {
		t.Error("two answers")
	}
}
