// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// authorityKey identifies an authority. The zero value is the authority of names that have
// none.
type authorityKey struct {
	federated bool
	name      string
}

// parseName returns the authority of a resource name, and the name in canonical form: context
// parameters are sorted, and each occurs once (A47).
func parseName(name string) (authorityKey, string, error) {
	rest, ok := strings.CutPrefix(name, "xdstp:")
	if !ok {
		return authorityKey{}, name, nil
	}
	u, err := url.Parse(name)
	if err != nil {
		return authorityKey{}, "", fmt.Errorf("resource name %q: %w", name, err)
	}
	key := authorityKey{federated: true, name: u.Host}
	path, query, ok := strings.Cut(rest, "?")
	if !ok {
		return key, name, nil
	}
	query, fragment, _ := strings.Cut(query, "#")
	params := strings.Split(query, "&")
	slices.Reverse(params) // the last parameter with a key counts
	slices.SortStableFunc(params, func(a, b string) int { return strings.Compare(paramKey(a), paramKey(b)) })
	params = slices.CompactFunc(params, func(a, b string) bool { return paramKey(a) == paramKey(b) })
	name = "xdstp:" + path + "?" + strings.Join(params, "&")
	if fragment != "" {
		name += "#" + fragment
	}
	return key, name, nil
}

func paramKey(p string) string {
	key, _, _ := strings.Cut(p, "=")
	return key
}

// resourceName returns field 1 of a resource, which is its name in every type, without decoding
// the rest.
func resourceName(raw []byte) (string, error) {
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return "", fmt.Errorf("no message: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
		if number == 1 && kind == protowire.BytesType {
			name, n := protowire.ConsumeBytes(raw)
			if n < 0 {
				return "", fmt.Errorf("no message: %w", protowire.ParseError(n))
			}
			return string(name), nil
		}
		if n = protowire.ConsumeFieldValue(number, kind, raw); n < 0 {
			return "", fmt.Errorf("no message: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
	}
	return "", errors.New("a resource without a name")
}
