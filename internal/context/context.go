// SPDX-License-Identifier: Apache-2.0

// Package context holds the context that handlers get. It has its name, and its type has
// that of the standard library's, on purpose: mocks of programs match a handler's context by
// the name that its type prints as, which is "*context.valueCtx" in the published module. A
// context.WithValue would do as well, but it is an allocation.
package context

import "context"

// Handler is the context of a handler. Its Context is set before anybody has it.
type Handler = valueCtx

// Valuer has values of its own for some keys.
type Valuer interface {
	ContextValue(key any) (value any, ok bool)
}

type valueCtx struct {
	context.Context
	Values Valuer // asked first; nil: nothing is added
}

// Value implements context.Context.
func (c *valueCtx) Value(key any) any {
	if c.Values != nil {
		if v, ok := c.Values.ContextValue(key); ok {
			return v
		}
	}
	return c.Context.Value(key)
}
