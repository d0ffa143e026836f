// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"fmt"

	"golang.org/x/oauth2"
	"google.golang.org/grpc/credentials"
)

// authorization returns the metadata that carries a token. It fails if the RPC's connection
// does not have privacy and integrity.
func authorization(ctx context.Context, kind string, token *oauth2.Token) (map[string]string, error) {
	if token == nil {
		return nil, fmt.Errorf("oauth: %s has no token", kind)
	}
	ri, _ := credentials.RequestInfoFromContext(ctx)
	if err := credentials.CheckSecurityLevel(ri.AuthInfo, credentials.PrivacyAndIntegrity); err != nil {
		return nil, fmt.Errorf("unable to transfer %s PerRPCCredentials: %w", kind, err)
	}
	return map[string]string{"authorization": token.Type() + " " + token.AccessToken}, nil
}
