// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/interop/internal/programs"
)

// The implementations.
const (
	ours      = programs.Ours
	published = programs.Published
	// foreign is this module on another system.
	foreign = "foreign"
)

// isOurs reports whether an implementation is this module.
func isOurs(impl string) bool { return impl == ours || impl == foreign }

// The pairs to run if the command line names none.
const (
	defaultPairs = "ours>ours,ours>published,published>ours"
	foreignPairs = "ours>foreign,foreign>ours"
)

// pair is the implementations of a client and of a server.
type pair struct{ client, server string }

func (p pair) String() string { return p.client + ">" + p.server }

func parsePairs(s string) ([]pair, error) {
	var pairs []pair
	for _, f := range strings.Split(s, ",") {
		client, server, ok := strings.Cut(f, ">")
		if !ok || !known(client) || !known(server) {
			return nil, fmt.Errorf("%q is not a pair like ours>published", f)
		}
		pairs = append(pairs, pair{client, server})
	}
	return pairs, nil
}

func known(impl string) bool { return isOurs(impl) || impl == published }

// implementations returns the implementations in the pairs, each once.
func implementations(pairs []pair) []string {
	var impls []string
	for _, impl := range []string{ours, published, foreign} {
		for _, p := range pairs {
			if p.client == impl || p.server == impl {
				impls = append(impls, impl)
				break
			}
		}
	}
	return impls
}
