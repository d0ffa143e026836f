// SPDX-License-Identifier: Apache-2.0

// Package rbac decides which RPCs a server lets in: Envoy's role-based access control with
// the semantics of gRFC A41, and the audit of gRFC A59. It knows neither of the two
// languages that rules are written in: package authz makes engines of the JSON policies of
// gRFC A43, package rbacxds of Envoy's messages.
//
// Everything here is immutable once it is made, and safe for concurrent use; only a Request
// belongs to one goroutine.
package rbac

import (
	"google.golang.org/grpc/authz/audit"
)

// Action says what a rule that matches means.
type Action int

// The two actions. LOG, Envoy's third, is no engine at all (A41).
const (
	Allow Action = iota // an RPC goes on if a rule matches
	Deny                // an RPC goes on if none does
)

// Matcher is one condition, or a tree of them.
type Matcher interface {
	Match(*Request) bool
}

// Rule matches an RPC that both its parts match.
type Rule struct {
	Name       string
	Permission Matcher // what is asked for
	Principal  Matcher // who asks
}

// Audit says which decisions of an engine are recorded, and by whom.
type Audit struct {
	// PolicyName is what events call the policy, or the filter.
	PolicyName      string
	OnDeny, OnAllow bool
	Loggers         []audit.Logger
}

// Engine is one list of rules. The first that matches is the one that is audited.
type Engine struct {
	Action Action
	Rules  []Rule
	Audit  Audit
}

// Authorize decides, and tells the loggers.
func (e *Engine) Authorize(r *Request) bool {
	_, allowed := e.Decide(r)
	return allowed
}

// Decide is Authorize that also returns the rule that matched, nil if none did.
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

// Chain is engines that are asked in turn; all have to agree, and those behind one that
// does not are not asked.
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

// log gives each logger an event of its own: it may keep it.
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
