// SPDX-License-Identifier: Apache-2.0

// Package context holds the context that handlers get. It has its name, and its type has
// that of the standard library's, on purpose: mocks of programs match a handler's context by
// the name that its type prints as, which is "*context.valueCtx" in the published module. A
// context.WithValue would do as well, but it is an allocation.
package context

import "context"

// Handler is the context of a handler: what it embeds, by that name. Its Context is set before
// anybody has it.
type Handler = valueCtx

type valueCtx struct{ context.Context }

// String keeps fmt from reading fields of what the program has put around the call's context.
func (c *valueCtx) String() string { return "context of a gRPC call" }

// Valuer has values of its own for some keys.
type Valuer interface {
	ContextValue(key any) (value any, ok bool)
}

// Valued is a context of which Values are asked first.
type Valued struct {
	context.Context
	Values Valuer
}

// Value implements context.Context.
func (c *Valued) Value(key any) any {
	if v, ok := c.Values.ContextValue(key); ok {
		return v
	}
	return c.Context.Value(key)
}

// String keeps fmt from reading Values, whose fields others write.
func (c *Valued) String() string { return "context of a gRPC call" }
