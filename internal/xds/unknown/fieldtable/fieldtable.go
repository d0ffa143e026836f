// SPDX-License-Identifier: Apache-2.0

// Package fieldtable tells tests about which fields of messages no decision has been made. It walks
// the descriptors, so that it also finds fields and messages that are new in a newer library.
package fieldtable

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Decisions has the fields about which a decision has been made. The value says whether decisions
// about the fields within are needed too.
type Decisions map[protoreflect.FullName]bool

// Add adds a field of a message. inside says that this program obeys some values of the field, so
// that decisions about the fields within are needed too.
func (d Decisions) Add(m protoreflect.MessageDescriptor, field string, inside bool) {
	name := m.FullName().Append(protoreflect.Name(field))
	d[name] = d[name] || inside
}

// Missing returns the names of fields that are not in d but may occur in messages of these kinds,
// at any depth. It does not look into protobuf's own types, which count as values.
func (d Decisions) Missing(kinds ...protoreflect.MessageDescriptor) []string {
	var out []string
	seen := make(map[protoreflect.FullName]bool)
	var walk func(protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if m == nil || seen[m.FullName()] || strings.HasPrefix(string(m.FullName()), "google.protobuf.") {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			switch inside, decided := d[f.FullName()]; {
			case !decided:
				out = append(out, string(f.FullName()))
			case inside && f.IsMap():
				walk(f.MapValue().Message())
			case inside:
				walk(f.Message())
			}
		}
	}
	for _, m := range kinds {
		walk(m)
	}
	slices.Sort(out)
	return out
}
