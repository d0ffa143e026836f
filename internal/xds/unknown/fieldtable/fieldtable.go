// SPDX-License-Identifier: Apache-2.0

// Package fieldtable tells tests which fields of messages nobody has decided on. It walks the
// descriptors, so that a field, or a message, that a newer library has is among them.
package fieldtable

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Decisions has the fields that somebody has decided on, and whether what is within them counts.
type Decisions map[protoreflect.FullName]bool

// Add adds a field of a message. inside says that some of its values are obeyed, so that there have
// to be decisions on what it consists of, too.
func (d Decisions) Add(m protoreflect.MessageDescriptor, field string, inside bool) {
	name := m.FullName().Append(protoreflect.Name(field))
	d[name] = d[name] || inside
}

// Missing returns the names of the fields that are not in d, and may be in a message of one of the
// kinds, at any depth. Types of protobuf's own are values, and have none.
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
