// SPDX-License-Identifier: Apache-2.0

// Package channel is what a grpc.ClientConn consists of below its RPCs: from a target to
// connections, and from an RPC to one of them. It knows nothing of messages, codecs, calls
// and their options; those are the floor above, which this one sees as its [Owner].
//
// # How an RPC gets its connection
//
//	Channel.BeginRPC   counts the RPC, and wakes a channel that is idle
//	Channel.Choose     waits for the resolver's first answer; returns the RPC's configuration
//	Attempt.Pick       asks the picker, for each attempt, or waits for a later picker
//	Attempt.Address    settles the :authority, and adds credentials
//	Attempt.Open       opens a stream of internal/transport on the connection
//	Attempt.Judge      asks package internal/retry whether there is another attempt
//	Attempt.End
//	Channel.EndRPC     counts the RPC's end
//
// # How a connection comes to be
//
//	Target      ->  resolver.go  ->  config.go   ->  balancer.go  ->  subchannel.go  ->  link.go
//	target.go       what the         RPCs'           the policy       connects,          one
//	proxy.go        resolver says    configuration   makes SubConns   backs off          connection
//
// and a change of its state goes back: link.go tells subchannel.go, that the policy
// (balancer.go), and the policy the channel: picker.go for RPCs, state.go for programs.
//
// # The files
//
// Each refers only to files further down (`go run ./tools/filegraph` shows it):
//
//	channel                  the channel's life: idle or not, closed
//	choose, attempt,         what an RPC needs: its configuration, an attempt, a connection
//	attempt_creds, pick      for that, its :authority and credentials
//	resolver_conn            what a resolver tells
//	resolution               its answers become service config, Selector, balancer's state
//	balancer_conn            what a balancer asks for
//	link_events              what happens to a connection
//	subchannel_conn          what a balancer says to a subchannel
//	scaling_limit            how many connections it may have
//	subchannel               it connects, backs off, loses its connection
//	scaling                  which of several an RPC has, and when there is to be another
//	subchannel_health,       the watch of its server's health; its state, and who is told;
//	subchannel_state,        whose credentials count
//	subchannel_creds
//	link, metrics, members   a connection that is made, its metrics, the channel's lists
//	balancer, resolver       how they are told and asked
//	core                     the types that name each other: Channel, Subchannel, Link, Owner
//	config, selector,        what the channel is made of
//	picker, state, idle,
//	producer, options,       and how often a resolver is asked
//	resolver_pace
//	service_config, target,  words and rules
//	proxy, status, log
//
// # Locks and goroutines
//
// Where several locks are held they were taken in this order: idle.mu, a Subchannel's mu, a
// Link's mu, Channel.mu. balancerWrapper.mu comes before those of pickerGate and stateWatch.
// Of others' code these run with a lock held, and must not call what takes it: a resolver's
// Build, with what it has the balancer do, and its Close when the channel goes idle (idle.mu);
// a Selector's Select (shared with other RPCs' calls of it); recorders of metrics (the Subchannel's mu); a
// ProducerBuilder's Build (producerSet.mu).
//
// Whatever the policy is told goes through one queue, balancerWrapper.calls, which
// has a goroutine only while there is something in it. A channel without RPCs has no goroutine
// of its own, and a subchannel has one while it connects, and while it watches its server's
// health.
package channel
