// SPDX-License-Identifier: Apache-2.0

// Package unix has the resolvers of unix domain sockets (naming.md): unix:path,
// unix:///absolute/path and, on Linux, unix-abstract:name. Importing the package registers them.
package unix

import (
	"cmp"
	"fmt"

	"google.golang.org/grpc/internal/resolver/networktype"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
)

// authority is the :authority of requests if the program sets none, as a path is not a valid one.
const authority = "localhost"

// Builder makes the resolvers of the scheme unix or unix-abstract.
type Builder struct {
	// Abstract chooses unix-abstract, whose names are not in the file system.
	Abstract bool
}

func init() {
	resolver.Register(Builder{})
	resolver.Register(Builder{Abstract: true})
}

// Scheme returns "unix" or "unix-abstract".
func (b Builder) Scheme() string {
	if b.Abstract {
		return "unix-abstract"
	}
	return "unix"
}

// OverrideAuthority returns "localhost".
func (Builder) OverrideAuthority(resolver.Target) string { return authority }

// Build passes the address to the channel before it returns.
func (b Builder) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	if target.URL.Host != "" {
		return nil, fmt.Errorf("invalid (non-empty) authority: %v", target.URL.Host)
	}
	address := resolver.Address{Addr: b.path(target)}
	return static.Resolve(cc, networktype.Set(address, "unix")), nil
}

// path returns the address of the socket. It does not use Target.Endpoint, which drops the slash of
// an absolute path.
func (b Builder) path(target resolver.Target) string {
	path := cmp.Or(target.URL.Path, target.URL.Opaque)
	if b.Abstract {
		return "@" + path // package net writes the leading zero byte for it
	}
	return path
}
