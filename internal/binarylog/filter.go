// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// unlimited is a limit with which everything is logged.
const unlimited = math.MaxUint64

// Limits are how many bytes of the metadata and of each message are logged.
type Limits struct {
	Header, Message uint64
}

// Filter says which methods are logged. It is immutable.
type Filter struct {
	all      *Limits
	services map[string]Limits // by "package.Service"
	methods  map[string]Limits // by "package.Service/Method"
	excluded map[string]bool   // by "package.Service/Method"
}

// parseFilter parses a filter of gRFC A16: patterns, separated by commas.
//
//   - all methods
//     package.Service/*   the methods of a service
//     package.Service/M   one method
//     -package.Service/M  not this method
//
// If several patterns match, the most specific one applies. All kinds but the last may end
// in limits: {h} means headers without messages, {m:256} the first 256 bytes of messages
// without headers, and {h:512;m} 512 bytes of headers and whole messages.
func parseFilter(text string) (*Filter, error) {
	f := &Filter{services: make(map[string]Limits), methods: make(map[string]Limits), excluded: make(map[string]bool)}
	for pattern := range strings.SplitSeq(text, ",") {
		if err := f.add(pattern); err != nil {
			return nil, fmt.Errorf("binary log filter: pattern %q: %w", pattern, err)
		}
	}
	return f, nil
}

func (f *Filter) add(pattern string) error {
	if name, ok := strings.CutPrefix(pattern, "-"); ok {
		return f.exclude(name)
	}
	name, limits, err := cutLimits(pattern)
	if err != nil {
		return err
	}
	if name == "*" {
		if f.all != nil {
			return errRepeated
		}
		f.all = &limits
		return nil
	}
	service, method, err := splitName(name)
	if err != nil {
		return err
	}
	if method == "*" {
		return insert(f.services, service, limits)
	}
	if f.excluded[name] {
		return errRepeated
	}
	return insert(f.methods, name, limits)
}

func (f *Filter) exclude(name string) error {
	_, method, err := splitName(name)
	if err != nil {
		return err
	}
	if method == "*" {
		return errors.New("only single methods can be excluded")
	}
	if _, ok := f.methods[name]; ok {
		return errRepeated
	}
	return insert(f.excluded, name, true)
}

var errRepeated = errors.New("repeats another one")

func insert[V any](m map[string]V, name string, v V) error {
	if _, ok := m[name]; ok {
		return errRepeated
	}
	m[name] = v
	return nil
}

// splitName splits "package.Service/Method".
func splitName(name string) (service, method string, err error) {
	slash := strings.LastIndexByte(name, '/')
	if slash < 0 || !isName(name[:slash]) || name[slash+1:] != "*" && !isName(name[slash+1:]) {
		return "", "", errors.New("want service/method, service/* or *")
	}
	return name[:slash], name[slash+1:], nil
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '.' && r != '/' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// cutLimits splits a pattern into name and limits. Without limits everything is logged.
func cutLimits(pattern string) (name string, limits Limits, err error) {
	name, text, found := strings.Cut(pattern, "{")
	if !found {
		return name, Limits{Header: unlimited, Message: unlimited}, nil
	}
	text, closed := strings.CutSuffix(text, "}")
	header, message, both := strings.Cut(text, ";")
	switch {
	case !closed:
		err = errLimits
	case both:
		if limits.Header, err = parseLimit(header, "h"); err == nil {
			limits.Message, err = parseLimit(message, "m")
		}
	case strings.HasPrefix(text, "h"):
		limits.Header, err = parseLimit(text, "h")
	default:
		limits.Message, err = parseLimit(text, "m")
	}
	return name, limits, err
}

var errLimits = errors.New("want {h}, {m} or {h;m}, each perhaps with a number as in h:256")

func parseLimit(text, letter string) (uint64, error) {
	if text == letter {
		return unlimited, nil
	}
	digits, ok := strings.CutPrefix(text, letter+":")
	if !ok {
		return 0, errLimits
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, errLimits
	}
	return n, nil
}

// Method returns the limits of a method, "/package.Service/Method", and whether it is
// logged at all. With a nil f nothing is logged.
func (f *Filter) Method(full string) (limits Limits, logged bool) {
	if f == nil {
		return Limits{}, false
	}
	name := strings.TrimPrefix(full, "/")
	if f.excluded[name] {
		return Limits{}, false
	}
	if limits, ok := f.methods[name]; ok {
		return limits, true
	}
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		if limits, ok := f.services[name[:slash]]; ok {
			return limits, true
		}
	}
	if f.all != nil {
		return *f.all, true
	}
	return Limits{}, false
}
