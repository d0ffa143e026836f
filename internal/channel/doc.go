// SPDX-License-Identifier: Apache-2.0

// Package channel is what a grpc.ClientConn consists of below its RPCs: from a target to
// connections, and from an RPC to one of them. It knows nothing of messages, codecs, calls
// and their options; those are the floor above, which this one sees as its [Owner].
//
// # How an RPC gets its connection
//
//	Channel.BeginRPC   it counts, and wakes a channel that is idle
//	Channel.Choose     waits for the resolver's first answer; says what the RPC goes by
//	Attempt.Pick       asks the picker, for each attempt, and waits for the next one
//	Attempt.Address    says whom the request is for, and on whose behalf
//	Attempt.Open       opens a stream of internal/transport's on the connection
//	Attempt.Judge      asks package internal/retry whether there is another attempt
//	Attempt.End
//	Channel.EndRPC
//
// # How a connection comes to be
//
//	Target      ->  resolver.go  ->  config.go   ->  balancer.go  ->  subchannel.go  ->  link.go
//	target.go       what the         what RPCs       the policy       connects,          one
//	proxy.go        resolver says    go by           makes SubConns   backs off          connection
//
// and a change of its state goes back: link.go tells subchannel.go, that the policy
// (balancer.go), and the policy the channel: picker.go for RPCs, state.go for programs.
//
// # The files
//
// Each refers only to files further down (`go run ./tools/filegraph` shows it):
//
//	channel                  the channel's life: idle or not, closed
//	choose, attempt,         what an RPC asks for: what to go by; one try of it, which
//	attempt_creds, pick      connection that goes to, and what the request says of itself
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
//	link, metrics, members   a connection that is made, what is counted of it, who is there
//	balancer, resolver       how they are told and asked
//	core                     the types that name each other: Channel, Subchannel, Link, Owner
//	config, selector,        what the channel is made of
//	picker, state, idle,
//	producer, options
//	service_config, target,  words and rules
//	proxy, status, log
//
// # Locks and goroutines
//
// idle.mu, then Channel.mu, then a Subchannel's mu, then a Link's; pickerGate's and
// stateWatch's are leaves. Of foreign methods only a resolver's Build runs under one of them
// (idle.mu). Whatever the policy is told goes through one queue, balancerWrapper.calls, which
// has a goroutine only while there is something in it. An idle channel has no goroutine, a
// subchannel one while it connects, and none afterwards.
package channel
