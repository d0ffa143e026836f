// SPDX-License-Identifier: Apache-2.0

// Package kinds holds every kind of attack, one file for each family.
package kinds

import (
	"time"

	"google.golang.org/grpc/attack/internal/attacker"
	"google.golang.org/grpc/attack/internal/orders"
)

// Kind is a kind of attack.
type Kind struct {
	Name  string // side/family/what
	About string // what it does, and where that is known from
	// Serve is how the victim is started if it is a server; Work what the victim calls if
	// it is a client.
	Serve orders.Serve
	Work  *orders.Work
	// Own is how many bytes the victim's own program holds, because it sends messages that
	// the attacker does not take.
	Own int64
	// Spate is how many bytes the victim's program has for a moment, of messages as a rule. How many
	// of them are there when the collector comes is chance, on both sides: the peak is compared
	// beyond them only.
	Spate int64
	// Keeps is how many bytes the victim's own program holds when all connections are closed: handlers
	// that never end.
	Keeps int64
	// Busy is how much processor time the victim's own program takes, where handlers or callers send or
	// fail as fast as they can, whatever the attacker sends.
	Busy time.Duration
	// Dear is how much each MB may cost, if it is more than others may. SECURITY.md says why.
	Dear time.Duration
	// Extras says that the victim has channelz, reflection, a sink for the binary log, RLS and xDS; Env is
	// what its environment has more.
	Extras bool
	Env    []string
	// Time is how long the attack takes at most, 2 s if it is 0.
	Time  time.Duration
	Short bool // belongs to the short form
	// Attack is the attack. It returns when the victim holds all that it can be made to
	// hold, or when time is up; its connections stay open until that was measured. An
	// error says that it could not be carried out.
	Attack func(*attacker.Attacker) error
}

// OnClient tells whether it is a client that is attacked.
func (k Kind) OnClient() bool { return k.Work != nil }

// Secure tells whether connections that attack have a handshake of their security.
func (k Kind) Secure() bool { return !k.Over(orders.Plain) }

// Over tells whether connections that attack have that security.
func (k Kind) Over(s orders.Security) bool {
	if k.OnClient() {
		return k.Work.Security == s
	}
	return k.Serve.Security == s
}

// poured is what a stream holds that sends messages of 64 KiB to nobody: the message, as
// the program has it and encoded, and as many bytes queued as it takes to wait; and its
// share of what its connection is writing.
const poured = 384 << 10

// calling is what a program holds of its own for a call that lasts: a goroutine that waits, a
// context with a deadline and what hangs on it, a message.
const calling = 2 << 10

// callers is work of callers that want answers.
func callers(n int) *orders.Work {
	return &orders.Work{Method: orders.Echo, Callers: n, Deadline: 2 * time.Second}
}

// streams is work of callers of a method whose calls last.
func streams(method string, n int) *orders.Work {
	return &orders.Work{Method: method, Callers: n, Deadline: time.Minute}
}

// usual is how long an attack takes at most, and brief how long in the short form.
const (
	usual = 2 * time.Second
	brief = 600 * time.Millisecond
)

// For is the kind with the time it takes settled.
func (k Kind) For(asked time.Duration, short bool) Kind {
	switch {
	case asked > 0:
		k.Time = asked
	case short && k.Time == 0:
		k.Time = brief
	case k.Time == 0:
		k.Time = usual
	}
	return k
}
