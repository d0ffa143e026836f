// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/balancer"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/metadata"
)

// keyBuilder makes the keys for RPCs of some methods.
type keyBuilder struct {
	headers               []header
	host, service, method string // the names of these keys; "" means that the key is not used
	constant              map[string]string
}

type header struct {
	key   string
	names []string
}

// keyBuilders maps "/service/method", or "/service/" for all other methods of the service, to
// keyBuilders.
type keyBuilders map[string]*keyBuilder

func newKeyBuilders(in []*lookuppb.GrpcKeyBuilder) (keyBuilders, error) {
	if len(in) == 0 {
		return nil, errors.New("rls: RouteLookupConfig does not contain any GrpcKeyBuilder")
	}
	out := make(keyBuilders)
	for _, b := range in {
		builder, err := newKeyBuilder(b)
		if err != nil {
			return nil, fmt.Errorf("%w {%v}", err, in)
		}
		for _, n := range b.GetNames() {
			path := "/" + n.GetService() + "/" + n.GetMethod()
			switch {
			case n.GetService() == "":
				return nil, fmt.Errorf("rls: GrpcKeyBuilder in RouteLookupConfig contains a Name field with no Service {%v}", in)
			case out[path] != nil:
				return nil, fmt.Errorf("rls: GrpcKeyBuilder in RouteLookupConfig contains repeated Name field {%v}", in)
			case strings.Contains(n.GetMethod(), "/"):
				return nil, fmt.Errorf("rls: GrpcKeyBuilder in RouteLookupConfig contains a method with a slash {%v}", in)
			}
			out[path] = builder
		}
	}
	return out, nil
}

func newKeyBuilder(in *lookuppb.GrpcKeyBuilder) (*keyBuilder, error) {
	if len(in.GetNames()) == 0 {
		return nil, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig does not contain any Name")
	}
	extra := in.GetExtraKeys()
	out := &keyBuilder{host: extra.GetHost(), service: extra.GetService(), method: extra.GetMethod(), constant: in.GetConstantKeys()}
	seen := make(map[string]bool)
	for _, h := range in.GetHeaders() {
		switch {
		case h.GetRequiredMatch():
			return nil, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig has required_match field set")
		case h.GetKey() == "":
			return nil, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig contains a header without a key")
		}
		if err := unique(seen, h.GetKey()); err != nil {
			return nil, err
		}
		names := make([]string, len(h.GetNames()))
		for i, n := range h.GetNames() {
			if names[i] = strings.ToLower(n); n == "" {
				return nil, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig contains a header without a name")
			}
		}
		out.headers = append(out.headers, header{h.GetKey(), names})
	}
	for k := range out.constant {
		if k == "" {
			return nil, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig contains a constant without a key")
		}
		if err := unique(seen, k); err != nil {
			return nil, err
		}
	}
	for _, k := range []string{out.host, out.service, out.method} {
		if k == "" {
			continue
		}
		if err := unique(seen, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func unique(seen map[string]bool, key string) error {
	if seen[key] {
		return fmt.Errorf("rls: GrpcKeyBuilder in RouteLookupConfig contains repeated key %q across headers, constant_keys and extra_keys", key)
	}
	seen[key] = true
	return nil
}

// build returns the keys of an RPC, or nil if there is no keyBuilder for its method.
func (b keyBuilders) build(info balancer.PickInfo, host string) map[string]string {
	slash := strings.LastIndexByte(info.FullMethodName, '/') + 1
	builder := b[info.FullMethodName]
	if builder == nil {
		if builder = b[info.FullMethodName[:slash]]; builder == nil {
			return nil
		}
	}
	keys := make(map[string]string)
	md, _ := metadata.FromOutgoingContext(info.Ctx)
	for _, h := range builder.headers {
		for _, n := range h.names {
			if v := md[n]; len(v) > 0 {
				keys[h.key] = strings.Join(v, ",")
				break
			}
		}
	}
	maps.Copy(keys, builder.constant)
	for key, value := range map[string]string{
		builder.host: host, builder.service: strings.Trim(info.FullMethodName[:slash], "/"), builder.method: info.FullMethodName[slash:],
	} {
		if key != "" {
			keys[key] = value
		}
	}
	return keys
}

// text returns the keys as one string. Different keys give different strings, as commas, equal
// signs and backslashes in them are escaped.
func text(keys map[string]string) string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(keys)) {
		if i > 0 {
			b.WriteByte(',')
		}
		_, _ = escape.WriteString(&b, k) // a Builder does not fail
		b.WriteByte('=')
		_, _ = escape.WriteString(&b, keys[k])
	}
	return b.String()
}

var escape = strings.NewReplacer(`\`, `\\`, ",", `\,`, "=", `\=`)
