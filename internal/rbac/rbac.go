// SPDX-License-Identifier: Apache-2.0

// Package rbac decides which RPCs a server lets in. It implements Envoy's role-based access
// control with the semantics of gRFC A41 and the audit of gRFC A59. It does not know the
// two languages in which rules are written: package authz makes engines from the JSON
// policies of gRFC A43, and package rbacxds makes them from Envoy's messages.
//
// All values of this package are immutable once made, and safe for concurrent use, except a
// Request, which one goroutine uses at a time.
package rbac

import (
	"google.golang.org/grpc/authz/audit"
)

// Action says what it means for an RPC if a rule matches it.
type Action int

// The two actions. Envoy's third action, LOG, needs no engine (A41).
const (
	Allow Action = iota // an RPC goes on if a rule matches it
	Deny                // an RPC goes on if no rule matches it
)

// Matcher is a condition on an RPC. It may consist of other conditions.
type Matcher interface {
	Match(*Request) bool
}

// Rule matches an RPC if both Permission and Principal match it.
type Rule struct {
	Name       string
	Permission Matcher // what the client asks for
	Principal  Matcher // who the client is
}

// Audit says which decisions of an engine are recorded, and which loggers record them.
type Audit struct {
	// PolicyName is the name of the policy, or of the filter, in audit events.
	PolicyName      string
	OnDeny, OnAllow bool
	Loggers         []audit.Logger
}

// Engine is a list of rules. Audit events name the first rule that matches.
type Engine struct {
	Action Action
	Rules  []Rule
	Audit  Audit
}

// Authorize reports whether the RPC may go on, and tells the audit loggers.
func (e *Engine) Authorize(r *Request) bool {
	_, allowed := e.Decide(r)
	return allowed
}

// Decide does what Authorize does, and also returns the rule that matched, or nil if none
// did.
func (e *Engine) Decide(r *Request) (rule *Rule, allowed bool) {
	rule = e.find(r)
	allowed = (rule != nil) == (e.Action == Allow)
	if e.Audit.wants(allowed) {
		e.Audit.log(r, rule, allowed)
	}
	return rule, allowed
}

func (e *Engine) find(r *Request) *Rule {
	for i := range e.Rules {
		if rule := &e.Rules[i]; rule.Permission.Match(r) && rule.Principal.Match(r) {
			return rule
		}
	}
	return nil
}

// Chain is a list of engines that decide one after the other. An RPC may go on if all of
// them allow it. The engines behind one that does not are not asked.
type Chain []*Engine

// Authorize reports whether the RPC may go on.
func (c Chain) Authorize(r *Request) bool {
	for _, e := range c {
		if !e.Authorize(r) {
			return false
		}
	}
	return true
}

func (a *Audit) wants(allowed bool) bool {
	if len(a.Loggers) == 0 {
		return false
	}
	return allowed && a.OnAllow || !allowed && a.OnDeny
}

// log gives each logger its own copy of the event, because a logger may keep it.
func (a *Audit) log(r *Request, rule *Rule, allowed bool) {
	event := audit.Event{
		FullMethodName: r.method,
		Principal:      r.spiffeID(),
		PolicyName:     a.PolicyName,
		Authorized:     allowed,
	}
	if rule != nil {
		event.MatchedRule = rule.Name
	}
	for _, l := range a.Loggers {
		own := event
		l.Log(&own)
	}
}
