// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/status"
)

// Err formats an error as its code, its text, and its details.
func Err(err error) string {
	if err == nil {
		return "nil"
	}
	s, ok := status.FromError(err)
	if !ok {
		return fmt.Sprintf("not a status: %v", err)
	}
	out := fmt.Sprintf("%v: %q", s.Code(), s.Message())
	if d := s.Details(); len(d) > 0 {
		out += fmt.Sprintf(" details=%d", len(d))
	}
	if want := fmt.Sprintf("rpc error: code = %v desc = %s", s.Code(), s.Message()); err.Error() != want {
		out += fmt.Sprintf(" printed as %q", err)
	}
	return out
}

// MD formats metadata in the order of its keys. A user agent's version is scrubbed later.
func MD(md metadata.MD) string {
	if md == nil {
		return "nil"
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(md)) {
		out = append(out, fmt.Sprintf("%s=%q", k, md[k]))
	}
	return "{" + strings.Join(out, " ") + "}"
}

// Try prints what f does: its error, or its panic.
func Try(p *probe.P, label string, f func() error) {
	defer func() {
		if r := recover(); r != nil {
			p.Printf("%s: PANIC: %v", label, r)
		}
	}()
	p.Printf("%s: %s", label, Err(f()))
}
