// SPDX-License-Identifier: Apache-2.0

// Package channel is the part of a grpc.ClientConn below its RPCs: it makes connections to a
// target, and chooses one of them for each RPC. It knows nothing of messages, codecs, calls and
// their options. The layer above has those; this package sees that layer as its [Owner].
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
// A change of a connection's state goes back the same way: link.go tells subchannel.go, which tells
// the policy (balancer.go). The policy tells the channel: picker.go for RPCs, state.go for
// programs.
//
// # The files
//
// Nearly every file refers only to files further down (`go run ./tools/filegraph` shows it):
//
//	channel                  the channel's life: idle or not, closed
//	choose, attempt,         what an RPC needs: its configuration, an attempt, a connection
//	attempt_creds, pick      for that, its :authority and credentials
//	resolver_conn            what a resolver reports
//	resolution               applies the resolver's answers: service config, Selector, balancer's state
//	balancer_conn            what a balancer asks for
//	link_events              what happens to a connection
//	subchannel_conn          what a balancer can ask of a subchannel
//	scaling_limit            how many connections a subchannel may have
//	subchannel, stability    how it connects, backs off, loses its connection, also soon after it was made
//	scaling                  which of several connections an RPC uses, and when another one is made
//	subchannel_health,       the watch of its server's health; its state and reports of it;
//	subchannel_state,        its credentials
//	subchannel_creds
//	link, metrics, members   a connection that is made, its metrics, the channel's lists
//	balancer, resolver,      the calls of balancer and resolver; asks the resolver again
//	refresh                  from time to time
//	core                     the types that refer to each other: Channel, Subchannel, Link, Owner
//	config, selector,        the parts of a channel, and
//	picker, state, idle,
//	producer, options,       how often a resolver is asked
//	resolver_pace
//	service_config, target,  independent parts
//	proxy, status, log
//
// # Locks and goroutines
//
// A goroutine that takes several locks takes them in this order: idle.mu, the mu of a scaling.Limit, a Subchannel's
// mu, a Link's mu, Channel.mu. A Limit calls Subchannel.scaleTo with its mu held, and unfollowScale takes that mu, so
// nobody who holds a Subchannel's mu may call unfollowScale. balancerWrapper.mu comes before those of pickerGate and stateWatch. Some code from outside
// this package runs with a lock held, and must not call what takes that lock: with idle.mu, a resolver's
// Build, including what it makes the balancer do, and its Close when the channel goes idle; with
// selectorTurn.mu, a Selector's Select (the lock is shared by all calls of Select); with producerSet.mu, a
// ProducerBuilder's Build.
//
// Every call of the policy goes through one queue, balancerWrapper.calls, which has a goroutine
// only while it is not empty. A channel without RPCs has no goroutine of its own. A subchannel has
// one while it connects, and one while it watches its server's health.
package channel
