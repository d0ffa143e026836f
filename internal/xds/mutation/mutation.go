// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/metadata"
)

// maxLength is the maximum length of names and values, in bytes.
const maxLength = 16384

// Apply returns a copy of md with changes. It first sets the headers in set, in order, and then deletes those
// in remove, as the published module does. It does not change md. An error that is not a DisallowedError says
// which change is not valid.
func (r *Rules) Apply(md metadata.MD, set []*corev3.HeaderValueOption, remove []string) (metadata.MD, error) {
	if len(set) == 0 && len(remove) == 0 {
		return md, nil
	}
	if md = md.Copy(); md == nil {
		md = metadata.MD{}
	}
	for _, option := range set {
		if err := r.set(md, option); err != nil {
			return nil, err
		}
	}
	for _, name := range remove {
		name = strings.ToLower(name)
		ok, err := r.check(name)
		if err != nil {
			return nil, err
		}
		if ok {
			delete(md, name)
		}
	}
	return md, nil
}

func (r *Rules) set(md metadata.MD, option *corev3.HeaderValueOption) error {
	name := option.GetHeader().GetKey()
	if ok, err := r.check(name); !ok || err != nil {
		return err
	}
	value, err := valueOf(option.GetHeader())
	if err != nil {
		return err
	}
	there := len(md[name]) > 0
	empty := value == "" && !option.GetKeepEmptyValue()
	switch action := option.GetAppendAction(); action {
	case corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD:
		if !empty {
			md[name] = append(md[name], value)
		}
	case corev3.HeaderValueOption_ADD_IF_ABSENT:
		if !there && !empty {
			md[name] = []string{value}
		}
	case corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS:
		switch {
		case !there && action == corev3.HeaderValueOption_OVERWRITE_IF_EXISTS:
		case empty:
			delete(md, name)
		default:
			md[name] = []string{value}
		}
	default:
		return fmt.Errorf("header %q: append_action %v is not known", name, action)
	}
	return nil
}

// valueOf checks a header's name and value and returns the value. The value of a binary header is in
// raw_value, and that of any other header in value. If that field is empty, valueOf takes the other one.
func valueOf(h *corev3.HeaderValue) (string, error) {
	name := h.GetKey()
	if len(name) > maxLength {
		return "", fmt.Errorf("a header's name of %d bytes; %d is the limit", len(name), maxLength)
	}
	if err := grpcwire.ValidateKey(name); err != nil {
		return "", err
	}
	value, other := h.GetValue(), string(h.GetRawValue())
	if grpcwire.IsBinary(name) {
		value, other = other, value
	}
	if value == "" {
		value = other
	}
	if len(value) > maxLength {
		return "", fmt.Errorf("header %q: a value of %d bytes; %d is the limit", name, len(value), maxLength)
	}
	return value, grpcwire.ValidateValue(name, value)
}
