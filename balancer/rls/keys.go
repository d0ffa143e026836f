// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/ctxkey"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
)

// keyBuilder makes the keys for RPCs of some methods. They are sorted by their names. RPCs that wait for an answer
// build their keys again with each picker, so that has to be cheap.
type keyBuilder []keyField

// keyField says what the value of a key is.
type keyField struct {
	key   string
	kind  fieldKind
	names []string // of headers: the value is that of the first one that the RPC has
	value string   // of a constant
}

type fieldKind uint8

const (
	headerKind fieldKind = iota
	constantKind
	hostKind
	serviceKind
	methodKind
)

// rpcKey is a key of an RPC.
type rpcKey struct{ key, value string }

// keyBuilders maps "/service/method", or "/service/" for all other methods of the service, to
// keyBuilders.
type keyBuilders map[string]keyBuilder

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

func newKeyBuilder(in *lookuppb.GrpcKeyBuilder) (keyBuilder, error) {
	if len(in.GetNames()) == 0 {
		return nil, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig does not contain any Name")
	}
	out := make(keyBuilder, 0)
	for _, h := range in.GetHeaders() {
		f, err := headerField(h)
		if err != nil {
			return nil, err
		}
		if err := out.add(f); err != nil {
			return nil, err
		}
	}
	for k, v := range in.GetConstantKeys() {
		if k == "" {
			return nil, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig contains a constant without a key")
		}
		if err := out.add(keyField{key: k, kind: constantKind, value: v}); err != nil {
			return nil, err
		}
	}
	extra := in.GetExtraKeys()
	for _, f := range []keyField{{key: extra.GetHost(), kind: hostKind}, {key: extra.GetService(), kind: serviceKind}, {key: extra.GetMethod(), kind: methodKind}} {
		if f.key == "" {
			continue
		}
		if err := out.add(f); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b keyField) int { return strings.Compare(a.key, b.key) })
	return out, nil
}

func headerField(h *lookuppb.NameMatcher) (f keyField, err error) {
	switch {
	case h.GetRequiredMatch():
		return f, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig has required_match field set")
	case h.GetKey() == "":
		return f, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig contains a header without a key")
	}
	f = keyField{key: h.GetKey(), kind: headerKind, names: make([]string, len(h.GetNames()))}
	for i, n := range h.GetNames() {
		if n == "" {
			return f, errors.New("rls: GrpcKeyBuilder in RouteLookupConfig contains a header without a name")
		}
		f.names[i] = strings.ToLower(n)
	}
	return f, nil
}

// add adds a field. It fails if there is one with the same key.
func (b *keyBuilder) add(f keyField) error {
	if slices.ContainsFunc(*b, func(other keyField) bool { return other.key == f.key }) {
		return fmt.Errorf("rls: GrpcKeyBuilder in RouteLookupConfig contains repeated key %q across headers, constant_keys and extra_keys", f.key)
	}
	*b = append(*b, f)
	return nil
}

// build returns the keys of an RPC, sorted. There are none if there is no keyBuilder for its method.
func (b keyBuilders) build(info balancer.PickInfo, host string) []rpcKey {
	slash := strings.LastIndexByte(info.FullMethodName, '/') + 1
	builder := b[info.FullMethodName]
	if builder == nil {
		builder = b[info.FullMethodName[:slash]]
	}
	if len(builder) == 0 {
		return nil
	}
	keys := make([]rpcKey, 0, len(builder))
	headers := ctxkey.OutgoingFrom(info.Ctx)
	for i := range builder {
		f := &builder[i]
		value := f.value
		switch f.kind {
		case headerKind:
			var ok bool
			if value, ok = firstHeader(headers, f.names); !ok {
				continue
			}
		case hostKind:
			value = host
		case serviceKind:
			value = strings.Trim(info.FullMethodName[:slash], "/")
		case methodKind:
			value = info.FullMethodName[slash:]
		}
		keys = append(keys, rpcKey{f.key, value})
	}
	return keys
}

// firstHeader returns the value of the first header that the RPC has.
func firstHeader(headers *ctxkey.Outgoing, names []string) (value string, ok bool) {
	for _, n := range names {
		if v := headers.Values(n); len(v) > 0 {
			return strings.Join(v, ","), true
		}
	}
	return "", false
}

// keyMap returns the keys in the form in which the service is asked.
func keyMap(keys []rpcKey) map[string]string {
	m := make(map[string]string, len(keys))
	for _, k := range keys {
		m[k.key] = strings.ToValidUTF8(k.value, "\ufffd") // a proxy's client may have chosen it
	}
	return m
}

// text returns the keys as one string. Different keys give different strings, as commas, equal
// signs and backslashes in them are escaped.
func text(keys []rpcKey) string {
	size := 0
	for _, k := range keys {
		size += len(k.key) + len(k.value) + 2
	}
	var b strings.Builder
	b.Grow(size)
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		writeEscaped(&b, k.key)
		b.WriteByte('=')
		writeEscaped(&b, k.value)
	}
	return b.String()
}

func writeEscaped(b *strings.Builder, s string) {
	if strings.ContainsAny(s, `\,=`) {
		s = escape.Replace(s)
	}
	b.WriteString(s)
}

var escape = strings.NewReplacer(`\`, `\\`, ",", `\,`, "=", `\=`)
